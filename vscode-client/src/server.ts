// The server's life: found, started, watched, started again.

import * as vscode from 'vscode';
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  RevealOutputChannelOn,
  State,
  Trace,
  TransportKind,
  type LanguageClientOptions,
} from 'vscode-languageclient/node';

import { CLIENT_COMMANDS } from './names';
import { findServer } from './finding';
import { agrees, isFound, type Launch, type Nothing } from './search';
import { withoutRepetition } from './hover';
import { carryOut, knows, MEASURE, progressed, TUNE } from './measure';
import { previewed } from './offload';
import { SECTION, forServer, listsWorkspace, trace } from './settings';

/** What the server says of itself, in `polylsp/status`. */
export interface Health {
  readonly health: 'ok' | 'warning' | 'error';
  readonly quiescent: boolean;
  readonly message: string;
  readonly givenUp?: number;
  /** How many open files are being analysed. */
  readonly analysing?: number;
  /** The compiler and the GPU of the machine; empty where there is none. */
  readonly compiler?: string;
  readonly gpu?: string;
}

/** How things are, for the status item. */
export type Condition =
  | { readonly kind: 'starting' }
  | { readonly kind: 'missing'; readonly nothing: Nothing }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'stopped' }
  | { readonly kind: 'running'; readonly launch: Launch; readonly version: string; readonly health: Health };

/** Told to VS Code, for the command's place in its lists. */
const CAN_TUNE = 'polylsp.canTune';

const IDLE: Health = { health: 'ok', quiescent: true, message: '' };

/** After so many ends within so many milliseconds the server is not started again by itself. */
const MOST_CRASHES = 4;
const WITHIN = 3 * 60_000;

export class Server implements vscode.Disposable {
  readonly log = vscode.window.createOutputChannel('polylsp', { log: true });
  readonly changed = new vscode.EventEmitter<Condition>();
  private client: LanguageClient | undefined;
  private current: Condition = { kind: 'stopped' };
  private ends: number[] = [];
  private turn: Promise<void> = Promise.resolve();

  constructor(private readonly context: vscode.ExtensionContext) {}

  get condition(): Condition {
    return this.current;
  }

  /** The client, while the server runs. */
  get running(): LanguageClient | undefined {
    return this.client?.state === State.Running ? this.client : undefined;
  }

  /** The client, once a server that is being started runs; none where there is no server. */
  async ready(token: vscode.CancellationToken): Promise<LanguageClient | undefined> {
    while (this.current.kind === 'starting' && !token.isCancellationRequested) {
      await new Promise<void>((resolve) => {
        const heard = [this.changed.event(done), token.onCancellationRequested(done)];
        function done(): void {
          heard.forEach((each) => each.dispose());
          resolve();
        }
      });
    }
    return this.running;
  }

  /** Look for the server and start it; one that runs is ended first. Calls wait for each other. */
  restart(): Promise<void> {
    this.turn = this.turn.then(() => this.end()).then(() => this.start());
    return this.turn;
  }

  stop(): Promise<void> {
    this.turn = this.turn.then(() => this.end());
    return this.turn;
  }

  dispose(): void {
    void this.stop();
    this.changed.dispose();
    this.log.dispose();
  }

  /** Show what the server logs as much as the settings say. */
  async applyTrace(): Promise<void> {
    await this.client?.setTrace(Trace.fromString(trace()));
  }

