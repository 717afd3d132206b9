/** Reads an acknowledged capture and its content again and again, while writers grow and seal segments (I14). */
import { isMissing, SegmentReader } from '../../src/ledger/index.ts';
import type { UrlKey } from '../../src/url/index.ts';
import { CAPTURE_DATE, digestOfContent, keyOf, urlOf } from './book.ts';
import { recordsOf } from './found-record.ts';
import { storesOf, type VolumeKind } from './ledger-machine.ts';
import { isGivenUp } from './ledger-writer.ts';
import type { Machine, Work } from './machine.ts';

const TRIES = 6;

/** A reader that has no answer for too long ends. */
export function ledgerReader(id: string, times: number, volume: VolumeKind = 'bucket'): Work {
  return async (machine) => {
    try {
      await readAgain(machine, id, times, volume);
    } catch (error) {
      if (!isGivenUp(error)) throw error;
    }
  };
}

async function readAgain(machine: Machine, id: string, times: number, volume: VolumeKind): Promise<void> {
  for (let time = 0; time < times; time++) {
    await machine.process.pass(() => `wants ${id}`);
    machine.process.saw(machine.book.rows());
    if (!machine.book.acknowledged.has(id)) continue;
    let isRead = false;
    for (let tried = 0; tried < TRIES && !isRead; tried++) {
      isRead = await readOrMiss(machine, id, volume);
      // Readers wait while what is in the volumes is adopted.
      if (!isRead && (await machine.catalog.isAdopting())) return;
    }
    machine.process.saw(machine.book.rows());
    if (!isRead && !machine.book.mayBeGone(id))
      machine.book.complaints.push(`I14 the reader ${machine.name} cannot read ${id}`);
  }
}

async function readOrMiss(machine: Machine, id: string, volume: VolumeKind): Promise<boolean> {
  try {
    return await read(machine, id, volume);
  } catch (error) {
    if (!isMissing(error)) throw error;
    return false;
  }
}

async function read(machine: Machine, id: string, volume: VolumeKind): Promise<boolean> {
  const { catalog, book } = machine;
  const reader = new SegmentReader(catalog, storesOf(machine, volume));
  const question = { urlKey: keyOf(id) as UrlKey, time: Date.parse(CAPTURE_DATE) };
  const [[capture] = []] = await catalog.findCaptures([question]);
  machine.process.saw(book.rows());
  if (!capture) return book.mayBeGone(id);
  const [block] = await catalog.getBlocks([capture.block!]);
  const own = await reader.read(capture.place);
  const holder = block && (await reader.read(block.holder));
  if (!own || !holder) return false;
  const [record] = await recordsOf(own);
  const [held] = await recordsOf(holder);
  return record?.url === urlOf(id) && held?.digest === digestOfContent(book.tried.get(id)!);
}
