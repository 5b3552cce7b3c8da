// Edits of more than one file are shown in a diff before they are made.

import * as vscode from 'vscode';

const SCHEME = 'polylsp-preview';

/** The texts after an edit, as documents that can only be read. */
class Previews implements vscode.TextDocumentContentProvider {
  private readonly texts = new Map<string, string>();
  private number = 0;

  /** Forget the text of a document that is closed. */
  forget(uri: vscode.Uri): void {
    if (uri.scheme === SCHEME) {
      this.texts.delete(uri.query);
    }
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.query) ?? '';
  }

  add(uri: vscode.Uri, text: string): vscode.Uri {
    const query = String(++this.number);
    this.texts.set(query, text);
    return uri.with({ scheme: SCHEME, query, fragment: '' });
  }
}

const previews = new Previews();

export function registerPreviews(): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, previews),
    vscode.workspace.onDidCloseTextDocument(({ uri }) => previews.forget(uri)),
  );
}

/** Make an edit; if it is of several files, show it first, and make it if that is what the person wants. Answers
 * whether it was made. */
export async function applyEdit(edit: vscode.WorkspaceEdit): Promise<boolean> {
  const changes = await Promise.all(edit.entries().map(changeOf));
  if (changes.length < 2) {
    return vscode.workspace.applyEdit(edit);
  }
  return (await isWanted(changes)) && isStillRight(changes) && (await make(edit, changes));
}

/** Show what an edit would make: a new file as it is, a changed one beside what it is now. */
export async function showEdit(edit: vscode.WorkspaceEdit, title: string): Promise<void> {
  for (const { uri, document, after } of await Promise.all(edit.entries().map(changeOf))) {
    const shown = previews.add(uri, after);
    if (document) {
      await vscode.commands.executeCommand('vscode.diff', document.uri, shown, title, { preview: false });
    } else {
      await vscode.window.showTextDocument(shown, { preview: false, viewColumn: vscode.ViewColumn.Beside });
    }
  }
}

interface Change {
  readonly uri: vscode.Uri;
  /** What is changed; a file that is not there yet has none. */
  readonly document?: vscode.TextDocument;
  readonly version?: number;
  readonly after: string;
}

async function changeOf([uri, edits]: [vscode.Uri, vscode.TextEdit[]]): Promise<Change> {
  const document = await opened(uri);
  return { uri, document, version: document?.version, after: edited(document, edits) };
}

async function opened(uri: vscode.Uri): Promise<vscode.TextDocument | undefined> {
  try {
    return await vscode.workspace.openTextDocument(uri);
  } catch {
    return undefined;
  }
}

function edited(document: vscode.TextDocument | undefined, edits: readonly vscode.TextEdit[]): string {
  if (!document) {
    return edits.map((each) => each.newText).join('');
  }
  let text = document.getText();
  for (const each of [...edits].sort((a, b) => b.range.start.compareTo(a.range.start))) {
    text = text.slice(0, document.offsetAt(each.range.start)) + each.newText + text.slice(document.offsetAt(each.range.end));
  }
  return text;
}

async function isWanted(changes: readonly Change[]): Promise<boolean> {
  const names = changes.map((each) => vscode.workspace.asRelativePath(each.uri));
  const resources = changes.map((each) => [each.uri, each.document?.uri, previews.add(each.uri, each.after)]);
  await vscode.commands.executeCommand('vscode.changes', 'polylsp: what would change', resources);
  const tab = vscode.window.tabGroups.activeTabGroup.activeTab;
  const question = `Make these changes? They are of ${names.join(' and ')}.`;
  const answer = await vscode.window.showInformationMessage(question, 'Apply', 'Discard');
  if (tab) {
    await vscode.window.tabGroups.close(tab).then(undefined, () => undefined); // it may be closed already
  }
  return answer === 'Apply';
}

function isStillRight(changes: readonly Change[]): boolean {
  const changed = changes.some((each) => each.document?.version !== each.version);
  if (changed) {
    void vscode.window.showInformationMessage('The text changed meanwhile, so nothing was done: choose it again.');
  }
  return !changed;
}

/** New files are saved; what was open is left for its owner to save. */
async function make(edit: vscode.WorkspaceEdit, changes: readonly Change[]): Promise<boolean> {
  if (!(await vscode.workspace.applyEdit(edit))) {
    return false;
  }
  for (const { uri } of changes.filter((each) => !each.document)) {
    await (await vscode.workspace.openTextDocument(uri)).save();
  }
  return true;
}
