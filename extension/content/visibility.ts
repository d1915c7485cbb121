import { has, parentAcrossRoots } from './dom';

/**
 * How an element stands towards the eye: `hidden` by style or markup; `faint` while it, or what
 * surrounds it, is fully transparent (often the first moment of a fade); else `shown`.
 *
 * Asks for computed style only, never for layout, so that a page that changes much is not slowed.
 */
export function visibilityOf(element: Element): 'shown' | 'faint' | 'hidden' {
  if (typeof element.checkVisibility === 'function') {
    if (!element.checkVisibility({ visibilityProperty: true })) return 'hidden';
    return element.checkVisibility({ opacityProperty: true }) ? 'shown' : 'faint';
  }
  const view = element.ownerDocument.defaultView;
  if (view === null) return 'hidden';
  let faint = false;
  for (let at: Element | null = element; at !== null; at = parentAcrossRoots(at)) {
    const style = view.getComputedStyle(at);
    if (has(at, 'hidden') || style.display === 'none') return 'hidden';
    if (at === element && (style.visibility === 'hidden' || style.visibility === 'collapse')) return 'hidden';
    if (style.opacity === '0') faint = true;
  }
  return faint ? 'faint' : 'shown';
}

/** True while the element, or what surrounds it, is being faded or moved by the browser. */
export function isAnimating(element: Element): boolean {
  for (let at: Element | null = element; at !== null; at = parentAcrossRoots(at)) {
    if (at.getAnimations?.().some((animation) => animation.playState === 'running')) return true;
  }
  return false;
}
