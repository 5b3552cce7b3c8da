// The page as a person sees it: squiggle, hint, hover, quick fix, lens, status; pictures are kept.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { closeTab, hoverUntil, line, loop, palette, photographer, sideView, until, untilShown, WAIT } from './common.mjs';
import { openPage } from './editor.mjs';
import { STEPS as READING } from './reading.mjs';
import { STEPS as VIEW } from './view.mjs';

export async function runOnPage(editor, tools, pictures) {
  const outside = new Set();
  const { page, close } = await openPage(tools);
  page.on('request', (request) => {
    const { protocol, hostname } = new URL(request.url());
    // Names of this kind are answered by VS Code's own worker in the page, from the extension's folder.
    const isOurs = hostname === '127.0.0.1' || hostname.endsWith('.vscode-resource.vscode-cdn.net');
    if (protocol.startsWith('http') && !isOurs) {
      outside.add(request.url());
    }
  });
  const shoot = photographer(page, pictures);
  try {
    for (const [name, step] of Object.entries(STEPS)) {
      const begun = Date.now();
      await step({ page, editor, shoot });
      console.log(`ok page: ${name} (${Date.now() - begun} ms)`);
    }
    assert.deepEqual([...outside], [], 'nothing is asked of the network');
  } catch (error) {
    await shoot('failed').catch(() => {});
    throw error;
  } finally {
    await close();
  }
}

