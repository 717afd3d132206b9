/**
 * url: keys, normal forms, page ids, ranges of keys, and the nearest of many times. Pure: no network, no clock, no
 * state. Every function takes any string and never throws.
 */
export { closest, latestNotAfter } from './closest.ts';
export { hostOf, hostOfKey } from './host.ts';
export { isInRanges, type KeyRange, keyRange, type MatchType, unitedRanges } from './key-range.ts';
export { normalUrl } from './normal-url.ts';
export { formatPageId, PAGE_ID_VERSION, type PageId, pageId, parsePageId } from './page-id.ts';
export { requestBodyQuery, requestKey } from './request-key.ts';
export { URL_KEY_VERSION, type UrlKey, urlKey } from './url-key.ts';
export { parseUrlPattern, typedUrl, type UrlPattern } from './url-pattern.ts';
