/**
 * Which incarnation of the catalog a segment is from (R2): the number in the name of a fresh seal (R3), else that of
 * the sequence number or of the lease in its warcinfo.
 */
import { firstSequenceOf, type Lease } from '../../catalog/index.ts';
import { incarnationOfName } from '../segment-name.ts';

/** Undefined: the segment says nothing of it, as those of version 1 and the files of others. */
export function incarnationOf(
  name: string,
  origin: { readonly lease?: Lease | undefined; readonly sequence?: number | undefined } | undefined,
): number | undefined {
  return incarnationOfName(name) ?? incarnationOfSequence(origin?.sequence) ?? origin?.lease?.incarnation;
}

function incarnationOfSequence(sequence: number | undefined): number | undefined {
  if (sequence === undefined) return undefined;
  return sequence < firstSequenceOf(2) ? 1 : Math.floor(sequence / (firstSequenceOf(2) / 2));
}
