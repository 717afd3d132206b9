/**
 * The rights of a token.
 *
 * ```
 *   read     captures, contents, streams, search            add      store and add
 *   crawl    start crawls                                    delete   give back, delete
 *   admin    everything, as with the token that the server prints
 * ```
 */
export const RIGHTS = ['read', 'add', 'crawl', 'delete', 'admin'] as const;

export type Right = (typeof RIGHTS)[number];

export function isRight(text: unknown): text is Right {
  return RIGHTS.some((right) => right === text);
}
