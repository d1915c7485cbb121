/** A time in short, as everywhere by 24 hours: the hour of today, else the day with it. `locales` is for tests. */
export function shortTime(at: string, now = Date.now(), locales?: string): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return '';
  const time = date.toLocaleTimeString(locales, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  if (date.toDateString() === new Date(now).toDateString()) return time;
  return `${date.toLocaleDateString(locales, { day: 'numeric', month: 'short' })}, ${time}`;
}
