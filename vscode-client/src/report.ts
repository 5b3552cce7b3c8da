// What a bug report needs, as text to paste.

import { execFile } from 'node:child_process';
import * as vscode from 'vscode';

import type { Condition } from './server';

const SECONDS = 60;

/** Versions, what is wrong, and what `polylsp doctor` finds. No source, no names of files that are open. */
export async function report(context: vscode.ExtensionContext, condition: Condition): Promise<string> {
  const lines = [
    `extension: polylsp ${context.extension.packageJSON.version}`,
    `editor: ${vscode.env.appName} ${vscode.version}, ${process.platform} ${process.arch}${vscode.env.remoteName ? `, remote: ${vscode.env.remoteName}` : ''}`,
    `workspace: ${vscode.workspace.isTrusted ? 'trusted' : 'restricted'}, folders: ${vscode.workspace.workspaceFolders?.length ?? 0}`,
    `server: ${told(condition)}`,
    '',
    condition.kind === 'running' ? await doctor(context, condition.launch) : '',
  ];
  return lines.join('\n');
}

function told(condition: Condition): string {
  switch (condition.kind) {
    case 'missing':
      return ['not found', condition.nothing.message, ...condition.nothing.tried].join('\n  ');
    case 'failed':
      return condition.message;
    case 'running':
      return `${condition.version}, ${condition.launch.origin}; ${condition.health.message || condition.health.health}`;
    default:
      return condition.kind;
  }
}

function doctor(context: vscode.ExtensionContext, launch: (Condition & { kind: 'running' })['launch']): Promise<string> {
  const env = { ...process.env, ...launch.env, NO_COLOR: '1' };
  const options = { cwd: context.extensionPath, env, timeout: 1000 * SECONDS };
  return new Promise((resolve) => {
    execFile(launch.command, [...launch.args, 'doctor'], options, (error, stdout, stderr) => {
      resolve(stdout || `polylsp doctor did not run: ${stderr.trim() || error?.message}`);
    });
  });
}
