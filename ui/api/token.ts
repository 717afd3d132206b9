/**
 * The token that writing needs. It comes in the fragment of the link that `pinakes serve` prints, which browsers send
 * nowhere, is kept for as long as the tab lives, and leaves the address bar at once.
 */
import { tokenInLink } from './token-link.ts';

const KEY = 'pinakes.token';
const CHANGED = 'pinakes-token';

let held: string | undefined;
let isRefused = false;

/** Takes a token out of the address bar, when there is one. */
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

/** Whether the last token that was tried is not the server's. */
export function wasRefused(): boolean {
  return isRefused;
}

export function keepToken(token: string): void {
  held = token;
  isRefused = false;
  try {
    sessionStorage.setItem(KEY, token);
  } catch {
    // The token then lasts as long as the page.
  }
  dispatchEvent(new Event(CHANGED));
}

/** Lets go of a token that the server refused. */
export function dropToken(): void {
  isRefused ||= currentToken() !== undefined;
  held = undefined;
  try {
    sessionStorage.removeItem(KEY);
  } catch {
    // There was nothing to remove.
  }
  dispatchEvent(new Event(CHANGED));
}

export function onTokenChange(listener: () => void): () => void {
  addEventListener(CHANGED, listener);
  return () => removeEventListener(CHANGED, listener);
}
