// The page in the side view: nothing from elsewhere, no script but ours, no style but ours.

import { randomUUID } from 'node:crypto';
import * as vscode from 'vscode';

/** Make the page of a panel. */
export function fill(panel: vscode.WebviewPanel, extension: vscode.Uri): void {
  const media = vscode.Uri.joinPath(extension, 'media');
  const code = vscode.Uri.joinPath(extension, 'dist');
  panel.iconPath = vscode.Uri.joinPath(media, 'icon.png');
  panel.webview.options = { enableScripts: true, localResourceRoots: [media, code] };
  panel.webview.html = page(panel.webview, media, code);
}

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
<p id="told" class="unseen" aria-live="polite"></p>
<script nonce="${once}" src="${script}"></script>
</body>
</html>`;
}
