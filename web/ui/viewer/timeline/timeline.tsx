/** The timeline: zoomed by the wheel, panned by Shift or the axis, brushed into a range; follows live until a person moves it. */

import { type Signal, useComputed, useSignal, useSignalEffect } from '@preact/signals';
import type { JSX, TargetedKeyboardEvent, TargetedPointerEvent } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { spanWords } from '../../../../extension/standing';
import { t } from '../../../../extension/text';
import { severityOf } from '../../severity';
import { clock } from '../format';
import type { ViewerModel } from '../model';
import { gapWords } from '../words';
import type { Found } from './data';
import {
  AXIS_ROW,
  draw,
  FLAG_ROW,
  type Flag,
  lanesAt,
  type Palette,
  rowsOf,
  type Span,
  zoomed,
} from './draw';
import { describe, laneName } from './lanes';

/** The least and the most of what is shown at first, in ms. */
const FIRST_LEAST_MS = 20_000;
const FIRST_MOST_MS = 300_000;
/** How near the pointer has to be to an event, in CSS pixels. */
const NEAR = 6;

function paletteOf(element: HTMLElement): Palette {
  const style = getComputedStyle(element);
  const of = (name: string): string => style.getPropertyValue(name).trim();
  return {
    ground: of('--ground'),
    line: of('--line'),
    text: of('--text'),
    muted: of('--muted'),
    accent: of('--accent'),
    clean: of('--clean'),
    warning: of('--mark-warning') || of('--warning'),
    error: of('--mark-error') || of('--error'),
    unknown: of('--control-line'),
    font: style.fontFamily,
  };
}

/** All that is held, where that is neither too short nor too long to be seen. */
function firstSpan({ data }: ViewerModel): Span {
  const to = data.now || Date.now();
  return { from: to - Math.min(FIRST_MOST_MS, Math.max(FIRST_LEAST_MS, (to - data.first) * 1.1)), to };
}

interface Pressed {
  kind: 'brush' | 'pan';
  x: number;
  span: Span;
}

