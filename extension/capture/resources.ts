// What a request is for, as the debugger names it in lower case: each browser API has names of its own.

const ofTypes: Record<string, string> = {
  main_frame: 'document',
  sub_frame: 'document',
  xmlhttprequest: 'xhr',
  object: 'other',
  csp_report: 'cspviolationreport',
};

/** The resource of a request by its type in `chrome.webRequest`. */
export const resourceOfType = (type: string): string => ofTypes[type] ?? type;

const ofInitiators: Record<string, string> = {
  navigation: 'document',
  iframe: 'document',
  frame: 'document',
  img: 'image',
  image: 'image',
  css: 'other',
  link: 'other',
  xmlhttprequest: 'xhr',
  beacon: 'ping',
  video: 'media',
  audio: 'media',
};

/** The resource of a request by its `initiatorType` in the page's Resource Timing entries. */
export const resourceOfInitiator = (initiator: string): string => ofInitiators[initiator] ?? initiator;
