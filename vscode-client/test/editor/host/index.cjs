// The tests, run inside the extension host: what VS Code gets to know from the installed extension.

const assert = require('node:assert/strict');
const path = require('node:path');
const vscode = require('vscode');

const tests = require('./tests.cjs');

exports.run = async () => {
  const folder = vscode.workspace.workspaceFolders[0].uri.fsPath;
  const uri = vscode.Uri.file(path.join(folder, 'example.c'));
  for (const [name, test] of Object.entries(tests)) {
    const begun = Date.now();
    try {
      await test({ uri, assert, until });
      console.log(`ok ${name} (${Date.now() - begun} ms)`);
    } catch (error) {
      console.log(`FAIL ${name}\n   ${String(error.stack).split('\n').join('\n   ')}`);
      throw error; // those that follow go on from here
    }
  }
};

/** The first value of a function that is not nothing. */
async function until(what, get) {
  const end = Date.now() + 60_000;
  while (Date.now() < end) {
    const value = await get();
    if (value) {
      return value;
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`waited in vain: ${what}`);
}
