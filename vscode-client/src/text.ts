// Sizes as a person writes them, `n=2000 m=500`, and sentences about counts.

/** The sizes of a text, or what is wrong with it. */
export function sizesOf(text: string): Record<string, number> | string {
  const found: Record<string, number> = {};
  for (const word of text.split(/[\s,]+/).filter(Boolean)) {
    const [, name, value] = /^([A-Za-z_]\w*)=(\d+)$/.exec(word) ?? [];
    if (name === undefined || !Number(value)) {
      return `\`${word}\` is no size: write the name of a parameter and a whole number, as in \`n=2000\`.`;
    }
    found[name] = Number(value);
  }
  return found;
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
