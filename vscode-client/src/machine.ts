// What the search for the server asks of the machine; tests bring another one.

import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import * as path from 'node:path';

/** What a Python said of itself. `missing`: requirements that it does not meet, in words. */
export interface Interpreter {
  readonly path: string;
  readonly version: readonly number[];
  readonly missing: readonly string[];
  readonly polylsp: string | null;
}

export interface Machine {
  /** The full path of a command on PATH. */
  onPath(name: string): Promise<string | undefined>;
  /** Whether there is a file that can be run. */
  canRun(file: string): Promise<boolean>;
  /** What a Python has, or why it could not be asked. */
  ask(python: string): Promise<Interpreter | Error>;
}

const SECONDS_FOR_AN_ANSWER = 20;

/** This machine. `folder` is the server's in the extension, `requirements` what polylsp needs of a Python. */
export function thisMachine(folder: string, requirements: readonly string[]): Machine {
  return {
    onPath,
    canRun,
    ask: (python) => ask(python, path.join(folder, 'probe.py'), requirements, folder),
  };
}

async function onPath(name: string): Promise<string | undefined> {
  const endings = process.platform === 'win32' ? ['.exe', '.cmd', '.bat'] : [''];
  // An entry that is not absolute would be taken from the folder that happens to be open.
  const folders = (process.env.PATH ?? '').split(path.delimiter).filter((each) => path.isAbsolute(each));
  for (const folder of folders) {
    for (const ending of endings) {
      const file = path.join(folder, name + ending);
      if (await canRun(file)) {
        return file;
      }
    }
  }
  return undefined;
}

async function canRun(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Asked in the extension's folder: what lies in the folder of a project is not imported. */
function ask(python: string, probe: string, requirements: readonly string[], cwd: string): Promise<Interpreter | Error> {
  const timeout = 1000 * SECONDS_FOR_AN_ANSWER;
  return new Promise((resolve) => {
    execFile(python, [probe, ...requirements], { cwd, timeout }, (error, stdout, stderr) => {
      if (error) {
        resolve(new Error(lastLine(stderr) || error.message));
        return;
      }
      try {
        resolve({ ...JSON.parse(stdout), path: python });
      } catch {
        resolve(new Error(`it answered ${JSON.stringify(stdout.slice(0, 80))}`));
      }
    });
  });
}

function lastLine(text: string): string {
  return text.trim().split('\n').pop() ?? '';
}
