// The Pythons that belong to what is open.

import * as path from 'node:path';
import * as vscode from 'vscode';

const FOLDERS = ['.venv', 'venv', 'env', '.env'];

/** The Python of an environment. */
export function pythonIn(environment: string): string {
  return process.platform === 'win32'
    ? path.join(environment, 'Scripts', 'python.exe')
    : path.join(environment, 'bin', 'python');
}

/** Those that the Python extension has chosen, then those of environments in the workspace's folders. None in a
 * workspace that is not trusted: they are programs of that workspace. */
export async function pythonsOfWorkspace(): Promise<string[]> {
  if (!vscode.workspace.isTrusted) {
    return [];
  }
  const found: string[] = [];
  const chosen = await chosenByPythonExtension();
  if (chosen) {
    found.push(chosen);
  }
  for (const folder of vscode.workspace.workspaceFolders ?? []) {
    for (const name of FOLDERS) {
      const python = pythonIn(path.join(folder.uri.fsPath, name));
      if (await exists(python)) {
        found.push(python);
      }
    }
  }
  return [...new Set(found)];
}

async function chosenByPythonExtension(): Promise<string | undefined> {
  const extension = vscode.extensions.getExtension('ms-python.python');
  if (!extension) {
    return undefined;
  }
  try {
    const api = extension.isActive ? extension.exports : await extension.activate();
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    const environment = await api.environments.resolveEnvironment(api.environments.getActiveEnvironmentPath(folder));
    return environment?.executable.uri?.fsPath;
  } catch {
    return undefined;
  }
}

async function exists(file: string): Promise<boolean> {
  try {
    await vscode.workspace.fs.stat(vscode.Uri.file(file));
    return true;
  } catch {
    return false;
  }
}
