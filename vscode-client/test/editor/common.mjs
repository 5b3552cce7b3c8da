// What checks on the page have in common.

import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

export const WAIT = { timeout: 60_000 };

export const line = (page, text) => page.locator('.view-line', { hasText: text }).first();

/** The word `for` of a loop with such a header. */
export const loop = (page, header) => line(page, header).locator('span', { hasText: /^for$/ }).last();

/** The side view; other parts of the editor are pages of this kind too. */
export const sideView = (page) => page.frameLocator('iframe.webview.ready[src*="extensionId=polylsp"]').frameLocator('#active-frame');

export const tab = (page, name) => page.getByRole('tab', { name });

export const closeTab = (page, name) => tab(page, name).getByRole('button', { name: /Close/ }).click();

/** Run a command by its title. */
export async function palette(page, title) {
  await page.keyboard.press('F1');
  await page.locator('.quick-input-box input').fill(`>${title}`);
  // Enter takes the focused one, which is another until the list is filtered.
  await page.locator('.quick-input-list .monaco-list-row.focused', { hasText: title }).waitFor(WAIT);
  await page.keyboard.press('Enter');
}

/** Hover until it has what is looked for: where that is late, it comes with the next hover. */
export async function hoverUntil(page, target, sought) {
  await until('a hover', async () => {
    await page.mouse.move(900, 700);
    await target.hover();
    return sought.waitFor({ timeout: 3000 }).then(() => true, () => false);
  });
}

/** An editor that has just started may find no folder or file: then it is loaded once more. */
export async function untilShown(page, item) {
  for (let tries = 0; tries < 3; tries++) {
    if (await item.waitFor({ timeout: 30_000 }).then(() => true, () => false)) {
      return;
    }
    await page.reload();
  }
}

export async function until(what, holds) {
  for (const end = Date.now() + WAIT.timeout; Date.now() < end; await pause(100)) {
    if (await holds()) {
      return;
    }
  }
  throw new Error(`waited in vain: ${what}`);
}

/** Takes pictures of a page by their names, in a dark editor and (`NAME-light`) in a light one. */
export function photographer(page, pictures) {
  return async (name) => {
    await page.screenshot({ path: path.join(pictures, `${name}.png`) });
    if (!(await page.locator('.monaco-workbench.vs-dark').count())) {
      return; // another theme was chosen, such as one of high contrast
    }
    try {
      await page.emulateMedia({ colorScheme: 'light' });
      await page.locator('.monaco-workbench.vs').waitFor(WAIT);
      await page.screenshot({ path: path.join(pictures, `${name}-light.png`) });
    } finally {
      await page.emulateMedia({ colorScheme: 'dark' });
      await page.locator('.monaco-workbench.vs-dark').waitFor(WAIT);
    }
  };
}
