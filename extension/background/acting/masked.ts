/** Masks secrets in what the browser reports of an action. Its trees and its dialog are masked where they are read. */
import type { ActBlame, ActMade, ActObjection, ActResult } from '../../protocol';

/** Takes secrets out of a text. */
type Hide = (text: string) => string;

/** The outcome of an action without secrets in its texts. */
export function maskedResult(result: ActResult, hide: Hide): ActResult {
  const { text, untrusted, blame, waiting, downloads, late, objections } = result;
  return {
    ...result,
    ...(text !== undefined && { text: hide(text) }),
    ...(untrusted !== undefined && { untrusted: hide(untrusted) }),
    ...(blame !== undefined && { blame: maskedBlame(blame, hide) }),
    ...(waiting !== undefined && { waiting: waiting.map(hide) }),
    ...(downloads !== undefined && { downloads: downloads.map(hide) }),
    ...(late !== undefined && { late: maskedMade(late, hide) }),
    ...(objections !== undefined && {
      objections: objections.map((objection) => maskedObjection(objection, hide)),
    }),
  };
}

function maskedBlame(blame: ActBlame, hide: Hide): ActBlame {
  const parts = Object.entries(blame).map(([name, part]: [string, unknown]) => {
    if (typeof part === 'string') return [name, hide(part)];
    return [name, name === 'stack' ? (part as string[]).map(hide) : part];
  });
  return Object.fromEntries(parts) as ActBlame;
}

function maskedMade(made: ActMade, hide: Hide): ActMade {
  return { ...made, ...(made.downloads !== undefined && { downloads: made.downloads.map(hide) }) };
}

function maskedObjection(objection: ActObjection, hide: Hide): ActObjection {
  const { invalid } = objection;
  return { ...objection, ...(invalid !== undefined && { invalid: hide(invalid) }) };
}
