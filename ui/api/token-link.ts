/** The token in the link that `pinakes serve` prints. Knows nothing of the browser. */
const MARK = '#token=';

/** Undefined when the link has none. One that is not escaped as links are is taken as it stands. */
export function tokenInLink(link: string): string | undefined {
  const at = link.indexOf(MARK);
  if (at < 0) return undefined;
  const written = link.slice(at + MARK.length);
  try {
    return decodeURIComponent(written);
  } catch {
    return written;
  }
}
