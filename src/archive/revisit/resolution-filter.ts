/**
 * The captures, contents and declared digests that were stored since all unresolved revisits were last tried. A revisit
 * that refers to none of them need not be tried again. There may be millions of such revisits.
 *
 * Every draft of a change adds its new captures and digests. Changes run one at a time, and resolving is a change too,
 * so none of them is missed. If others change the catalog too, their captures are missing, and all revisits are tried.
 * This is a Bloom filter of fixed size: a "yes" may be wrong, a "no" is always right.
 */
import type { EpochMs } from '../../base/index.ts';
import type { Capture, Catalog } from '../../catalog/index.ts';
import type { UrlKey } from '../../url/index.ts';

const BITS_EXPONENT = 24;
const WORD_BITS = 32;
/** Only this many characters at the end of a URL key are hashed, since most URLs differ at their end. */
const HASHED_LENGTH = 64;

export class ResolutionFilter {
  readonly #isShared: boolean;
  /** The bits of the filter. Undefined until a record was stored. */
  #bits: Uint32Array | undefined;
  #isComplete = false;

  constructor({ isShared }: Pick<Catalog, 'isShared'>) {
    this.#isShared = isShared;
  }

  /** Called when all unresolved revisits were tried with everything that is in the archive. */
  restart(): void {
    this.#bits = undefined;
    this.#isComplete = !this.#isShared;
  }

  /**
   * Whether the filter has everything that was stored since the last attempt. Before the first attempt it does not, so
   * all revisits have to be tried.
   */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Whether nothing was stored since the last attempt. */
  get isEmpty(): boolean {
    return this.#isComplete && this.#bits === undefined;
  }

  addCapture({ urlKey, time }: Pick<Capture, 'urlKey' | 'time'>): void {
    const hash = hashOfKey(urlKey);
    this.#add(hash);
    this.#add(withTime(hash, time));
  }

  /** Adds the digest of a content, or a digest that a writer declared for the content. */
  addDigest(digest: Uint8Array): void {
    this.#add(firstFourBytes(digest));
  }

  /** Whether there may be a capture with this key, in the second of `time` if that is given. */
  mayHaveCapture(key: UrlKey, time?: EpochMs): boolean {
    const hash = hashOfKey(key);
    return this.#mayHave(time === undefined ? hash : withTime(hash, time));
  }

  mayHaveDigest(digest: Uint8Array): boolean {
    return this.#mayHave(firstFourBytes(digest));
  }

  #add(hash: number): void {
    this.#bits ??= new Uint32Array(2 ** BITS_EXPONENT / WORD_BITS);
    setBit(this.#bits, first(hash));
    setBit(this.#bits, second(hash));
  }

  #mayHave(hash: number): boolean {
    return this.#bits !== undefined && hasBit(this.#bits, first(hash)) && hasBit(this.#bits, second(hash));
  }
}

function setBit(bits: Uint32Array, bit: number): void {
  bits[bit >>> 5]! |= 1 << (bit & 31);
}

function hasBit(bits: Uint32Array, bit: number): boolean {
  return (bits[bit >>> 5]! & (1 << (bit & 31))) !== 0;
}

function first(hash: number): number {
  return Math.imul(hash, 0x9e3779b1) >>> (WORD_BITS - BITS_EXPONENT);
}

function second(hash: number): number {
  return Math.imul(hash ^ (hash >>> 15), 0x85ebca6b) >>> (WORD_BITS - BITS_EXPONENT);
}

function firstFourBytes(digest: Uint8Array): number {
  return (digest[0]! << 24) | (digest[1]! << 16) | (digest[2]! << 8) | digest[3]!;
}

function withTime(hash: number, time: EpochMs): number {
  return Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35) ^ Math.floor(time / 1000);
}

function hashOfKey(key: string): number {
  let hash = key.length;
  for (let at = Math.max(0, key.length - HASHED_LENGTH); at < key.length; at++)
    hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  return hash;
}
