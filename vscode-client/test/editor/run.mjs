// node run.mjs TOOLS VSIX PYTHON PICTURES [host|page|places]: all kinds of tests, or one, in one editor.

import fs from 'node:fs';
import path from 'node:path';

import { startEditor } from './editor.mjs';
import { runInHost } from './host.mjs';
import { runOnPage } from './page.mjs';
import { runInPlaces } from './places.mjs';

const [tools, vsix, python, pictures] = process.argv.slice(2, 6).map((each) => path.resolve(each));
const only = process.argv[6];
fs.mkdirSync(pictures, { recursive: true });
const editor = await startEditor({ tools, vsix, python });
let failed = true;
try {
  fs.copyFileSync(path.join(import.meta.dirname, '../../media/example.c'), path.join(editor.workspace, 'example.c'));
  const wanted = (kind) => only === undefined || only === kind;
  if (wanted('host')) {
    await runInHost(editor, tools);
  }
  if (wanted('page')) {
    await runOnPage(editor, tools, pictures);
  }
  if (wanted('places')) {
    await runInPlaces(editor, tools, pictures);
  }
  failed = false;
} catch (error) {
  console.error(error);
} finally {
  editor.stop();
}
process.exit(failed ? 1 : 0);
