/**
 * The list of an incarnation: what of earlier incarnations it counted, in one volume (R2). It is written when an
 * adoption or a rebuild has entered everything. What of an earlier incarnation is not in the newest list counts for
 * nothing from then on: a PUT of an ended writer may arrive at any time.
 *
 * ```
 *   _pinakes/catalog/<incarnation>-<epoch of the adoption>
 *
 *   {"list":1,"incarnation":n}
 *   segment <name>
 *   note <name of the note of a swap>
 * ```
 * Each process that adopts has an epoch of its own, so that a list that arrives late never replaces another one (P2).
 * In a volume with an owner object it is the number of the owner.
 * The newest list is that of the highest incarnation, and of the highest epoch in it.
 */
import { fromUtf8, utf8 } from '../../base/index.ts';
import type { SegmentStore } from '../segment-store.ts';

const FOLDER = '_pinakes/catalog/';
const VERSION = 1;
/** A larger list is not read: no volume has so many segments. */
const LIST_BYTES_MAX = 1024 * 1024 * 1024;

export type IncarnationList = {
  readonly incarnation: number;
  readonly segments: ReadonlySet<string>;
  readonly notes: ReadonlySet<string>;
};

export function listName(incarnation: number, epoch: number): string {
  return `${FOLDER}${incarnation}-${epoch}`;
}

export type ParsedListName = { readonly incarnation: number; readonly epoch: number };

export function parseListName(name: string): ParsedListName | undefined {
  const match = /^_pinakes\/catalog\/(\d{1,12})-(\d{1,12})$/.exec(name);
  return match ? { incarnation: Number(match[1]), epoch: Number(match[2]) } : undefined;
}

export function formatList({ incarnation, segments, notes }: IncarnationList): Uint8Array {
  const lines = [JSON.stringify({ list: VERSION, incarnation })];
  for (const name of [...segments].sort()) lines.push(`segment ${name}`);
  for (const name of [...notes].sort()) lines.push(`note ${name}`);
  return utf8(`${lines.join('\n')}\n`);
}

/** Undefined: the list is damaged, or of a later version. */
export function parseList(bytes: Uint8Array): IncarnationList | undefined {
  const [head = '', ...lines] = fromUtf8(bytes).split('\n');
  const match = /^\{"list":1,"incarnation":(\d{1,12})\}$/.exec(head);
  if (!match || lines.pop() !== '') return undefined;
  const segments = new Set<string>();
  const notes = new Set<string>();
  for (const line of lines) {
    if (line.startsWith('segment ')) segments.add(line.slice('segment '.length));
    else if (line.startsWith('note ')) notes.add(line.slice('note '.length));
    else return undefined;
  }
  return { incarnation: Number(match[1]), segments, notes };
}

/** The newest of the lists with these names; undefined: there is none, or it cannot be read. */
export async function readNewestList(
  store: Pick<SegmentStore, 'readObject'>,
  names: readonly string[],
): Promise<{ readonly name: string; readonly list: IncarnationList | undefined } | undefined> {
  const found = names.flatMap((name) => {
    const parsed = parseListName(name);
    return parsed ? [{ name, ...parsed }] : [];
  });
  const [newest] = found.sort((a, b) => b.incarnation - a.incarnation || b.epoch - a.epoch);
  if (!newest) return undefined;
  const bytes = await store.readObject(newest.name, LIST_BYTES_MAX);
  return { name: newest.name, list: bytes && parseList(bytes) };
}
