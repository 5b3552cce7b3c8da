import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Interpreter, Machine } from '../../src/machine';
import { agrees, isFound, search, type Launch, type Nothing, type Wishes } from '../../src/search';

const NONE: Wishes = {
  command: [],
  interpreter: '',
  pythons: [],
  own: '/own/bin/python',
  carried: '/extension/server',
  version: '0.1.0',
};

const GOOD = { version: [3, 11, 2], missing: [], polylsp: null };
const WITH_POLYLSP = { ...GOOD, polylsp: '0.1.3' };
const LACKING = { ...GOOD, missing: ['islpy>=2025.1'] };
const OLD = { ...GOOD, version: [3, 9, 1] };
const NEW = { ...GOOD, version: [3, 15, 0] };

type Told = Omit<Interpreter, 'path'> | Error;

/** A machine with Pythons by path, and commands on PATH by name. */
function machine(pythons: Record<string, Told>, commands: Record<string, string> = {}): Machine & { asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    onPath: async (name) => commands[name],
    canRun: async (file) => file in pythons || Object.values(commands).includes(file),
    ask: async (python) => {
      asked.push(python);
      const told = pythons[python] ?? new Error('not there');
      return told instanceof Error ? told : { ...told, path: python };
    },
  };
}

async function found(wishes: Partial<Wishes>, on: Machine): Promise<Launch> {
  const outcome = await search({ ...NONE, ...wishes }, on);
  assert.ok(isFound(outcome), JSON.stringify(outcome));
  return outcome;
}

async function missed(wishes: Partial<Wishes>, on: Machine): Promise<Nothing> {
  const outcome = await search({ ...NONE, ...wishes }, on);
  assert.ok(!isFound(outcome), JSON.stringify(outcome));
  return outcome;
}

test('the command of the settings comes first, with or without its `serve`', async () => {
  const on = machine({ '/v/bin/python': WITH_POLYLSP }, { polylsp: '/usr/bin/polylsp' });
  for (const command of [['/usr/bin/polylsp', 'serve'], ['polylsp']]) {
    const launch = await found({ command, pythons: ['/v/bin/python'] }, on);
    assert.deepEqual([launch.command, launch.args], ['/usr/bin/polylsp', []]);
  }
  assert.deepEqual(on.asked, []);
});

test('a command of the settings that cannot be run is told, and nothing else is tried', async () => {
  const on = machine({}, { polylsp: '/usr/bin/polylsp' });
  const { message } = await missed({ command: ['polyslp', 'serve'] }, on);
  assert.match(message, /polylsp\.serverCommand names `polyslp`/);
});

test('the interpreter of the settings runs what is installed there, else the copy', async () => {
  const on = machine({ '/a': WITH_POLYLSP, '/b': GOOD });
  assert.deepEqual((await found({ interpreter: '/a' }, on)).env, {});
  assert.deepEqual((await found({ interpreter: '/b' }, on)).env, { PYTHONPATH: '/extension/server' });
});

test('what is wrong with the interpreter of the settings is told', async () => {
  const on = machine({ '/lacking': LACKING, '/old': OLD, '/broken': new Error('bad magic') });
  const lacking = await missed({ interpreter: '/lacking' }, on);
  assert.match(lacking.message, /lacks islpy>=2025\.1/);
  assert.equal(lacking.python, '/lacking');
  const old = await missed({ interpreter: '/old' }, on);
  assert.match(old.message, /is 3\.9\.1, and polylsp needs 3\.10 to 3\.14/);
  assert.equal(old.python, undefined);
  assert.match((await missed({ interpreter: '/broken' }, on)).message, /bad magic/);
});

test('a Python of the workspace that has polylsp comes before PATH', async () => {
  const on = machine({ '/x/python': GOOD, '/v/python': WITH_POLYLSP }, { polylsp: '/usr/bin/polylsp' });
  const launch = await found({ pythons: ['/x/python', '/v/python'] }, on);
  assert.deepEqual([launch.command, ...launch.args, launch.version], ['/v/python', '-m', 'polylsp', '0.1.3']);
});

test('one that has polylsp and lacks what it needs does not', async () => {
  const on = machine({ '/v/python': { ...LACKING, polylsp: '0.1.3' } }, { polylsp: '/usr/bin/polylsp' });
  assert.equal((await found({ pythons: ['/v/python'] }, on)).command, '/usr/bin/polylsp');
});

test('polylsp on PATH comes before the copy', async () => {
  const on = machine({ '/usr/bin/python3': GOOD }, { polylsp: '/usr/bin/polylsp', python3: '/usr/bin/python3' });
  assert.equal((await found({}, on)).command, '/usr/bin/polylsp');
});

test('the copy runs in the first Python that has what it needs', async () => {
  const commands = { python3: '/usr/bin/python3', 'python3.12': '/usr/bin/python3.12' };
  const on = machine({ '/usr/bin/python3': LACKING, '/usr/bin/python3.12': GOOD }, commands);
  const launch = await found({}, on);
  assert.deepEqual([launch.command, launch.env], ['/usr/bin/python3.12', { PYTHONPATH: '/extension/server' }]);
});

test('the own environment comes before the Pythons on PATH', async () => {
  const on = machine({ '/usr/bin/python3': GOOD, '/own/bin/python': GOOD }, { python3: '/usr/bin/python3' });
  assert.equal((await found({}, on)).command, '/own/bin/python');
});

test('no Python is asked twice', async () => {
  const on = machine({ '/usr/bin/python3': LACKING }, { python3: '/usr/bin/python3', python: '/usr/bin/python3' });
  await missed({ pythons: ['/usr/bin/python3'] }, on);
  assert.deepEqual(on.asked, ['/usr/bin/python3']);
});

test('where packages are missing, a Python is named to install them for', async () => {
  const on = machine({ '/p2': OLD, '/p3': LACKING }, { python: '/p2', python3: '/p3' });
  const { message, python, tried } = await missed({}, on);
  assert.match(message, /needs a few Python packages/);
  assert.equal(python, '/p3');
  assert.equal(tried.length, 2);
});

test('where every Python is too old or too new, or there is none, that is told', async () => {
  const on = machine({ '/old': OLD, '/new': NEW }, { python: '/old', python3: '/new' });
  assert.match((await missed({}, on)).message, /too old or too new.*3\.10 to 3\.14/);
  const { message, python } = await missed({}, machine({}));
  assert.match(message, /There is no Python on this machine/);
  assert.equal(python, undefined);
});

test('versions agree in their first two numbers', () => {
  assert.ok(agrees('0.1.0', '0.1.7'));
  assert.ok(!agrees('0.2.0', '0.1.7'));
  assert.ok(!agrees('1.1.0', '0.1.0'));
});
