// The page's ways to VS Code: wishes, what is kept for it while it is hidden or gone, and words for who cannot see it.

import type { Kept, State, Wish } from '../src/view/space';

declare function acquireVsCodeApi(): { postMessage(wish: Wish): void; getState(): State | undefined; setState(state: State): void };

const api = acquireVsCodeApi();
const told = document.getElementById('told')!;

export function wish(made: Wish): void {
  api.postMessage(made);
}

/** Have screen readers say it, once they are done with what they say. */
export function tell(words: string): void {
  told.textContent = words;
}

/** What was chosen in the drawing of a loop: nothing, if another one was drawn last. */
export function stateOf(kept: Kept): State {
  const last = api.getState();
  const fresh = { kept, order: 0, step: 0, tiles: false };
  return last && isOneLoop(last.kept, kept) ? { ...last, kept } : fresh;
}

export function keep(state: State): void {
  api.setState(state);
}

function isOneLoop(one: Kept, other: Kept): boolean {
  return one.uri === other.uri && one.cell === other.cell && one.loop === other.loop && String(one.dimensions) === String(other.dimensions);
}
