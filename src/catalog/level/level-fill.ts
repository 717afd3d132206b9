/** Fills an empty catalog on LevelDB with all rows of another one. Its directory is used when it is complete. */
import { assert, PinakesError } from '../../base/index.ts';
import type { Catalog, CommitGroup, DeadRecord, LeaseRow, SurplusRecord } from '../catalog.ts';
import type { CatalogContents, CatalogNumbers, CopiedTable, FillOptions } from '../catalog-contents.ts';
import { ofSegments } from '../catalog-copy.ts';
import { RowWriter } from '../row-bytes.ts';
import { numberKey, TABLE } from '../table.ts';
import { writeSegment } from './segment-codec.ts';

export type Filled = Pick<Catalog, 'commit' | 'totals' | 'segments'> & {
  /** Writes the counters, the leases as ended ones, and rows, durably. */
  begin(
    numbers: CatalogNumbers,
    leases: readonly LeaseRow[],
    rows: readonly (readonly [key: Buffer, value: Buffer])[],
  ): Promise<void>;
};

export async function fillLevel(
  filled: Filled,
  contents: CatalogContents,
  { signal, onProgress }: FillOptions,
): Promise<void> {
  const { captures, blocks } = await filled.totals();
  if (captures + blocks + (await filled.segments()).length > 0)
    throw new PinakesError('ARCHIVE_EXISTS', { detail: 'the catalog to fill is not empty' });
  const segments = await contents.segments();
  const writer = new RowWriter();
  const rows = segments.map((segment) => {
    // The rows of dead records add their bytes.
    writeSegment(writer, { ...segment, deadBytes: 0 });
    return [numberKey(TABLE.segments, segment.number), writer.finish()] as const;
  });
  const numbers = await contents.numbers();
  const leases = await contents.leases();
  await filled.begin({ ...numbers, isAdopting: false }, leases, rows);
  const enter = async <Row>(
    table: CopiedTable,
    pages: AsyncIterable<readonly Row[]>,
    groupOf: (page: readonly Row[]) => CommitGroup,
  ): Promise<void> => {
    let entered = 0;
    for await (const page of pages) {
      signal?.throwIfAborted();
      const outcome = await filled.commit({ ...groupOf(page), keepsUnreferenced: true });
      assert(outcome.kind === 'committed', 'a catalog without captures refuses none');
      entered += page.length;
      onProgress?.(table, entered);
    }
  };
  await enter('blocks', contents.blocks(), (page) => ({ blocks: page }));
  await enter('captures', contents.captures({}), (page) => ({ captures: page.map((capture) => ({ capture })) }));
  await enter('aliases', contents.aliases(), (page) => ({ aliases: page }));
  await enter('notes', contents.notePages(''), (page) => ({ putNotes: Object.fromEntries(page) }));
  await enter(
    'dead',
    ofSegments<DeadRecord>(segments, (number) => contents.deadRecords(number)),
    (dead) => ({ dead }),
  );
  const surplus = ofSegments<SurplusRecord>(segments, (number) => contents.surplusRecords(number));
  await enter('surplus', surplus, (page) => ({ surplus: page }));
  await enter('deleted', contents.deletedMarks(), (page) => ({ deletedMarks: page }));
  // Captures that are barred and not deleted yet would be refused after the bars.
  const bars = await contents.bars();
  if (bars.length > 0) await filled.commit({ bars, durable: true });
  await filled.begin(numbers, [], []);
}
