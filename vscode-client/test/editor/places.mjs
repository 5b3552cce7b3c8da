// Where the extension works in another way: a workspace that is not trusted, one with several folders, a notebook.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { hoverUntil, palette, photographer, sideView, untilShown, WAIT } from './common.mjs';
import { openPage } from './editor.mjs';

const UNTRUSTED = {
  'security.workspace.trust.enabled': true,
  'security.workspace.trust.startupPrompt': 'never',
  'security.workspace.trust.banner': 'never',
};

const LOOP = 'void fill(int n, double *a)\n{\n    for (int i = 0; i < n; i++)\n        a[i] = 0;\n}\n';

export async function runInPlaces(editor, tools, pictures) {
  for (const [name, step] of Object.entries(STEPS)) {
    const begun = Date.now();
    const { page, close } = await openPage(tools);
    const shoot = photographer(page, pictures);
    try {
      await step({ page, editor, shoot });
      console.log(`ok place: ${name} (${Date.now() - begun} ms)`);
    } catch (error) {
      await shoot('failed').catch(() => {});
      console.error(await page.locator('#polylsp\\.polylsp\\.polylsp').innerHTML().catch(() => 'no status item'));
      throw error;
    } finally {
      await close();
    }
  }
}

const hint = (page, text) => page.locator('.view-line span', { hasText: text }).first();
const lens = (page) => page.locator('.codelens-decoration:visible', { hasText: 'Measure' }).first();

const MARK = '.view-overlays [class*="ced-"]';

/** The cell of the notebook with such a text at the end of a line. */
const cellWith = (page, end) => page.locator('.notebook-editor .monaco-list-row').filter({ has: page.locator('.view-line', { hasText: `] ${end}` }) });

/** A folder with one file in C, beside the workspace of the other tests. */
function folder(editor, name, settings) {
  const made = path.join(editor.folder, name);
  fs.mkdirSync(path.join(made, '.vscode'), { recursive: true });
  fs.writeFileSync(path.join(made, `${name}.c`), LOOP);
  if (settings) {
    fs.writeFileSync(path.join(made, '.vscode', 'settings.json'), JSON.stringify(settings));
  }
  return made;
}

