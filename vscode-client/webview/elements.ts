// Elements of the page, made by name: no text is ever read as HTML.

type Attributes = Readonly<Record<string, string | number | boolean>>;

const SVG = 'http://www.w3.org/2000/svg';

export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  return filled(document.createElement(name), attributes, children);
}

export function shape<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): SVGElementTagNameMap[K] {
  return filled(document.createElementNS(SVG, name) as SVGElementTagNameMap[K], attributes, children);
}

/** A sentence in which names between backticks are set as code. */
export function sentence(text: string): (Node | string)[] {
  return text.split('`').map((part, number) => (number % 2 ? element('code', {}, part) : part));
}

/** A number of things in words. */
export function count(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? '' : 's'}`;
}

function filled<T extends Element>(made: T, attributes: Attributes, children: readonly (Node | string)[]): T {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) {
      made.setAttribute(name, '');
    } else if (value !== false) {
      made.setAttribute(name, String(value));
    }
  }
  made.append(...children);
  return made;
}
