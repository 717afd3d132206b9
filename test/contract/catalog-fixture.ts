/** Shared by the suites for catalogs: running a test on a new catalog, and sample captures and blocks. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Block, Capture, Catalog, CatalogView } from '../../src/catalog/index.ts';
import { type UrlKey, urlKey } from '../../src/url/index.ts';

export type CatalogUnderTest = {
  /** Opens the catalog, or opens it again after it was closed. */
  open(): Promise<Catalog>;
  dispose(): Promise<void>;
};

export function digest(...bytes: number[]): Uint8Array {
  return Uint8Array.from({ length: 32 }, (_, index) => bytes[index] ?? bytes.at(-1)!);
}

export function block(first: number, changes: Partial<Block> = {}): Block {
  const key = { digest: digest(first), overflow: 0 };
  return { key, size: 1000 + first, holder: { segment: 1, offset: first, length: 10 }, references: 1, ...changes };
}

let places = 0;

export function capture(url: string, changes: Partial<Capture> = {}): Capture {
  return {
    urlKey: urlKey(url),
    time: Date.UTC(2024, 0, 1),
    place: { segment: 1, offset: ++places * 100, length: 90 },
    url,
    kind: 'response',
    collection: 1,
    status: 200,
    mime: 'text/html',
    block: undefined,
    hash: places,
    ...changes,
  };
}

/** A capture under a key of any bytes, even a key that no URL has. */
export function captureAt(key: string, changes: Partial<Capture> = {}): Capture {
  return { ...capture('http://example.com/', changes), urlKey: key as UrlKey };
}

export async function all<Item>(pages: AsyncIterable<Item[]>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const page of pages) {
    assert.ok(page.length > 0, 'a page is empty');
    items.push(...page);
  }
  return items;
}

export async function everythingIn(catalog: CatalogView) {
  return {
    captures: await all(catalog.captures({})),
    blocks: await all(catalog.blocks()),
    segments: await catalog.segments(),
    notes: await catalog.notes(),
    totals: await catalog.totals(),
  };
}

export const NOTHING = { captures: 0, blocks: 0, revisits: 0, payloadBytes: 0, uniquePayloadBytes: 0 };

/** Registers a test with a new catalog. */
export type Behaviour = (sentence: string, act: (catalog: Catalog, subject: CatalogUnderTest) => Promise<void>) => void;

export function behaviourOf(make: () => Promise<CatalogUnderTest>): Behaviour {
  return (sentence, act) => {
    test(sentence, async () => {
      const subject = await make();
      const catalog = await subject.open();
      try {
        await act(catalog, subject);
      } finally {
        await catalog.close();
        await subject.dispose();
      }
    });
  };
}
