// A real VS Code in a fresh profile, with the packaged extension and nothing else.

import { spawn, execFileSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { createRequire } from 'node:module';

const CHROMIUM = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

const SETTINGS = {
  'editor.hover.delay': 100,
  'window.autoDetectColorScheme': true,
  'polylsp.findings': 'all', // the tests look at each loop of their example
  'editor.minimap.enabled': false,
  'telemetry.telemetryLevel': 'off',
  'workbench.startupEditor': 'none',
  'workbench.editor.useModal': 'off', // newer editors show the page about trust above the others
  'workbench.enableExperiments': false,
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'chat.disableAIFeatures': true,
  'security.workspace.trust.enabled': false,
  'extensions.autoCheckUpdates': false,
  'extensions.autoUpdate': false,
  'extensions.ignoreRecommendations': true,
  'git.enabled': false,
  'update.mode': 'none',
};

/** A profile that nobody has used: its settings are those above. `tools` is what install.sh made. */
export function makeProfile(tools) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'polylsp-editor-'));
  const user = path.join(folder, 'data', 'User');
  fs.mkdirSync(user, { recursive: true });
  const configure = (more = {}) => fs.writeFileSync(path.join(user, 'settings.json'), JSON.stringify({ ...SETTINGS, ...more }));
  configure();
  const env = {
    ...process.env,
    HOME: folder,
    XDG_CONFIG_HOME: `${folder}/config`,
    XDG_DATA_HOME: `${folder}/share`,
    XDG_CACHE_HOME: `${folder}/cache`,
    EXTENSIONS_GALLERY: '{"serviceUrl":""}',
  };
  delete env.PYTHONPATH;
  delete env.PYTHONDONTWRITEBYTECODE;
  const entry = path.join(tools, 'node_modules/code-server/out/node/entry.js');
  const command = [process.execPath, entry, '--user-data-dir', `${folder}/data`, '--extensions-dir', `${folder}/extensions`];
  return { folder, env, command, configure };
}

/** Start the editor of a profile; `stop` also removes the profile. */
export async function launch({ folder, env, command: [program, ...given] }) {
  const port = await freePort();
  const log = fs.openSync(`${folder}/server.log`, 'w');
  const options = ['--bind-addr', `127.0.0.1:${port}`, '--auth', 'none', '--disable-telemetry', '--disable-update-check', '--disable-getting-started-override'];
  const running = spawn(program, [...given, ...options], { env, stdio: ['ignore', log, log], detached: true });
  await answers(port);
  const stop = () => {
    process.kill(-running.pid, 'SIGTERM');
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  };
  return { host: `127.0.0.1:${port}`, stop };
}

/** One with the extension, and a workspace; `python` has the packages that the server needs, but no polylsp. */
export async function startEditor({ tools, vsix, python }) {
  const profile = makeProfile(tools);
  const { folder, env, command, configure } = profile;
  const workspace = path.join(folder, 'workspace');
  fs.mkdirSync(workspace);
  /** Settings of the machine that the extension runs on, where those stand that name programs. */
  const configureMachine = (settings) => {
    fs.mkdirSync(path.join(folder, 'data', 'Machine'), { recursive: true });
    fs.writeFileSync(path.join(folder, 'data', 'Machine', 'settings.json'), JSON.stringify(settings));
  };
  makeEnvironment(path.join(workspace, '.venv'), python);
  const other = path.join(folder, 'python');
  makeEnvironment(other, python); // for workspaces that have none, or whose own is not run
  const [program, ...given] = command;
  execFileSync(program, [...given, '--install-extension', path.resolve(vsix)], { env, stdio: 'pipe' });
  const { host, stop } = await launch(profile);
  return { host, folder, workspace, python: `${other}/bin/python3`, configure, configureMachine, stop };
}

/** A page of the browser. */
export async function openPage(tools, prepare = async () => {}) {
  const require = createRequire(path.join(tools, 'package.json'));
  const { chromium } = require('playwright-core');
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'polylsp-browser-'));
  const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((each) => fs.existsSync(each));
  const viewport = { width: 1200, height: 760 };
  const context = await chromium.launchPersistentContext(profile, { executablePath, headless: true, viewport, args: CHROMIUM });
  const page = context.pages()[0] ?? (await context.newPage());
  page.setDefaultTimeout(120_000); // two cores may have other work too
  await page.emulateMedia({ colorScheme: 'dark' });
  await prepare(page);
  const close = async () => {
    await context.close();
    fs.rmSync(profile, { recursive: true, force: true });
  };
  return { page, close };
}

/** An environment that finds the packages of another, but not what is installed there in place, such as polylsp. */
function makeEnvironment(made, python) {
  execFileSync(python, ['-m', 'venv', '--without-pip', made]);
  const where = 'import sysconfig; print(sysconfig.get_paths()["purelib"])';
  const packages = execFileSync(python, ['-c', where], { encoding: 'utf8' });
  const own = execFileSync(`${made}/bin/python3`, ['-c', where], { encoding: 'utf8' });
  fs.writeFileSync(path.join(own.trim(), 'packages.pth'), packages);
}

function freePort() {
  return new Promise((resolve) => {
    const server = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

async function answers(port) {
  for (let tries = 0; tries < 240; tries++) {
    try {
      const answer = await fetch(`http://127.0.0.1:${port}/healthz`);
      if (answer.ok) {
        return;
      }
    } catch {
      // not yet
    }
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  throw new Error('the editor did not start');
}
