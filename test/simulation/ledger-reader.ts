/** Reads an acknowledged capture and its content again and again, while writers grow and seal segments (I14). */
import { SegmentReader } from '../../src/ledger/index.ts';
import type { UrlKey } from '../../src/url/index.ts';
import { CAPTURE_DATE, digestOfContent, keyOf, urlOf } from './book.ts';
import { recordsOf } from './found-record.ts';
import { storesOf, type VolumeKind } from './ledger-machine.ts';
import type { Machine, Work } from './machine.ts';

const TRIES = 6;

export function ledgerReader(id: string, times: number, volume: VolumeKind = 'bucket'): Work {
  return async (machine) => {
    for (let time = 0; time < times; time++) {
      await machine.process.pass(() => `wants ${id}`);
      if (!machine.book.acknowledged.has(id)) continue;
      let isRead = false;
      for (let tried = 0; tried < TRIES && !isRead; tried++) isRead = await read(machine, id, volume);
      if (!isRead && !machine.book.mayBeGone(id))
        machine.book.complaints.push(`I14 the reader ${machine.name} cannot read ${id}`);
    }
  };
}

async function read(machine: Machine, id: string, volume: VolumeKind): Promise<boolean> {
  const { catalog, book } = machine;
  const reader = new SegmentReader(catalog, storesOf(machine, volume));
  const question = { urlKey: keyOf(id) as UrlKey, time: Date.parse(CAPTURE_DATE) };
  const [[capture] = []] = await catalog.findCaptures([question]);
  if (!capture) return book.mayBeGone(id);
  const [block] = await catalog.getBlocks([capture.block!]);
  const own = await reader.read(capture.place);
  const holder = block && (await reader.read(block.holder));
  if (!own || !holder) return false;
  const [record] = await recordsOf(own);
  const [held] = await recordsOf(holder);
  return record?.url === urlOf(id) && held?.digest === digestOfContent(book.tried.get(id)!);
}
