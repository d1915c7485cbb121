/** Draws the timeline. Pure: everything comes as an argument, so that a frame costs what is visible and nothing else. */
import type { Severity } from '../../severity';
import { CLEAN, ERROR, HIDDEN, RANK, type TimelineData, WARNING } from './data';

/** The span of time that is shown, in ms since the epoch. */
export interface Span {
  from: number;
  to: number;
}

/** A checkpoint's flag. */
export interface Flag {
  name: string;
  at: number;
  severity: Severity;
}

/** The colours of a theme. */
export interface Palette {
  ground: string;
  line: string;
  text: string;
  muted: string;
  accent: string;
  clean: string;
  warning: string;
  error: string;
  unknown: string;
  font: string;
}

/** What one frame shows. */
export interface Frame {
  data: TimelineData;
  span: Span;
  flags: readonly Flag[];
  /** The range whose changes are shown. */
  range: Span | undefined;
  /** What is under the pointer. */
  hover: { time: number } | undefined;
  width: number;
  height: number;
  palette: Palette;
  now: number;
  /** Since when nothing is heard of the host; undefined while it is connected. */
  blindSince: number | undefined;
  /** What is drawn below one another; see {@link rowsOf}. */
  rows: Rows;
  /** Lanes whose events are left out. */
  without: ReadonlySet<string>;
}

/** Rows of the timeline, each with the lanes that it shows. */
export type Rows = readonly (readonly string[])[];

/** Each lane in a row of its own; all in one where there is little room. */
export function rowsOf(lanes: readonly string[], folded: boolean): Rows {
  return folded ? [lanes] : lanes.map((lane) => [lane]);
}

/** Heights in CSS pixels: of the flags' row, of the axis below; the rows share the rest. */
export const FLAG_ROW = 24;
export const AXIS_ROW = 18;
/** The side of a mark, and of the cell that shows the worst of its events. */
const CELL = 9;

/** Where a row begins, and its height. */
function rowBox(
  index: number,
  { rows, height }: Pick<Frame, 'rows' | 'height'>,
): { top: number; height: number } {
  const each = (height - FLAG_ROW - AXIS_ROW) / rows.length;
  return { top: FLAG_ROW + index * each, height: each };
}

/** The lanes of the row at a height; none beside them. */
export function lanesAt(y: number, height: number, rows: Rows): readonly string[] {
  const each = (height - FLAG_ROW - AXIS_ROW) / rows.length;
  return rows[Math.floor((y - FLAG_ROW) / each)] ?? [];
}

/** Columns are kept from one frame to the next: nothing is allocated while a person pans. */
let counts = new Uint16Array(0);
let worst = new Uint8Array(0);

/** Draws one frame. */
export function draw(context: CanvasRenderingContext2D, frame: Frame): void {
  const { width, height, palette, span, data } = frame;
  const x = (time: number): number => ((time - span.from) / (span.to - span.from)) * width;
  context.clearRect(0, 0, width, height);
  drawRows(context, frame);
  for (const { from, to } of data.gaps) {
    hatch(context, frame, x(from), x(Math.min(to, frame.now)), FLAG_ROW, height - AXIS_ROW);
  }
  if (frame.blindSince !== undefined) {
    hatch(context, frame, x(frame.blindSince), x(frame.now), FLAG_ROW, height - AXIS_ROW);
  }
  for (let i = 0; i < frame.rows.length; i++) drawEvicted(context, frame, i, x);
  if (frame.range !== undefined) {
    const from = Math.max(0, x(frame.range.from));
    const to = Math.min(width, x(frame.range.to));
    if (to > from) {
      context.globalAlpha = 0.13;
      context.fillStyle = palette.accent;
      context.fillRect(from, FLAG_ROW, to - from, height - FLAG_ROW - AXIS_ROW);
      context.globalAlpha = 1;
      context.fillRect(from, FLAG_ROW, 1, height - FLAG_ROW - AXIS_ROW);
      context.fillRect(to - 1, FLAG_ROW, 1, height - FLAG_ROW - AXIS_ROW);
    }
  }
  for (let i = 0; i < frame.rows.length; i++) drawEvents(context, frame, i);
  drawFlags(context, frame, x);
  drawAxis(context, frame, x);
  if (frame.hover !== undefined) {
    context.fillStyle = palette.muted;
    context.fillRect(Math.round(x(frame.hover.time)), FLAG_ROW, 1, height - FLAG_ROW - AXIS_ROW);
  }
}

