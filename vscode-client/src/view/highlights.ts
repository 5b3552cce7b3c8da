// The two accesses of a dependence, shown in the text.

import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';

import { cellOf } from './place';
import type { Access, Space } from './space';

/** What is marked: the accesses that come first, and those after them. */
interface Marked {
  readonly uri: vscode.Uri | undefined;
  readonly first: readonly vscode.Range[];
  readonly then: readonly vscode.Range[];
}

const NOTHING: Marked = { uri: undefined, first: [], then: [] };

/** Milliseconds until a cell that was scrolled to has an editor. */
const PATIENCE = 5000;

/** Marks in editors: what comes first has a solid border, what comes after a dashed one, in any theme. */
export class Highlights implements vscode.Disposable {
  private readonly first = mark('editor.wordHighlightStrongBackground', 'solid');
  private readonly then = mark('editor.wordHighlightBackground', 'dashed');
  /** Editors come and go: those of other tabs, and those of cells that are scrolled away. */
  private readonly coming = vscode.window.onDidChangeVisibleTextEditors(() => this.paint());
  private marked = NOTHING;

  /** Mark the accesses of some dependences of a space, and scroll there. */
  async show(client: LanguageClient, uri: vscode.Uri, space: Space, numbers: readonly number[]): Promise<void> {
    const chosen = numbers.map((each) => space.dependences[each]).filter((each) => each !== undefined);
    const ranges = (accesses: readonly Access[]) => accesses.map((each) => client.protocol2CodeConverter.asRange(each.range));
    const editor = chosen.length ? await editorOf(uri) : undefined;
    this.clear();
    if (!editor || editor.document.version !== space.version) {
      return;
    }
    this.marked = { uri, first: ranges(chosen.map((each) => each.source)), then: ranges(chosen.map((each) => each.sink)) };
    this.paint();
    const [nearest] = this.marked.first;
    if (nearest) {
      editor.revealRange(nearest, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
    }
  }

  clear(): void {
    this.marked = NOTHING;
    this.paint();
  }

  dispose(): void {
    this.coming.dispose();
    this.first.dispose();
    this.then.dispose();
  }

  private paint(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const { first, then } = this.marked.uri && isOf(editor, this.marked.uri) ? this.marked : NOTHING;
      editor.setDecorations(this.first, first);
      editor.setDecorations(this.then, then);
    }
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

function visibleOf(uri: vscode.Uri): vscode.TextEditor | undefined {
  return vscode.window.visibleTextEditors.find((each) => isOf(each, uri));
}

/** The editor of a file or a cell; one is opened if there is none, and the keyboard stays where it is. */
async function editorOf(uri: vscode.Uri): Promise<vscode.TextEditor | undefined> {
  const where = { viewColumn: vscode.ViewColumn.One, preserveFocus: true };
  const cell = cellOf(uri);
  if (!cell) {
    return visibleOf(uri) ?? vscode.window.showTextDocument(uri, where);
  }
  const open = vscode.window.visibleNotebookEditors.find((each) => each.notebook === cell.notebook);
  const notebook = open ?? (await vscode.window.showNotebookDocument(cell.notebook, where));
  notebook.revealRange(new vscode.NotebookRange(cell.index, cell.index + 1), vscode.NotebookEditorRevealType.InCenterIfOutsideViewport);
  return visibleOf(uri) ?? appearing(uri);
}

/** The editor of a cell, once it is there; a cell that is not seen has none. */
function appearing(uri: vscode.Uri): Promise<vscode.TextEditor | undefined> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(late);
      listening.dispose();
      resolve(visibleOf(uri));
    };
    const late = setTimeout(end, PATIENCE);
    const listening = vscode.window.onDidChangeVisibleTextEditors(() => visibleOf(uri) && end());
  });
}
