/** What goes wrong in the page by itself: errors nobody caught, resources that did not load, the browser's complaints. */
import type { Channel } from './channel';
import { describe, errorText, isError } from './describe';
import { guard, watchLeaving } from './leaving';
import { append, getter, listen, now, slice, unlisten } from './natives';
import { MAX_STACK, MAX_TEXT, type PageRecord, type ThrownRecord } from './records';
import { failedResource, isMedia } from './resources';
import { ofError } from './stack';

const target = getter<EventTarget | null>(Event.prototype, 'target');
const prevented = getter<boolean>(Event.prototype, 'defaultPrevented');
const errorOf = getter<unknown>(ErrorEvent.prototype, 'error');
const messageOf = getter<string>(ErrorEvent.prototype, 'message');
const fileOf = getter<string>(ErrorEvent.prototype, 'filename');
const lineOf = getter<number>(ErrorEvent.prototype, 'lineno');
const columnOf = getter<number>(ErrorEvent.prototype, 'colno');
const reasonOf = getter<unknown>(PromiseRejectionEvent.prototype, 'reason');

/** The row of an uncaught error, of the page or of one of its workers. */
export function thrown(event: unknown, worker: boolean): ThrownRecord {
  const error = errorOf(event);
  const message = messageOf(event);
  const plain = slice(message, 0, 9) === 'Uncaught ' ? slice(message, 9) : message;
  const all = isError(error)
    ? errorText(error)
    : error === null || error === undefined
      ? plain
      : describe(error);
  return row(
    'exception',
    all,
    isError(error) ? ofError(error) : '',
    fileOf(event),
    lineOf(event),
    columnOf(event),
    worker,
  );
}

function row(
  via: ThrownRecord[2],
  all: string,
  stack: string,
  url = '',
  line = 0,
  column = 0,
  worker = false,
): ThrownRecord {
  const text = all.length > MAX_TEXT ? slice(all, 0, MAX_TEXT) : all;
  const length = all.length > MAX_TEXT ? all.length : 0;
  return ['thrown', now(), via, text, length, url, line, column, slice(stack, 0, MAX_STACK), worker];
}

/** Records uncaught errors, unhandled rejections, what did not load, and what the browser complains of. */
export function hookErrors(channel: Channel): void {
  const later = watchErrors(channel, {
    thrown: () => true,
    element: () => true,
  });
  listen(
    window,
    'unhandledrejection',
    guard(channel, (event) => {
      const reason = reasonOf(event);
      const text = isError(reason) ? errorText(reason) : describe(reason);
      later(event, row('rejection', text, isError(reason) ? ofError(reason) : ''));
    }),
    true,
  );
  hookPolicies(channel);
  hookReports(channel);
}

/** Records what a debugger does not hear of: media that cannot be used, and errors while the page is left. */
export function witnessErrors(channel: Channel): void {
  watchErrors(channel, {
    thrown: () => channel.leaving,
    element: isMedia,
  });
}

/** Adds the record of an event once it is known whether the page has dealt with it. */
type Later = (event: unknown, record: PageRecord) => void;

/** Records the errors of the page and of its elements that are `wanted`. */
function watchErrors(
  channel: Channel,
  wanted: { thrown: () => boolean; element: (tag: string) => boolean },
): Later {
  // Whether the page has dealt with an error itself is known when all its listeners have run.
  let open: { event: unknown; record: PageRecord }[] = [];
  const settle = channel.settle;
  channel.settle = () => {
    const taken = open;
    open = [];
    for (let i = 0; i < taken.length; i++) {
      const { event, record } = taken[i] as (typeof taken)[number];
      if (!prevented(event)) channel.add(record);
    }
    settle();
  };
  const later: Later = (event, record) => {
    append(open, { event, record });
    channel.tick();
  };
  const handOver = (): void => channel.flush();
  watchLeaving(channel, (leaving) => {
    unlisten(window, 'error', handOver);
    // No task comes after this one. Last in the row, it knows what the page's own listeners have dealt with.
    if (leaving) listen(window, 'error', handOver);
  });
  listen(
    window,
    'error',
    guard(channel, (event) => {
      const at = target(event);
      if (at === window || at === null) {
        if (!wanted.thrown()) return;
        // What a worker did not deal with is told to its page as well.
        if (channel.ofWorker === messageOf(event)) channel.ofWorker = undefined;
        else later(event, thrown(event, false));
        return;
      }
      const record = failedResource(at);
      if (record !== undefined && wanted.element(record[2])) channel.add(record);
    }),
    true,
  );
  return later;
}

/** A violation of the page's Content Security Policy. */
function hookPolicies(channel: Channel): void {
  const { prototype } = SecurityPolicyViolationEvent;
  const directive = getter<string>(prototype, 'effectiveDirective');
  const blocked = getter<string>(prototype, 'blockedURI');
  const disposition = getter<string>(prototype, 'disposition');
  const file = getter<string>(prototype, 'sourceFile');
  const line = getter<number>(prototype, 'lineNumber');
  const column = getter<number>(prototype, 'columnNumber');
  const policy = getter<string>(prototype, 'originalPolicy');
  listen(
    window,
    'securitypolicyviolation',
    guard(channel, (event) => {
      const report = disposition(event) === 'report';
      const what = blocked(event);
      const text = `${report ? '[Report Only] ' : ''}Refused ${what === 'inline' || what === 'eval' ? `${what} code` : `'${what}'`}: it violates the Content Security Policy directive ${directive(event)} of "${slice(policy(event), 0, 500)}"`;
      channel.add(['note', now(), 'security', 'error', text, file(event), line(event), column(event)]);
    }),
    true,
  );
}

interface BrowserReport {
  type: string;
  body: { message?: string; sourceFile?: string; lineNumber?: number; columnNumber?: number } | null;
}

/** What the browser advises against, or did against the page's will. */
function hookReports(channel: Channel): void {
  if (typeof ReportingObserver === 'undefined') return;
  const seen = (reports: unknown): void => {
    const list = reports as BrowserReport[];
    for (let i = 0; channel.recording && i < list.length; i++) {
      const { type, body } = list[i] as BrowserReport;
      if (body === null || (type !== 'deprecation' && type !== 'intervention')) continue;
      const { message = '', sourceFile = '', lineNumber = 0, columnNumber = 0 } = body;
      channel.add([
        'note',
        now(),
        type,
        'warning',
        slice(message, 0, MAX_TEXT),
        sourceFile ?? '',
        lineNumber ?? 0,
        columnNumber ?? 0,
      ]);
    }
  };
  new ReportingObserver(seen, { types: ['deprecation', 'intervention'], buffered: true }).observe();
}
