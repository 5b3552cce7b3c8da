// The view with the loops of the workspace, ranked by what running them in parallel would gain.

import * as path from 'node:path';
import * as vscode from 'vscode';
import type { Position } from 'vscode-languageclient/node';

import * as names from './names';
import type { Server } from './server';
import { summary } from './text';

/** The server's command. */
const RANK = 'polylsp.rank';
const VIEW = 'polylsp.ranking';

/** A loop, as `polylsp report` prints it; lines of a notebook are those of a `cell`. A hot one that cannot run in parallel
 * has no `rank`. */
interface RankedLoop {
  readonly rank?: number;
  readonly uri: string;
  readonly range: { readonly start: Position & { readonly cell?: number } };
  readonly function: string;
  readonly iterator: string | null;
  readonly label: string;
  readonly samples: { readonly fraction: number } | null;
  readonly estimate: string;
  readonly condition: string | null;
  readonly obstacle: string | null;
}

interface HotLoop {
  readonly uri: string;
  readonly range: RankedLoop['range'];
  readonly verdict: string;
  readonly samples: { readonly fraction: number };
}

interface Ranking {
  readonly reason?: string;
  readonly loops: readonly RankedLoop[];
  readonly hot: readonly HotLoop[];
  readonly verdicts: Readonly<Record<string, number>>;
  readonly running: number;
  readonly small: number;
}

/** The view, and the command that fills it. */
export class RankingView implements vscode.TreeDataProvider<RankedLoop>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly view: vscode.TreeView<RankedLoop>;
  private loops: readonly RankedLoop[] = [];

  constructor(private readonly server: Server) {
    this.view = vscode.window.createTreeView(VIEW, { treeDataProvider: this });
  }

  dispose(): void {
    this.view.dispose();
    this.changed.dispose();
  }

  /** Rank the loops of the workspace anew, and show them. Files count as they are on disk. */
  async fill(profile?: string): Promise<void> {
    const client = this.server.running;
    if (!client) {
      await vscode.commands.executeCommand(names.MENU);
      return;
    }
    await vscode.commands.executeCommand(`${VIEW}.focus`);
    const found = await vscode.window.withProgress({ location: { viewId: VIEW } }, () =>
      client.sendRequest<Ranking | null>('workspace/executeCommand', { command: RANK, arguments: profile ? [{ profile }] : [] }),
    );
    if (found && !found.reason) {
      this.loops = [...found.loops, ...found.hot.map(unranked)];
      this.view.message = summary(found.loops.length, found.verdicts, found.running, found.small);
      this.changed.fire();
    }
  }

  /** The same by the samples of a profile, a file that the person chooses. */
  async fillByProfile(profile?: string): Promise<void> {
    const title = 'Text of perf script, gprof, or py-spy --format raw';
    const file = profile ?? (await vscode.window.showOpenDialog({ title, openLabel: 'Rank by This Profile' }))?.[0]?.fsPath;
    if (file) {
      await this.fill(file);
    }
  }

  getChildren(loop?: RankedLoop): RankedLoop[] {
    return loop ? [] : [...this.loops];
  }

  getTreeItem(loop: RankedLoop): vscode.TreeItem {
    const uri = vscode.Uri.parse(loop.uri);
    const subject = loop.iterator ? `${loop.iterator} of ${loop.function}` : `a loop of ${loop.function}`;
    const item = new vscode.TreeItem(loop.rank === undefined ? loop.label : `${loop.rank}. ${subject}`);
    const place = `${path.basename(uri.fsPath)}:${loop.range.start.line + 1}`;
    const estimate = loop.estimate.replace(/`/g, '');
    item.description = loop.samples ? `${estimate.replace(' of the samples', '')} · ${place}` : `${place} · ${estimate}`;
    item.iconPath = new vscode.ThemeIcon(loop.obstacle ? 'circle-outline' : 'rocket');
    item.contextValue = loop.obstacle ? 'loop' : 'loop-with-edit';
    item.tooltip = tooltip(loop, vscode.workspace.asRelativePath(uri));
    item.command = opening(loop);
    return item;
  }
}

/** A loop in which samples were taken and which cannot run in parallel: its hover says why. */
function unranked(loop: HotLoop): RankedLoop {
  const estimate = `${(100 * loop.samples.fraction).toFixed(0)}% of the samples`;
  const obstacle = 'It cannot run in parallel as it is: its hover says why.';
  return { uri: loop.uri, range: loop.range, function: '', iterator: null, label: `hot, ${loop.verdict}`, samples: loop.samples, estimate, condition: null, obstacle };
}

function tooltip(loop: RankedLoop, place: string): vscode.MarkdownString {
  const text = new vscode.MarkdownString();
  text.appendText(`${loop.label}, ${loop.estimate.replace(/`/g, '')}\n${place}:${loop.range.start.line + 1}`);
  if (loop.condition) {
    text.appendText(`\n\nright only if ${loop.condition.replace(/`/g, '')}`);
  }
  if (loop.obstacle) {
    text.appendText(`\n\n${loop.obstacle.replace(/`/g, '')}`);
  }
  return text;
}

/** Go to a loop of the view, and ask how it is to run in parallel. */
export async function offloadLoop(loop: RankedLoop): Promise<void> {
  const { command, arguments: given = [] } = opening(loop);
  await vscode.commands.executeCommand(command, ...given);
  if (!isInCell(loop)) {
    await vscode.commands.executeCommand(names.OFFLOAD, loop.uri, loop.range.start);
  }
}

/** A cell has no place of its own before its notebook is open. */
function isInCell(loop: RankedLoop): boolean {
  return loop.range.start.cell !== undefined;
}

function opening(loop: RankedLoop): vscode.Command {
  const { line, character } = loop.range.start;
  const at = new vscode.Position(line, character);
  const options = isInCell(loop) ? [] : [{ selection: new vscode.Range(at, at) }];
  return { command: 'vscode.open', title: 'Go to the Loop', arguments: [vscode.Uri.parse(loop.uri), ...options] };
}
