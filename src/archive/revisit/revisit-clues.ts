/**
 * The clues that a revisit has about its content, and the notes that keep these clues while the content is unknown.
 * With them, a revisit can be tried again without reading its record.
 *
 * ```
 *   note  unresolved:<segment>:<offset>     JSON array: URL, time, overflow, then texts in the order of CLUES
 * ```
 */
import type { EpochMs } from '../../base/index.ts';
import type { Place } from '../../catalog/index.ts';
import type { RecordFacts } from '../../ledger/index.ts';
import { urlKey } from '../../url/index.ts';

/** What a revisit says about its content. */
export type RevisitClues = Pick<
  RecordFacts,
  | 'url'
  | 'urlKey'
  | 'time'
  | 'declaredDigest'
  | 'alsoDeclared'
  | 'refersTo'
  | 'refersToUri'
  | 'refersToDate'
  | 'profile'
  | 'content'
  | 'overflow'
>;

const PREFIX = 'unresolved:';

const CLUES = [
  'declaredDigest',
  'alsoDeclared',
  'refersToUri',
  'refersToDate',
  'profile',
  'content',
  'refersTo',
] as const;

export function unresolvedNote(place: Place): string {
  return `${unresolvedNotesOf(place.segment)}${place.offset}`;
}

/** The place of the revisit that an `unresolved` note is about. */
export function placeOfNote(note: string): Pick<Place, 'segment' | 'offset'> {
  const [segment, offset] = note.slice(PREFIX.length).split(':').map(Number);
  return { segment: segment!, offset: offset! };
}

/** The prefix of the notes for all unresolved revisits of a segment. */
export function unresolvedNotesOf(segment: number): string {
  return `${PREFIX}${segment}:`;
}

export function formatClues(clues: RevisitClues): string {
  return JSON.stringify([clues.url, clues.time, clues.overflow, ...CLUES.map((name) => clues[name])]);
}

export function parseClues(text: string): RevisitClues & { readonly time: EpochMs } {
  const [url, time, overflow, ...texts] = JSON.parse(text) as [string, EpochMs, number, ...string[]];
  const named = Object.fromEntries(CLUES.map((name, index) => [name, texts[index]]));
  return { url, urlKey: urlKey(url), time, overflow, ...(named as Pick<RevisitClues, (typeof CLUES)[number]>) };
}
