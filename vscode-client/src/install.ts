// The packages that polylsp needs, in an environment of the extension's own; only when asked to.

import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import * as vscode from 'vscode';

import { ownEnvironment, requirementsIn } from './finding';
import { pythonIn } from './workspace';

/** Make the environment anew with a Python; answers whether that worked. What the tools print goes to the log. */
export async function install(context: vscode.ExtensionContext, python: string, log: vscode.OutputChannel): Promise<boolean> {
  const folder = ownEnvironment(context);
  const options = { location: vscode.ProgressLocation.Notification, title: 'polylsp', cancellable: true };
  return vscode.window.withProgress(options, async (progress, token) => {
    try {
      progress.report({ message: 'makes an environment' });
      await rm(folder, { recursive: true, force: true });
      await run(python, ['-m', 'venv', folder], context, log, token);
      progress.report({ message: 'installs packages' });
      const pip = ['-m', 'pip', 'install', '--disable-pip-version-check', '-r', requirementsIn(context)];
      await run(pythonIn(folder), pip, context, log, token);
      return true;
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      if (!token.isCancellationRequested) {
        void tellWhy(error instanceof Error ? error.message : String(error), log);
      }
      return false;
    }
  });
}

async function tellWhy(message: string, log: vscode.OutputChannel): Promise<void> {
  const advice = message.includes('ensurepip')
    ? 'This Python cannot make environments: on Debian or Ubuntu, install the package python3-venv.'
    : `The packages could not be installed: ${message}`;
  if (await vscode.window.showErrorMessage(advice, 'Show Log')) {
    log.show();
  }
}

function run(
  command: string,
  args: readonly string[],
  context: vscode.ExtensionContext,
  log: vscode.OutputChannel,
  token: vscode.CancellationToken,
): Promise<void> {
  return new Promise((resolve, reject) => {
    log.appendLine(`$ ${command} ${args.join(' ')}`);
    const child = execFile(command, args, { cwd: context.extensionPath, maxBuffer: 2 ** 24 }, (error, stdout, stderr) => {
      cancelled.dispose();
      if (error) {
        const said = `${stdout}\n${stderr}`;
        reject(new Error(said.includes('ensurepip') ? said : (stderr.trim().split('\n').pop() ?? error.message)));
      } else {
        resolve();
      }
    });
    child.stdout?.on('data', (data) => log.append(String(data)));
    child.stderr?.on('data', (data) => log.append(String(data)));
    const cancelled = token.onCancellationRequested(() => child.kill());
  });
}
