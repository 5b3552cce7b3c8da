// What stands around the drawing: loops to choose, orders and their steps, dependences, times.

import type { Dependence, Order, Point, Space, State } from '../src/view/space';
import { named } from './drawing';
import { count, element, sentence } from './elements';

const MILLISECONDS_A_STEP = 600;
const MOST_NAMED = 6;

/** Two lists to choose the loops along the axes from. */
export function axesChoice(space: Space, choose: (dimensions: [string, string]) => void): HTMLElement[] {
  if (space.iterators.length < 2) {
    return [];
  }
  const [first, second] = space.dimensions.length === 2 ? space.dimensions : space.iterators;
  const across = list('across', 'Across', space.iterators, first!);
  const upwards = list('upwards', 'Upwards', space.iterators, second!);
  for (const [changed, other] of [[across, upwards], [upwards, across]] as const) {
    let before = changed.select.value;
    changed.select.addEventListener('change', () => {
      if (other.select.value === changed.select.value) {
        other.select.value = before;
      }
      before = changed.select.value;
      choose([across.select.value, upwards.select.value]);
    });
  }
  return [element('div', { class: 'row', role: 'group', 'aria-label': 'Loops that are drawn' }, across.label, upwards.label)];
}

function list(id: string, words: string, names: readonly string[], chosen: string) {
  const options = names.map((each) => element('option', { value: each, selected: each === chosen }, each));
  const select = element('select', { id }, ...options);
  return { select, label: element('label', { for: id }, `${words} `, select) };
}

/** What is chosen of the orders. */
type Stage = Pick<State, 'order' | 'step'>;

/** Orders to choose from, and a slider over the steps of the one that is chosen; `begin` with those that were chosen
 * before, and `note` others. */
export function stepping(
  space: Space,
  begin: Stage,
  show: (before: readonly Point[], now: readonly Point[] | undefined) => void,
  note: (stage: Stage) => void,
): HTMLElement[] {
  if (!space.orders.length) {
    return [];
  }
  let order: Order;
  let playing: ReturnType<typeof setInterval> | undefined;
  const slider = element('input', { type: 'range', id: 'step', min: 0, value: 0, 'aria-label': 'Step' });
  const told = element('output', { for: 'step', role: 'status' });
  const play = button('Play', 'play');
  const [back, forth] = [button('◀', 'back', 'One step back'), button('▶', 'forth', 'One step on')];
  const update = () => {
    const number = Number(slider.value);
    const now = number ? order.steps[number - 1] : undefined;
    show(order.steps.slice(0, Math.max(0, number - 1)).flat(), now);
    const words = now ? stepWords(space, order, number, now) : `${count(order.steps.length, 'step')}`;
    told.textContent = words;
    slider.setAttribute('aria-valuetext', words);
    note({ order: space.orders.indexOf(order), step: number });
  };
  const go = (number: number) => {
    slider.value = String(Math.min(Math.max(number, 0), order.steps.length));
    update();
  };
  const stop = () => {
    clearInterval(playing);
    playing = undefined;
    play.textContent = 'Play';
    told.setAttribute('aria-live', 'polite');
  };
  const choose = (chosen: Order, step = 0) => {
    stop();
    order = chosen;
    slider.max = String(order.steps.length);
    go(step);
  };
  slider.addEventListener('input', update);
  back.addEventListener('click', () => go(Number(slider.value) - 1));
  forth.addEventListener('click', () => go(Number(slider.value) + 1));
  play.addEventListener('click', () => {
    if (playing) {
      stop();
      return;
    }
    play.textContent = 'Pause';
    told.setAttribute('aria-live', 'off'); // faster than it could be read
    go(Number(slider.value) >= order.steps.length ? 1 : Number(slider.value) + 1);
    playing = setInterval(() => {
      if (!play.isConnected || Number(slider.value) >= order.steps.length) {
        stop();
      } else {
        go(Number(slider.value) + 1);
      }
    }, MILLISECONDS_A_STEP);
  });
  const first = Math.min(begin.order, space.orders.length - 1);
  const choices = space.orders.map((each, number) => radio(each, number, number === first, () => choose(each)));
  choose(space.orders[first]!, begin.step);
  return [
    element('fieldset', {}, element('legend', {}, 'Order'), ...choices),
    element('div', { class: 'row' }, back, slider, forth, play, told),
  ];
}

function stepWords(space: Space, order: Order, number: number, now: readonly Point[]): string {
  const which = now.length <= MOST_NAMED ? `: ${now.map((each) => named(space, each)).join('; ')}` : '';
  return `Step ${number} of ${order.steps.length}, ${count(now.length, 'iteration')}${now.length > 1 ? ' at once' : ''}${which}`;
}

function radio(order: Order, number: number, checked: boolean, choose: () => void): HTMLElement {
  const input = element('input', { type: 'radio', name: 'order', id: `order${number}`, checked });
  input.addEventListener('change', choose);
  return element('label', { for: `order${number}`, class: 'choice' }, input, element('span', {}, ...sentence(order.words)));
}

function button(text: string, id: string, label?: string): HTMLButtonElement {
  return element('button', { type: 'button', id, ...(label ? { 'aria-label': label, title: label } : {}) }, text);
}

/** The dependences as buttons; answers them in the order of their numbers. */
export function dependences(space: Space, choose: (number: number) => void): { section: HTMLElement[]; buttons: HTMLButtonElement[] } {
  const buttons = space.dependences.map((each, number) => {
    const made = element(
      'button',
      { type: 'button', id: `dependence${number}`, class: `dependence ${each.kind}`, 'aria-pressed': 'false' },
      element('span', { class: 'kind' }, each.kind),
      element('code', {}, each.source.text),
      ' → ',
      element('code', {}, each.sink.text),
      element('span', { class: 'lines' }, ` ${lines(each)}`),
    );
    made.addEventListener('click', () => choose(number));
    return made;
  });
  if (!buttons.length) {
    return { section: [element('p', {}, 'These loops carry no dependences.')], buttons };
  }
  const words = 'Choose one, or an arrow, to see the two accesses in the text.';
  const listed = element('ul', { 'aria-labelledby': 'dependences' }, ...buttons.map((each) => element('li', {}, each)));
  return { section: [element('h2', { id: 'dependences' }, 'Dependences'), element('p', { class: 'aside', id: 'choosing' }, words), listed], buttons };
}

function lines({ source, sink }: Dependence): string {
  const [one, other] = [source.range.start.line + 1, sink.range.start.line + 1];
  return one === other ? `line ${one}` : `lines ${one} and ${other}`;
}

/** What was measured, longest bar first to last as the server lists them. */
export function times(space: Space): HTMLElement[] {
  const longest = Math.max(...space.bars.map((each) => each.seconds));
  const rows = space.bars.map((each) => {
    // The note beside it says the same.
    const bar = element('meter', { min: 0, max: longest, value: each.seconds });
    return element('tr', {}, element('th', { scope: 'row' }, each.words), element('td', { 'aria-hidden': 'true' }, bar), element('td', {}, each.note));
  });
  const table = element('table', { 'aria-labelledby': 'measured' }, element('tbody', {}, ...rows));
  return rows.length ? [element('h2', { id: 'measured' }, 'Measured'), table] : [];
}
