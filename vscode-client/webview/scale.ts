// Where iterations stand in the drawing, and the shapes between them.

import type { Arrow, Point, Space } from '../src/view/space';

export type Spot = readonly [number, number];

const SPACING = 46;
const LONGEST = 620;
const MARGIN = { left: 44, top: 34, right: 34, bottom: 40 };

export interface Scale {
  readonly width: number;
  readonly height: number;
  readonly radius: number;
  readonly spacing: number;
  at(point: Point): Spot;
}

/** Neighbours along an axis are equally far apart, whatever the step of the loop. */
export function scaleOf({ points }: Space): Scale {
  const [across, upwards] = [0, 1].map((k) => axis(points.map((each) => each[k as 0 | 1])));
  const spacing = Math.min(SPACING, LONGEST / Math.max(across!.count, upwards!.count, 1));
  const floor = MARGIN.top + upwards!.count * spacing;
  return {
    width: MARGIN.left + across!.count * spacing + MARGIN.right,
    height: floor + MARGIN.bottom,
    radius: Math.min(5, spacing / 4),
    spacing,
    at: ([x, y]) => [MARGIN.left + across!.place(x) * spacing, floor - upwards!.place(y) * spacing],
  };
}

interface Axis {
  /** The distance of the last value from the first, in steps. */
  readonly count: number;
  place(value: number): number;
}

function axis(values: readonly number[]): Axis {
  const sorted = [...new Set(values)].sort((a, b) => a - b);
  const low = sorted[0] ?? 0;
  const step = sorted.map((each) => each - low).reduce(divisor, 0) || 1;
  return { count: ((sorted.at(-1) ?? low) - low) / step, place: (value) => (value - low) / step };
}

function divisor(a: number, b: number): number {
  return b === 0 ? a : divisor(b, a % b);
}

const KINDS = ['flow', 'anti', 'output'];

/** A curve from one iteration to another that stops short of both. Longer ones bend around what is between,
 * and each kind by another amount. */
export function curve(arrow: Arrow, scale: Scale): string {
  const [x1, y1] = scale.at(arrow.source);
  const [x2, y2] = scale.at(arrow.sink);
  const length = Math.hypot(x2 - x1, y2 - y1);
  const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
  const kind = KINDS.indexOf(arrow.kind);
  const far = length > 1.5 * scale.spacing ? 0.18 * Math.min(length, 4 * scale.spacing) : 0;
  const bend = kind * 0.14 * Math.min(length, 2 * scale.spacing) + far;
  const aside = kind * Math.min(3.5, scale.radius);
  const gap = Math.min(scale.radius + 3, length / 4);
  const [sx, sy] = [x1 + ux * gap - uy * aside, y1 + uy * gap + ux * aside];
  const [ex, ey] = [x2 - ux * gap - uy * aside, y2 - uy * gap + ux * aside];
  const [cx, cy] = [(sx + ex) / 2 - uy * bend, (sy + ey) / 2 + ux * bend];
  return `M${round(sx)} ${round(sy)} Q${round(cx)} ${round(cy)} ${round(ex)} ${round(ey)}`;
}

/** The smallest convex shape around some spots (Andrew 1979). */
export function hull(spots: readonly Spot[]): string {
  const sorted = [...spots].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const corners = sorted.length < 3 ? sorted : [...half(sorted), ...half(sorted.reverse())];
  return `M${corners.map((each) => each.map(round).join(' ')).join(' L')} z`;
}

function half(sorted: readonly Spot[]): Spot[] {
  const corners: Spot[] = [];
  for (const spot of sorted) {
    while (corners.length > 1 && turn(corners.at(-2)!, corners.at(-1)!, spot) <= 0) {
      corners.pop();
    }
    corners.push(spot);
  }
  return corners.slice(0, -1);
}

function turn(a: Spot, b: Spot, c: Spot): number {
  return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