  private async start(): Promise<void> {
    this.become({ kind: 'starting' });
    const outcome = await findServer(this.context);
    if (!isFound(outcome)) {
      this.log.info(outcome.message);
      outcome.tried.forEach((each) => this.log.info(`  ${each}`));
      this.become({ kind: 'missing', nothing: outcome });
      return;
    }
    this.log.info(`The server is ${outcome.origin}.`);
    this.ends = [];
    const client = this.clientOf(outcome);
    this.client = client;
    try {
      await client.start();
      await this.applyTrace();
    } catch (error) {
      this.fail(`polylsp did not start (${outcome.origin}): ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  private async end(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    if (client) {
      await client.dispose(3000).catch(() => undefined);
    }
    this.become({ kind: 'stopped' });
  }

  private clientOf(launch: Launch): LanguageClient {
    const run = {
      command: launch.command,
      args: [...launch.args, 'serve'],
      transport: TransportKind.stdio,
      // Python looks for modules in the folder where it is started: never that of a project.
      options: { cwd: this.context.extensionPath, env: { ...process.env, ...launch.env } },
    };
    const client = new LanguageClient(SECTION, 'polylsp', { run, debug: run }, this.optionsOf(launch));
    client.onDidChangeState(({ newState }) => {
      if (this.client !== client) {
        return;
      }
      if (newState === State.Running) {
        this.welcome(launch, client.initializeResult?.serverInfo?.version ?? launch.version ?? '');
      } else if (newState === State.Starting) {
        this.become({ kind: 'starting' });
      }
    });
    client.onNotification('polylsp/status', (health: Health) => {
      if (this.client === client && this.current.kind === 'running') {
        this.become({ ...this.current, health });
      }
    });
    return client;
  }

  private optionsOf(launch: Launch): LanguageClientOptions {
    const ours = (scheme: string) => ['c', 'python'].map((language) => ({ scheme, language }));
    return {
      documentSelector: [...ours('file'), ...ours('untitled'), { scheme: 'vscode-notebook-cell', language: 'python' }],
      outputChannel: this.log,
      traceOutputChannel: this.log,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions: () => ({
        status: true,
        images: true,
        trusted: vscode.workspace.isTrusted,
        commands: CLIENT_COMMANDS,
        settings: { workspaceDiagnostics: listsWorkspace() },
      }),
      initializationFailedHandler: (error) => {
        this.fail(`polylsp did not start (${launch.origin}): ${error instanceof Error ? error.message : String(error)}`);
        return false;
      },
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => ({ action: this.ended(), handled: true }),
      },
      middleware: {
        provideHover: async (document, position, token, next) =>
          withoutRepetition(await next(document, position, token), document, position),
        executeCommand: (command, given, next) => {
          const client = this.running;
          const isRun = client && (command === MEASURE || command === TUNE);
          return isRun ? carryOut(client, command, given[0]) : next(command, given);
        },
        handleWorkDoneProgress: progressed,
        resolveCodeAction: async (action, token, next) => previewed(await next(action, token)),
        workspace: {
          configuration: async (params, token, next) => {
            const values = await next(params, token);
            return Array.isArray(values) ? values.map(forServer) : values;
          },
        },
      },
    };
  }

  private welcome(launch: Launch, version: string): void {
    const ours: string = this.context.extension.packageJSON.version;
    if (version && !agrees(version, ours)) {
      const message = `The server is polylsp ${version} (${launch.origin}), this extension is ${ours}: install the same version of both, for example with \`pip install polylsp==${ours}\`.`;
      this.become({ kind: 'running', launch, version, health: { ...IDLE, health: 'warning', message } });
      void vscode.window.showWarningMessage(message);
      return;
    }
    this.become({ kind: 'running', launch, version, health: IDLE });
  }

  /** The server is gone though nobody ended it. */
  private ended(): CloseAction {
    const now = Date.now();
    this.ends = [...this.ends.filter((each) => now - each < WITHIN), now];
    if (this.ends.length < MOST_CRASHES) {
      this.log.info('The server ended, and is started again.');
      return CloseAction.Restart;
    }
    this.fail(`polylsp ended ${this.ends.length} times within three minutes. Its log tells why; a report helps to mend it.`);
    return CloseAction.DoNotRestart;
  }

  private fail(message: string): void {
    this.log.info(message);
    this.become({ kind: 'failed', message });
  }

  private become(condition: Condition): void {
    this.current = condition;
    this.changed.fire(condition);
    void vscode.commands.executeCommand('setContext', CAN_TUNE, this.running !== undefined && knows(this.running, TUNE));
  }
}
