// Runs host/index.cjs in the extension host of a real VS Code, beside the installed extension.

import path from 'node:path';

import { openPage } from './editor.mjs';

const SECONDS = 240;

export async function runInHost({ host, workspace }, tools) {
  let ended;
  const exit = new Promise((resolve) => (ended = resolve));
  const uri = (file) => ({ $mid: 1, scheme: 'vscode-remote', authority: host, path: file });
  const suite = path.join(import.meta.dirname, 'host');
  const { page, close } = await openPage(tools, async (fresh) => {
    await fresh.exposeFunction('codeAutomationExit', (code) => ended(code));
    await fresh.exposeFunction('codeAutomationLog', (_, args) => {
      const line = args.map(String).join(' ');
      if (/^(ok|FAIL|  ) /.test(line)) {
        console.log(line);
      }
    });
    // The page's own configuration names the tests, as `code --extensionTestsPath` would.
    await fresh.addInitScript(
      (options) => {
        const get = Element.prototype.getAttribute;
        Element.prototype.getAttribute = function (name) {
          const value = get.call(this, name);
          if (name !== 'data-settings' || this.id !== 'vscode-workbench-web-configuration') {
            return value;
          }
          const settings = JSON.parse(value);
          settings.developmentOptions = { ...settings.developmentOptions, ...options };
          return JSON.stringify(settings);
        };
      },
      { enableSmokeTestDriver: true, extensions: [uri(suite)], extensionTestsPath: uri(path.join(suite, 'index.cjs')) },
    );
  });
  try {
    await page.goto(`http://${host}/?folder=${workspace}`);
    const late = new Promise((resolve) => setTimeout(resolve, 1000 * SECONDS, 'they did not end').unref());
    const code = await Promise.race([exit, late]);
    if (code !== 0) {
      throw new Error(`tests in the extension host failed: ${code}`);
    }
  } finally {
    await close();
  }
}
