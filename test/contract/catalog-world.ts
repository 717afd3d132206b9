/** Random rows over a few keys that often collide, and random questions, for comparing a catalog with a model. */
import type { Random } from '../../src/base/index.ts';
import {
  type Alias,
  type Block,
  type BlockKey,
  type Capture,
  type CaptureKind,
  type CaptureRange,
  type CatalogView,
  rangeOfKey,
} from '../../src/catalog/index.ts';
import type { UrlKey } from '../../src/url/index.ts';
import { all } from './catalog-fixture.ts';

/** Keys with this beginning are so long that a catalog shortens them. */
const START = 'com,a)/'.padEnd(512, 'x');

const KEYS = [
  'com,a)/',
  'com,a)/x',
  'com,a)/x/y',
  'com,a)/x!',
  'com,a:81)/',
  '',
  '\0',
  'k\0',
  'k\x01',
  'k',
  'k\u{10000}',
  'k\ufffd',
  START,
  `${START}a`,
  `${START}b`,
  `${START}b/c`,
  `${START}b\0`,
  `${START.slice(0, 511)}\u{10000}`,
  `${START.slice(0, 511)}\u{10001}y`,
  `${START}${'z'.repeat(20_000)}`,
];
const URLS = [
  'http://a.com/',
  'https://www.a.com/X/',
  'http://a.com/x',
  'http://a.com:81/',
  'k',
  '',
  'http://\u4e2d.com/',
];
const TIMES = [-5, 0, 1, 999, 1000, 1001, 2000, 1_700_000_000_000, 1_700_000_000_001, 4_200_000_000_000];
const MIMES = ['text/html', 'image/png', '', 'x'.repeat(120)];
const KINDS: readonly CaptureKind[] = ['response', 'revisit', 'resource', 'conversion', 'metadata'];

/** Makes rows and questions of one random source. */
export class CatalogWorld {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)]!;
  }

  some<Item>(most: number, make: () => Item): Item[] {
    return Array.from({ length: this.below(most + 1) }, make);
  }

  /** Few digests, whose first bytes are mostly the same. */
  digest(): Uint8Array {
    const digest = new Uint8Array(32).fill(this.below(2));
    digest[31] = this.below(3);
    if (this.below(4) === 0) digest[5] = this.below(3);
    return digest;
  }

  blockKey(): BlockKey {
    return { digest: this.digest(), overflow: this.below(5) === 0 ? this.below(3) : 0 };
  }

  place() {
    return { segment: this.below(3), offset: this.below(6) * 100, length: this.below(1000) };
  }

  capture(): Capture {
    return {
      urlKey: this.pick(KEYS) as UrlKey,
      time: this.pick(TIMES),
      place: this.place(),
      url: this.pick(URLS),
      kind: this.pick(KINDS),
      collection: this.below(3),
      status: this.pick([200, 0, 404]),
      mime: this.pick(MIMES),
      block: this.below(5) === 0 ? undefined : this.blockKey(),
      hash: this.below(2 ** 32),
    };
  }

  block(): Block {
    return { key: this.blockKey(), size: this.below(10_000), holder: this.place(), references: this.below(4) };
  }

  alias(): Alias {
    return { declared: new Uint8Array(20).fill(this.below(3)), block: this.blockKey() };
  }

  range(): CaptureRange {
    const isOfOneKey = this.below(6) === 0;
    return {
      ...(this.below(2) ? { keyFrom: this.pick(KEYS) } : {}),
      ...(this.below(2) ? { keyTo: this.pick(KEYS) } : {}),
      ...(this.below(2) ? { timeFrom: this.pick(TIMES) } : {}),
      ...(this.below(2) ? { timeTo: this.pick(TIMES) } : {}),
      ...(this.below(2) ? { after: this.capture() } : {}),
      ...(isOfOneKey ? rangeOfKey(this.pick(KEYS) as UrlKey) : {}),
      reverse: this.below(2) === 0,
    };
  }

  /** A random question. All random choices are made here, so that both catalogs get the same question. */
  question(): (catalog: CatalogView) => Promise<unknown> {
    const range = this.range();
    const pageSize = 1 + this.below(5);
    const digests = this.some(12, () => this.digest());
    const blockKeys = this.some(12, () => this.blockKey());
    const declared = this.some(3, () => this.alias().declared);
    const moments = this.some(5, () => ({
      ...this.capture(),
      ...(this.below(2) ? { timeTo: this.pick(TIMES) } : {}),
      ...(this.below(3) === 0 ? { limit: this.below(4) } : {}),
    }));
    const nearest = { ...this.capture(), time: this.pick(TIMES) + this.below(3) - 1 };
    const side = this.pick(['either', 'notAfter'] as const);
    return this.pick<(catalog: CatalogView) => Promise<unknown>>([
      (catalog) => all(catalog.captures(range, pageSize)),
      (catalog) => catalog.findBlocks(digests),
      (catalog) => catalog.getBlocks(blockKeys),
      (catalog) => catalog.findAliases(declared),
      (catalog) => catalog.findCaptures(moments),
      (catalog) => catalog.nearest(nearest.urlKey, nearest.time, side),
      (catalog) => catalog.capturesOf(nearest.urlKey),
      (catalog) => all(catalog.blocks(pageSize)),
    ]);
  }
}
