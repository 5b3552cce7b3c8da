// VS Code shows findings in the hover itself: what they say is not said again below them. A link leads to the side
// view.

import * as vscode from 'vscode';

import { APPLY_FIX, ITERATIONS } from './names';

/** A hover without its first sentence, where a finding at that place says the same. */
export function withoutRepetition(
  hover: vscode.Hover | null | undefined,
  document: vscode.TextDocument,
  position: vscode.Position,
): vscode.Hover | null | undefined {
  const said = vscode.languages
    .getDiagnostics(document.uri)
    .filter((each) => each.source === 'polylsp' && each.range.contains(position))
    .map((each) => each.message);
  for (const content of hover?.contents ?? []) {
    if (content instanceof vscode.MarkdownString) {
      content.value = shortened(content.value, said);
      content.isTrusted = { enabledCommands: [APPLY_FIX] };
    }
  }
  if (hover?.contents.length) {
    hover.contents.unshift(link(document, hover.range?.start ?? position));
  }
  return hover;
}

/** To the side view, and to no other command. */
function link(document: vscode.TextDocument, { line, character }: vscode.Position): vscode.MarkdownString {
  const given = encodeURIComponent(JSON.stringify([document.uri.toString(), { line, character }]));
  const made = new vscode.MarkdownString(`[Show iterations beside](command:${ITERATIONS}?${given} "Step through them, and choose arrows")`);
  made.isTrusted = { enabledCommands: [ITERATIONS] };
  return made;
}

/** A text in Markdown without its first paragraph, where that is among what was `said` and more follows. */
export function shortened(text: string, said: readonly string[]): string {
  const end = text.indexOf('\n\n');
  const first = bare(text.slice(0, end));
  return end >= 0 && said.some((each) => bare(each) === first) ? text.slice(end + 2) : text;
}

/** Words without the marks of code and escapes. */
function bare(text: string): string {
  return text.replace(/[`\\]/g, '');
}
