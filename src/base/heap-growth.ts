/** Keeps the memory of a long run near what it needs. The platform would let it grow to several times of that. */
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** By how much the heap may grow before it is cleared of garbage. More saves adds and crawls no time. */
const GROWTH_PERCENT = 40;
/** Where what was made lately stands. More saves adds no time, but crawls. */
const YOUNG_SPACE = 'new_space';
const YOUNG_BYTES_MAX = 32 * 1024 * 1024;
const LOOKS_APART_MS = 10;

export function limitHeapGrowth(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`);
}

/** Its limit can be set only before a program runs, so it is told to grow no more when it is there. */
export function limitYoungSpace(): void {
  const looking = setInterval(() => {
    const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === YOUNG_SPACE);
    if (!young || young.space_size < YOUNG_BYTES_MAX) return;
    setFlagsFromString('--semi-space-growth-factor=1');
    clearInterval(looking);
  }, LOOKS_APART_MS);
  looking.unref();
}
