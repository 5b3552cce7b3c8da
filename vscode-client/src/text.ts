// Sizes as a person writes them, `n=2000 m=500`, sentences about counts, and questions.

/** The sizes of a text, or what is wrong with it. A number alone is the size of the one that is asked for. */
export function sizesOf(text: string, asked: readonly string[] = []): Record<string, number> | string {
  const found: Record<string, number> = {};
  const [name] = asked;
  if (name !== undefined && asked.length === 1 && Number(text) > 0 && /^\s*\d+\s*$/.test(text)) {
    return { [name]: Number(text) };
  }
  for (const word of text.split(/[\s,]+/).filter(Boolean)) {
    const [, name, value] = /^([A-Za-z_]\w*)=(\d+)$/.exec(word) ?? [];
    if (name === undefined || !Number(value)) {
      return `\`${word}\` is no size: write the name of a parameter and a whole number, as in \`n=2000\`.`;
    }
    found[name] = Number(value);
  }
  return found;
}

/** Sizes as a person would write them. */
export function writtenSizes(sizes: Readonly<Record<string, number>>): string {
  return Object.entries(sizes).map(([name, size]) => `${name}=${size}`).join(' ');
}

/** What a person is asked about the sizes of a function. `unknown`: those that nothing in the file gives. */
export function sizesPrompt(name: string, unknown: readonly string[]): string {
  const example = writtenSizes(Object.fromEntries((unknown.length ? unknown : ['n', 'm']).map((each, i) => [each, i ? 500 : 2000])));
  const why = unknown.length ? `Nothing in the file gives the usual sizes of \`${name}\`. ` : '';
  return `${why}As in \`${example}\`; remembered. Leave it empty to have them chosen.`;
}

/** In a sentence: how many loops a ranking has, of how many. */
export function summary(ranked: number, verdicts: Readonly<Record<string, number>>, running: number, small: number): string {
  const all = Object.values(verdicts).reduce((sum, each) => sum + each, 0);
  if (!all) {
    return 'There are no loops in the C and Python files of the workspace.';
  }
  const words = Object.entries(verdicts).map(([verdict, count]) => `${count} ${verdict}`);
  const others = [running && `${running} run in parallel already`, small && `${small} do too little work`].filter(Boolean);
  const more = others.length ? `; not listed: ${others.join(', ')}` : '';
  return `${ranked || 'No'} ${ranked === 1 ? 'loop' : 'loops'} to run in parallel, of ${all} (${words.join(', ')})${more}.`;
}

/** What a language model passes to a tool. */
export type Input = Readonly<Record<string, unknown>>;

/** What a person is asked before a language model's tool writes a file or runs programs; nothing for one that only reads. */
export function consentTo(tool: string, input: Input): { readonly title: string; readonly message: string } | undefined {
  const place = `\`${String(input.path).replace(/`/g, "'")}\`, line ${String(input.line)}`;
  if (tool === 'measure') {
    return {
      title: 'Build and run this function?',
      message: `The function at ${place} and its parallel versions are built and run on generated data, confined.`,
    };
  }
  if (tool === 'apply' && input.write === true) {
    const action = String(input.action).replace(/`/g, "'");
    return { title: 'Change this file?', message: `The edit \`${action}\` is written to ${place}.` };
  }
  return undefined;
}
