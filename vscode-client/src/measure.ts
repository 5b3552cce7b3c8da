// "Measure here" and "Tune here": the server runs things, with a progress bar of its own that can be cancelled.

import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';

import { ITERATIONS } from './names';
import { sizesOf } from './text';

/** The server's commands. */
export const MEASURE = 'polylsp.measure';
export const TUNE = 'polylsp.tune';

/** What the server calls a loop. */
interface Loop {
  readonly uri: string;
  readonly function: string;
  readonly ordinal: number;
}

interface Target {
  readonly target: string;
  readonly speedup: number | null;
  readonly outcome: string | null;
}

/** What `polylsp measure` prints, as far as it matters here. */
interface Answer {
  readonly reason?: string;
  readonly targets?: readonly Target[];
}

/** Whether the server that runs can do it. */
export function knows(client: LanguageClient, command: string): boolean {
  return client.initializeResult?.capabilities.executeCommandProvider?.commands.includes(command) ?? false;
}

/** Run a command of the server on the loop at a position, at sizes that the person is asked for. */
export async function run(
  client: LanguageClient,
  memory: vscode.Memento,
  command: string,
  uri: vscode.Uri,
  position: vscode.Position,
): Promise<void> {
  if (!vscode.workspace.isTrusted) {
    await refuse();
    return;
  }
  const loop = await loopAt(client, uri, position);
  if (!loop) {
    void vscode.window.showInformationMessage('There is no loop here: put the cursor on one.');
    return;
  }
  const sizes = await askForSizes(memory, loop);
  if (sizes) {
    const answer = await client.sendRequest<Answer | null>('workspace/executeCommand', { command, arguments: [{ ...loop, sizes }] });
    await tell(loop, answer, uri, position);
  }
}

async function refuse(): Promise<void> {
  const message = 'Nothing is built or run in a workspace that you do not trust.';
  if (await vscode.window.showWarningMessage(message, 'Manage Workspace Trust')) {
    await vscode.commands.executeCommand('workbench.trust.manage');
  }
}

function loopAt(client: LanguageClient, uri: vscode.Uri, position: vscode.Position): Promise<Loop | null> {
  return client.sendRequest<Loop | null>('polylsp/loopAt', {
    textDocument: { uri: client.code2ProtocolConverter.asUri(uri) },
    position: client.code2ProtocolConverter.asPosition(position),
  });
}

/** Sizes for a function, those of the last time first; nothing if the person thinks better of it. */
async function askForSizes(memory: vscode.Memento, loop: Loop): Promise<Record<string, number> | undefined> {
  const name = `sizes of ${loop.function}`;
  const text = await vscode.window.showInputBox({
    title: `Sizes for ${loop.function}`,
    prompt: 'As in `n=2000 m=500`. Leave it empty to have them chosen.',
    placeHolder: 'chosen so that a run takes a moment',
    value: memory.get<string>(name, ''),
    validateInput: (written) => {
      const sizes = sizesOf(written);
      return typeof sizes === 'string' ? sizes : undefined;
    },
  });
  const sizes = text === undefined ? undefined : sizesOf(text);
  if (text === undefined || sizes === undefined || typeof sizes === 'string') {
    return undefined;
  }
  await memory.update(name, text);
  return sizes;
}

/** In a few words what came of it; where nothing did, the server has told why. */
async function tell(loop: Loop, answer: Answer | null, uri: vscode.Uri, position: vscode.Position): Promise<void> {
  if (!answer || answer.reason) {
    return;
  }
  const message = `${loop.function}: ${figures(answer.targets ?? [])}`;
  if (await vscode.window.showInformationMessage(message, 'Show Times')) {
    await vscode.commands.executeCommand(ITERATIONS, uri.toString(), position);
  }
}

function figures(targets: readonly Target[]): string {
  const known = targets.filter((each) => each.speedup !== null);
  const words = known.map((each) => (each.outcome === 'no difference' ? `${each.target}: no difference` : `${each.target} ${each.speedup!.toFixed(1)}×`));
  return words.join(', ') || 'measured; there is nothing to compare it with';
}
