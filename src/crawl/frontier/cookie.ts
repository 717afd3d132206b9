/** A cookie of a redirect. The rules of the crawl about them: `RedirectCookies`. */
import type { EpochMs } from '../../base/index.ts';

export type Cookie = {
  /** A host, or `.` and a domain for the cookies of all its hosts. */
  readonly domain: string;
  readonly name: string;
  /** Undefined when the site has deleted the cookie. */
  readonly value: string | undefined;
  readonly setAt: EpochMs;
  readonly isSecure: boolean;
  /** Whether a redirect without this cookie led in a circle. */
  readonly isNeeded: boolean;
};
