// Places in files and in the cells of notebooks, also such as outlive the window.

import * as vscode from 'vscode';

import type { Kept, Space } from './space';

export interface Place {
  readonly uri: vscode.Uri;
  readonly position: vscode.Position;
}

/** Whether two texts are one file, or cells of one notebook. */
export function inOneFile(one: vscode.Uri, other: vscode.Uri): boolean {
  return one.with({ fragment: '' }).toString() === other.with({ fragment: '' }).toString();
}

/** The cell of an open notebook whose text has that name. */
export function cellOf(uri: vscode.Uri): vscode.NotebookCell | undefined {
  const cells = vscode.workspace.notebookDocuments.flatMap((each) => each.getCells());
  return cells.find((each) => each.document.uri.toString() === uri.toString());
}

/** A place, and the loops that are drawn of it if these were chosen, to be kept. */
export function keptOf({ uri, position }: Place, dimensions: readonly [string, string] | undefined, space: Space): Kept {
  const { line, character } = position;
  const loop = `${space.function} ${space.ordinal}`;
  const cell = cellOf(uri);
  // Cells have other names in each window.
  const named = cell ? { uri: cell.notebook.uri.toString(), cell: cell.index } : { uri: uri.toString() };
  return { ...named, line, character, dimensions, loop };
}

/** The place that was kept, whose text is opened; nothing where that is no more. */
export async function placeOf(kept: Kept | undefined): Promise<Place | undefined> {
  if (!kept) {
    return undefined;
  }
  try {
    const document = await open(vscode.Uri.parse(kept.uri), kept.cell);
    return { uri: document.uri, position: document.validatePosition(new vscode.Position(kept.line, kept.character)) };
  } catch {
    return undefined;
  }
}

async function open(uri: vscode.Uri, cell: number | undefined): Promise<vscode.TextDocument> {
  if (cell === undefined) {
    return vscode.workspace.openTextDocument(uri);
  }
  const notebook = await vscode.workspace.openNotebookDocument(uri);
  return notebook.cellAt(cell).document;
}
