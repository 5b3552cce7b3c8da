// The commands, each a few lines: what they do stands in the files that they name.

import { readFile } from 'node:fs/promises';
import * as vscode from 'vscode';
import type { LanguageClient, Position } from 'vscode-languageclient/node';

import { install } from './install';
import * as names from './names';
import { MEASURE, run, TUNE } from './measure';
import { applyPreviewed, offload, showGenerated } from './offload';
import { offloadLoop, type RankingView } from './ranking';
import { report } from './report';
import type { Server } from './server';
import type { SpaceView } from './view/panel';
import type { Place } from './view/place';

export function commands(context: vscode.ExtensionContext, server: Server, view: SpaceView, ranking: RankingView): vscode.Disposable[] {
  const table: Record<string, (...given: never[]) => unknown> = {
    [names.RESTART]: () => server.restart(),
    [names.SHOW_LOG]: () => server.log.show(),
    [names.OFFLOAD]: (uri?: string, position?: Position) => offloadHere(server, uri, position),
    [names.WHY]: (uri?: string, position?: Position) => why(uri, position),
    [names.GENERATED]: (uri?: string, position?: Position) => generatedHere(server, uri, position),
    [names.MEASURE_HERE]: (uri?: string, position?: Position) => runHere(server, MEASURE, uri, position),
    [names.TUNE_HERE]: (uri?: string, position?: Position) => runHere(server, TUNE, uri, position),
    [names.ITERATIONS]: (uri?: string, position?: Position) => iterations(view, uri, position),
    [names.REPORT]: () => showReport(context, server),
    [names.WORKSPACE_REPORT]: () => ranking.fill(),
    [names.PROFILE_REPORT]: (profile?: string) => ranking.fillByProfile(profile),
    [names.OFFLOAD_RANKED]: offloadLoop,
    [names.INSTALL]: () => installAfterAsking(context, server),
    [names.CHOOSE_INTERPRETER]: () => chooseInterpreter(),
    [names.EXAMPLE]: () => example(context),
    [names.MENU]: () => menu(server),
    [names.WALKTHROUGH]: () => walkthrough(context),
    [names.APPLY]: applyPreviewed,
  };
  return Object.entries(table).map(([name, run]) => vscode.commands.registerCommand(name, run));
}

/** The place that a lens names, else where the cursor is. */
function placeOf(uri: string | undefined, position: Position | undefined): Place | undefined {
  if (uri !== undefined && position !== undefined) {
    return { uri: vscode.Uri.parse(uri), position: new vscode.Position(position.line, position.character) };
  }
  const editor = vscode.window.activeTextEditor;
  return editor && { uri: editor.document.uri, position: editor.selection.active };
}

/** Do something with the server at a place; where one of them is missing, say what to do. */
async function at(
  server: Server,
  work: (client: LanguageClient, place: Place) => Promise<void>,
  uri?: string,
  position?: Position,
): Promise<void> {
  const place = placeOf(uri, position);
  const client = server.running;
  if (!client) {
    await vscode.commands.executeCommand(names.MENU);
  } else if (place) {
    await work(client, place);
  } else {
    void vscode.window.showInformationMessage('Open a file in C or Python and put the cursor on the header of a loop.');
  }
}

function offloadHere(server: Server, uri?: string, position?: Position): Promise<void> {
  return at(server, (client, place) => offload(client, place.uri, place.position), uri, position);
}

function generatedHere(server: Server, uri?: string, position?: Position): Promise<void> {
  return at(server, (client, place) => showGenerated(client, place.uri, place.position), uri, position);
}

function runHere(server: Server, command: string, uri?: string, position?: Position): Promise<void> {
  const work = (client: LanguageClient, place: Place) => run(client, command, place.uri, place.position);
  return at(server, work, uri, position);
}

/** The hover of a loop, with the cursor on its header: reached by keyboard too. */
async function why(uri?: string, position?: Position): Promise<void> {
  const place = placeOf(uri, position);
  if (place) {
    const editor = await vscode.window.showTextDocument(place.uri);
    editor.selection = new vscode.Selection(place.position, place.position);
    await vscode.commands.executeCommand('editor.action.showHover', { focus: 'autoFocusImmediately' });
  }
}

async function iterations(view: SpaceView, uri?: string, position?: Position): Promise<void> {
  const place = placeOf(uri, position);
  if (place) {
    await view.show(place);
  }
}

async function showReport(context: vscode.ExtensionContext, server: Server): Promise<void> {
  const text = await report(context, server.condition);
  const document = await vscode.workspace.openTextDocument({ content: text, language: 'plaintext' });
  await vscode.window.showTextDocument(document);
  if (await vscode.window.showInformationMessage('This is what a bug report needs. It tells of this machine; read it before you send it.', 'Copy')) {
    await vscode.env.clipboard.writeText(text);
  }
}

async function installAfterAsking(context: vscode.ExtensionContext, server: Server): Promise<void> {
  const { condition } = server;
  const python = condition.kind === 'missing' ? condition.nothing.python : undefined;
  if (!python) {
    void vscode.window.showInformationMessage('Nothing is missing that polylsp could install.');
    return;
  }
  const detail = `An environment is made with ${python} in the extension's own folder, and pip loads the packages from your package index. Nothing else on this machine changes.`;
  const answer = await vscode.window.showInformationMessage('Install the packages that polylsp needs?', { modal: true, detail }, 'Install');
  if (answer === 'Install' && (await install(context, python, server.log))) {
    await server.restart();
  }
}

async function chooseInterpreter(): Promise<void> {
  const chosen = await vscode.window.showOpenDialog({ title: 'The Python that runs polylsp', openLabel: 'Use This Python', canSelectMany: false });
  if (chosen?.[0]) {
    await vscode.workspace.getConfiguration('polylsp').update('interpreter', chosen[0].fsPath, vscode.ConfigurationTarget.Global);
  }
}

/** A new file with a few loops, to try things on. */
async function example(context: vscode.ExtensionContext): Promise<void> {
  const content = await readFile(context.asAbsolutePath('media/example.c'), 'utf8');
  await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ content, language: 'c' }));
}

async function menu(server: Server): Promise<void> {
  const items = [
    { label: '$(debug-restart) Restart the server', command: names.RESTART },
    { label: '$(output) Show the log', command: names.SHOW_LOG },
    { label: '$(report) Report for a bug', command: names.REPORT },
    { label: '$(list-ordered) Report of the workspace', command: names.WORKSPACE_REPORT },
    { label: '$(graph) Show iterations beside', command: names.ITERATIONS },
    { label: '$(book) First steps', command: names.WALKTHROUGH },
    { label: '$(gear) Settings', command: 'workbench.action.openSettings', argument: 'polylsp' },
  ];
  if (server.condition.kind === 'missing' && server.condition.nothing.python) {
    items.unshift({ label: '$(cloud-download) Install what polylsp needs…', command: names.INSTALL });
  }
  const picked = await vscode.window.showQuickPick(items, { title: 'polylsp' });
  if (picked) {
    await vscode.commands.executeCommand(picked.command, ...(picked.argument ? [picked.argument] : []));
  }
}

async function walkthrough(context: vscode.ExtensionContext): Promise<void> {
  await vscode.commands.executeCommand('workbench.action.openWalkthrough', `${context.extension.id}#polylsp`);
}
