// Builds dist/extension.js; with --tests also the unit tests, with --carry also the copy of polylsp that the
// extension brings along.

import { cp, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { build } from 'esbuild';

const here = import.meta.dirname;
const root = path.dirname(here);
const asked = (option) => process.argv.includes(option);

const common = { bundle: true, platform: 'node', target: 'node20', format: 'cjs', external: ['vscode'], logLevel: 'warning' };

async function bundleExtension() {
  const minify = asked('--carry');
  await build({ ...common, minify, entryPoints: [`${here}/src/extension.ts`], outfile: `${here}/dist/extension.js` });
  const page = { bundle: true, platform: 'browser', target: 'es2022', format: 'iife', logLevel: 'warning' };
  await build({ ...page, minify, entryPoints: [`${here}/webview/main.ts`], outfile: `${here}/dist/view.js` });
}

async function bundleTests() {
  const folder = `${here}/test/unit`;
  const entryPoints = (await readdir(folder)).filter((name) => name.endsWith('.test.ts')).map((name) => `${folder}/${name}`);
  const outExtension = { '.js': '.cjs' };
  await build({ ...common, entryPoints, outdir: `${here}/build/tests`, outExtension, external: ['vscode'] });
}

/** What a Python needs, from pyproject.toml, one requirement on a line. */
async function requirements() {
  const project = await readFile(`${root}/pyproject.toml`, 'utf8');
  const list = /^dependencies = \[(.*?)^\]/ms.exec(project)[1];
  return [...list.matchAll(/"(.*?)"/g)].map((found) => found[1]);
}

/** Python files and what goes with them, without what running them left behind. */
async function carryServer() {
  await rm(`${here}/server/polylsp`, { recursive: true, force: true });
  const filter = (file) => !file.includes('__pycache__');
  await cp(`${root}/polylsp`, `${here}/server/polylsp`, { recursive: true, filter });
}

await mkdir(`${here}/build`, { recursive: true });
await writeFile(`${here}/server/requirements.txt`, (await requirements()).join('\n') + '\n');
await bundleExtension();
if (asked('--tests')) {
  await bundleTests();
}
if (asked('--carry')) {
  await carryServer();
}