/** The timeline with its lanes' names and its buttons. */
export function Timeline({ model }: { model: ViewerModel }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const live = useSignal(true);
  const span = useSignal<Span>(firstSpan(model));
  const brush = useSignal<Span | undefined>(undefined);
  const hover = useSignal<Hover | undefined>(undefined);
  const folded = useFolded();
  const rows = rowsOf(model.lanes.value, folded.value);
  /** Of the canvas, in CSS pixels: asking the canvas itself would have the page laid out in every frame. */
  const size = useSignal({ width: 0, height: 0 });
  const pressed = useRef<Pressed | undefined>(undefined);

  useFrames(model, canvas, { live, span, brush, hover, size, folded });

  const width = (): number => size.value.width || 1;
  const timeAt = (x: number): number => span.value.from + (x / width()) * (span.value.to - span.value.from);
  const move = (next: Span): void => {
    live.value = false;
    span.value = next;
  };
  const panBy = (share: number): void => {
    const long = span.value.to - span.value.from;
    move({ from: span.value.from + share * long, to: span.value.to + share * long });
  };
  const zoomBy = (factor: number, around = (span.value.from + span.value.to) / 2): void =>
    move(zoomed(span.value, factor, around));
  const fit = (): void => {
    if (model.data.count === 0) return; // it is still read
    const first = model.data.first;
    const long = Math.max(1000, model.data.now - first);
    move({ from: first - long * 0.02, to: model.data.now + long * 0.02 });
  };

  // A wheel's listener must not be passive, or the page would scroll as well.
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    const wheel = (event: WheelEvent): void => {
      event.preventDefault();
      const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
      if (sideways) panBy((event.deltaX || event.deltaY) / width());
      else zoomBy(1.0018 ** event.deltaY, timeAt(event.offsetX));
    };
    element.addEventListener('wheel', wheel, { passive: false });
    const observer = new ResizeObserver(([entry]) => {
      if (entry !== undefined) size.value = entry.contentRect;
    });
    observer.observe(element);
    return () => {
      element.removeEventListener('wheel', wheel);
      observer.disconnect();
    };
  }, []);

  const down = (event: TargetedPointerEvent<HTMLCanvasElement>): void => {
    if (event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    const onAxis = event.offsetY > size.value.height - AXIS_ROW;
    pressed.current = {
      kind: event.shiftKey || onAxis ? 'pan' : 'brush',
      x: event.offsetX,
      span: span.value,
    };
  };
  const moved = (event: TargetedPointerEvent<HTMLCanvasElement>): void => {
    const lanes = lanesAt(event.offsetY, size.value.height, rows);
    hover.value = { time: timeAt(event.offsetX), lanes, x: event.offsetX };
    const from = pressed.current;
    if (from === undefined || Math.abs(event.offsetX - from.x) < 4) return;
    if (from.kind === 'pan') {
      const by = ((from.x - event.offsetX) / width()) * (from.span.to - from.span.from);
      move({ from: from.span.from + by, to: from.span.to + by });
    } else {
      const [a, b] = [timeAt(from.x), timeAt(event.offsetX)];
      brush.value = { from: Math.min(a, b), to: Math.max(a, b) };
    }
  };
  const up = (event: TargetedPointerEvent<HTMLCanvasElement>): void => {
    const range = brush.value;
    const from = pressed.current;
    pressed.current = undefined;
    brush.value = undefined;
    if (range !== undefined) {
      model.selectSpan(range);
      live.value = false;
    } else if (from !== undefined && event.offsetY <= FLAG_ROW) {
      const flag = flagAt(model, event.offsetX, span.value, width());
      if (flag !== undefined) model.selectUntil(flag.moment);
    }
  };
  const key = (event: TargetedKeyboardEvent<HTMLElement>): void => {
    const does: Record<string, () => void> = {
      ArrowLeft: () => panBy(-0.1),
      ArrowRight: () => panBy(0.1),
      '+': () => zoomBy(0.6),
      '=': () => zoomBy(0.6),
      '-': () => zoomBy(1.6),
      Home: fit,
      End: () => {
        live.value = true;
      },
      Enter: () => model.selectSpan({ from: span.value.from, to: Math.min(span.value.to, model.data.now) }),
    };
    const act = does[event.key];
    if (act === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  };
  return (
    <section
      class={folded.value ? 'timeline folded' : 'timeline'}
      style={{ '--lanes': model.lanes.value.length }}
      aria-label={t('timeline')}
    >
      <div class="timeline-left">
        <button
          type="button"
          class="fold"
          aria-expanded={!folded.value}
          title={t(folded.value ? 'timelineUnfold' : 'timelineFold')}
          onClick={() => {
            folded.value = !folded.value;
          }}
        >
          {t('timeline')}
        </button>
        {!folded.value && (
          <div class="lane-names">
            {model.lanes.value.map((name) => (
              <LaneSwitch key={name} model={model} lane={name} />
            ))}
          </div>
        )}
      </div>
      <div
        class="canvas-frame"
        role="application"
        aria-roledescription={t('timeline')}
        aria-label={t('timelineKeys')}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keys pan and zoom it
        tabIndex={0}
        onKeyDown={key}
      >
        <canvas
          ref={canvas}
          onPointerDown={down}
          onPointerMove={moved}
          onPointerUp={up}
          onPointerCancel={() => {
            pressed.current = undefined;
            brush.value = undefined;
          }}
          onPointerLeave={() => {
            hover.value = undefined;
          }}
        />
        <Tip model={model} hover={hover} span={span} width={width} />
      </div>
      <div class="timeline-buttons">
        <button
          type="button"
          class="live"
          aria-pressed={live.value && model.client.connection.value.state === 'connected'}
          title={t('liveTitle')}
          onClick={() => {
            live.value = !live.value;
          }}
        >
          <span class="live-dot" aria-hidden="true" />
          {t('live')}
        </button>
        <button type="button" aria-label={t('zoomIn')} title={t('zoomIn')} onClick={() => zoomBy(0.5)}>
          +
        </button>
        <button type="button" aria-label={t('zoomOut')} title={t('zoomOut')} onClick={() => zoomBy(2)}>
          −
        </button>
        <button type="button" title={t('fitTitle')} onClick={fit}>
          {t('fit')}
        </button>
      </div>
    </section>
  );
}

function LaneSwitch({ model, lane }: { model: ViewerModel; lane: string }): JSX.Element {
  const off = model.without.value.has(lane);
  return (
    <button
      type="button"
      aria-pressed={!off}
      title={off ? t('laneShow', laneName(lane)) : t('laneHide', laneName(lane))}
      onClick={() => {
        const without = new Set(model.without.value);
        if (off) without.delete(lane);
        else without.add(lane);
        model.without.value = without;
      }}
    >
      {laneName(lane)}
    </button>
  );
}

/** What the pointer is at. */
interface Hover {
  time: number;
  lanes: readonly string[];
  x: number;
}

/** Whether all lanes are drawn in one: where there is little room, unless the user chooses. */
function useFolded(): Signal<boolean> {
  const low = useRef(matchMedia('(max-height: 420px), (max-width: 400px)')).current;
  const folded = useSignal(low.matches);
  useEffect(() => {
    const changed = (): void => {
      folded.value = low.matches;
    };
    low.addEventListener('change', changed);
    return () => low.removeEventListener('change', changed);
  }, [low, folded]);
  return folded;
}

interface Shown {
  live: Signal<boolean>;
  span: Signal<Span>;
  brush: Signal<Span | undefined>;
  hover: Signal<Hover | undefined>;
  folded: Signal<boolean>;
  size: Signal<{ width: number; height: number }>;
}

/** Draws a frame whenever something that it shows has changed, and no more often than the screen does. */
function useFrames(model: ViewerModel, canvas: { current: HTMLCanvasElement | null }, shown: Shown): void {
  const asked = useRef(0);
  const palette = useRef<Palette | undefined>(undefined);
  const offset = useRef<number | undefined>(undefined);
  const again = useSignal(0);
  const flags = useComputed<Flag[]>(() =>
    (model.checkpoints.value?.checkpoints ?? []).map(({ name, at, since }) => ({
      name,
      at,
      severity: severityOf(since.severity, since.not_observed),
    })),
  );
  useEffect(() => {
    const query = matchMedia('(prefers-color-scheme: dark)');
    // The event comes before the new styles do.
    const changed = (): void => {
      setTimeout(() => {
        palette.current = undefined;
        again.value++;
      });
    };
    query.addEventListener('change', changed);
    // While it follows live the time goes on, be there events or not.
    const timer = setInterval(() => {
      if (shown.live.value && document.visibilityState === 'visible') again.value++;
    }, 250);
    return () => {
      query.removeEventListener('change', changed);
      clearInterval(timer);
      cancelAnimationFrame(asked.current);
      asked.current = 0;
    };
  }, []); // the signals stay the same for as long as the timeline is there
  useSignalEffect(() => {
    void [
      model.drawn.value,
      shown.brush.value,
      shown.hover.value,
      shown.size.value,
      again.value,
      model.client.connection.value,
      flags.value,
      model.range.value,
    ];
    void [shown.span.value, shown.live.value, shown.folded.value, model.without.value];
    if (asked.current !== 0) return;
    asked.current = requestAnimationFrame(() => {
      frame();
      asked.current = 0; // only now: that the frame itself moves the span on is no reason for another
    });
  });
  const frame = (): void => {
    const element = canvas.current;
    const context = element?.getContext('2d', { alpha: true });
    if (element === null || context === null || context === undefined) return;
    const { width, height } = shown.size.value;
    if (width === 0 || height === 0) return;
    const ratio = devicePixelRatio || 1;
    if (element.width !== Math.round(width * ratio) || element.height !== Math.round(height * ratio)) {
      element.width = Math.round(width * ratio);
      element.height = Math.round(height * ratio);
    }
    palette.current ??= paletteOf(element);
    element.dataset.events = String(model.data.count);
    // The host's clock is what events are told by.
    if (model.data.now > 0) {
      const differs = model.data.now - Date.now();
      if (offset.current === undefined || differs > offset.current) offset.current = differs;
    }
    const now = Date.now() + (offset.current ?? 0);
    if (shown.live.value) {
      const long = shown.span.value.to - shown.span.value.from;
      shown.span.value = { from: now - long * 0.97, to: now + long * 0.03 };
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const hover = shown.hover.value;
    const connected = model.client.connection.value.state === 'connected';
    const range = model.range.value;
    draw(context, {
      data: model.data,
      span: shown.span.value,
      flags: flags.value,
      // What is compared with now goes on, be there anything new or not.
      range:
        shown.brush.value ??
        (range !== undefined && connected && model.selection.value.to === 'now'
          ? { ...range, to: now }
          : range),
      hover,
      width,
      height,
      palette: palette.current,
      now,
      rows: rowsOf(model.lanes.value, shown.folded.value),
      without: model.without.value,
      blindSince: connected ? undefined : model.data.now,
    });
  };
}

function flagAt(model: ViewerModel, x: number, span: Span, width: number): { moment: string } | undefined {
  const list = model.checkpoints.value?.checkpoints ?? [];
  return list.findLast(({ at }) => {
    const left = ((at - span.from) / (span.to - span.from)) * width;
    return x >= left - 3 && x < left + 120;
  });
}

interface TipProps {
  model: ViewerModel;
  hover: Signal<Hover | undefined>;
  span: Signal<Span>;
  width: () => number;
}

/** What is under the pointer, in words. */
function Tip({ model, hover, span, width }: TipProps): JSX.Element | null {
  const details = useSignal<{ key: string; text: string } | undefined>(undefined);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const at = hover.value;
  const within = ((span.value.to - span.value.from) / width()) * NEAR;
  const lanes = at?.lanes ?? [];
  const found = at && nearest(model, lanes, at.time, within);
  const key = found === undefined ? '' : `${found.lane} ${found.position}`;
  useEffect(() => {
    clearTimeout(timer.current);
    if (found === undefined) return;
    timer.current = setTimeout(() => {
      const { lane, position } = found;
      void describe(model, lane, position)
        .catch(() => laneName(lane))
        .then((text) => {
          details.value = { key, text };
        });
    }, 60);
    return () => clearTimeout(timer.current);
  }, [key]);
  if (at === undefined) return null;
  const gap = model.data.gaps.find(({ from, to }) => at.time >= from - within && at.time <= to + within);
  const held = Math.max(0, ...lanes.map((lane) => model.data.held[lane] ?? 0));
  const flag = model.checkpoints.value?.checkpoints.find((c) => Math.abs(c.at - at.time) <= within);
  const lines: string[] = [];
  if (found !== undefined) lines.push(details.value?.key === key ? details.value.text : laneName(found.lane));
  if (flag !== undefined) lines.push(`${flag.name} → ${spanWords(flag.since)}`);
  if (gap !== undefined) lines.push(t('gapTip', gapWords(gap.reason)));
  if (at.time >= model.data.start && at.time < held) lines.push(t('evictedTip'));
  if (lines.length === 0) return null;
  const right = at.x > width() / 2;
  return (
    <div class="tip" style={right ? { right: `${width() - at.x + 12}px` } : { left: `${at.x + 12}px` }}>
      <time>{clock(found?.time ?? at.time)}</time>
      {lines.map((line) => (
        <p key={line}>{line}</p>
      ))}
    </div>
  );
}

/** The event that is nearest to a time, of those that are near. */
function nearest(
  { data }: ViewerModel,
  lanes: readonly string[],
  time: number,
  within: number,
): Found | undefined {
  let best: Found | undefined;
  for (const lane of lanes) {
    const found = data.nearest(lane, time, within);
    if (found === undefined) continue;
    if (best === undefined || Math.abs(found.time - time) < Math.abs(best.time - time)) best = found;
  }
  return best;
}
