// The side view: a loop's iterations beside its text. It follows the cursor from loop to loop.

import { randomUUID } from 'node:crypto';
import * as vscode from 'vscode';

import type { Server } from '../server';
import { Highlights } from './highlights';
import type { Show, Space, Wish } from './space';

const LANGUAGES = ['c', 'python'];
const REQUEST = 'polylsp/iterationSpace';

/** Milliseconds without typing or moving before the loop at the cursor is drawn. */
const PAUSE = 200;

interface Place {
  readonly uri: vscode.Uri;
  readonly position: vscode.Position;
}

export class SpaceView implements vscode.Disposable {
  readonly highlights = new Highlights();
  /** What is drawn. */
  space: Space | undefined;
  private panel: vscode.WebviewPanel | undefined;
  private place: Place | undefined;
  private dimensions: readonly [string, string] | undefined;
  private asking: vscode.CancellationTokenSource | undefined;
  private pause: NodeJS.Timeout | undefined;
  private readonly listening: vscode.Disposable;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly server: Server,
  ) {
    this.listening = vscode.Disposable.from(
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => this.follow(textEditor)),
      vscode.workspace.onDidChangeTextDocument(({ document }) => this.changed(document)),
    );
  }

  /** Open the view, or draw another loop in it. */
  async show(place: Place): Promise<void> {
    this.place = place;
    this.dimensions = undefined;
    if (this.panel) {
      this.panel.reveal(undefined, true);
      await this.ask(true);
    } else {
      this.open();
    }
  }

  dispose(): void {
    this.panel?.dispose();
    this.listening.dispose();
    this.highlights.dispose();
    clearTimeout(this.pause);
  }

  /** Draw what the view waits for, once it can draw. */
  private open(): void {
    const media = vscode.Uri.joinPath(this.context.extensionUri, 'media');
    const code = vscode.Uri.joinPath(this.context.extensionUri, 'dist');
    const where = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    const panel = vscode.window.createWebviewPanel('polylsp.iterations', 'Iterations', where, {
      enableScripts: true,
      localResourceRoots: [media, code],
    });
    panel.iconPath = vscode.Uri.joinPath(media, 'icon.png');
    panel.webview.onDidReceiveMessage((wish: Wish) => void this.wished(wish));
    panel.onDidDispose(() => this.closed());
    this.panel = panel;
    panel.webview.html = page(panel.webview, media, code);
  }

  private closed(): void {
    this.panel = undefined;
    this.space = undefined;
    this.asking?.cancel();
    this.highlights.clear();
  }

  private async wished(wish: Wish): Promise<void> {
    if (wish.kind === 'highlight') {
      const client = this.server.running;
      if (client && this.place && this.space) {
        await this.highlights.show(client, this.place.uri, this.space, wish.dependences);
      }
      return;
    }
    this.dimensions = wish.kind === 'dimensions' ? wish.dimensions : this.dimensions;
    await this.ask(true);
  }

  /** Another loop has the cursor. */
  private follow(editor: vscode.TextEditor): void {
    if (this.panel?.visible && LANGUAGES.includes(editor.document.languageId)) {
      this.soon({ uri: editor.document.uri, position: editor.selection.active });
    }
  }

  private changed(document: vscode.TextDocument): void {
    if (this.panel && this.place && document.uri.toString() === this.place.uri.toString()) {
      this.highlights.clear();
      this.soon(this.place);
    }
  }

  private soon(place: Place): void {
    clearTimeout(this.pause);
    this.pause = setTimeout(() => {
      this.place = place;
      void this.ask(false);
    }, PAUSE);
  }

  /** Ask for what is drawn of the place; `wished`: the person is told where there is nothing. */
  private async ask(wished: boolean): Promise<void> {
    this.asking?.cancel();
    const asking = (this.asking = new vscode.CancellationTokenSource());
    const space = await this.answer(asking.token);
    if (asking.token.isCancellationRequested || !this.panel) {
      return;
    }
    if (space) {
      this.draw(space, wished);
    } else if (wished) {
      void vscode.window.showInformationMessage('There is no loop here: put the cursor on the header of one.');
    }
  }

  /** What the server answers; nothing while it does not run, or when the text changes meanwhile. */
  private async answer(token: vscode.CancellationToken): Promise<Space | null> {
    const client = this.server.running;
    if (!client || !this.place) {
      return null;
    }
    const textDocument = { uri: client.code2ProtocolConverter.asUri(this.place.uri) };
    const position = client.code2ProtocolConverter.asPosition(this.place.position);
    const params = { textDocument, position, dimensions: this.dimensions };
    return client.sendRequest<Space | null>(REQUEST, params, token).catch(() => null);
  }

  private draw(space: Space, wished: boolean): void {
    const isSame = this.space?.function === space.function && this.space.ordinal === space.ordinal;
    if (!isSame && this.dimensions && space.reason) {
      this.dimensions = undefined; // they were another loop's
      void this.ask(false);
      return;
    }
    if (JSON.stringify(space) === JSON.stringify(this.space) && !wished) {
      return; // the cursor moved within the loop
    }
    this.space = space;
    this.highlights.clear();
    const message: Show = { kind: 'show', space };
    void this.panel?.webview.postMessage(message);
  }
}

/** The page: nothing from elsewhere, no script but ours, no style but ours. */
function page(webview: vscode.Webview, media: vscode.Uri, code: vscode.Uri): string {
  const once = randomUUID();
  const policy = `default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${once}'`;
  const style = webview.asWebviewUri(vscode.Uri.joinPath(media, 'view.css'));
  const script = webview.asWebviewUri(vscode.Uri.joinPath(code, 'view.js'));
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<link rel="stylesheet" href="${style}">
<title>Iterations</title>
</head>
<body>
<main id="view" aria-busy="true"></main>
<script nonce="${once}" src="${script}"></script>
</body>
</html>`;
}
