// The side view, in the page: drawn anew for each loop, and changed as the person steps and chooses.

import type { Dependence, Show, Space, State } from '../src/view/space';
import { axesChoice, dependences, stepping, times } from './controls';
import { draw } from './drawing';
import { count, element, sentence } from './elements';
import { keep, stateOf, tell, wish } from './page';

const view = document.getElementById('view')!;

window.addEventListener('message', ({ data }: MessageEvent<Show>) => {
  const focused = document.activeElement?.id;
  if (data.kind === 'nothing') {
    if (view.textContent === data.reason) {
      return;
    }
    view.replaceChildren(element('p', {}, data.reason));
    tell(data.reason);
  } else {
    view.replaceChildren(...content(data.space, stateOf(data.kept)));
    // Who moves the cursor from loop to loop hears of them there.
    tell(data.asked ? summary(data.space) : '');
  }
  view.setAttribute('aria-busy', 'false');
  if (focused) {
    document.getElementById(focused)?.focus();
  }
});

function summary(space: Space): string {
  const found = space.reason ?? `${count(space.points.length, 'iteration')}, ${count(space.arrows.length, 'arrow')} between them`;
  return `${where(space).join('')}: ${found}`;
}

/** Whose iterations these are: loops outside of functions belong to none. */
function where({ function: name }: Space): [string, string] {
  return /^\w+$/.test(name) ? ['Iterations of ', name] : ['Iterations at the top level', ''];
}

function content(space: Space, state: State): HTMLElement[] {
  keep(state);
  const [words, name] = where(space);
  const heading = [element('h1', {}, words, ...(name ? [element('code', {}, name)] : [])), element('p', {}, ...sentence(space.sentence))];
  const choice = axesChoice(space, (dimensions) => wish({ kind: 'dimensions', dimensions }));
  if (space.reason !== null) {
    return [...heading, ...choice, element('p', {}, ...sentence(space.reason)), ...times(space)];
  }
  return [...heading, ...choice, ...picture(space, state), ...times(space)];
}

/** The drawing with its steps and its dependences, which belong together. */
function picture(space: Space, state: State): HTMLElement[] {
  let now = state;
  const note = (changed: Partial<State>) => keep((now = { ...now, ...changed }));
  let chosen: readonly number[] = [];
  const choose = (numbers: readonly number[]) => {
    chosen = String(numbers) === String(chosen) ? [] : numbers; // once more: as before
    drawing.emphasise(chosen);
    listed.buttons.forEach((each, number) => each.setAttribute('aria-pressed', String(chosen.includes(number))));
    wish({ kind: 'highlight', dependences: chosen });
    tell(marks(chosen.map((each) => space.dependences[each]!)));
  };
  const drawing = draw(space, (arrow) => choose(arrow.dependences));
  const listed = dependences(space, (number) => choose([number]));
  const steps = stepping(space, state, drawing.step, note);
  const frame = element('div', { class: 'drawing' });
  frame.append(drawing.svg);
  return [...steps, ...tilesChoice(space, state.tiles, (tiles) => (drawing.tiles(tiles), note({ tiles }))), frame, remark(space), ...listed.section];
}

/** What is marked in the text, in words. */
function marks(chosen: readonly Dependence[]): string {
  const words = chosen.map(({ source, sink }) => `${source.text} on line ${source.range.start.line + 1}, then ${sink.text} on line ${sink.range.start.line + 1}`);
  return words.length ? `Marked in the text: ${words.join('; ')}` : 'Nothing is marked in the text';
}

function tilesChoice(space: Space, shown: boolean, show: (shown: boolean) => void): HTMLElement[] {
  if (!space.tiles.length) {
    return [];
  }
  const input = element('input', { type: 'checkbox', id: 'tiles', checked: shown });
  input.addEventListener('change', () => show(input.checked));
  show(shown);
  return [element('label', { for: 'tiles', class: 'choice' }, input, 'Tiles, which can run one after the other')];
}

function remark(space: Space): HTMLElement {
  const sizes = space.sizes.map(([name, value]) => `${name} = ${value}`).join(', ');
  const left = space.complete ? '' : 'only the first iterations are drawn';
  return element('p', { class: 'aside', id: 'remark' }, [sizes && `Drawn for ${sizes}`, left].filter(Boolean).join('; '));
}

wish({ kind: 'ready' });
