/**
 * Estimates how often a page changes (Cho and Garcia-Molina, "Estimating frequency of change").
 *
 * A page is visited n more times after its first visit. X of these visits find a page that differs from the one at the
 * last visit. The plain ratio X / n is too low, because several changes between two visits count once. If changes are
 * independent of each other (a Poisson process), the estimator
 *
 * ```
 *   rate = ln((n + 0.5) / (n - X + 0.5)) / mean time between visits
 * ```
 * has almost no bias, and is finite even when every visit saw a change.
 */

const DAY_MS = 24 * 3600_000;

/** Returns changes per day; undefined if the page was visited once. */
export function changeRate(visits: number, changes: number, watchedMs: number): number | undefined {
  if (visits <= 0 || watchedMs <= 0) return undefined;
  return Math.log((visits + 0.5) / (visits - changes + 0.5)) / (watchedMs / visits / DAY_MS);
}

/** The probability that a page has changed since its last visit. It is 1 for a page that was visited only once. */
export function changeLikelihood(visits: number, changes: number, watchedMs: number, sinceMs: number): number {
  const rate = changeRate(visits, changes, watchedMs);
  return rate === undefined ? 1 : 1 - Math.exp((-rate * Math.max(0, sinceMs)) / DAY_MS);
}