function drawRows(context: CanvasRenderingContext2D, frame: Frame): void {
  context.fillStyle = frame.palette.line;
  for (let i = 0; i <= frame.rows.length; i++) {
    const { top } = rowBox(i, frame);
    context.fillRect(0, Math.round(top), frame.width, 1);
  }
}

/** What of a row's lanes is no longer held. */
function drawEvicted(
  context: CanvasRenderingContext2D,
  frame: Frame,
  index: number,
  x: (time: number) => number,
): void {
  const { top, height } = rowBox(index, frame);
  const until = Math.max(0, ...lanesOf(frame, index).map((name) => frame.data.held[name] ?? 0));
  if (until > 0) hatch(context, frame, x(frame.data.start), x(until), top + 1, top + height);
}

/** The lanes that a row shows. */
function lanesOf({ rows, without }: Frame, index: number): string[] {
  return (rows[index] ?? []).filter((name) => !without.has(name));
}

/** Hatches what was not observed or is not held; the shortest is seen too. */
function hatch(
  context: CanvasRenderingContext2D,
  { width, palette }: Frame,
  begin: number,
  end: number,
  top: number,
  bottom: number,
): void {
  const from = Math.max(0, begin);
  const to = Math.min(width, end);
  if (to < 0 || from > width || to < from) return;
  const right = Math.max(to, from + 3);
  context.save();
  context.beginPath();
  context.rect(from, top, right - from, bottom - top);
  context.clip();
  context.strokeStyle = palette.unknown;
  context.globalAlpha = 0.55;
  context.lineWidth = 1;
  context.beginPath();
  const tall = bottom - top;
  for (let at = Math.floor((from - tall) / 7) * 7; at < right; at += 7) {
    context.moveTo(at, bottom);
    context.lineTo(at + tall, top);
  }
  context.stroke();
  context.restore();
}

function drawEvents(context: CanvasRenderingContext2D, frame: Frame, index: number): void {
  const { data, span, width, palette } = frame;
  const columns = Math.ceil(width / 2) + 1;
  const cells = Math.ceil(width / CELL) + 1;
  if (counts.length < columns) counts = new Uint16Array(columns);
  if (worst.length < cells) worst = new Uint8Array(cells);
  counts.fill(0, 0, columns);
  worst.fill(0, 0, cells);
  const scale = width / (span.to - span.from);
  let most = 0;
  for (const name of lanesOf(frame, index)) {
    const { times, marks, length } = data.lane(name);
    for (let i = 0; i < length; i++) {
      const at = ((times[i] as number) - span.from) * scale;
      if (at < 0 || at >= width) continue;
      const column = (at / 2) | 0;
      const n = (counts[column] as number) + 1;
      if (n < 65535) counts[column] = n;
      if (n > most) most = n;
      const mark = marks[i] as number;
      if (mark === CLEAN) continue;
      const cell = (at / CELL) | 0;
      const rank = RANK[mark] ?? 0;
      if (rank > (worst[cell] as number)) worst[cell] = rank;
    }
  }
  if (most === 0) return;
  const box = rowBox(index, frame);
  const room = box.height - 5;
  const base = Math.round(box.top + box.height - 2);
  // How many there are: the taller, the more, by the logarithm.
  const unit = room / Math.max(4, Math.log2(most + 1));
  context.fillStyle = palette.accent;
  context.globalAlpha = 0.55;
  context.beginPath();
  for (let c = 0; c < columns; c++) {
    const n = counts[c] as number;
    if (n === 0) continue;
    const tall = Math.max(3, Math.log2(n + 1) * unit);
    context.rect(c * 2, base - tall, 2, tall);
  }
  context.fill();
  context.globalAlpha = 1;
  const middle = box.top + box.height / 2;
  shapes(context, cells, RANK[HIDDEN], palette.unknown, (x) => {
    context.moveTo(x + 2.5, middle);
    context.arc(x, middle, 2.5, 0, Math.PI * 2);
  });
  shapes(context, cells, RANK[WARNING], palette.warning, (x) => {
    context.moveTo(x, middle - 4.5);
    context.lineTo(x + 4.8, middle + 4);
    context.lineTo(x - 4.8, middle + 4);
    context.closePath();
  });
  shapes(context, cells, RANK[ERROR], palette.error, (x) => {
    context.moveTo(x, middle - 5.5);
    context.lineTo(x + 5.5, middle);
    context.lineTo(x, middle + 5.5);
    context.lineTo(x - 5.5, middle);
    context.closePath();
  });
}

