/** A list of which only the rows in view are drawn, however many there are. */
import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualizerOptions,
} from '@tanstack/virtual-core';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useReducer, useRef } from 'preact/hooks';

interface RowsProps {
  count: number;
  /** The least height of a row, in CSS pixels. */
  height: number;
  label: string;
  keyOf: (index: number) => string;
  /** The row to be scrolled to, by its key, whenever it is another object. */
  sought?: { id: string } | undefined;
  row: (index: number) => ComponentChildren;
}

/**
 * The list. Rows may grow: they are measured. It stays at its end while a person is there, and where it was when others are
 * added before.
 */
export function Rows({ count, height, label, keyOf, sought, row }: RowsProps): JSX.Element {
  const frame = useRef<HTMLDivElement>(null);
  const [, again] = useReducer((n: number, _: undefined) => n + 1, 0);
  const options: VirtualizerOptions<HTMLDivElement, HTMLLIElement> = {
    count,
    getScrollElement: () => frame.current,
    estimateSize: () => height,
    getItemKey: keyOf,
    overscan: 8,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => again(undefined),
  };
  const made = useRef<Virtualizer<HTMLDivElement, HTMLLIElement> | undefined>(undefined);
  made.current ??= new Virtualizer(options);
  const rows = made.current;
  rows.setOptions(options);
  const atEnd = useRef(true);
  useEffect(() => rows._didMount(), [rows]);
  useEffect(() => {
    rows._willUpdate();
  });
  const first = useRef('');
  useEffect(() => {
    if (count === 0) return;
    const added = first.current === '' ? 0 : indexOf(first.current, count, keyOf);
    first.current = keyOf(0);
    if (added > 0 && frame.current !== null) {
      const [top] = rows.getOffsetForIndex(added, 'start') ?? [0];
      rows.scrollToOffset(frame.current.scrollTop + top);
    } else if (atEnd.current) {
      rows.scrollToIndex(count - 1, { align: 'end' });
    }
  }, [count]);
  useEffect(() => {
    const at = sought === undefined ? -1 : indexOf(sought.id, count, keyOf);
    if (at < 0) return;
    atEnd.current = false;
    rows.scrollToIndex(at, { align: 'start' });
  }, [sought]);
  return (
    <section
      class="rows"
      ref={frame}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is to be reached by the keyboard
      tabIndex={0}
      aria-label={label}
      onScroll={(event) => {
        const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
        atEnd.current = scrollTop + clientHeight > scrollHeight - 24;
      }}
    >
      <ul class="rows-all" style={{ height: `${rows.getTotalSize()}px` }}>
        {rows.getVirtualItems().map((item) => (
          <li
            key={item.key as string}
            class="row"
            data-index={item.index}
            ref={(element) => {
              if (element !== null) rows.measureElement(element);
            }}
            style={{ transform: `translateY(${item.start}px)` }}
          >
            {row(item.index)}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The index of a row by its key, -1 if there is none. */
function indexOf(key: string, count: number, keyOf: (index: number) => string): number {
  for (let i = 0; i < count; i++) if (keyOf(i) === key) return i;
  return -1;
}
