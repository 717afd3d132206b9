/**
 * Moving between screens without loading the page anew, and telling people who do not see it that the screen has
 * changed.
 */
import { useEffect, useState } from 'preact/hooks';
import { parseRoute, type Route } from './route.ts';

const MOVED = 'pinakes-moved';

let isBack = false;

/** Whether the screen was come to with the browser's own back and forward: then it is to be as it was left. */
export function isReturning(): boolean {
  return isBack;
}

export function currentRoute(): Route {
  return parseRoute(location);
}

/** Goes to a screen. `isQuiet` changes the address only: the screen has followed by itself already. */
export function navigate(path: string, options: { readonly replace?: boolean; readonly isQuiet?: boolean } = {}): void {
  if (options.replace) history.replaceState(null, '', path);
  else history.pushState(null, '', path);
  if (!options.isQuiet) dispatchEvent(new Event(MOVED));
}

export function useRoute(): Route {
  const [route, setRoute] = useState(currentRoute);
  useEffect(() => {
    const follow = (event: Event) => {
      isBack = event.type !== MOVED;
      setRoute(currentRoute());
      if (event.type === MOVED) scrollTo(0, 0);
    };
    addEventListener(MOVED, follow);
    addEventListener('popstate', follow);
    document.addEventListener('click', followLink);
    return () => {
      removeEventListener(MOVED, follow);
      removeEventListener('popstate', follow);
      document.removeEventListener('click', followLink);
    };
  }, []);
  return route;
}

/**
 * Links to screens of ours change the screen; every other link, and every wish for a new tab, is left to the browser.
 */
function followLink(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
  if (link.hash !== '' && link.pathname === location.pathname && link.search === location.search) return;
  if (parseRoute(link).kind === 'missing') return;
  event.preventDefault();
  navigate(link.pathname + link.search + link.hash);
}

/** The title of the window; with a new title the heading takes the focus, so that it is read out. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title === '' ? 'Pinakes' : `${title} \u2013 Pinakes`;
  }, [title]);
}
