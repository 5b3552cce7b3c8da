// The page as a person sees it: squiggle, hint, hover, quick fix, lens, status; pictures are kept.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { openPage } from './editor.mjs';

const WAIT = { timeout: 60_000 };

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
  const shoot = (name) => page.screenshot({ path: path.join(pictures, `${name}.png`) });
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
const line = (page, text) => page.locator('.view-line', { hasText: text }).first();

/** The word `for` of a loop with such a header. */
const loop = (page, header) => line(page, header).locator('span', { hasText: /^for$/ }).last();

/** That of `multiply`, by the brace that it alone has. */
const outer = (page) => page.locator('.view-line', { hasText: /for\s\(int\si\s=\s0;.*\{/ }).locator('span', { hasText: /^for$/ }).last();

const STEPS = {
  async 'a file is opened, and its loops have findings and hints'({ page, editor, shoot }) {
    await page.goto(`http://${editor.host}/?folder=${editor.workspace}`);
    await page.getByRole('treeitem', { name: 'example.c' }).dblclick(WAIT);
    await page.waitForSelector('.squiggly-info', WAIT);
    await page.locator('.view-line span', { hasText: 'sequential: x[i' }).first().waitFor(WAIT);
    await shoot('hints');
  },

  async 'the status item says that all is well'({ page }) {
    const item = page.locator('#polylsp\\.polylsp\\.polylsp');
    await item.waitFor(WAIT);
    await page.waitForFunction(
      (element) => /all open files are analysed/.test(element.querySelector('[aria-label]')?.getAttribute('aria-label') ?? element.getAttribute('aria-label') ?? ''),
      await item.elementHandle(),
      WAIT,
    );
  },

  async 'the hover shows why, with a picture of the iterations'({ page, shoot }) {
    let shown;
    await until('a picture', async () => {
      await page.mouse.move(900, 600); // it comes with the next hover where it was late
      await loop(page, 'for (int j = 1;').hover();
      const picture = page.locator('.monaco-hover img').first();
      if (!(await picture.waitFor({ timeout: 3000 }).then(() => true, () => false))) {
        return false;
      }
      shown = await picture.evaluate((each) => [each.alt, each.getBoundingClientRect().width], undefined, { timeout: 3000 }).catch(() => undefined);
      return shown !== undefined;
    });
    assert.match(shown[0], /^Iterations of/);
    assert.ok(shown[1] > 100, 'the picture is not squeezed');
    await shoot('hover');
    await page.keyboard.press('Escape');
  },

  async 'the side view steps through an order, and an arrow shows its two accesses'({ page, shoot }) {
    await loop(page, 'for (int j = 1;').click();
    await palette(page, 'polylsp: Show Iterations Beside');
    const view = page.frameLocator('iframe.webview.ready').frameLocator('#active-frame');
    await view.locator('circle.point').first().waitFor(WAIT);
    await view.getByLabel('Skewed, by').check(WAIT);
    for (let step = 0; step < 3; step++) {
      await view.getByLabel('One step on').click();
    }
    assert.match(await view.getByRole('status').innerText(), /^Step 3 of \d+, 3 iterations at once: /);
    assert.equal(await view.locator('circle.now').count(), 3);
    const marked = page.locator('.view-overlays [class*="ced-"]');
    assert.equal(await marked.count(), 0);
    await view.locator('.arrow').first().focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await marked.first().waitFor(WAIT);
    assert.ok((await marked.count()) >= 2, 'both accesses are marked');
    await view.getByLabel('Tiles').check();
    await shoot('iterations');
    for (const theme of ['dark', 'light']) {
      await palette(page, 'Preferences: Toggle between Light/Dark Themes');
      await view.locator(`body.vscode-${theme}`).waitFor(WAIT);
      assert.deepEqual(await view.locator('body').evaluate(faint), [], `all can be read in the ${theme} theme`);
      await shoot(`iterations-${theme}`);
    }
    assert.deepEqual(await view.locator('main').evaluate(nameless), []);
    await view.getByLabel('Across').selectOption('j');
    await view.locator('text.name').first().getByText('j').waitFor(WAIT);
    await page.keyboard.press('Escape');
    await view.locator('.dependence').first().click();
    await marked.first().waitFor(WAIT);
    await page.getByRole('tab', { name: 'Iterations' }).getByRole('button', { name: /Close/ }).click();
    await page.waitForFunction(() => !document.querySelector('.view-overlays [class*="ced-"]'), undefined, WAIT);
    await line(page, 'void relax').click();
    await page.keyboard.press('Control+Home');
  },

  async 'generated code is shown, and nothing is changed'({ page, editor, shoot }) {
    await outer(page).click();
    await palette(page, 'polylsp: Show Generated Code');
    await page.locator('.quick-input-list .monaco-list-row', { hasText: 'with OpenMP' }).first().click(WAIT);
    const added = page.locator('.monaco-diff-editor .view-line', { hasText: '#pragma omp parallel for' });
    await added.waitFor(WAIT);
    await shoot('generated');
    await added.click();
    await page.keyboard.type('x');
    await page.locator('.monaco-editor-overlaymessage', { hasText: 'read-only' }).waitFor(WAIT);
    await page.getByRole('tab', { name: /with OpenMP/ }).getByRole('button', { name: /Close/ }).click();
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
    const view = page.frameLocator('iframe.webview.ready').frameLocator('#active-frame');
    await view.getByRole('row', { name: /^original/ }).waitFor(WAIT);
    assert.ok((await view.locator('meter').count()) >= 2);
    await shoot('bars');
    await page.getByRole('tab', { name: 'Iterations' }).getByRole('button', { name: /Close/ }).click();
  },

  async 'a quick fix is chosen by keyboard, and saved'({ page, editor, shoot }) {
    await outer(page).click();
    await page.keyboard.press('Control+.');
    await page.locator('.action-widget .monaco-list-row', { hasText: 'with OpenMP' }).first().waitFor(WAIT);
    await shoot('actions');
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

/** In the page: texts whose contrast is below 4.5 to 1 (WCAG 2.1, 1.4.3). */
function faint(body) {
  const probe = body.appendChild(document.createElement('i'));
  const parts = (colour) => {
    probe.style.color = colour;
    const [red, green, blue, alpha = 1] = getComputedStyle(probe).color.match(/[\d.]+/g).map(Number);
    return [red, green, blue, alpha];
  };
  const over = (top, below) => [0, 1, 2].map((k) => top[k] * top[3] + below[k] * (1 - top[3]));
  const light = (rgb) => rgb.map((each) => each / 255).map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
  const luminance = (rgb) => [0.2126, 0.7152, 0.0722].reduce((sum, weight, k) => sum + weight * light(rgb)[k], 0);
  const behind = (element) => {
    const below = element === body ? parts('var(--vscode-editor-background)') : behind(element.parentElement);
    return [...over(parts(getComputedStyle(element).backgroundColor), below), 1];
  };
  const found = [];
  for (const element of body.querySelectorAll('h1, h2, p, span, code, label, legend, button, select, output, th, td, text')) {
    const style = getComputedStyle(element);
    const below = behind(element);
    const [one, other] = [luminance(over(parts(element.matches('text') ? style.fill : style.color), below)), luminance(below)].sort((a, b) => b - a);
    const contrast = (one + 0.05) / (other + 0.05);
    if (element.textContent.trim() && contrast < 4.5) {
      found.push(`${element.localName} ${element.textContent.slice(0, 40)}: ${contrast.toFixed(1)}`);
    }
  }
  probe.remove();
  return found;
}

/** In the page: what can be reached by keyboard and has no name to be read aloud. */
function nameless(main) {
  const reached = [...main.querySelectorAll('button, input, select, [tabindex]')];
  const named = (each) => each.getAttribute('aria-label') || each.labels?.[0]?.textContent.trim() || each.textContent.trim();
  return reached.filter((each) => !named(each)).map((each) => each.outerHTML.slice(0, 80));
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

export async function palette(page, title) {
  await page.keyboard.press('F1');
  await page.locator('.quick-input-box input').fill(`>${title}`);
  await page.locator('.quick-input-list .monaco-list-row', { hasText: title }).first().waitFor(WAIT);
  await page.keyboard.press('Enter');
}

async function until(what, holds) {
  for (let tries = 0; tries < 300; tries++) {
    if (await holds()) {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`waited in vain: ${what}`);
}
