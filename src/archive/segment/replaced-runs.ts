/** Notes where the records of a replacement were first written to, before it is sealed and swapped in (K1). */
import type { Segment } from '../../catalog/index.ts';
import { RUNS_NOTE, Runs, refusalOf } from '../../ledger/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';

/** Called when the replacement has all its bytes. Returns its row with the roots. */
export async function noteRuns(
  { catalog }: Pick<OpenedArchive, 'catalog'>,
  replacement: Segment,
  runs: Runs,
): Promise<Segment> {
  refusalOf(await catalog.commit({ putNotes: { [RUNS_NOTE + replacement.name]: runs.toNote() }, durable: true }));
  return { ...replacement, roots: runs.roots };
}

/** The row of a replacement that was sealed and is to be swapped in, with the roots that were noted. */
export async function withNotedRoots({ catalog }: Pick<OpenedArchive, 'catalog'>, row: Segment): Promise<Segment> {
  const note = RUNS_NOTE + row.name;
  const text = (await catalog.notes(note))[note];
  const runs = text === undefined ? undefined : Runs.parseNote(text);
  const { roots: _, ...others } = row;
  return runs ? { ...others, roots: runs.roots } : others;
}
