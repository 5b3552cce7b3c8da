import assert from 'node:assert/strict';
import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';

import { thisMachine } from '../../src/machine';

const SERVER = path.resolve('server');

async function asked(...requirements: string[]) {
  const machine = thisMachine(SERVER, requirements);
  const python = await machine.onPath('python3');
  assert.ok(python, 'python3 is not on PATH');
  const answer = await machine.ask(python);
  assert.ok(!(answer instanceof Error), String(answer));
  return answer;
}

test('a Python tells its version, and what it lacks', async () => {
  const answer = await asked('json', 'no-such-package>=1', 'pip>=1', 'pip>=1,<2', 'pip<1000');
  assert.ok((answer.version[0] ?? 0) >= 3);
  const missing = answer.missing.map((each) => each.replace(/\(.*/, '(…)'));
  const hasPip = !missing.includes('pip>=1');
  assert.deepEqual(missing, hasPip ? ['no-such-package>=1', 'pip>=1,<2 (…)'] : ['no-such-package>=1', 'pip>=1', 'pip>=1,<2', 'pip<1000']);
});

test('what lies in the folder at hand is not taken for a package', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'polylsp-'));
  const before = process.cwd();
  try {
    await mkdir(path.join(folder, 'islpy_of_a_stranger'));
    await writeFile(path.join(folder, 'islpy_of_a_stranger', '__init__.py'), '');
    process.chdir(folder);
    assert.deepEqual((await asked('islpy_of_a_stranger')).missing, ['islpy_of_a_stranger']);
  } finally {
    process.chdir(before);
    await rm(folder, { recursive: true });
  }
});

test('what is no Python is told to be none', async () => {
  const machine = thisMachine(SERVER, []);
  assert.ok((await machine.ask('/no/such/python')) instanceof Error);
  const other = await machine.onPath('true');
  assert.ok(other && (await machine.ask(other)) instanceof Error);
  assert.equal(await machine.canRun('/no/such/python'), false);
});
