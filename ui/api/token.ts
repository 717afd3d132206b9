/**
 * The token that changes to the archive need. It is in the fragment of the link that `pinakes serve` prints; browsers
 * do not send the fragment. The token is removed from the address bar at once, and kept until the tab is closed.
 */
import { tokenInLink } from './token-link.ts';

const KEY = 'pinakes.token';
const CHANGED = 'pinakes-token';

let held: string | undefined;
let isRefused = false;

/** Takes the token from the address bar and removes it there. */
export function takeTokenFromAddress(): void {
  const token = location.hash.startsWith('#token=') ? tokenInLink(location.hash) : undefined;
  if (!token) return;
  keepToken(token);
  history.replaceState(history.state, '', location.pathname + location.search);
}

export function currentToken(): string | undefined {
  if (held !== undefined) return held;
  try {
    return sessionStorage.getItem(KEY) ?? undefined;
  } catch {
    // Storage may be switched off.
    return undefined;
  }
}

/** True if the server refused the last token. */
export function wasRefused(): boolean {
  return isRefused;
}

export function keepToken(token: string): void {
  held = token;
  isRefused = false;
  try {
    sessionStorage.setItem(KEY, token);
  } catch {
    // Without storage the token is lost when the page is closed.
  }
  dispatchEvent(new Event(CHANGED));
}

/** Forgets a token that the server refused. */
export function dropToken(): void {
  isRefused ||= currentToken() !== undefined;
  held = undefined;
  try {
    sessionStorage.removeItem(KEY);
  } catch {
    // Without storage there is nothing to remove.
  }
  dispatchEvent(new Event(CHANGED));
}

export function onTokenChange(listener: () => void): () => void {
  addEventListener(CHANGED, listener);
  return () => removeEventListener(CHANGED, listener);
}
