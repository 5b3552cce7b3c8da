// The iterations as SVG: points, arrows that can be chosen, tiles, axes.

import type { Arrow, Point, Space } from '../src/view/space';
import { shape } from './elements';
import { curve, hull, scaleOf, type Scale } from './scale';

const MOST_LABELS = 16;

/** A drawing, and how it is changed afterwards. */
export interface Drawing {
  readonly svg: SVGSVGElement;
  /** Show a step: what ran before it, and what runs in it. Without one, all points look alike. */
  step(before: readonly Point[], now: readonly Point[] | undefined): void;
  /** Emphasise the arrows that are drawn for some dependences; all, if there are none. */
  emphasise(dependences: readonly number[]): void;
  tiles(shown: boolean): void;
}

export function draw(space: Space, choose: (arrow: Arrow) => void): Drawing {
  const scale = scaleOf(space);
  const points = new Map(space.points.map((each) => [each.join(), point(space, each, scale)]));
  const arrows = space.arrows.filter((each) => each.source.join() !== each.sink.join());
  const lines = arrows.map((each) => line(space, each, scale));
  const tiles = shape('g', { class: 'tiles' }, ...space.tiles.map((each) => tile(each, scale)));
  const options = { role: 'listbox', 'aria-label': 'Arrows between iterations', 'aria-multiselectable': 'true', 'aria-describedby': 'choosing' };
  const group = shape('g', lines.length ? options : {}, ...lines);
  const label = `Iterations of ${space.dimensions.join(' and ')}`;
  const svg = shape(
    'svg',
    { viewBox: `0 0 ${scale.width} ${scale.height}`, width: scale.width, height: scale.height, role: 'group', 'aria-label': label, 'aria-describedby': 'remark' },
    markers(),
    // What is running is told beside the slider: not each point and number by itself.
    shape('g', { 'aria-hidden': 'true' }, ...axes(space, scale), tiles, ...points.values()),
    group,
  );
  roving(lines, (number) => choose(arrows[number]!));
  return {
    svg,
    step: (before, now) => {
      const [done, running] = [new Set(before.map(String)), new Set(now?.map(String))];
      points.forEach((circle, name) => {
        const state = running.has(name) ? 'now' : now && !done.has(name) ? 'later' : '';
        circle.setAttribute('class', `point ${state}`);
        circle.setAttribute('r', String(state === 'now' ? scale.radius * 1.6 : scale.radius));
      });
    },
    emphasise: (chosen) => {
      lines.forEach((each, number) => {
        const isChosen = arrows[number]!.dependences.some((one) => chosen.includes(one));
        each.classList.toggle('chosen', isChosen);
        each.classList.toggle('faint', chosen.length > 0 && !isChosen);
        each.setAttribute('aria-selected', String(isChosen));
      });
    },
    tiles: (shown) => tiles.classList.toggle('hidden', !shown),
  };
}

export function named(space: Space, point: Point): string {
  return space.dimensions.map((name, k) => `${name} = ${point[k as 0 | 1]}`).join(', ');
}

function point(space: Space, at: Point, scale: Scale): SVGCircleElement {
  const [cx, cy] = scale.at(at);
  return shape('circle', { class: 'point', cx, cy, r: scale.radius }, shape('title', {}, named(space, at)));
}

function line(space: Space, arrow: Arrow, scale: Scale): SVGGElement {
  const d = curve(arrow, scale);
  const words = `${arrow.kind} from ${named(space, arrow.source)} to ${named(space, arrow.sink)}`;
  const accesses = arrow.dependences.map((each) => space.dependences[each]!).map((each) => `${each.source.text} to ${each.sink.text}`);
  const label = [words, ...accesses].join('; ');
  return shape(
    'g',
    { class: `arrow ${arrow.kind}`, role: 'option', tabindex: -1, 'aria-label': label, 'aria-selected': 'false' },
    shape('title', {}, label),
    shape('path', { class: 'reach', d }),
    shape('path', { class: 'line', d, 'marker-end': `url(#${arrow.kind})` }),
  );
}

/** One of the arrows can be reached by Tab; arrow keys, Home and End lead to the others, Enter or Space choose. */
function roving(lines: readonly SVGGElement[], choose: (number: number) => void): void {
  lines[0]?.setAttribute('tabindex', '0');
  const focus = (number: number) => {
    lines.forEach((each) => each.setAttribute('tabindex', '-1'));
    const next = lines[(number + lines.length) % lines.length]!;
    next.setAttribute('tabindex', '0');
    next.focus();
  };
  lines.forEach((each, number) => {
    each.addEventListener('click', () => {
      focus(number);
      choose(number);
    });
    each.addEventListener('keydown', (event) => {
      const next = { ArrowRight: number + 1, ArrowDown: number + 1, ArrowLeft: number - 1, ArrowUp: number - 1, Home: 0, End: -1 }[event.key];
      if (next !== undefined) {
        focus(next);
      } else if (event.key === 'Enter' || event.key === ' ') {
        choose(number);
      } else {
        return;
      }
      event.preventDefault();
    });
  });
}

function tile(points: readonly Point[], scale: Scale): SVGPathElement {
  return shape('path', { class: 'tile', 'stroke-width': 4.4 * scale.radius, d: hull(points.map(scale.at)) });
}

function markers(): SVGDefsElement {
  const made = ['flow', 'anti', 'output'].map((kind) =>
    shape(
      'marker',
      { id: kind, class: kind, viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 10, markerHeight: 10, markerUnits: 'userSpaceOnUse', orient: 'auto' },
      shape('path', { class: 'head', d: 'M0 0 L8 4 L0 8 z' }),
    ),
  );
  return shape('defs', {}, ...made);
}

function axes(space: Space, scale: Scale): SVGElement[] {
  const columns = ticks(space.points.map(([x]) => x));
  const rows = ticks(space.points.map(([, y]) => y));
  const [left, floor] = scale.at([Math.min(...space.points.map(([x]) => x)), Math.min(...space.points.map(([, y]) => y))]);
  const found: SVGElement[] = [
    ...columns.map((x) => label(scale.at([x, 0])[0], floor + 24, String(x), 'middle')),
    label(scale.width - 16, floor + 24, space.dimensions[0] ?? '', 'start', 'name'),
  ];
  if (space.dimensions.length > 1) {
    found.push(...rows.map((y) => label(left - 16, scale.at([0, y])[1] + 4, String(y), 'end')));
    found.push(label(left - 16, 14, space.dimensions[1]!, 'end', 'name'));
  }
  return found;
}

function label(x: number, y: number, text: string, anchor: string, kind = 'tick'): SVGTextElement {
  return shape('text', { class: kind, x, y, 'text-anchor': anchor }, text);
}

/** Values to be written along an axis: all, or some at equal distances. */
function ticks(values: readonly number[]): number[] {
  const sorted = [...new Set(values)].sort((a, b) => a - b);
  const every = Math.ceil(sorted.length / MOST_LABELS);
  return sorted.filter((_, number) => number % every === 0);
}
