// The side view: stepped through, read aloud, by keyboard, and loaded anew with the window.

import assert from 'node:assert/strict';

import { closeTab, line, loop, palette, sideView, until, WAIT } from './common.mjs';

/** What is marked in the text. */
const marks = (page) => page.locator('.view-overlays [class*="ced-"]');

/** Themes, and how pages name them; the last one is that of the other pictures, where they are dark. */
const THEMES = [['Light Modern', 'vscode-light'], ['Dark High Contrast', 'vscode-high-contrast'], ['Dark Modern', 'vscode-dark']]; // prettier-ignore

export const STEPS = {
  async 'the side view steps through an order, and an arrow shows its two accesses'({ page, shoot }) {
    const view = sideView(page);
    await line(page, 'void relax').click();
    await palette(page, 'polylsp: Show Iterations Beside');
    await view.getByText('There is no loop here').first().waitFor(WAIT);
    await loop(page, 'for (int j = 1;').click(); // it follows
    await view.locator('circle.point').first().waitFor(WAIT);
    await view.getByLabel('Skewed, by').check(WAIT);
    for (let step = 0; step < 3; step++) {
      await view.getByLabel('One step on').click();
    }
    await view.getByRole('status').filter({ hasText: /^Step 3 of \d+, 3 iterations at once: / }).waitFor(WAIT);
    assert.equal(await view.locator('circle.now').count(), 3);
    assert.equal(await marks(page).count(), 0);
    await view.locator('.arrow').first().focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await marks(page).nth(1).waitFor(WAIT); // both accesses
    await view.getByLabel('Tiles').check();
    await shoot('iterations');
    for (const [theme, kind] of THEMES) {
      await chooseTheme(page, theme);
      await view.locator(`body.${kind}`).waitFor(WAIT);
      assert.deepEqual(await view.locator('body').evaluate(faint), [], `all can be read in ${theme}`);
      await shoot(`iterations-${kind}`);
    }
  },

  async 'all of it has a name and a role, is reached by Tab, and says what was chosen'({ page }) {
    const view = sideView(page);
    const said = await view.locator('body').ariaSnapshot();
    const missing = [
      'main:', 'heading "Iterations of relax" [level=1]', 'combobox "Across"', 'combobox "Upwards"', 'group "Order"',
      'radio "Skewed, by the wavefront i + j" [checked]', 'button "One step back"', 'slider "Step"', 'button "One step on"',
      'button "Play"', 'status: "Step 3 of', 'checkbox "Tiles, which can run one after the other" [checked]',
      'group "Iterations of i and j"', 'listbox "Arrows between iterations"',
      'option "flow from i = 1, j = 1 to i = 2, j = 1; a[i][j] = … to a[i - 1][j]" [selected]',
      'list "Dependences"', 'button "flow a[i][j] = … → a[i - 1][j] line 32" [pressed]',
    ].filter((each) => !said.includes(each)); // prettier-ignore
    assert.deepEqual(missing, [], said);
    const reached = [];
    await view.getByLabel('Across').focus();
    while (reached.length < 11) {
      reached.push(await view.locator(':focus').evaluate((each) => each.id || each.getAttribute('role')));
      await page.keyboard.press('Tab');
    }
    const steps = ['order1', 'back', 'step', 'forth', 'play', 'tiles'];
    assert.deepEqual(reached, ['across', 'upwards', ...steps, 'option', 'dependence0', 'dependence1']);
    await view.locator('.arrow').first().focus();
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    const told = 'Marked in the text: a[i][j] = … on line 32, then a[i][j - 1] on line 32';
    await view.locator('[aria-live]', { hasText: told }).waitFor(WAIT);
  },

  async 'the side view comes back with the window, as it was'({ page }) {
    const view = sideView(page);
    await view.getByLabel('Across').selectOption('j');
    await view.locator('text.name').first().getByText('j').waitFor(WAIT);
    await view.getByLabel('Skewed, by').check(WAIT);
    await view.getByLabel('One step on').click();
    await view.getByLabel('One step on').click();
    await page.keyboard.press('F1'); // stores what changed while its page, and none within it, has the keyboard
    await until('the state is kept', () => page.evaluate(keeps, '"step":2'));
    await page.reload();
    await view.getByRole('status').filter({ hasText: /^Step 2 of \d+, 2 iterations at once: / }).waitFor(WAIT);
    assert.equal(await view.getByLabel('Across').inputValue(), 'j');
    await view.locator('.dependence').first().click();
    await marks(page).nth(1).waitFor(WAIT);
    await closeTab(page, 'Iterations');
    await marks(page).first().waitFor({ state: 'detached', ...WAIT });
    await line(page, 'void relax').click();
    await page.keyboard.press('Control+Home');
  },
};

async function chooseTheme(page, theme) {
  const rows = page.locator('.quick-input-list .monaco-list-row');
  await page.keyboard.press('F1');
  await page.locator('.quick-input-box input').fill('>Preferences: Color Theme');
  await rows.filter({ hasText: 'Preferences: Color Theme' }).click(WAIT);
  await page.getByPlaceholder('Select Color Theme').fill(theme, WAIT);
  await rows.and(page.locator('.focused')).filter({ hasText: theme }).waitFor(WAIT);
  await page.keyboard.press('Enter');
}

/** In the page: whether the editor has stored its parts with such words in them, as it does
 * every few seconds. */
async function keeps(words) {
  const answer = (request) => new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
  for (const { name } of await indexedDB.databases()) {
    const database = await answer(indexedDB.open(name));
    const stores = [...database.objectStoreNames].filter((each) => each === 'ItemTable');
    const values = stores.map((each) => answer(database.transaction(each).objectStore(each).get('memento/workbench.parts.editor')));
    const stored = (await Promise.all(values)).some((each) => String(each).replaceAll('\\', '').includes(words));
    database.close();
    if (stored) {
      return true;
    }
  }
  return false;
}

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
