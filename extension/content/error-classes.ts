/**
 * What an element's classes say about it.
 *
 * - `error`: it is an error by its class alone.
 * - `alert`: an alert of no stated kind.
 * - `toast`: a notification of no stated kind; its text decides.
 * - `field`: a control in an invalid state.
 * - `fine`: it says of itself that all is well.
 */
export type ClassVerdict = 'error' | 'alert' | 'toast' | 'field' | 'fine' | 'none';

/** A verdict and the class that gave it, by which the element can be selected. */
export interface ClassReading {
  readonly verdict: ClassVerdict;
  readonly name: string;
}

const NOTHING: ClassReading = { verdict: 'none', name: '' };

/** Read once a class attribute, not once an element: pages repeat few attributes many times. */
const readings = new Map<string, ClassReading>();
const MAX_READINGS = 4000;

/** Most class attributes have none of these and cost one test. */
const INTERESTING =
  /err|alert|danger|invalid|fail|fatal|toast|snack|notif|destructive|message|flash|callout/i;

/** Reads a class attribute. */
export function readClasses(attribute: string): ClassReading {
  if (!INTERESTING.test(attribute)) return NOTHING;
  let reading = readings.get(attribute);
  if (reading === undefined) {
    reading = judge(attribute);
    if (readings.size >= MAX_READINGS) readings.clear();
    readings.set(attribute, reading);
  }
  return reading;
}

/** Words that make a class with an error word in it something else. */
const NOT_AN_ERROR = new Set(
  (
    'no without non hide hidden clear free boundary handler provider tracker tracking report reporting monitor ' +
    'btn button badge icon svg chip tag link dot counter count indicator color colour bar bound ng margin rate log logs'
  ).split(' '),
);

/** First words of classes that only colour something: `text-danger`, `bg-error`. */
const COLOURING = new Set(
  'text bg border ring fill stroke divide outline from to via shadow accent caret placeholder'.split(' '),
);

/** Words for the things that carry messages. */
const CARRIERS = new Set(
  'alert toast message msg notification notice notify notistack snackbar snackbars banner flash callout help feedback hint infobar infobox dialog toastify standard filled outlined'.split(
    ' ',
  ),
);

const BAD = new Set('error errors danger failure failed fail fatal critical destructive negative'.split(' '));

const GOOD = new Set(
  'success successful info information primary secondary light dark positive ok'.split(' '),
);

/** Classes of toasts and alerts that show their kind by other means, or not at all. */
const PLAIN_TOAST =
  /^(?:toast|Toastify__toast|MuiSnackbarContent-root|notistack-MuiContent|mantine-Notification-root|chakra-toast|el-message|el-notification|ant-notification-notice|ant-message-notice|v-snackbar|p-toast-message|swal2-toast|snackbar|hot-toast|toast-message)$/;

/** Bulma's messages, whose kind is a class of its own that its buttons and fields bear too. */
const BULMA =
  /(?:^|\s)(help|message|notification)\s(?:.*\s)?is-danger(?:\s|$)|(?:^|\s)is-danger\s(?:.*\s)?(help|message|notification)(?:\s|$)/;

function judge(attribute: string): ClassReading {
  let found: ClassReading = NOTHING;
  let fine = false;
  let colour: 'bad' | 'good' | '' = '';
  for (const name of attribute.split(/\s+/)) {
    // Variants (`aria-invalid:ring`) and arbitrary values refer to another state.
    if (name === '' || /[:[\]/&]/.test(name)) continue;
    const parts = words(name);
    const verdict = judgeName(name, parts);
    if (verdict === 'fine') fine = true;
    else if (verdict !== 'none' && rank(verdict) > rank(found.verdict)) found = { verdict, name };
    if (COLOURING.has(parts[0] ?? '')) {
      if (parts.some((word) => BAD.has(word))) colour = 'bad';
      else if (parts.some((word) => word === 'success' || word === 'info')) colour ||= 'good';
    }
  }
  if (found.verdict === 'error' || found.verdict === 'field') return found;
  const bulma = BULMA.exec(attribute);
  if (bulma !== null) return { verdict: 'error', name: bulma[1] ?? bulma[2] ?? '' };
  if (fine) return { verdict: 'fine', name: '' };
  if (found.verdict === 'toast' || found.verdict === 'alert') {
    if (colour === 'bad') return { verdict: 'error', name: found.name };
    if (colour === 'good') return { verdict: 'fine', name: '' };
  }
  return found;
}

function rank(verdict: ClassVerdict): number {
  return ['none', 'fine', 'toast', 'alert', 'field', 'error'].indexOf(verdict);
}

function judgeName(name: string, parts: readonly string[]): ClassVerdict {
  const has = (set: ReadonlySet<string>) => parts.some((word) => set.has(word));
  if (name === 'alert') return 'alert';
  if (name === 'is-invalid') return 'field';
  if (name === 'destructive') return 'toast';
  if (PLAIN_TOAST.test(name)) return 'toast';
  if (has(CARRIERS) && has(GOOD) && !has(BAD)) return 'fine';
  if (name === 'success' || name === 'is-success' || name === 'is-info') return 'fine';
  if (has(NOT_AN_ERROR) || COLOURING.has(parts[0] ?? '')) return 'none';
  if (parts.includes('error') || parts.includes('errors')) return 'error';
  if (parts.includes('invalid')) return has(CARRIERS) ? 'error' : 'none';
  if (has(BAD) && has(CARRIERS)) return 'error';
  return 'none';
}

/** `MuiAlert-standardError` → mui alert standard error. */
function words(name: string): string[] {
  return name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .split(/[^A-Za-z\d]+/)
    .filter((word) => word !== '')
    .map((word) => word.toLowerCase());
}
