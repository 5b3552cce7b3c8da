// The settings that are about the extension itself; all others go to the server as they are.

import * as vscode from 'vscode';

export const SECTION = 'polylsp';

/** Settings that the server knows nothing of. */
const OURS = ['serverCommand', 'interpreter'];

export function serverCommand(): string[] {
  return vscode.workspace.getConfiguration(SECTION).get<string[]>('serverCommand', []);
}

/** The interpreter that the user chose; a path beside the first folder may be relative. */
export function interpreter(): string {
  const chosen = vscode.workspace.getConfiguration(SECTION).get<string>('interpreter', '').trim();
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? '';
  return chosen.replace('${workspaceFolder}', folder);
}

export function trace(): string {
  return vscode.workspace.getConfiguration(SECTION).get<string>('trace', 'off');
}

/** Findings of files that are not open: VS Code asks for them if the server says so when it starts. */
export function listsWorkspace(): boolean {
  return vscode.workspace.getConfiguration(SECTION).get<boolean>('workspaceDiagnostics', false);
}

/** Whether a change of settings wants the server to be looked for again, or started anew. */
export function matters(change: vscode.ConfigurationChangeEvent): boolean {
  return [...OURS, 'workspaceDiagnostics'].some((name) => change.affectsConfiguration(`${SECTION}.${name}`));
}

/** What the server is told when it asks for its section. */
export function forServer(section: unknown): unknown {
  if (section === null || typeof section !== 'object' || Array.isArray(section)) {
    return section;
  }
  return Object.fromEntries(Object.entries(section).filter(([name]) => !OURS.includes(name)));
}
