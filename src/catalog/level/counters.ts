/**
 * The numbers that the catalog deals, and its life (R2). One row of the meta table:
 *
 *     00 'counters'  ->  varints: next number and next sequence of a segment, next collection, incarnation; 1 while
 *                        the catalog is being adopted
 */
import { collectionAfterNotes } from '../commit-group.ts';
import { RowReader, RowWriter } from '../row-bytes.ts';
import { TABLE, tableKey } from '../table.ts';

/** Numbers that were dealt are never dealt again, whatever is removed. */
export type Counters = {
  readonly number: number;
  readonly sequence: number;
  readonly collection: number;
  readonly incarnation: number;
  readonly isAdopting: boolean;
};

export const COUNTERS_KEY = tableKey(TABLE.meta, 'counters');

export const FIRST_COUNTERS: Counters = {
  number: 1,
  sequence: 1,
  collection: 1,
  incarnation: 1,
  isAdopting: false,
};

/** The counters of a catalog that has these notes too, among them the numbers of collections. */
export function countersAfterNotes(counters: Counters, notes: Readonly<Record<string, string>> = {}): Counters {
  const collection = Math.max(counters.collection, collectionAfterNotes(notes));
  return collection === counters.collection ? counters : { ...counters, collection };
}

export function countersRow({ number, sequence, collection, incarnation, isAdopting }: Counters): Buffer {
  const writer = new RowWriter();
  for (const counter of [number, sequence, collection, incarnation, isAdopting ? 1 : 0]) writer.varint(counter);
  return writer.finish();
}

export function readCounters(row: Buffer): Counters {
  const reader = new RowReader(row);
  const [number, sequence, collection] = [reader.varint(), reader.varint(), reader.varint()];
  return { number, sequence, collection, incarnation: reader.varint(), isAdopting: reader.varint() === 1 };
}
