/** The key of an object as lists have it: encoded as in the query of a URL. Empty when it cannot be decoded. */
export function decodeKey(key: string): string {
  try {
    return decodeURIComponent(key.replaceAll('+', ' '));
  } catch {
    return '';
  }
}
