/** Reads the token from the link that `pinakes serve` prints. Does not use the browser. */
const PREFIX = '#token=';

/** The token of a link; undefined if it has none. A token with invalid escapes is returned as it is. */
export function tokenInLink(link: string): string | undefined {
  const at = link.indexOf(PREFIX);
  if (at < 0) return undefined;
  const written = link.slice(at + PREFIX.length);
  try {
    return decodeURIComponent(written);
  } catch {
    return written;
  }
}
