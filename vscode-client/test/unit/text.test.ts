import assert from 'node:assert/strict';
import { test } from 'node:test';

import { consentTo, sizesOf, sizesPrompt, summary, writtenSizes } from '../../src/text';

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

test('a ranking is summed up in a sentence', () => {
  assert.equal(summary(0, {}, 0, 0), 'There are no loops in the C and Python files of the workspace.');
  assert.equal(summary(1, { parallel: 2, sequential: 1 }, 0, 0), '1 loop to run in parallel, of 3 (2 parallel, 1 sequential).');
  const told = summary(0, { parallel: 2 }, 1, 1);
  assert.equal(told, 'No loops to run in parallel, of 2 (2 parallel); not listed: 1 run in parallel already, 1 do too little work.');
});

test('a person is asked before a tool writes or runs something, and not before it reads', () => {
  assert.match(consentTo('measure', { path: 'a.c', line: 3 })?.message ?? '', /`a\.c`, line 3 .* built and run/);
  assert.match(consentTo('apply', { path: 'a`.c', line: 3, action: 'openmp', write: true })?.message ?? '', /`openmp` is written to `a'\.c`/);
  for (const reads of ['check', 'report', 'explain', 'actions', 'apply']) {
    assert.equal(consentTo(reads, { path: 'a.c', line: 3, action: 'openmp' }), undefined);
  }
});

test('sizes that nothing gives are asked for by their names', () => {
  assert.match(sizesPrompt('f', ['rows', 'k']), /^Nothing in the file .* `f`.*`rows=2000 k=500`/);
  assert.match(sizesPrompt('f', []), /^As in `n=2000 m=500`/);
  assert.deepEqual(sizesOf(' 300 ', ['rows']), { rows: 300 });
  assert.equal(typeof sizesOf('300', ['rows', 'k']), 'string');
  assert.equal(typeof sizesOf('0', ['rows']), 'string');
  assert.equal(writtenSizes({ n: 7, m: 8 }), 'n=7 m=8');
  assert.deepEqual(sizesOf(writtenSizes({ n: 7, m: 8 })), { n: 7, m: 8 });
});
