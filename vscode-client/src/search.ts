// Where the server is, and why it is not where it was looked for. Nothing of VS Code here.

import * as path from 'node:path';

import type { Interpreter, Machine } from './machine';

/** What a search starts from. `pythons`: those of the Python extension and of the workspace's environments, which
 * are run only where the workspace is trusted. `own`: the Python of the environment that the extension made. */
export interface Wishes {
  readonly command: readonly string[];
  readonly interpreter: string;
  readonly pythons: readonly string[];
  readonly own: string;
  /** The folder that holds the copy of polylsp that came with the extension. */
  readonly carried: string;
  readonly version: string;
}

/** How to run polylsp: `command` with `args` and the name of what polylsp shall do. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** In words: where it was found. */
  readonly origin: string;
  /** Of polylsp, where it is known before it runs. */
  readonly version?: string;
}

/** Nothing was found. `message` says what to do; `python` is one in which a copy could run if packages were installed. */
export interface Nothing {
  readonly message: string;
  readonly tried: readonly string[];
  readonly python?: string;
}

export const OLDEST = [3, 10] as const;
const TOO_NEW = [3, 15] as const;
const NAMES = ['python3', 'python3.14', 'python3.13', 'python3.12', 'python3.11', 'python3.10', 'python'];

/** The server: as the settings say; else in a Python of the workspace; else on PATH; else the copy that came with
 * the extension, in any Python that has what it needs. */
export async function search(wishes: Wishes, machine: Machine): Promise<Launch | Nothing> {
  if (wishes.command.length) {
    return commanded(wishes.command, machine);
  }
  if (wishes.interpreter) {
    return chosen(wishes, machine);
  }
  const asked: Answered[] = [];
  for (const python of wishes.pythons) {
    const answer = await answered(python, machine, asked);
    if (isGood(answer) && answer.polylsp) {
      return installed(answer, answer.polylsp);
    }
  }
  const onPath = await machine.onPath('polylsp');
  if (onPath) {
    return { command: onPath, args: [], env: {}, origin: `${onPath}, which is on PATH` };
  }
  for (const python of await everyPython(wishes, machine)) {
    const answer = await answered(python, machine, asked);
    if (isGood(answer)) {
      return carried(answer, wishes);
    }
  }
  return nothing(asked);
}

export function isFound(outcome: Launch | Nothing): outcome is Launch {
  return 'command' in outcome;
}

/** Whether an installed polylsp speaks as this extension does: the first two numbers agree. */
export function agrees(theirs: string, ours: string): boolean {
  const first = (version: string) => version.split('.').slice(0, 2).join('.');
  return first(theirs) === first(ours);
}

// --- As the settings say -----------------------------------------------------------------

async function commanded(words: readonly string[], machine: Machine): Promise<Launch | Nothing> {
  const [name = '', ...rest] = words;
  const command = path.isAbsolute(name) ? name : await machine.onPath(name);
  if (!command || !(await machine.canRun(command))) {
    const message = `The setting polylsp.serverCommand names \`${name}\`, which cannot be run: correct it, or clear it to have polylsp looked for.`;
    return { message, tried: [] };
  }
  const args = rest[rest.length - 1] === 'serve' ? rest.slice(0, -1) : rest;
  return { command, args, env: {}, origin: 'the setting polylsp.serverCommand' };
}

async function chosen(wishes: Wishes, machine: Machine): Promise<Launch | Nothing> {
  const answer = await machine.ask(wishes.interpreter);
  if (answer instanceof Error) {
    const message = `The setting polylsp.interpreter names \`${wishes.interpreter}\`, which is no Python that can be run (${answer.message}): correct it, or clear it.`;
    return { message, tried: [] };
  }
  if (isWhole(answer)) {
    return answer.polylsp ? installed(answer, answer.polylsp) : carried(answer, wishes);
  }
  const message = `The Python of the setting polylsp.interpreter ${why(answer)}.`;
  return { message, tried: [], python: isRecent(answer) ? answer.path : undefined };
}

// --- Pythons -----------------------------------------------------------------------------

interface Answered {
  readonly python: string;
  readonly answer: Interpreter | Error;
}

async function answered(python: string, machine: Machine, asked: Answered[]): Promise<Interpreter | Error> {
  const known = asked.find((each) => each.python === python);
  if (known) {
    return known.answer;
  }
  const answer = await machine.ask(python);
  asked.push({ python, answer });
  return answer;
}

/** Those of the workspace, the extension's own, then those on PATH. */
async function everyPython(wishes: Wishes, machine: Machine): Promise<string[]> {
  const found = [...wishes.pythons];
  if (await machine.canRun(wishes.own)) {
    found.push(wishes.own);
  }
  for (const name of NAMES) {
    const python = await machine.onPath(name);
    if (python && !found.includes(python)) {
      found.push(python);
    }
  }
  return found;
}

function isRecent(python: Interpreter): boolean {
  const at = (limit: readonly [number, number]) => {
    const [major = 0, minor = 0] = python.version;
    return major > limit[0] || (major === limit[0] && minor >= limit[1]);
  };
  return at(OLDEST) && !at(TOO_NEW);
}

function isWhole(python: Interpreter): boolean {
  return isRecent(python) && python.missing.length === 0;
}

function isGood(answer: Interpreter | Error): answer is Interpreter {
  return !(answer instanceof Error) && isWhole(answer);
}

function why(python: Interpreter): string {
  if (!isRecent(python)) {
    return `is ${python.version.join('.')}, and polylsp needs 3.10 to 3.14`;
  }
  return `lacks ${python.missing.join(', ')}`;
}

function installed(python: Interpreter, version: string): Launch {
  return { command: python.path, args: ['-m', 'polylsp'], env: {}, origin: `installed in ${python.path}`, version };
}

function carried(python: Interpreter, wishes: Wishes): Launch {
  return {
    command: python.path,
    args: ['-m', 'polylsp'],
    env: { PYTHONPATH: wishes.carried },
    origin: `the copy that came with the extension, run by ${python.path}`,
    version: wishes.version,
  };
}

function nothing(asked: readonly Answered[]): Nothing {
  const tried = asked.map(({ python, answer }) =>
    answer instanceof Error ? `${python}: cannot be run (${answer.message})` : `${python} ${why(answer)}`,
  );
  const usable = asked.map((each) => each.answer).find((each): each is Interpreter => !(each instanceof Error) && isRecent(each));
  if (!usable) {
    const found = asked.length ? 'The Pythons on this machine are too old or too new' : 'There is no Python on this machine';
    const message = `${found}, and polylsp needs Python 3.10 to 3.14: install one, or name one in the setting polylsp.interpreter.`;
    return { message, tried };
  }
  const message = `polylsp needs a few Python packages (its analysis runs in islpy), which no Python here has.`;
  return { message, tried, python: usable.path };
}
