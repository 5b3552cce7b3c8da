// The two accesses of a dependence, shown in the text.

import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';

import type { Access, Space } from './space';

/** Marks in editors: what comes first has a solid border, what comes after a dashed one, in any theme. */
export class Highlights implements vscode.Disposable {
  private readonly first = mark('editor.wordHighlightStrongBackground', 'solid');
  private readonly then = mark('editor.wordHighlightBackground', 'dashed');
  private marked: { readonly first: vscode.Range[]; readonly then: vscode.Range[] } = { first: [], then: [] };

  /** What is marked now: the accesses that come first, and those after them. */
  get shown(): { readonly first: readonly vscode.Range[]; readonly then: readonly vscode.Range[] } {
    return this.marked;
  }

  /** Mark the accesses of some dependences of a space, and scroll there. */
  async show(client: LanguageClient, uri: vscode.Uri, space: Space, numbers: readonly number[]): Promise<void> {
    const chosen = numbers.map((each) => space.dependences[each]).filter((each) => each !== undefined);
    const ranges = (accesses: readonly Access[]) => accesses.map((each) => client.protocol2CodeConverter.asRange(each.range));
    const marked = { first: ranges(chosen.map((each) => each.source)), then: ranges(chosen.map((each) => each.sink)) };
    const editor = chosen.length ? await editorOf(uri) : vscode.window.visibleTextEditors.find((each) => isOf(each, uri));
    this.clear();
    if (!editor || editor.document.version !== space.version) {
      return;
    }
    this.marked = marked;
    editor.setDecorations(this.first, marked.first);
    editor.setDecorations(this.then, marked.then);
    const [nearest] = marked.first;
    if (nearest) {
      editor.revealRange(nearest, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
    }
  }

  clear(): void {
    this.marked = { first: [], then: [] };
    for (const editor of vscode.window.visibleTextEditors) {
      editor.setDecorations(this.first, []);
      editor.setDecorations(this.then, []);
    }
  }

  dispose(): void {
    this.first.dispose();
    this.then.dispose();
  }
}

function mark(background: string, borderStyle: 'solid' | 'dashed'): vscode.TextEditorDecorationType {
  return vscode.window.createTextEditorDecorationType({
    backgroundColor: new vscode.ThemeColor(background),
    border: `1px ${borderStyle}`,
    borderColor: new vscode.ThemeColor('focusBorder'),
    overviewRulerColor: new vscode.ThemeColor('focusBorder'),
    overviewRulerLane: vscode.OverviewRulerLane.Center,
  });
}

function isOf(editor: vscode.TextEditor, uri: vscode.Uri): boolean {
  return editor.document.uri.toString() === uri.toString();
}

/** The editor of a file; one is opened if there is none, and the keyboard stays where it is. */
async function editorOf(uri: vscode.Uri): Promise<vscode.TextEditor> {
  const open = vscode.window.visibleTextEditors.find((each) => isOf(each, uri));
  return open ?? vscode.window.showTextDocument(uri, { viewColumn: vscode.ViewColumn.One, preserveFocus: true });
}
