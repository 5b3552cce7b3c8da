// The side view: a loop's iterations beside its text. It follows the cursor from loop to loop, and comes back with the
// window.

import * as vscode from 'vscode';
import type { LanguageClient } from 'vscode-languageclient/node';

import type { Server } from '../server';
import { Highlights } from './highlights';
import { fill } from './page';
import { inOneFile, keptOf, placeOf, type Place } from './place';
import type { Show, Space, State, Wish } from './space';

/** As in `package.json`. */
const TYPE = 'polylsp.iterations';

const LANGUAGES = ['c', 'python'];
const REQUEST = 'polylsp/iterationSpace';

/** Milliseconds without typing or moving before the loop at the cursor is drawn. */
const PAUSE = 200;

const NO_LOOP = 'There is no loop here: put the cursor on the header of one.';
const NO_SERVER = 'The loop is drawn once the server runs.';

export class SpaceView implements vscode.Disposable {
  readonly highlights = new Highlights();
  /** What is drawn. */
  space: Space | undefined;
  private panel: vscode.WebviewPanel | undefined;
  private place: Place | undefined;
  private dimensions: readonly [string, string] | undefined;
  private asking: vscode.CancellationTokenSource | undefined;
  /** Whom was asked last. */
  private asked: LanguageClient | undefined;
  private pause: NodeJS.Timeout | undefined;
  private readonly listening: vscode.Disposable;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly server: Server,
  ) {
    this.listening = vscode.Disposable.from(
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => this.follow(textEditor)),
      vscode.workspace.onDidChangeTextDocument(({ document }) => this.changed(document)),
      server.changed.event(() => this.served()),
      vscode.window.registerWebviewPanelSerializer(TYPE, {
        deserializeWebviewPanel: (panel, state: State | undefined) => this.restore(panel, state),
      }),
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

  /** The panel stays: it is filled again when the window comes back. */
  dispose(): void {
    this.listening.dispose();
    this.highlights.dispose();
    clearTimeout(this.pause);
  }

  private open(): void {
    const where = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    this.take(vscode.window.createWebviewPanel(TYPE, 'Iterations', where));
  }

  /** The window was loaded anew: the panel is there, and its page is not. */
  private async restore(panel: vscode.WebviewPanel, state: State | undefined): Promise<void> {
    const place = await placeOf(state?.kept);
    if (this.panel) {
      panel.dispose(); // another one was opened meanwhile
      return;
    }
    this.place = place;
    this.dimensions = state?.kept.dimensions;
    this.take(panel);
  }

  /** What the view waits for is drawn once its page can draw. */
  private take(panel: vscode.WebviewPanel): void {
    panel.webview.onDidReceiveMessage((wish: Wish) => void this.wished(wish));
    panel.onDidDispose(() => this.closed());
    this.panel = panel;
    fill(panel, this.context.extensionUri);
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
    if (wish.kind === 'dimensions') {
      this.dimensions = wish.dimensions;
    } else {
      this.space = undefined; // the page is empty, also where it was hidden
    }
    await this.ask(true);
  }

  /** Another loop has the cursor. */
  private follow(editor: vscode.TextEditor): void {
    if (this.panel?.visible && LANGUAGES.includes(editor.document.languageId)) {
      this.soon({ uri: editor.document.uri, position: editor.selection.active });
    }
  }

  private changed(document: vscode.TextDocument): void {
    if (this.panel && this.place && inOneFile(document.uri, this.place.uri)) {
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
    } else if (!this.space) {
      this.post({ kind: 'nothing', reason: this.server.running ? NO_LOOP : NO_SERVER });
    } else if (wished) {
      void vscode.window.showInformationMessage(NO_LOOP);
    }
  }

  /** Another server runs than the one that was asked, or it may know by now what it did not know then. */
  private served(): void {
    const client = this.server.running;
    if (this.panel && client && (client !== this.asked || !this.space)) {
      void this.ask(false);
    }
  }

  /** What the server answers; nothing while it does not run, or when the text changes meanwhile. */
  private async answer(token: vscode.CancellationToken): Promise<Space | null> {
    const client = (this.asked = this.server.running);
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
    if (this.place) {
      this.post({ kind: 'show', space, kept: keptOf(this.place, this.dimensions, space), asked: wished });
    }
  }

  private post(message: Show): void {
    void this.panel?.webview.postMessage(message);
  }
}
