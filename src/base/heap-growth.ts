/**
 * Keeps the memory of a long run near what it needs. By default the platform lets the heap grow to several times as
 * much.
 */
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Growth of the heap before garbage is collected. A larger value does not make adds and crawls faster. */
const GROWTH_PERCENT = 40;
/** The space of new objects. A larger one makes crawls faster, but not adds. */
const YOUNG_SPACE = 'new_space';
const YOUNG_BYTES_MAX = 32 * 1024 * 1024;
/** For adds. */
export const SMALL_YOUNG_BYTES_MAX = 16 * 1024 * 1024;
const LOOKS_APART_MS = 10;

export function limitHeapGrowth(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
}

/** The limit of the space can be set only before a program starts. So its growth is switched off at that size. */
export function limitYoungSpace(bytesMax = YOUNG_BYTES_MAX): void {
  const looking = setInterval(() => {
    const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === YOUNG_SPACE);
    if (!young || young.space_size < bytesMax) return;
    setFlagsFromString('--semi-space-growth-factor=1');
    clearInterval(looking);
  }, LOOKS_APART_MS);
  looking.unref();
}
