/**
 * Tries again to find the contents of revisits whose original was not there when they came in. Files arrive in any order, and a rebuild reads
 * segments in the order of their names.
 *
 * What was tried in vain is tried again only when records came in since: the catalog notes which segments there were then, and how long.
 *
 * ```
 *   note  unresolved:<segment>:<offset>     [URL key, time] of a revisit whose content is not known
 *   note  resolution                        digest of the numbers and lengths of all segments when all of these had been tried
 * ```
 */
import { PinakesError, parseDigest } from '../base/index.ts';
import type { Capture } from '../catalog/index.ts';
import type { UrlKey } from '../url/index.ts';
import { BlockScanner } from '../warc/index.ts';
import type { ArchiveParts } from './archive-parts.ts';
import { factsOfRecord } from './record-facts.ts';
import { unresolvedNote, unresolvedNotesOf } from './registrar.ts';
import { aliasBytes, BatchMemory, resolveRevisit } from './revisit-resolution.ts';
import { segmentsMark } from './segments-mark.ts';

const RESOLUTION_NOTE = 'resolution';

/** How many found their content. */
export async function resolveLater(archive: ArchiveParts): Promise<number> {
  const { catalog, shelf } = archive;
  const mark = segmentsMark(archive);
  if ((await catalog.notes(RESOLUTION_NOTE))[RESOLUTION_NOTE] === mark) return 0;
  let resolved = 0;
  for (const { number } of shelf.all()) resolved += await resolveIn(archive, number);
  await catalog.write({ putNotes: { [RESOLUTION_NOTE]: mark } });
  return resolved;
}

async function resolveIn(archive: ArchiveParts, segment: number): Promise<number> {
  let resolved = 0;
  for (const [note, value] of Object.entries(await archive.catalog.notes(unresolvedNotesOf(segment)))) {
    const [urlKey, time] = JSON.parse(value) as [UrlKey, number];
    const [found] = await archive.catalog.findCaptures([{ urlKey, time }]);
    const capture = found!.find((candidate) => unresolvedNote(candidate.place) === note);
    if (!capture || capture.block) {
      await archive.catalog.write({ removeNotes: [note] });
    } else if (await resolveCapture(archive, capture, note)) {
      resolved++;
    }
  }
  return resolved;
}

async function resolveCapture(archive: ArchiveParts, capture: Capture, note: string): Promise<boolean> {
  const opened = await archive.access.open(capture.place).catch((error: unknown) => {
    if (!(error instanceof PinakesError)) throw error;
    return undefined;
  });
  // A record that cannot be read, in a volume that is not there, may be another time.
  if (!opened) return false;
  const { head, http } = opened;
  const scanner = new BlockScanner(head, { payload: ['sha256'] });
  const facts = factsOfRecord(head, { ...scanner.end(), http }, capture.place.length, true);
  const draft = archive.newDraft();
  const block = await resolveRevisit(facts, archive.catalog, draft, new BatchMemory(), {
    fingerprint: (digest) => archive.fingerprint(digest),
    isOwn: false,
  });
  if (!block) return false;
  draft.moveCapture(capture, { ...capture, block });
  draft.removeNote(note);
  const alsoDeclared = parseDigest(facts.alsoDeclared);
  if (alsoDeclared) draft.putAlias({ declared: aliasBytes(alsoDeclared), block });
  await archive.catalog.write(draft.batch());
  return true;
}

/** Captures whose content is not known. */
export async function countUnresolved(archive: ArchiveParts): Promise<number> {
  let count = 0;
  for (const { number } of archive.shelf.all())
    count += Object.keys(await archive.catalog.notes(unresolvedNotesOf(number))).length;
  return count;
}
