/** Times, durations and sizes as a person reads them. */

/** A time of day to the millisecond. */
export function clock(at: number): string {
  const d = new Date(at);
  const two = (n: number): string => String(n).padStart(2, '0');
  return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}.${String(d.getMilliseconds()).padStart(3, '0')}`;
}

/** A time of day to the second. */
export function hour(at: number): string {
  return clock(at).slice(0, 8);
}

/** A time of day, with the day where it is not today's. */
export function moment(at: number, now = Date.now()): string {
  const day = new Date(at);
  if (day.toDateString() === new Date(now).toDateString()) return hour(at);
  return `${day.toLocaleDateString(undefined, { day: 'numeric', month: 'short' })}, ${hour(at)}`;
}

/** How long something took. */
export function duration(ms: number): string {
  if (ms < 1) return `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_500) return `${(ms / 1000).toFixed(ms < 9950 ? 1 : 0)} s`;
  const seconds = Math.round(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** How many bytes. */
export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1e6) return `${(bytes / 1000).toFixed(bytes < 10_000 ? 1 : 0)} kB`;
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** The last part of a path. */
export function baseName(path: string): string {
  return path.split(/[/\\]/).findLast(Boolean) || path;
}
