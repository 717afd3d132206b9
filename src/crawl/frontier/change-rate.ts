/**
 * How often a page changes, as far as visits can tell (Cho and Garcia-Molina, "Estimating frequency of change").
 *
 * A page was looked at n times after the first, and X times it was another than the time before. The plain ratio X / n
 * misses changes that follow each other between two looks. Under changes that come independently of each other (a
 * Poisson process) the estimator
 *
 * ```
 *   rate = ln((n + 0.5) / (n - X + 0.5)) / mean time between looks
 * ```
 * is nearly without bias, and finite when every look saw a change.
 */

const DAY_MS = 24 * 3600_000;

/** Changes a day. Undefined before a page was looked at twice. */
export function changeRate(visits: number, changes: number, watchedMs: number): number | undefined {
  if (visits <= 0 || watchedMs <= 0) return undefined;
  return Math.log((visits + 0.5) / (visits - changes + 0.5)) / (watchedMs / visits / DAY_MS);
}

/**
 * How likely it is that a page has changed in the time since it was last looked at. One that was seen only once counts
 * as changed.
 */
export function changeLikelihood(visits: number, changes: number, watchedMs: number, sinceMs: number): number {
  const rate = changeRate(visits, changes, watchedMs);
  return rate === undefined ? 1 : 1 - Math.exp((-rate * Math.max(0, sinceMs)) / DAY_MS);
}
