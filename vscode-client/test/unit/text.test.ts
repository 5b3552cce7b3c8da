import assert from 'node:assert/strict';
import { test } from 'node:test';

import { sizesOf } from '../../src/text';

test('sizes are names with whole numbers', () => {
  assert.deepEqual(sizesOf(''), {});
  assert.deepEqual(sizesOf(' n=2000, m_1=5\tk=7 '), { n: 2000, m_1: 5, k: 7 });
});

for (const wrong of ['n', 'n=', 'n=-1', 'n=0', 'n=1.5', '2n=4', 'n=2000;']) {
  test(`\`${wrong}\` is refused, and told`, () => {
    const told = sizesOf(`m=3 ${wrong}`);
    assert.ok(typeof told === 'string' && told.includes(`\`${wrong}\``));
  });
}
