// The status item: one word while all is well, what to do where it is not.

import * as vscode from 'vscode';

import { MENU } from './names';
import type { Condition, Health } from './server';

const LANGUAGES = ['c', 'python'];

/** Shown while a file is open that polylsp reads, and wherever something is wrong. */
export function statusItem(changed: vscode.Event<Condition>, now: () => Condition): vscode.Disposable {
  const item = vscode.window.createStatusBarItem('polylsp', vscode.StatusBarAlignment.Right, 90);
  item.name = 'polylsp';
  item.command = MENU;
  const show = () => {
    const { text, tooltip, severity } = shown(now());
    item.text = text;
    item.tooltip = tooltip;
    item.accessibilityInformation = { label: `polylsp: ${tooltip}`, role: 'button' };
    item.backgroundColor = severity ? new vscode.ThemeColor(`statusBarItem.${severity}Background`) : undefined;
    if (severity || vscode.window.visibleTextEditors.some(isOurs)) {
      item.show();
    } else {
      item.hide();
    }
  };
  show();
  return vscode.Disposable.from(item, changed(show), vscode.window.onDidChangeVisibleTextEditors(show));
}

interface Shown {
  readonly text: string;
  readonly tooltip: string;
  readonly severity?: 'warning' | 'error';
}

/** What the item says of a condition. */
export function shown(condition: Condition): Shown {
  switch (condition.kind) {
    case 'starting':
      return { text: '$(sync~spin) polylsp', tooltip: 'polylsp is starting' };
    case 'stopped':
      return { text: '$(circle-slash) polylsp', tooltip: 'polylsp is not running' };
    case 'missing':
      return { text: '$(warning) polylsp', tooltip: condition.nothing.message, severity: 'warning' };
    case 'failed':
      return { text: '$(error) polylsp', tooltip: condition.message, severity: 'error' };
    case 'running':
      return ofRunning(condition);
  }
}

function ofRunning({ health, version }: Condition & { kind: 'running' }): Shown {
  if (health.health !== 'ok') {
    return { text: '$(warning) polylsp', tooltip: health.message, severity: health.health === 'error' ? 'error' : 'warning' };
  }
  const machine = machineWords(health);
  if (!health.quiescent) {
    const files = health.analysing ? ` ${counted(health.analysing, 'file')}` : '';
    return { text: '$(sync~spin) polylsp', tooltip: `polylsp is analysing${files}${machine}` };
  }
  const unread = health.givenUp ?? 0;
  const gaveUp = unread ? `; it gave up on ${unread === 1 ? 'one loop' : `${unread} loops`} that took too long` : '';
  return { text: '$(check) polylsp', tooltip: `polylsp ${version}: all open files are analysed${gaveUp}${machine}` };
}

/** What can be measured here; nothing of a server that does not tell. */
function machineWords({ compiler, gpu }: Health): string {
  if (compiler === undefined) {
    return '';
  }
  const built = compiler ? `Compiler: ${compiler}` : 'No C compiler was found: loops are analysed, but cannot be measured';
  return `\n${built}\n${gpu ? `GPU: ${gpu}` : 'No GPU was found'}`;
}

function counted(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? '' : 's'}`;
}

function isOurs(editor: vscode.TextEditor): boolean {
  return LANGUAGES.includes(editor.document.languageId);
}
