// The search for the server, in this VS Code.

import { readFile } from 'node:fs/promises';
import * as path from 'node:path';
import * as vscode from 'vscode';

import { thisMachine } from './machine';
import { search, type Launch, type Nothing } from './search';
import { interpreter, serverCommand } from './settings';
import { pythonIn, pythonsOfWorkspace } from './workspace';

/** The folder of the extension that holds its copy of polylsp. */
export function carriedIn(context: vscode.ExtensionContext): string {
  return context.asAbsolutePath('server');
}

/** The environment that the extension makes if asked to. */
export function ownEnvironment(context: vscode.ExtensionContext): string {
  return path.join(context.globalStorageUri.fsPath, 'environment');
}

/** The file that names the packages which polylsp needs. */
export function requirementsIn(context: vscode.ExtensionContext): string {
  return path.join(carriedIn(context), 'requirements.txt');
}

export async function findServer(context: vscode.ExtensionContext): Promise<Launch | Nothing> {
  const carried = carriedIn(context);
  const lines = (await readFile(requirementsIn(context), 'utf8')).split('\n');
  const requirements = lines.map((each) => each.trim()).filter((each) => each && !each.startsWith('#'));
  return search(
    {
      command: serverCommand(),
      interpreter: interpreter(),
      pythons: await pythonsOfWorkspace(),
      own: pythonIn(ownEnvironment(context)),
      carried,
      version: context.extension.packageJSON.version,
    },
    thisMachine(carried, requirements),
  );
}