/** One path for all cells of a severity: filled once. */
function shapes(
  context: CanvasRenderingContext2D,
  cells: number,
  rank: number,
  colour: string,
  add: (x: number) => void,
): void {
  let any = false;
  for (let c = 0; c < cells; c++) {
    if (worst[c] !== rank) continue;
    if (!any) context.beginPath();
    any = true;
    add((c + 0.5) * CELL);
  }
  if (!any) return;
  if (rank === RANK[HIDDEN]) {
    context.strokeStyle = colour;
    context.lineWidth = 1;
    context.stroke();
    return;
  }
  context.fillStyle = colour;
  context.fill();
}

function drawFlags(
  context: CanvasRenderingContext2D,
  { flags, width, height, palette }: Frame,
  x: (time: number) => number,
): void {
  context.font = `11px ${palette.font}`;
  context.textBaseline = 'middle';
  // A name is cut where the next flag stands.
  for (let i = 0; i < flags.length; i++) {
    const flag = flags[i];
    if (flag === undefined) continue;
    const at = Math.round(x(flag.at));
    if (at < -300 || at > width) continue;
    const next = flags[i + 1];
    const room = (next === undefined ? width : Math.min(width, x(next.at))) - at - 16;
    const colour =
      flag.severity === 'error'
        ? palette.error
        : flag.severity === 'warning'
          ? palette.warning
          : flag.severity === 'clean'
            ? palette.clean
            : palette.unknown;
    context.fillStyle = palette.muted;
    context.globalAlpha = 0.6;
    context.fillRect(at, 2, 1, height - AXIS_ROW - 2);
    context.globalAlpha = 1;
    context.fillStyle = colour;
    context.beginPath();
    context.moveTo(at + 1, 4);
    context.lineTo(at + 11, 8.5);
    context.lineTo(at + 1, 13);
    context.closePath();
    context.fill();
    const text = fitted(context, flag.name, room);
    if (text === '') continue;
    context.fillStyle = palette.text;
    context.fillText(text, at + 14, 10);
  }
}

const widths = new Map<string, number>();

function fitted(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (room < 24) return '';
  let width = widths.get(text);
  if (width === undefined) {
    width = context.measureText(text).width;
    if (widths.size > 500) widths.clear();
    widths.set(text, width);
  }
  if (width <= room) return text;
  const letters = Math.floor((room / width) * text.length) - 1;
  return letters < 3 ? '' : `${text.slice(0, letters)}…`;
}

/** Steps of the axis, in ms: each reads as a round time. */
const STEPS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 10e3, 15e3, 30e3, 60e3, 120e3, 300e3, 600e3, 900e3,
  1800e3, 3600e3, 7200e3, 14400e3, 21600e3, 43200e3, 86400e3,
];

function drawAxis(
  context: CanvasRenderingContext2D,
  { span, width, height, palette }: Frame,
  x: (time: number) => number,
): void {
  const perPixel = (span.to - span.from) / width;
  const step = STEPS.find((s) => s / perPixel >= 84) ?? 86400e3;
  const zone = new Date(span.from).getTimezoneOffset() * 60e3;
  context.font = `11px ${palette.font}`;
  context.textBaseline = 'middle';
  const y = height - AXIS_ROW / 2 + 1;
  for (let at = Math.ceil((span.from - zone) / step) * step + zone; at < span.to; at += step) {
    const left = Math.round(x(at));
    context.fillStyle = palette.line;
    context.fillRect(left, FLAG_ROW, 1, height - FLAG_ROW - 4);
    if (left > width - 46) continue;
    context.fillStyle = palette.muted;
    context.fillText(axisTime(at, step), left + 4, y);
  }
}

/** A time of the axis as it is shown: finer where the steps are. */
export function axisTime(at: number, step: number): string {
  const d = new Date(at);
  const two = (n: number): string => String(n).padStart(2, '0');
  const minutes = `${two(d.getHours())}:${two(d.getMinutes())}`;
  if (step >= 60e3) return minutes;
  const seconds = `${minutes}:${two(d.getSeconds())}`;
  return step >= 1000 ? seconds : `${seconds}.${String(d.getMilliseconds()).padStart(3, '0')}`;
}

/** The least and the most that can be zoomed to, in ms. */
const LEAST_MS = 20;
const MOST_MS = 400 * 24 * 3600_000;

/** Where a span is moved or zoomed to; kept within what can be shown. */
export function zoomed(span: Span, factor: number, around: number): Span {
  const long = Math.min(MOST_MS, Math.max(LEAST_MS, (span.to - span.from) * factor));
  const share = (around - span.from) / (span.to - span.from);
  const from = around - share * long;
  return { from, to: from + long };
}
