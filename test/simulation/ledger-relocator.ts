/**
 * Moves the record of a capture to a segment of its own, as a rebalance does, and then writes the segment anew in which
 * it was. Both segments are in one volume, so the process needs one lease for both.
 */
import { PinakesError } from '../../src/base/index.ts';
import { compactionLease, Relocations, ReplacementWriter, Swaps } from '../../src/ledger/index.ts';
import type { UrlKey } from '../../src/url/index.ts';
import { CAPTURE_DATE, keyOf } from './book.ts';
import { compact } from './ledger-compactor.ts';
import { CONTENTS, leaseOf, storesOf, type VolumeKind, writerOf } from './ledger-machine.ts';
import { isGivenUp } from './ledger-writer.ts';
import type { Machine, Work } from './machine.ts';
import { VOLUME } from './world.ts';

export type LedgerRelocatorOptions = { readonly volume?: VolumeKind; readonly capture: string };

export function ledgerRelocator(options: LedgerRelocatorOptions): Work {
  return async (machine) => {
    try {
      await relocate(machine, options);
      await compact(machine, { volume: options.volume ?? 'bucket', rounds: 2 });
    } catch (error) {
      if (!isGivenUp(error) && !(error instanceof PinakesError && error.code === 'ARCHIVE_BUSY')) throw error;
    }
  };
}

export async function relocate(
  machine: Machine,
  { volume = 'bucket', capture: id }: LedgerRelocatorOptions,
): Promise<void> {
  const { catalog, clock, ids: newId } = machine;
  const held = await leaseOf(machine, compactionLease(VOLUME));
  if (!held || (await catalog.isAdopting())) return;
  const { lease } = held;
  const stores = storesOf(machine, volume);
  const [found = []] = await catalog.findCaptures([{ urlKey: keyOf(id) as UrlKey, time: Date.parse(CAPTURE_DATE) }]);
  const old = found[0] && (await catalog.segment(found[0].place.segment));
  if (found[0] && old?.state === 'sealed') {
    const { offset, length } = found[0].place;
    const options = { catalog, stores, writer: writerOf(machine, { lease, volume }), clock, newId };
    const writer = await ReplacementWriter.begin(options, [old], CONTENTS, [], true);
    await writer.copy(old, offset, length);
    const relocations = new Relocations({ catalog, stores, volume: VOLUME, lease });
    const isMoved = await relocations.relocate(await writer.finish());
    if (!isMoved) await new Swaps({ catalog, stores, volume: VOLUME, lease, clock, graceMs: 0 }).discard(writer.row);
  }
  await held.end();
}
