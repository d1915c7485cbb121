/** Masks secrets in what the browser reports of an action. The trees in it are masked where they are read. */
import type { ActBlame, ActDialog, ActMade, ActObjection, ActResult } from '../../protocol';
import { redactText } from '../../redact/redact';

/** The outcome of an action without secrets in its texts. */
export function maskedResult(result: ActResult): ActResult {
  const { text, untrusted, dialog, blame, waiting, downloads, late, objections } = result;
  return {
    ...result,
    ...(text !== undefined && { text: clean(text) }),
    ...(untrusted !== undefined && { untrusted: clean(untrusted) }),
    ...(dialog !== undefined && { dialog: maskedDialog(dialog) }),
    ...(blame !== undefined && { blame: maskedBlame(blame) }),
    ...(waiting !== undefined && { waiting: waiting.map(clean) }),
    ...(downloads !== undefined && { downloads: downloads.map(clean) }),
    ...(late !== undefined && { late: maskedMade(late) }),
    ...(objections !== undefined && { objections: objections.map(maskedObjection) }),
  };
}

const clean = (text: string): string => redactText(text).text;

function maskedDialog(dialog: ActDialog): ActDialog {
  const { message, default: text } = dialog;
  return { ...dialog, message: clean(message), ...(text !== undefined && { default: clean(text) }) };
}

function maskedBlame(blame: ActBlame): ActBlame {
  const parts = Object.entries(blame).map(([name, part]: [string, unknown]) => {
    if (typeof part === 'string') return [name, clean(part)];
    return [name, name === 'stack' ? (part as string[]).map(clean) : part];
  });
  return Object.fromEntries(parts) as ActBlame;
}

function maskedMade(made: ActMade): ActMade {
  return { ...made, ...(made.downloads !== undefined && { downloads: made.downloads.map(clean) }) };
}

function maskedObjection(objection: ActObjection): ActObjection {
  const { invalid } = objection;
  return { ...objection, ...(invalid !== undefined && { invalid: clean(invalid) }) };
}
