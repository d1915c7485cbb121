/** Shows the user where an element of a page is. */

/** Runs in the page's frames: scrolls to the element and marks it for a moment. Must not use anything outside. */
function show(selector: string): boolean {
  let element: Element | null = null;
  try {
    element = document.querySelector(selector);
  } catch {
    return false; // no selector that this page understands
  }
  if (element === null) return false;
  element.scrollIntoView({ block: 'center', behavior: 'smooth' });
  element.animate?.(
    [
      { outline: '3px solid #0a6a83', outlineOffset: '2px' },
      { outline: '3px solid #0a6a8300', outlineOffset: '8px' },
    ],
    { duration: 700, iterations: 3 },
  );
  return true;
}

/** Brings the first element that a selector finds in any frame of a tab into view, and the tab; false when there is none. */
export async function reveal(tab: number, selector: string): Promise<boolean> {
  await chrome.tabs.update(tab, { active: true }); // a hidden page does not scroll
  const answers = await chrome.scripting.executeScript({
    target: { tabId: tab, allFrames: true },
    func: show,
    args: [selector],
  });
  return answers.some(({ result }) => result === true);
}
