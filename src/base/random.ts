/** Randomness is passed in, so that tests and simulations can repeat a run from its printed seed. */

/** A number in [0, 1). */
export type Random = () => number;

/** Makes record ids. */
export type IdSource = () => string;

/** A small, fast, well-mixed generator (mulberry32). Not for secrets. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Record ids of the usual form from a random source, for tests and repeatable output. */
export function seededIds(random: Random): IdSource {
  const hex = (length: number) => Array.from({ length }, () => Math.floor(random() * 16).toString(16)).join('');
  return () => `<urn:uuid:${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}>`;
}
