/**
 * Copies a catalog into another one that is empty, and compares the two afterwards: by the number of rows of each
 * table, and by a digest over them. The digest of a table is the sum of the digests of its rows, so the order, which
 * two databases need not have in common for long keys, does not matter.
 *
 * `fill` of PostgreSQL is one transaction, so a copy is complete or has not happened. A directory of LevelDB that was
 * not filled to the end must be removed.
 */
import { createHash } from 'node:crypto';
import { PinakesError, toHex, utf8 } from '../base/index.ts';
import type { Segment } from './catalog.ts';
import type { CatalogContents, CopiedTable, CopyableCatalog, FillOptions } from './catalog-contents.ts';

export type TableSum = { readonly rows: number; readonly digest: string };

export type CatalogSum = Readonly<Record<CopiedTable, TableSum>>;

export type CopyOptions = FillOptions & {
  /** Called with the number of rows that were compared so far. */
  readonly onCompared?: ((rows: number) => void) | undefined;
};

/** Copies everything, and returns what was copied. Fails if the copy differs. Nobody may change either catalog. */
export async function copyCatalog(
  from: CopyableCatalog,
  to: CopyableCatalog,
  options: CopyOptions = {},
): Promise<CatalogSum> {
  await using contents = await from.contents();
  await to.fill(contents, options);
  const wanted = await sumOf(contents, options);
  await using copied = await to.contents();
  const found = await sumOf(copied, options);
  const differing = (Object.keys(wanted) as CopiedTable[]).filter(
    (table) => wanted[table].rows !== found[table].rows || wanted[table].digest !== found[table].digest,
  );
  const totals = [await contents.totals(), await copied.totals()].map((value) => JSON.stringify(value));
  if (differing.length === 0 && totals[0] === totals[1]) return wanted;
  const rows = differing.map((table) => `${table}: ${wanted[table].rows} rows, ${found[table].rows} in the copy`);
  const detail = differing.length > 0 ? rows.join('; ') : `totals: ${totals.join(', in the copy ')}`;
  throw new PinakesError('CATALOG_DAMAGED', { detail: `the copy differs from the catalog: ${detail}` });
}

/** The rows of each table. */
export async function sumOf(contents: CatalogContents, { signal, onCompared }: CopyOptions = {}): Promise<CatalogSum> {
  let compared = 0;
  const sum = async <Row>(pages: AsyncIterable<readonly Row[]>, valuesOf: (row: Row) => unknown): Promise<TableSum> => {
    const total = new DigestSum();
    for await (const page of pages) {
      signal?.throwIfAborted();
      for (const row of page) total.add(JSON.stringify(valuesOf(row), plain));
      compared += page.length;
      onCompared?.(compared);
    }
    return total.value();
  };
  const segments = await contents.segments();
  return {
    captures: await sum(contents.captures({}), (capture) => capture),
    blocks: await sum(contents.blocks(), (block) => block),
    segments: await sum(once(segments), (segment) => ({ ...segment, sequence: segment.sequence ?? segment.number })),
    aliases: await sum(contents.aliases(), ({ declared, block }) => ({ declared: declared.subarray(0, 8), block })),
    notes: await sum(contents.notePages(''), (note) => note),
    dead: await sum(
      ofSegments(segments, (number) => contents.deadRecords(number)),
      (record) => record,
    ),
    surplus: await sum(
      ofSegments(segments, (number) => contents.surplusRecords(number)),
      (record) => record,
    ),
    deleted: await sum(contents.deletedMarks(), (mark) => mark),
    bars: await sum(once(await contents.bars()), (bar) => bar),
  };
}

export async function* ofSegments<Row>(
  segments: readonly Segment[],
  read: (number: number) => Promise<readonly Row[]>,
): AsyncGenerator<(Row & { readonly segment: number })[]> {
  for (const { number } of segments) {
    const rows = await read(number);
    if (rows.length > 0) yield rows.map((row) => ({ ...row, segment: number }));
  }
}

async function* once<Row>(rows: readonly Row[]): AsyncGenerator<readonly Row[]> {
  yield rows;
}

/** Bytes as text, and the properties of objects in one order. */
function plain(_: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return toHex(value);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** A sum of SHA-256 digests modulo 2 to the 256th. */
class DigestSum {
  #rows = 0;
  readonly #words = new Uint32Array(8);

  add(row: string): void {
    this.#rows++;
    const digest = createHash('sha256').update(utf8(row)).digest();
    let carry = 0;
    for (let at = 7; at >= 0; at--) {
      const word = this.#words[at]! + digest.readUInt32BE(at * 4) + carry;
      this.#words[at] = word;
      carry = word > 0xffff_ffff ? 1 : 0;
    }
  }

  value(): TableSum {
    const digest = [...this.#words].map((word) => word.toString(16).padStart(8, '0')).join('');
    return { rows: this.#rows, digest };
  }
}
