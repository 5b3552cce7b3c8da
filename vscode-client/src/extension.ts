// Where it begins: the server is started, and the commands are put in their places.

import * as vscode from 'vscode';

import { commands } from './commands';
import { registerPreviews } from './preview';
import { Server } from './server';
import { matters, SECTION } from './settings';
import { statusItem } from './status';
import { tellTroubles } from './troubles';

/** What the extension gives to others that ask for it. */
export interface Api {
  readonly server: Server;
}

export function activate(context: vscode.ExtensionContext): Api {
  const server = new Server(context);
  context.subscriptions.push(
    server,
    statusItem(server.changed.event, () => server.condition),
    tellTroubles(server),
    registerPreviews(),
    ...commands(context, server),
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
  return { server };
}
