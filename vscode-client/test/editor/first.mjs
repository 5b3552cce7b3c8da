// node first.mjs TOOLS PICTURES: what the README tells a newcomer to do, line by line, in a profile that nobody has used.

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

import { WAIT } from './common.mjs';
import { launch, makeProfile, openPage } from './editor.mjs';

const client = path.join(import.meta.dirname, '../..');
const checkout = path.dirname(client);
const [tools, pictures] = process.argv.slice(2, 4).map((each) => path.resolve(each));

/** The lines below "In a checkout:". */
function linesOfReadme() {
  const readme = fs.readFileSync(path.join(client, 'README.md'), 'utf8');
  const [, block] = /^In a checkout:\n\n((?: {4}.*\n)+)/m.exec(readme);
  return block.trimEnd().split('\n').map((each) => each.trim());
}

/** A `code` that is the editor of the profile: it installs as that does, and notes what it is to open. */
function makeCode({ folder, command }) {
  const bin = path.join(folder, 'bin');
  const opened = path.join(folder, 'opened');
  fs.mkdirSync(bin);
  const install = command.map((each) => `'${each}'`).join(' ');
  const script = `#!/bin/sh\ncase $1 in\n--*) exec ${install} "$@" ;;\n*) for each; do realpath "$each"; done > '${opened}' ;;\nesac\n`;
  fs.writeFileSync(path.join(bin, 'code'), script, { mode: 0o755 });
  return { bin, opened: () => fs.readFileSync(opened, 'utf8').trimEnd().split('\n') };
}

async function seesVerdict(host, [folder, file]) {
  const { page, close } = await openPage(tools);
  const payload = JSON.stringify([['openFile', `vscode-remote://${host}${file}`]]);
  try {
    await page.goto(`http://${host}/?folder=${folder}&payload=${encodeURIComponent(payload)}`);
    await page.locator('.squiggly-info').first().waitFor(WAIT);
    await page.locator('.view-line span', { hasText: /^(parallel|sequential)/ }).first().waitFor(WAIT);
  } finally {
    await page.screenshot({ path: path.join(pictures, 'first-steps.png') }).catch(() => {});
    await close();
  }
}

fs.mkdirSync(pictures, { recursive: true });
const profile = makeProfile(tools);
const code = makeCode(profile);
// What npm has loaded is in the home of whoever runs this.
const env = { ...profile.env, HOME: process.env.HOME, PATH: `${code.bin}:${process.env.PATH}` };
delete env.MAKEFLAGS; // this may be run by make
for (const line of linesOfReadme()) {
  console.log(`$ ${line}`);
  execFileSync('bash', ['-c', line], { cwd: checkout, env, stdio: 'pipe' });
}
const { host, stop } = await launch(profile);
try {
  const begun = Date.now();
  await seesVerdict(host, code.opened());
  console.log(`ok first steps: a verdict and a squiggle, ${Date.now() - begun} ms after the editor was opened`);
} finally {
  stop();
}
