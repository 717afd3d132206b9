/**
 * The order of the queue of a host. A rank is the number of a band times RANK_STEP, plus a number within the band that
 * no other URL of the host has.
 */
import type { Offer } from './known-url.ts';

export const RANK_STEP = 2 ** 40;
/** Ranks of embeds that visited pages need are below this, and so are those of sitemaps. */
export const NEED_RANK_END = 2 * RANK_STEP;
/** Ranks of pages of depth 0 are below this. */
export const SEED_RANK_END = 3 * RANK_STEP;

/** How many URLs of one key a run may queue. More URLs of one key usually differ in session ids. */
export const VARIANTS_MAX = 16;

/** Returns the band of a URL: sitemaps come first, then embeds, then pages by their depth. */
export function bandOf({ role, depth, hops }: Offer): number {
  if (role === 'sitemap') return 0;
  if (role === 'embed' || hops > 0) return 1;
  return 2 + Math.min(depth, 1000);
}

/**
 * Whether a visited page needs this URL to be shown. A URL that a page names but does not show, such as a preview
 * picture for other sites, has no hops.
 */
export function isNeed({ role, hops, isHint }: Offer): boolean {
  return role === 'embed' && hops > 0 && !isHint;
}
