// What `polylsp/iterationSpace` answers, and what the side view and the extension say to each other.

export type Point = readonly [number, number];
export type Kind = 'flow' | 'anti' | 'output';

interface Place {
  readonly line: number;
  readonly character: number;
}

/** An access in the text, in positions of the protocol. */
export interface Access {
  readonly text: string;
  readonly access: 'read' | 'write';
  readonly range: { readonly start: Place; readonly end: Place };
}

/** Two accesses of which one must come after the other. */
export interface Dependence {
  readonly kind: Kind;
  readonly variable: string;
  readonly source: Access;
  readonly sink: Access;
}

/** A dependence between two iterations; `dependences` are the numbers of those that it is drawn for. */
export interface Arrow {
  readonly kind: Kind;
  readonly source: Point;
  readonly sink: Point;
  readonly dependences: readonly number[];
}

/** An order: the points that run at once, step by step. */
export interface Order {
  readonly words: string;
  readonly steps: readonly (readonly Point[])[];
}

export interface Bar {
  readonly words: string;
  readonly seconds: number;
  readonly note: string;
}

/** A loop as it is drawn; where nothing can be drawn, `reason` says why. */
export interface Space {
  readonly version: number;
  readonly range: Access['range'];
  readonly function: string;
  readonly ordinal: number;
  readonly sentence: string;
  readonly reason: string | null;
  readonly iterators: readonly string[];
  readonly dimensions: readonly string[];
  readonly sizes: readonly (readonly [string, number])[];
  readonly complete: boolean;
  readonly points: readonly Point[];
  readonly tiles: readonly (readonly Point[])[];
  readonly arrows: readonly Arrow[];
  readonly dependences: readonly Dependence[];
  readonly orders: readonly Order[];
  readonly bars: readonly Bar[];
}

/** Where the loop is that is drawn: what finds it again once the window was loaded anew. */
export interface Kept {
  /** A file; a notebook where `cell`, counted from 0, says in which of its cells. */
  readonly uri: string;
  readonly cell?: number;
  readonly line: number;
  readonly character: number;
  readonly dimensions?: readonly [string, string];
  /** The loop that stood there, by its function and its number in it. */
  readonly loop: string;
}

/** What the page has VS Code keep for it. */
export interface State {
  readonly kept: Kept;
  /** The number of the order that is chosen, and of its step, from 1; 0 before the first. */
  readonly order: number;
  readonly step: number;
  readonly tiles: boolean;
}

/** To the view: a loop, which the person has `asked` for or which the cursor came to; or why there is none. */
export type Show =
  | { readonly kind: 'show'; readonly space: Space; readonly kept: Kept; readonly asked: boolean }
  | { readonly kind: 'nothing'; readonly reason: string };

/** From the view: it can draw; other loops are chosen; accesses of these dependences are to be shown. */
export type Wish =
  | { readonly kind: 'ready' }
  | { readonly kind: 'dimensions'; readonly dimensions: readonly [string, string] }
  | { readonly kind: 'highlight'; readonly dependences: readonly number[] };
