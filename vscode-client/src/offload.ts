// "Offload here": a pick of what the server can do to a loop, then the edit that it makes.

import * as vscode from 'vscode';
import type { CodeAction, LanguageClient } from 'vscode-languageclient/node';

import { APPLY } from './names';
import { applyEdit, showEdit } from './preview';

/** What the server keeps in `CodeAction.data`, as far as it matters here. */
interface Reference {
  readonly action?: string;
}

interface Target extends vscode.QuickPickItem {
  readonly action: CodeAction;
}

/** The targets that run a loop on several processors or on a device; other actions are in the lightbulb. */
const TARGETS = ['openmp', 'openacc', 'openmp-target', 'cuda', 'numba', 'pycuda', 'cupy'];

export async function offload(client: LanguageClient, uri: vscode.Uri, position: vscode.Position): Promise<void> {
  const action = await pick(client, uri, position, 'Run the loop in parallel');
  if (action) {
    await apply(client, action);
  }
}

/** The text that a target would make, in documents that can only be read; nothing changes. */
export async function showGenerated(client: LanguageClient, uri: vscode.Uri, position: vscode.Position): Promise<void> {
  const action = await pick(client, uri, position, 'Show the generated code');
  const resolved = action && (await worked(client, action));
  const edit = resolved && (await client.protocol2CodeConverter.asWorkspaceEdit(resolved.edit));
  if (edit) {
    await showEdit(edit, action.title);
  }
}

async function pick(client: LanguageClient, uri: vscode.Uri, position: vscode.Position, title: string): Promise<CodeAction | undefined> {
  const actions = await targetsAt(client, uri, position);
  if (!actions.length) {
    void vscode.window.showInformationMessage(
      'There is no loop here that can run in parallel as it is written. Put the cursor on the header of a loop; its hover tells what stands in the way.',
    );
    return undefined;
  }
  const placeHolder = 'Choose how; nothing changes before that';
  const picked = await vscode.window.showQuickPick(actions.map(asItem), { title, placeHolder, matchOnDetail: true });
  return picked?.action;
}

/** What the server lists for the loop at a position: its targets alone. */
async function targetsAt(client: LanguageClient, uri: vscode.Uri, position: vscode.Position): Promise<CodeAction[]> {
  const at = client.code2ProtocolConverter.asPosition(position);
  const listed = await client.sendRequest<CodeAction[] | null>('textDocument/codeAction', {
    textDocument: { uri: client.code2ProtocolConverter.asUri(uri) },
    range: { start: at, end: at },
    context: { diagnostics: [], only: ['refactor.rewrite'], triggerKind: 1 },
  });
  return (listed ?? []).filter((each) => TARGETS.includes((each.data as Reference | undefined)?.action ?? ''));
}

/** An action with its edit; where there is none, the person is told why. */
async function worked(client: LanguageClient, action: CodeAction): Promise<CodeAction | undefined> {
  if (action.disabled) {
    void vscode.window.showInformationMessage(action.disabled.reason);
    return undefined;
  }
  return client.sendRequest<CodeAction>('codeAction/resolve', action);
}

async function apply(client: LanguageClient, action: CodeAction): Promise<void> {
  const resolved = await worked(client, action);
  const edit = resolved && (await client.protocol2CodeConverter.asWorkspaceEdit(resolved.edit));
  if (edit && (await applyEdit(edit)) && resolved.command) {
    await vscode.commands.executeCommand(resolved.command.command, ...(resolved.command.arguments ?? []));
  }
}

/** An action of the lightbulb, worked out: one that changes several files becomes a command that shows them first. */
export function previewed<T extends vscode.CodeAction>(action: T | null | undefined): T | null | undefined {
  if (action?.edit && action.edit.entries().length > 1) {
    const then = action.command;
    action.command = { title: action.title, command: APPLY, arguments: [action.edit, then] };
    action.edit = undefined;
  }
  return action;
}

/** Make an edit of several files after it was seen, and run what belongs to it. */
export async function applyPreviewed(edit: vscode.WorkspaceEdit, then?: vscode.Command): Promise<void> {
  if ((await applyEdit(edit)) && then) {
    await vscode.commands.executeCommand(then.command, ...(then.arguments ?? []));
  }
}

function asItem(action: CodeAction): Target {
  return {
    label: action.disabled ? `$(circle-slash) ${action.title}` : action.title,
    detail: action.disabled?.reason,
    picked: action.isPreferred,
    action,
  };
}