const STEPS = {
  async 'nothing is run in a workspace that is not trusted, and all is there once it is'({ page, editor, shoot }) {
    editor.configure(UNTRUSTED);
    editor.configureMachine({ 'polylsp.interpreter': editor.python });
    const marker = path.join(editor.folder, 'was-run');
    const doubtful = folder(editor, 'doubtful', { 'polylsp.serverCommand': ['/usr/bin/touch', marker], 'polylsp.cCompiler': '/no/such/compiler' });
    await page.goto(`http://${editor.host}/?folder=${doubtful}`);
    await untilShown(page, page.getByRole('treeitem', { name: 'doubtful.c' }));
    await page.getByRole('treeitem', { name: 'doubtful.c' }).dblclick(WAIT);
    await hint(page, /^parallel/).waitFor(WAIT);
    await shoot('restricted');
    assert.equal(await page.locator('.codelens-decoration', { hasText: 'Measure' }).count(), 0, 'no lens offers to run it');
    await hint(page, /^for$/).click();
    await palette(page, 'polylsp: Measure Here');
    await page.locator('.notification-list-item', { hasText: 'Nothing is built or run in a workspace that you do not trust' }).waitFor(WAIT);
    assert.equal(fs.existsSync(marker), false, 'the command that the workspace names is not run');
    fs.rmSync(path.join(doubtful, '.vscode'), { recursive: true });
    await palette(page, 'Workspaces: Manage Workspace Trust');
    await page.getByRole('button', { name: 'Trust', exact: true }).click(WAIT);
    await page.getByRole('tab', { name: 'doubtful.c' }).click();
    await page.locator('.codelens-decoration', { hasText: 'Measure' }).waitFor(WAIT);
  },

  async 'each folder of a workspace has its own settings'({ page, editor }) {
    editor.configure();
    editor.configureMachine({ 'polylsp.interpreter': editor.python });
    const [loud, quiet] = [folder(editor, 'loud'), folder(editor, 'quiet', { 'polylsp.inlayHints': false })];
    const workspace = path.join(editor.folder, 'both.code-workspace');
    fs.writeFileSync(workspace, JSON.stringify({ folders: [{ path: loud }, { path: quiet }] }));
    await page.goto(`http://${editor.host}/?workspace=${workspace}`);
    await untilShown(page, page.getByRole('treeitem', { name: 'loud.c' }));
    // Twice: where the hints of the one file are back, those of the other would be, too.
    for (const name of ['loud', 'quiet', 'loud', 'quiet']) {
      await page.getByRole('treeitem', { name: `${name}.c` }).dblclick(WAIT);
      await page.getByRole('tab', { name: `${name}.c`, selected: true }).waitFor(WAIT);
      await (name === 'loud' ? hint(page, /^parallel/) : lens(page)).waitFor(WAIT);
    }
    assert.equal(await page.locator('.view-line:visible', { hasText: 'parallel' }).count(), 0, 'quiet');
  },

  async 'files that are not open have their findings, and keep up with what is on disk'({ page, editor, shoot }) {
    editor.configure();
    editor.configureMachine({ 'polylsp.interpreter': editor.python });
    const whole = folder(editor, 'whole', { 'polylsp.workspaceDiagnostics': true });
    const closed = path.join(whole, 'closed.c');
    fs.writeFileSync(closed, LOOP.replace('    for', '    #pragma omp parallel for\n    for').replace('a[i] = 0', 'a[i] = a[i + 1]'));
    await page.goto(`http://${editor.host}/?folder=${whole}`);
    await untilShown(page, page.getByRole('treeitem', { name: 'whole.c' }));
    await page.getByRole('treeitem', { name: 'whole.c' }).dblclick(WAIT);
    await hint(page, /^parallel/).waitFor(WAIT);
    await palette(page, 'Problems: Focus on Problems View');
    const problems = page.locator('.markers-panel');
    await problems.getByText('closed.c').first().waitFor(WAIT);
    await problems.getByText(/lets iterations of/).first().waitFor(WAIT);
    await shoot('problems');
    fs.writeFileSync(closed, '\n\nint nothing;\n');
    await problems.getByText('closed.c').first().waitFor({ state: 'detached', ...WAIT });
    fs.rmSync(path.join(whole, '.vscode'), { recursive: true });
  },

  async 'the cells of a notebook are one program, whose loops are drawn, and an arrow shows its accesses in their cell'({ page, editor, shoot }) {
    const cell = (source) => ({ cell_type: 'code', source, metadata: {}, outputs: [], execution_count: null });
    const cells = [cell('import numpy as np\nn = 100\na = np.zeros(n)'), cell('for i in range(1, n):\n    a[i] = a[i - 1] + 1'), cell('for i in range(1, n):\n    a[i] = a[i - 1] - 1')];
    const metadata = { language_info: { name: 'python' } };
    fs.writeFileSync(path.join(editor.workspace, 'cells.ipynb'), JSON.stringify({ cells, metadata, nbformat: 4, nbformat_minor: 5 }));
    await page.goto(`http://${editor.host}/?folder=${editor.workspace}`);
    await untilShown(page, page.getByRole('treeitem', { name: 'example.c' }));
    // An editor that has just started takes a notebook for text.
    await page.getByRole('treeitem', { name: 'example.c' }).dblclick(WAIT);
    await hint(page, /^sequential/).waitFor(WAIT);
    await page.getByRole('treeitem', { name: 'cells.ipynb' }).dblclick(WAIT);
    await cellWith(page, '+ 1').locator('.view-line span', { hasText: /^sequential/ }).first().waitFor(WAIT);
    await shoot('notebook');
    const header = cellWith(page, '+ 1').locator('span', { hasText: /^for$/ }).first();
    await hoverUntil(page, header, page.locator('.monaco-hover img').first());
    await page.keyboard.press('Escape');
    await header.click();
    await palette(page, 'polylsp: Show Iterations Beside');
    const view = sideView(page);
    await view.getByRole('heading', { name: 'Iterations at the top level' }).waitFor(WAIT);
    await view.locator('.arrow').first().focus();
    await page.keyboard.press('Enter');
    await cellWith(page, '+ 1').locator(MARK).nth(1).waitFor(WAIT);
    assert.equal(await cellWith(page, '- 1').locator(MARK).count(), 0, 'the other cell is not marked');
    await shoot('notebook-iterations');
    fs.rmSync(path.join(editor.workspace, 'cells.ipynb'));
  },
};
