// What stands around the drawing: loops to choose, orders and their steps, dependences, times.

import type { Order, Point, Space } from '../src/view/space';
import { named } from './drawing';
import { element, sentence } from './elements';

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

/** Orders to choose from, and a slider over the steps of the one that is chosen. */
export function stepping(space: Space, show: (before: readonly Point[], now: readonly Point[] | undefined) => void): HTMLElement[] {
  if (!space.orders.length) {
    return [];
  }
  let order: Order = space.orders[0]!;
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
  };
  const go = (number: number) => {
    slider.value = String(Math.min(Math.max(number, 0), order.steps.length));
    update();
  };
  const stop = () => {
    clearInterval(playing);
    playing = undefined;
    play.textContent = 'Play';
  };
  const choose = (chosen: Order) => {
    stop();
    order = chosen;
    slider.max = String(order.steps.length);
    go(0);
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
    go(Number(slider.value) >= order.steps.length ? 1 : Number(slider.value) + 1);
    playing = setInterval(() => {
      if (!play.isConnected || Number(slider.value) >= order.steps.length) {
        stop();
      } else {
        go(Number(slider.value) + 1);
      }
    }, MILLISECONDS_A_STEP);
  });
  const choices = space.orders.map((each, number) => radio(each, number, () => choose(each)));
  choose(order);
  return [
    element('fieldset', {}, element('legend', {}, 'Order'), ...choices),
    element('div', { class: 'row' }, back, slider, forth, play, told),
  ];
}

function stepWords(space: Space, order: Order, number: number, now: readonly Point[]): string {
  const which = now.length <= MOST_NAMED ? `: ${now.map((each) => named(space, each)).join('; ')}` : '';
  return `Step ${number} of ${order.steps.length}, ${count(now.length, 'iteration')}${now.length > 1 ? ' at once' : ''}${which}`;
}

function count(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? '' : 's'}`;
}

function radio(order: Order, number: number, choose: () => void): HTMLElement {
  const input = element('input', { type: 'radio', name: 'order', id: `order${number}`, checked: number === 0 });
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
      { type: 'button', class: `dependence ${each.kind}`, 'aria-pressed': 'false' },
      element('span', { class: 'kind' }, each.kind),
      element('code', {}, each.source.text),
      ' → ',
      element('code', {}, each.sink.text),
      element('span', { class: 'lines' }, ` lines ${each.source.range.start.line + 1} and ${each.sink.range.start.line + 1}`),
    );
    made.addEventListener('click', () => choose(number));
    return made;
  });
  if (!buttons.length) {
    return { section: [element('p', {}, 'These loops carry no dependences.')], buttons };
  }
  const words = 'Choose one, or an arrow, to see the two accesses in the text.';
  return { section: [element('h2', {}, 'Dependences'), element('p', { class: 'aside' }, words), ...buttons], buttons };
}

/** What was measured, longest bar first to last as the server lists them. */
export function times(space: Space): HTMLElement[] {
  const longest = Math.max(...space.bars.map((each) => each.seconds));
  const rows = space.bars.map((each) => {
    const bar = element('meter', { min: 0, max: longest, value: each.seconds, 'aria-label': `${each.words}: ${each.note}` });
    return element('tr', {}, element('th', { scope: 'row' }, each.words), element('td', {}, bar), element('td', {}, each.note));
  });
  return rows.length ? [element('h2', {}, 'Measured'), element('table', {}, element('tbody', {}, ...rows))] : [];
}
