// Where it begins: the server is started, and the commands are put in their places.

import * as vscode from 'vscode';

import { registerTools } from './assistant';
import { commands } from './commands';
import { registerPreviews } from './preview';
import { RankingView } from './ranking';
import { Server } from './server';
import { matters, SECTION } from './settings';
import { statusItem } from './status';
import { tellTroubles } from './troubles';
import { SpaceView } from './view/panel';

/** What the extension gives to others that ask for it. */
export interface Api {
  readonly server: Server;
  readonly view: SpaceView;
}

export function activate(context: vscode.ExtensionContext): Api {
  const server = new Server(context);
  const view = new SpaceView(context, server);
  const ranking = new RankingView(server);
  context.subscriptions.push(
    server,
    view,
    ranking,
    statusItem(server.changed.event, () => server.condition),
    tellTroubles(server),
    registerPreviews(),
    ...commands(context, server, view, ranking),
    ...registerTools(context, server),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void server.restart()),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (matters(change)) {
        void server.restart();
      } else if (change.affectsConfiguration(`${SECTION}.trace`)) {
        void server.applyTrace();
      }
    }),
  );
  void server.restart();
  return { server, view };
}
