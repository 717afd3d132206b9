/**
 * Chooses the known URLs that a recrawl of a collection visits.
 *
 * First come URLs that the last crawl could not verify, or that its limit left unvisited. Gone seeds are among them,
 * because everything else depends on seeds. Then come all pages that will soon exceed their allowed lifetime, which the
 * budget does not bound. Then come other pages up to the budget, by the probability that they have changed. With
 * `fixed` all pages are visited.
 *
 * URLs that the settings of this run exclude are not visited, and their rows stay unchanged. Gone pages that are not
 * seeds are visited again when a crawl from seeds finds them, or when a gone page that links to them is back.
 */
import type { CrawlRun } from '../run.ts';
import { type KnownUrl, Scope } from './scope.ts';

/**
 * A page counts as expiring when less than this share of its lifetime is left, since it would expire before the next
 * crawl.
 */
export const EXPIRING_SHARE = 0.1;

export type RecrawlPlan = {
  readonly unverified: number;
  readonly expiring: number;
  readonly likely: number;
  /** The number of known URLs that the settings exclude. */
  readonly outOfScope: number;
};

/** The settings that limit how far a crawl goes from its seeds. */
const REACH = ['scope', 'include', 'depthMax'] as const;

/**
 * Returns a filter for the known URLs that a recrawl wants. If this recrawl has the REACH settings of the last crawl
 * from seeds, they are not applied, because other crawls of the collection found pages beyond them. If one of them was
 * changed for this recrawl, they are applied, from the seeds of all crawls.
 */
export function knownUrlFilter(
  { settings, movedSeeds }: CrawlRun,
  lastFirst: CrawlRun,
  allSeeds: readonly string[],
): (known: KnownUrl) => boolean {
  const isNear = REACH.some((name) => JSON.stringify(settings[name]) !== JSON.stringify(lastFirst.settings[name]));
  const scope = new Scope(settings, [...movedSeeds, ...allSeeds]);
  return (known) => scope.hasKnown(known, isNear);
}
