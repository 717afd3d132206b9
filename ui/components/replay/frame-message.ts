/**
 * Messages from a replayed page to the window around it: its new address after the reader followed a link, and its
 * title. The page may be hostile, so a message can only change the address and title that are shown, and their lengths
 * are bounded. Does not use the browser.
 */
export type FrameMessage =
  | { readonly kind: 'moved'; readonly url: string; readonly timestamp: string; readonly title: string }
  | { readonly kind: 'title'; readonly title: string };

const URL_LENGTH_MAX = 64 * 1024;
const TITLE_LENGTH_MAX = 300;

/**
 * Reads a message that a frame posted, in the format of wombat, which runs in the page. Undefined for other messages.
 */
export function readFrameMessage(data: unknown): FrameMessage | undefined {
  if (typeof data !== 'object' || data === null) return undefined;
  const { wb_type: kind, url, ts, title } = data as Record<string, unknown>;
  const shownTitle = typeof title === 'string' ? title.slice(0, TITLE_LENGTH_MAX) : '';
  if (kind === 'title') return { kind: 'title', title: shownTitle };
  if (kind !== 'load' && kind !== 'replace-url') return undefined;
  if (typeof url !== 'string' || url.length > URL_LENGTH_MAX || !/^https?:\/\/[^/]/i.test(url)) return undefined;
  if (typeof ts !== 'string' || !/^\d{14}$/.test(ts)) return undefined;
  return { kind: 'moved', url, timestamp: ts, title: shownTitle };
}
