// Measuring and tuning, from a lens or at the cursor: the server runs programs, a notification tells how far it is,
// and its button ends them.

import * as vscode from 'vscode';
import type { LanguageClient, ProgressToken, WorkDoneProgressBegin, WorkDoneProgressEnd, WorkDoneProgressReport } from 'vscode-languageclient/node';

import { ITERATIONS } from './names';
import { sizesOf, sizesPrompt, writtenSizes } from './text';

/** The server's commands. */
export const MEASURE = 'polylsp.measure';
export const TUNE = 'polylsp.tune';

/** What the server calls a loop. */
export interface Loop {
  readonly uri: string;
  readonly function: string;
  readonly ordinal: number;
  /** Those to measure at; without any, the server remembers or infers them. */
  readonly sizes?: Readonly<Record<string, number>>;
  /** Those that the person chose before. */
  readonly given?: Readonly<Record<string, number>>;
}

interface Target {
  readonly target: string;
  readonly speedup: number | null;
  readonly outcome: string | null;
  /** The settings that an edit was made with, where they are not the person's own. */
  readonly parameters?: Readonly<Record<string, unknown>>;
}

/** What `polylsp measure` prints, as far as it matters here. */
interface Answer {
  readonly reason?: string;
  /** Names of sizes that nothing in the file gives: a question for the person. */
  readonly asks?: readonly string[];
  readonly line?: number;
  readonly targets?: readonly Target[];
  /** Of a search: the fastest version, if one is faster than the original. */
  readonly best?: Target | null;
}

/** Whether the server that runs can do it. */
export function knows(client: LanguageClient, command: string): boolean {
  return client.initializeResult?.capabilities.executeCommandProvider?.commands.includes(command) ?? false;
}

/** Run a command of the server on the loop at a position, at sizes that the person is asked for. */
export async function run(
  client: LanguageClient,
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
  const sizes = await askForSizes(loop);
  if (sizes) {
    await carryOut(client, command, { ...loop, sizes }, position);
  }
}

/** Have the server do it, and tell what came of it. Sizes that it can neither infer nor remember are asked for once. */
export async function carryOut(client: LanguageClient, command: string, loop: Loop, position?: vscode.Position): Promise<void> {
  if (!vscode.workspace.isTrusted) {
    await refuse();
    return;
  }
  const answer = await requested(client, command, loop);
  if (!answer?.asks) {
    await tell(loop, answer, position);
    return;
  }
  const sizes = await askForSizes(loop, answer.asks);
  if (sizes) {
    await tell(loop, await requested(client, command, { ...loop, sizes }), position);
  }
}

function requested(client: LanguageClient, command: string, loop: Loop): Promise<Answer | null> {
  const title = `${command === TUNE ? 'Tuning' : 'Measuring'} ${loop.function}`;
  const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
  return Promise.resolve(
    vscode.window.withProgress(options, async (progress, token) => {
      reporting = { progress, percentage: 0 };
      const params = { command, arguments: [{ ...loop, asks: true }] };
      return client.sendRequest<Answer | null>('workspace/executeCommand', params, token).finally(() => (reporting = undefined));
    }),
  );
}

/** The notification that is shown, and how far it says that things are. */
let reporting: { readonly progress: vscode.Progress<{ message?: string; increment?: number }>; percentage: number } | undefined;

type Reported = WorkDoneProgressBegin | WorkDoneProgressReport | WorkDoneProgressEnd;

/** What the server says of its progress goes to our notification, if there is one. */
export function progressed(token: ProgressToken, said: Reported, next: (token: ProgressToken, said: Reported) => void): void {
  if (!reporting || !String(token).startsWith('polylsp-measure')) {
    next(token, said);
  } else if (said.kind !== 'end') {
    const percentage = said.percentage ?? reporting.percentage;
    reporting.progress.report({ message: said.message, increment: percentage - reporting.percentage });
    reporting.percentage = percentage;
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

/** Sizes for a function, which the server remembers; nothing if the person thinks better of it. `unknown`: those that
 * nothing in the file gives. */
async function askForSizes(loop: Loop, unknown: readonly string[] = []): Promise<Record<string, number> | undefined> {
  const text = await vscode.window.showInputBox({
    title: unknown.length ? `${unknown.join(', ')} = ?` : `Sizes for ${loop.function}`,
    prompt: sizesPrompt(loop.function, unknown),
    placeHolder: 'chosen so that a run takes a moment',
    value: writtenSizes(loop.given ?? {}),
    ignoreFocusOut: true,
    validateInput: (written) => {
      const sizes = sizesOf(written, unknown);
      return typeof sizes === 'string' ? sizes : undefined;
    },
  });
  const sizes = text === undefined ? undefined : sizesOf(text, unknown);
  return typeof sizes === 'string' ? undefined : sizes;
}

/** In a few words what came of it; where nothing did, the server has told why. */
async function tell(loop: Loop, answer: Answer | null, position: vscode.Position | undefined): Promise<void> {
  if (!answer || answer.reason) {
    return;
  }
  const found = answer.best === undefined ? figures(answer.targets ?? []) : fastest(answer.best);
  const message = `${loop.function}: ${found}`;
  if ((await vscode.window.showInformationMessage(message, 'Show Times')) && answer.line) {
    await vscode.commands.executeCommand(ITERATIONS, loop.uri, position ?? { line: answer.line - 1, character: 0 });
  }
}

function fastest(best: Target | null): string {
  if (!best) {
    return 'no version is faster than the original';
  }
  const made = Object.keys(best.parameters ?? {}).length ? '; edits of this function are made so from now on' : '';
  return `the fastest version is ${figures([best])}${made}`;
}

/** The best version of each target. */
function figures(targets: readonly Target[]): string {
  const best = new Map<string, Target>();
  for (const each of targets) {
    if (each.speedup !== null && each.speedup > (best.get(each.target)?.speedup ?? 0)) {
      best.set(each.target, each);
    }
  }
  const words = [...best.values()].map((each) => (each.outcome === 'no difference' ? `${each.target}: no difference` : `${each.target} ${each.speedup!.toFixed(1)}×`));
  return words.join(', ') || 'measured; there is nothing to compare it with';
}
