// The side view, in the page: drawn anew for each loop, and changed as the person steps and chooses.

import type { Show, Space, Wish } from '../src/view/space';
import { axesChoice, dependences, stepping, times } from './controls';
import { draw } from './drawing';
import { element, sentence } from './elements';

declare function acquireVsCodeApi(): { postMessage(wish: Wish): void };

const { postMessage } = acquireVsCodeApi();
const view = document.getElementById('view')!;

window.addEventListener('message', ({ data }: MessageEvent<Show>) => {
  if (data.kind === 'show') {
    const focused = document.activeElement?.id;
    view.replaceChildren(...content(data.space));
    view.setAttribute('aria-busy', 'false');
    if (focused) {
      document.getElementById(focused)?.focus();
    }
  }
});

function content(space: Space): HTMLElement[] {
  const heading = [element('h1', {}, `Iterations of `, element('code', {}, space.function)), element('p', {}, ...sentence(space.sentence))];
  const choice = axesChoice(space, (dimensions) => postMessage({ kind: 'dimensions', dimensions }));
  if (space.reason !== null) {
    return [...heading, ...choice, element('p', { role: 'status' }, ...sentence(space.reason)), ...times(space)];
  }
  return [...heading, ...choice, ...picture(space), ...times(space)];
}

/** The drawing with its steps and its dependences, which belong together. */
function picture(space: Space): HTMLElement[] {
  let chosen: readonly number[] = [];
  const choose = (numbers: readonly number[]) => {
    chosen = String(numbers) === String(chosen) ? [] : numbers; // once more: as before
    drawing.emphasise(chosen);
    listed.buttons.forEach((each, number) => each.setAttribute('aria-pressed', String(chosen.includes(number))));
    postMessage({ kind: 'highlight', dependences: chosen });
  };
  const drawing = draw(space, (arrow) => choose(arrow.dependences));
  const listed = dependences(space, (number) => choose([number]));
  const steps = stepping(space, drawing.step);
  const frame = element('div', { class: 'drawing' });
  frame.append(drawing.svg);
  return [...steps, ...tilesChoice(space, drawing.tiles), frame, remark(space), ...listed.section];
}

function tilesChoice(space: Space, show: (shown: boolean) => void): HTMLElement[] {
  if (!space.tiles.length) {
    return [];
  }
  const input = element('input', { type: 'checkbox', id: 'tiles' });
  input.addEventListener('change', () => show(input.checked));
  show(false);
  return [element('label', { for: 'tiles', class: 'choice' }, input, 'Tiles, which can run one after the other')];
}

function remark(space: Space): HTMLElement {
  const sizes = space.sizes.map(([name, value]) => `${name} = ${value}`).join(', ');
  const left = space.complete ? '' : 'only the first iterations are drawn';
  return element('p', { class: 'aside' }, [sizes && `Drawn for ${sizes}`, left].filter(Boolean).join('; '));
}

postMessage({ kind: 'ready' });
