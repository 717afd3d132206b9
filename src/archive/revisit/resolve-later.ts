/**
 * Tries again to find the contents of revisits whose original was missing when they were stored. Files arrive in any
 * order, and a rebuild reads segments in the order of their names.
 *
 * Failed attempts are repeated only after records were stored: the catalog notes what the archive had at the last
 * attempt. Unresolved revisits are kept in notes (see revisit-clues.ts).
 *
 * ```
 *   note  resolution     fingerprint of all segments when all unresolved revisits had been tried
 * ```
 */
import { parseDigest } from '../../base/index.ts';
import type { Capture } from '../../catalog/index.ts';
import { commitUntilTaken } from '../../ledger/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { segmentsFingerprint } from '../segment/segments-fingerprint.ts';
import { parseClues, placeOfNote, unresolvedNote, unresolvedNotesOf } from './revisit-clues.ts';
import { aliasBytes, isConcerned, RevisitResolver } from './revisit-resolution.ts';

const RESOLUTION_NOTE = 'resolution';
const NOTHING = { kind: 'committed', lost: [], freed: 0 } as const;

/** Returns how many revisits found their content. */
export async function resolveLater(archive: OpenedArchive): Promise<number> {
  const { catalog, segmentRegistry, resolutionFilter } = archive;
  const fingerprint = await segmentsFingerprint(archive);
  if ((await catalog.notes(RESOLUTION_NOTE))[RESOLUTION_NOTE] === fingerprint) {
    resolutionFilter.restart();
    return 0;
  }
  let resolved = 0;
  // Another revisit may refer to a revisit that was just resolved, or declare the same digest as that revisit.
  for (let before = -1; before !== resolved; ) {
    before = resolved;
    for (const { number } of await segmentRegistry.all())
      for await (const notes of catalog.notePages(unresolvedNotesOf(number)))
        resolved += await tryAgain(archive, notes);
  }
  await archive.commitGroup({ putNotes: { [RESOLUTION_NOTE]: fingerprint } });
  resolutionFilter.restart();
  return resolved;
}

async function tryAgain(archive: OpenedArchive, notes: readonly [name: string, text: string][]): Promise<number> {
  let resolved = 0;
  await commitUntilTaken(async () => {
    const attempt = await resolutionsOf(archive, notes);
    resolved = attempt.resolved;
    return attempt.isChanged ? archive.commitGroup(attempt.draft.group()) : NOTHING;
  });
  return resolved;
}

/** The contents of these revisits, as far as they are found now. */
async function resolutionsOf(archive: OpenedArchive, notes: readonly [name: string, text: string][]) {
  const { catalog, resolutionFilter, fingerprint } = archive;
  const revisits = notes
    .map(([note, text]) => ({ note, clues: parseClues(text) }))
    .filter(({ clues }) => !resolutionFilter.isComplete || isConcerned(clues, resolutionFilter, fingerprint));
  const draft = archive.newDraft();
  if (revisits.length === 0) return { draft, resolved: 0, isChanged: false };
  const resolver = new RevisitResolver(catalog, draft, { fingerprint, isOwn: false });
  const found = await catalog.findCaptures(
    revisits.map(({ note, clues: { urlKey, time } }) => ({ urlKey, time, at: placeOfNote(note) })),
  );
  await resolver.load(revisits.map(({ clues }) => clues));
  let resolved = 0;
  let isChanged = false;
  for (const [index, { note, clues }] of revisits.entries()) {
    const [capture] = found[index]!;
    const block = capture && (capture.block ?? (await resolver.resolve(clues)));
    if (capture && !block) continue;
    isChanged = true;
    draft.removeNote(note);
    if (!capture || !block || capture.block) continue;
    resolved++;
    const known = { ...capture, block };
    draft.moveCapture(capture, known);
    resolver.addCapture(known);
    const alsoDeclared = parseDigest(clues.alsoDeclared);
    if (!alsoDeclared) continue;
    resolver.addAlias(aliasBytes(alsoDeclared), block);
    draft.putAlias({ declared: aliasBytes(alsoDeclared), block });
  }
  return { draft, resolved, isChanged };
}

/**
 * Whether the content of a revisit that was stored without it is in the archive by now. While files are added, such a
 * revisit is resolved only at the end.
 */
export async function isResolvable(archive: OpenedArchive, { place }: Capture): Promise<boolean> {
  const { catalog, fingerprint, resolutionFilter } = archive;
  if (resolutionFilter.isEmpty) return false;
  const note = unresolvedNote(place);
  const text = (await catalog.notes(note))[note];
  if (text === undefined) return false;
  const clues = parseClues(text);
  if (resolutionFilter.isComplete && !isConcerned(clues, resolutionFilter, fingerprint)) return false;
  const resolver = new RevisitResolver(catalog, archive.newDraft(), { fingerprint, isOwn: false });
  await resolver.load([clues]);
  return (await resolver.resolve(clues)) !== undefined;
}

/** The number of captures with an unknown content. */
export async function countUnresolved(archive: OpenedArchive): Promise<number> {
  let count = 0;
  for (const { number } of await archive.segmentRegistry.all())
    for await (const notes of archive.catalog.notePages(unresolvedNotesOf(number))) count += notes.length;
  return count;
}