const fileOf = (editor) => path.join(editor.workspace, 'example.c');
/** That of `multiply`, by the brace that it alone has. */
const outer = (page) => page.locator('.view-line', { hasText: /for\s\(int\si\s=\s0;.*\{/ }).locator('span', { hasText: /^for$/ }).last();

const STEPS = {
  async 'a file is opened, and its loops have findings and hints'({ page, editor, shoot }) {
    await page.goto(`http://${editor.host}/?folder=${editor.workspace}`);
    await untilShown(page, page.getByRole('treeitem', { name: 'example.c' }));
    await page.getByRole('treeitem', { name: 'example.c' }).dblclick(WAIT);
    await palette(page, 'View: Toggle Primary Side Bar Visibility'); // pictures are of the text
    await page.waitForSelector('.squiggly-info', WAIT);
    await page.locator('.view-line span', { hasText: 'sequential: x[i' }).first().waitFor(WAIT);
    await shoot('hints');
  },

  async 'the status item says that all is well'({ page }) {
    await page.locator('#polylsp\\.polylsp\\.polylsp [aria-label*="all open files are analysed"]').waitFor(WAIT);
  },

  async 'the hover shows why, with a picture of the iterations'({ page, shoot }) {
    const picture = page.locator('.monaco-hover img').first();
    let shown;
    await until('a picture that stays', async () => {
      await hoverUntil(page, loop(page, 'for (int j = 1;'), picture);
      shown = await picture.evaluate(seen, undefined, { timeout: 3000 }).catch(() => undefined);
      return shown !== undefined;
    });
    assert.match(shown.alt, /^Iterations of/);
    assert.ok(shown.width > 100, 'the picture is not squeezed');
    await shoot('hover');
    await page.keyboard.press('Escape');
  },

  async 'the loops of the workspace are ranked in a view, which leads to them'({ page, shoot }) {
    await palette(page, 'polylsp: Report of the Workspace');
    const first = page.getByRole('treeitem', { name: /^1\. i of multiply/ });
    await first.waitFor(WAIT);
    await page.getByText(/loops? to run in parallel, of \d+/).waitFor(WAIT);
    await first.click();
    await page.getByRole('button', { name: 'Ln 20, Col 5' }).waitFor(WAIT);
    await first.hover();
    await shoot('ranking');
    await first.getByRole('button', { name: 'Run in Parallel…' }).click();
    await page.locator('.quick-input-list .monaco-list-row', { hasText: 'OpenMP' }).first().waitFor(WAIT);
    await page.keyboard.press('Escape');
  },

  async 'they are ranked by the samples of a profile, with those that are hot and not parallel'({ page, editor, shoot }) {
    const [axpy, smooth] = ['axpy', 'smooth'].map((name) => fs.readFileSync(fileOf(editor), 'utf8').split('\n').findIndex((each) => each.includes(`void ${name}(`)) + 3);
    const profile = path.join(editor.folder, 'stacks.txt');
    fs.writeFileSync(profile, `main;axpy (example.c:${axpy}) 60\nmain;smooth (example.c:${smooth}) 40\n`);
    await palette(page, 'polylsp: Report of the Workspace by a Profile');
    const listed = (text) => page.locator('.quick-input-list .monaco-list-row', { hasText: text });
    await listed('..').first().waitFor(WAIT); // what is written before is lost
    await page.locator('.quick-input-widget input.input').fill(profile);
    await listed('stacks.txt').waitFor(WAIT);
    await page.keyboard.press('Enter');
    await page.getByRole('treeitem').filter({ hasText: /1\. i of axpy.*60%/ }).waitFor(WAIT);
    await page.getByRole('treeitem').filter({ hasText: /hot, sequential.*40%/ }).click();
    await page.getByRole('button', { name: /^Ln 13, Col 5/ }).waitFor(WAIT);
    await shoot('profile');
    await palette(page, 'View: Toggle Primary Side Bar Visibility');
  },

  ...READING,

  ...VIEW,

  async 'the hover applies the best fix, and undo takes it back'({ page, shoot }) {
    const link = page.locator('.monaco-hover:visible a', { hasText: 'in parallel' }).first();
    await hoverUntil(page, outer(page), link);
    await shoot('hover-fix');
    await link.click();
    await line(page, '#pragma omp parallel for').waitFor(WAIT);
    await outer(page).click();
    await page.keyboard.press('Control+Z');
    await line(page, '#pragma omp parallel for').waitFor({ state: 'detached', ...WAIT });
  },

  async 'generated code is shown, and nothing is changed'({ page, editor, shoot }) {
    await outer(page).click();
    await page.keyboard.press('Control+.');
    await page.locator('.action-widget .monaco-list-row', { hasText: 'with OpenMP' }).first().waitFor(WAIT);
    await shoot('actions'); // before anything was measured
    await page.keyboard.press('Escape');
    await palette(page, 'polylsp: Show Generated Code');
    await page.locator('.quick-input-list .monaco-list-row', { hasText: 'with OpenMP' }).first().click(WAIT);
    const added = page.locator('.monaco-diff-editor .view-line', { hasText: '#pragma omp parallel for' });
    await added.waitFor(WAIT);
    await shoot('generated');
    await added.click();
    await page.keyboard.type('x');
    await page.locator('.monaco-editor-overlaymessage', { hasText: 'read-only' }).waitFor(WAIT);
    await closeTab(page, /with OpenMP/);
    await line(page, 'void multiply').waitFor(WAIT);
    assert.doesNotMatch(fs.readFileSync(fileOf(editor), 'utf8'), /pragma/);
  },

  async 'a measurement is cancelled; another one, at sizes that are asked for, is shown as bars'({ page, shoot }) {
    await outer(page).click();
    await measure(page, '');
    const progress = page.locator('.notification-list-item', { hasText: 'Measuring multiply' });
    await progress.waitFor(WAIT);
    await shoot('measuring');
    await progress.getByRole('button', { name: 'Cancel' }).click();
    await progress.waitFor({ state: 'detached', ...WAIT });
    await measure(page, 'n=500');
    const told = page.locator('.notification-list-item', { hasText: /multiply: .*openmp/ });
    await told.waitFor(WAIT);
    await page.locator('.view-line', { hasText: 'for (int i = 0; i < n; i++)' }).filter({ hasText: /OpenMP.*n=500/ }).waitFor(WAIT);
    await shoot('measured');
    await told.getByRole('button', { name: 'Show Times' }).click();
    const view = sideView(page);
    await view.getByRole('row', { name: /^original/ }).waitFor(WAIT);
    assert.ok((await view.locator('meter').count()) >= 2);
    await shoot('bars');
    await closeTab(page, 'Iterations');
  },

  async 'sizes that nothing gives are asked for once, from the lens'({ page, shoot }) {
    const lens = page.locator('.codelens-decoration:visible a', { hasText: /^Measure$/ }).first();
    await lens.click(WAIT);
    const input = page.locator('.quick-input-widget', { hasText: 'Nothing in the file gives' });
    await input.locator('input.input').fill('3000', WAIT);
    await shoot('sizes');
    await page.keyboard.press('Enter');
    const told = page.locator('.notification-list-item', { hasText: /axpy: .*openmp/ });
    await told.waitFor(WAIT);
    await page.locator('.view-line', { hasText: /OpenMP.*n=3000/ }).first().waitFor(WAIT);
    await clear(told);
    await page.locator('.codelens-decoration:visible a', { hasText: /^Measure again.*n=3000/ }).click(WAIT);
    await told.waitFor(WAIT);
    assert.equal(await input.isVisible(), false, 'sizes are remembered');
    await clear(told);
  },

  async 'a quick fix is chosen by keyboard, and saved'({ page, editor, shoot }) {
    await outer(page).click();
    await page.keyboard.press('Control+.');
    await page.locator('.action-widget .monaco-list-row', { hasText: 'with OpenMP' }).first().waitFor(WAIT);
    await choose(page, 'in parallel with OpenMP');
    await line(page, '#pragma omp parallel for').waitFor(WAIT);
    await page.keyboard.press('Control+S');
    await until('the file on disk', () => /#pragma omp parallel for.*\n    for/.test(fs.readFileSync(fileOf(editor), 'utf8')));
    await shoot('fixed');
  },

  async 'targets are picked from a list, and a new file is shown before it is made'({ page, editor, shoot }) {
    await loop(page, 'for (int i = 0; i < n; i++)').click();
    await palette(page, 'polylsp: Offload Here');
    await page.locator('.quick-input-list .monaco-list-row', { hasText: 'CUDA' }).waitFor(WAIT);
    await shoot('targets');
    await page.locator('.quick-input-list .monaco-list-row', { hasText: 'CUDA' }).click();
    await page.locator('.notification-list-item', { hasText: 'Make these changes?' }).waitFor(WAIT);
    await page.locator('.multiDiffEditor, .multi-diff-editor, .multiDiffEntry').first().waitFor(WAIT);
    await shoot('preview');
    assert.deepEqual(fs.readdirSync(editor.workspace).sort(), ['.venv', 'example.c'], 'nothing is made before it is confirmed');
    await page.getByRole('button', { name: 'Apply', exact: true }).click();
    const made = path.join(editor.workspace, 'axpy_cuda.cu');
    await until('the new file', () => fs.existsSync(made) && fs.readFileSync(made, 'utf8').includes('__global__'));
    await line(page, 'axpy_cuda(n, alpha, x, y)').waitFor(WAIT);
  },
};

/** In the page: a picture, scrolled to. */
function seen(picture) {
  picture.scrollIntoView({ block: 'start' });
  return { alt: picture.alt, width: picture.getBoundingClientRect().width };
}

async function clear(notification) {
  await notification.hover();
  await notification.getByRole('button', { name: /Clear/ }).click();
  await notification.waitFor({ state: 'detached', ...WAIT });
}

/** Measure at the cursor; what is no size is refused first. */
async function measure(page, sizes) {
  await palette(page, 'polylsp: Measure Here');
  const input = page.locator('.quick-input-widget', { hasText: 'Sizes for multiply' }).locator('input.input');
  await input.fill('n=many', WAIT);
  await page.locator('.quick-input-message', { hasText: 'is no size' }).waitFor(WAIT);
  await input.fill(sizes);
  await page.locator('.quick-input-message', { hasText: 'is no size' }).waitFor({ state: 'detached', ...WAIT });
  await page.keyboard.press('Enter');
}

/** Walk down the lightbulb's list to an action, and take it. */
async function choose(page, title) {
  const focused = page.locator('.action-widget .monaco-list-row.focused');
  for (let steps = 0; steps < 20 && !(await focused.innerText()).includes(title); steps++) {
    await page.keyboard.press('ArrowDown');
  }
  assert.ok((await focused.innerText()).includes(title));
  await page.keyboard.press('Enter');
}
