// What VS Code has to say aloud of a loop: its accessible view, hints, lenses, findings; all by keyboard.

import { loop, palette, until, WAIT } from './common.mjs';

export const STEPS = {
  async 'the hover can be read as text'({ page }) {
    await loop(page, 'for (int j = 1;').click();
    await palette(page, 'polylsp: Why?');
    await page.locator('.monaco-hover:visible', { hasText: 'cannot run in parallel' }).first().waitFor(WAIT);
    const view = page.locator('.accessible-view');
    const reads = (words) => view.locator('.view-line', { hasText: words }).first().waitFor({ timeout: 2000 });
    await until('the hover as text', async () => {
      // The view closes when the hover changes, as when its picture comes.
      if (!(await view.isVisible())) {
        await page.keyboard.press('Alt+F2');
      }
      const all = ['cannot run in parallel', 'dependence', 'Band: i and j'].map(reads);
      return Promise.all(all).then(() => true, () => false);
    });
    await page.keyboard.press('Escape');
    await view.waitFor({ state: 'hidden', ...WAIT });
    await page.keyboard.press('Escape');
  },

  async 'hints and lenses of a line are told, and the next finding'({ page }) {
    await loop(page, 'for (int i = 0; i < n; i++)').click();
    await palette(page, 'Read Line with Inlay Hints');
    await page.locator('.inlayhint-accessibility-element', { hasText: /parallel if no overlap/ }).waitFor({ state: 'attached', ...WAIT });
    await page.keyboard.press('Escape');
    await palette(page, 'Show CodeLens Commands for Current Line');
    await page.locator('.quick-input-list .monaco-list-row', { hasText: 'Measure' }).waitFor(WAIT);
    await page.keyboard.press('Escape');
    await page.keyboard.press('F8');
    await page.locator('.marker-widget', { hasText: /can run in parallel/ }).waitFor(WAIT);
    await page.keyboard.press('Escape');
  },
};
