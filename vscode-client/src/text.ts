// Sizes as a person writes them: `n=2000 m=500`.

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
