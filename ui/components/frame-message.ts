/**
 * What a replayed page tells the window around it: where it is after a link was followed inside it, and its title. The
 * page is hostile, so a message is believed only as far as it can do no harm: it changes the address shown and nothing
 * else, and everything in it is bounded. Knows nothing of the browser.
 */
export type FrameMessage =
  | { readonly kind: 'moved'; readonly url: string; readonly timestamp: string; readonly title: string }
  | { readonly kind: 'title'; readonly title: string };

const URL_LENGTH_MAX = 64 * 1024;
const TITLE_LENGTH_MAX = 300;

/**
 * The message in what a frame posted; undefined when it is none of ours. The shape is that of wombat, which runs in the
 * page.
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
