// What is said where something is wrong: once, with what can be done about it.

import * as vscode from 'vscode';

import { CHOOSE_INTERPRETER, INSTALL, REPORT, RESTART, SHOW_LOG } from './names';
import type { Condition, Server } from './server';

type Choice = readonly [label: string, command: string];

/** Tell of each trouble when it comes, and not again while it lasts. */
export function tellTroubles(server: Server): vscode.Disposable {
  let said = '';
  return server.changed.event((condition) => {
    const message = trouble(condition);
    if (condition.kind !== 'starting' && condition.kind !== 'stopped' && message !== said) {
      said = message;
      if (message) {
        void tell(message, choices(condition));
      }
    }
  });
}

function trouble(condition: Condition): string {
  switch (condition.kind) {
    case 'missing':
      return condition.nothing.message;
    case 'failed':
      return condition.message;
    default:
      return '';
  }
}

function choices(condition: Condition): Choice[] {
  if (condition.kind === 'missing') {
    const install: Choice[] = condition.nothing.python ? [['Install Them…', INSTALL]] : [];
    return [...install, ['Choose a Python…', CHOOSE_INTERPRETER], ['Show Log', SHOW_LOG]];
  }
  return [
    ['Restart', RESTART],
    ['Show Log', SHOW_LOG],
    ['Report', REPORT],
  ];
}

async function tell(message: string, offered: readonly Choice[]): Promise<void> {
  const chosen = await vscode.window.showWarningMessage(message, ...offered.map(([label]) => label));
  const command = offered.find(([label]) => label === chosen)?.[1];
  if (command) {
    await vscode.commands.executeCommand(command);
  }
}
