// Each test gets the uri of example.c; they run in this order and each leaves the text as it was.

const vscode = require('vscode');

const EXTENSION = 'polylsp.polylsp';

let document;

/** The line of the n-th `for` of the example, from 0. */
function loopLine(number) {
  const lines = document.getText().split('\n').map((text, line) => [text, line]);
  return lines.filter(([text]) => text.includes('for (')).map(([, line]) => line)[number];
}

const codesOf = (uri) => vscode.languages.getDiagnostics(uri).map((each) => each.code.value ?? each.code);

module.exports = {
  async 'the server is found and started when a file is opened'({ uri, assert, until }) {
    const begun = Date.now();
    document = await vscode.workspace.openTextDocument(uri);
    await vscode.window.showTextDocument(document);
    const extension = vscode.extensions.getExtension(EXTENSION);
    const { server } = await extension.activate();
    await until('findings', () => codesOf(uri).length >= 6).catch((error) => {
      throw new Error(`${error.message}: ${JSON.stringify(server.condition)}`);
    });
    console.log(`   findings after ${Date.now() - begun} ms`);
    const { kind, launch, version } = server.condition;
    assert.equal(kind, 'running');
    assert.match(launch.origin, /the copy that came with the extension/);
    assert.equal(version, extension.packageJSON.version);
  },

  async 'each loop has its finding, with a page about its kind'({ uri, assert }) {
    const found = vscode.languages.getDiagnostics(uri).sort((a, b) => a.range.start.line - b.range.start.line);
    const [first, second] = found;
    assert.deepEqual([first.code.value, first.source, first.range.start.line], ['needs-restrict', 'polylsp', loopLine(0)]);
    assert.deepEqual([second.code.value, second.range.start.line], ['sequential-loop', loopLine(1)]);
    assert.equal(first.code.target.scheme, 'file');
    assert.ok((await vscode.workspace.fs.stat(first.code.target)).size > 0);
  },

  async 'the hover has the verdict and a picture'({ uri, assert, until }) {
    const text = await until('a picture', async () => {
      const [hover] = await vscode.commands.executeCommand('vscode.executeHoverProvider', uri, new vscode.Position(loopLine(1), 6));
      const value = hover?.contents.map((each) => each.value).join('\n') ?? '';
      return value.includes('data:image/svg+xml') && value;
    });
    assert.match(text, /^\[Show iterations beside\]\(command:polylsp\.iterations.*\n!\[Iterations of i/, 'what the finding says already is not said again');
    assert.match(text, /\| dependence \| from \| to \|/);
  },

  async 'verdicts stand beside the loops'({ uri, assert, until }) {
    const whole = new vscode.Range(0, 0, document.lineCount, 0);
    const hints = await until('hints', async () => {
      const some = await vscode.commands.executeCommand('vscode.executeInlayHintProvider', uri, whole);
      return some.length >= 2 && some;
    });
    const text = (label) => (typeof label === 'string' ? label : label.map((part) => part.value).join(''));
    const shown = Object.fromEntries(hints.map((each) => [each.position.line, text(each.label)]));
    assert.match(shown[loopLine(0)], /^parallel/);
    assert.match(shown[loopLine(1)], /^sequential/);
  },

  async 'lenses come when the settings name them, and lead to what can be done'({ uri, assert, until }) {
    const lenses = async () => {
      const all = await vscode.commands.executeCommand('vscode.executeCodeLensProvider', uri, 50);
      return all.filter((each) => each.command.command !== 'polylsp.measure');
    };
    assert.deepEqual(await lenses(), []);
    const settings = vscode.workspace.getConfiguration('polylsp');
    await settings.update('codeLenses', ['why', 'offload'], vscode.ConfigurationTarget.Global);
    const found = await until('lenses', async () => {
      const some = await lenses();
      return some.length > 0 && some;
    });
    assert.deepEqual([...new Set(found.map((each) => each.command.command))].sort(), ['polylsp.offload', 'polylsp.why']);
    await settings.update('codeLenses', undefined, vscode.ConfigurationTarget.Global);
    await until('no lenses', async () => (await lenses()).length === 0);
  },

  async 'an action writes a directive, and undo takes it back'({ uri, assert, until }) {
    const line = loopLine(2);
    const at = new vscode.Range(line, 4, line, 4);
    const action = await until('the action, with its edit', async () => {
      const actions = await vscode.commands.executeCommand('vscode.executeCodeActionProvider', uri, at, undefined, 20);
      return actions.find((each) => each.title.startsWith('Run `i` in parallel with OpenMP') && each.edit);
    });
    const before = document.getText();
    assert.ok(await vscode.workspace.applyEdit(action.edit));
    assert.match(document.lineAt(line).text, /#pragma omp parallel for/);
    await vscode.commands.executeCommand('undo');
    await until('what was there before', () => document.getText() === before);
  },

  async 'the extension runs where the files are, which is not where they are shown'({ uri, assert }) {
    assert.ok(vscode.env.remoteName, 'this editor shows files of another machine');
    assert.equal(vscode.extensions.getExtension(EXTENSION).extensionKind, vscode.ExtensionKind.Workspace);
    assert.equal(uri.scheme, 'file');
  },

  async 'commands that are promised are there'({ assert }) {
    const { contributes } = vscode.extensions.getExtension(EXTENSION).packageJSON;
    const there = await vscode.commands.getCommands(true);
    assert.deepEqual(contributes.commands.map((each) => each.command).filter((each) => !there.includes(each)), []);
  },

  async 'language models get proven facts by tools, and edits'({ uri, assert }) {
    if (!vscode.lm?.invokeTool) {
      console.log('   this VS Code has no tools for language models');
      return;
    }
    const names = vscode.lm.tools.map((each) => each.name).filter((name) => name.startsWith('polylsp_'));
    assert.deepEqual(names.sort(), ['actions', 'apply', 'check', 'explain', 'measure', 'report'].map((each) => `polylsp_${each}`));
    const call = async (tool, input) => {
      const { content } = await vscode.lm.invokeTool(`polylsp_${tool}`, { input, toolInvocationToken: undefined });
      return content.map((each) => each.value).join('');
    };
    const line = loopLine(2) + 1;
    assert.match(await call('check', { path: 'example.c' }), /sequential-loop/);
    assert.match(await call('explain', { path: uri.fsPath, line }), /can run in parallel/);
    assert.match(await call('actions', { path: 'example.c', line }), /"action": "openmp"/);
    await assert.rejects(call('explain', { path: '../other.c', line }), /outside|not/);
    assert.match(await call('apply', { path: 'example.c', line, action: 'openmp' }), /^\+ {4}#pragma omp parallel for/m);
    const before = document.getText();
    await call('apply', { path: 'example.c', line, action: 'openmp', write: true });
    const after = Buffer.from(await vscode.workspace.fs.readFile(uri)).toString();
    assert.match(after, /#pragma omp parallel for/);
    await vscode.workspace.fs.writeFile(uri, Buffer.from(before));
  },

  async 'a report tells of the server and of this machine'({ assert, until }) {
    void vscode.commands.executeCommand('polylsp.report');
    const editor = await until('a report', () => {
      const active = vscode.window.activeTextEditor;
      return active?.document.getText().startsWith('extension: polylsp') && active;
    });
    assert.match(editor.document.getText(), /islpy +ok/);
    assert.match(editor.document.getText(), /the copy that came with the extension/);
    await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
  },

  async 'a server that was killed is started again, and findings come back'({ uri, assert, until }) {
    const { server } = vscode.extensions.getExtension(EXTENSION).exports;
    const status = () => server.running?.sendRequest('workspace/executeCommand', { command: 'polylsp.status' });
    await vscode.window.showTextDocument(document);
    const { pid } = await status();
    process.kill(pid, 'SIGKILL');
    await until('another server', async () => {
      const now = await Promise.resolve(status()).catch(() => undefined);
      return now && now.pid !== pid;
    });
    await until('findings', () => codesOf(uri).length >= 6);
    assert.equal(server.condition.kind, 'running');
  },

  async 'a command of the settings that cannot be run is told, and found again once it is corrected'({ uri, assert, until }) {
    const { server } = vscode.extensions.getExtension(EXTENSION).exports;
    const settings = vscode.workspace.getConfiguration('polylsp');
    await settings.update('serverCommand', ['/no/such/polylsp', 'serve'], vscode.ConfigurationTarget.Global);
    await until('the trouble', () => server.condition.kind === 'missing');
    assert.match(server.condition.nothing.message, /`\/no\/such\/polylsp`, which cannot be run/);
    await until('no findings', () => codesOf(uri).length === 0);
    await settings.update('serverCommand', undefined, vscode.ConfigurationTarget.Global);
    await until('findings', () => codesOf(uri).length >= 6);
  },
};
