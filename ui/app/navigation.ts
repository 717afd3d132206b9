/** Moves between screens without reloading the page, and announces each new screen to screen readers. */
import { useEffect, useState } from 'preact/hooks';
import { parseRoute, type Route } from './route.ts';

const MOVED = 'pinakes-moved';

let isBack = false;

/** True when the reader came here with Back or Forward: the screen must then look as it was left. */
export function isReturning(): boolean {
  return isBack;
}

export function currentRoute(): Route {
  return parseRoute(location);
}

/** Goes to a screen. `isAddressOnly` changes only the address, because the screen shows the right page already. */
export function navigate(
  path: string,
  options: { readonly replace?: boolean; readonly isAddressOnly?: boolean } = {},
): void {
  if (options.replace) history.replaceState(null, '', path);
  else history.pushState(null, '', path);
  if (!options.isAddressOnly) dispatchEvent(new Event(MOVED));
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

/** Handles links to our own screens. The browser handles all other links, and those opened in a new tab. */
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

/** Sets the title of the window. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title === '' ? 'Pinakes' : `${title} \u2013 Pinakes`;
  }, [title]);
}
