/** Checks takedowns: searches every place for what they bar, and enters the result in the signed log. */
import { PinakesError, parseDigest } from '../../base/index.ts';
import type { Bar } from '../../catalog/index.ts';
import type { UrlKey } from '../../url/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import type { SearchStatement } from '../takedown/log-entry.ts';
import { readTakedowns, type TakedownRecord } from '../takedown/takedown-records.ts';
import { type SearchOptions, searchBarred } from './barred-search.ts';

export type TakedownCheck = Omit<SearchStatement, 'kind'> & {
  /** The number of the statement in the log. */
  readonly id: number;
  readonly time: string;
};

/** Without a number, everything that is barred is searched for. */
export async function checkTakedowns(
  archive: OpenedArchive,
  id: number | undefined,
  options: SearchOptions,
): Promise<TakedownCheck> {
  const bars = id === undefined ? await archive.catalog.bars() : barsOf(await findTakedown(archive, id));
  const statement = await searchBarred(archive, id === undefined ? [] : [id], bars, options);
  const { number, time } = await archive.exclusive(() => archive.takedownLog.append(options.by, statement));
  const { kind: _, ...said } = statement;
  return { ...said, id: number, time };
}

export async function findTakedown(archive: OpenedArchive, id: number): Promise<TakedownRecord> {
  const found = (await readTakedowns(archive)).takedowns.find((takedown) => takedown.id === id);
  if (!found) throw new PinakesError('TAKEDOWN_MISSING', { where: String(id) });
  return found;
}

function barsOf({ id, contents, urls, problem }: TakedownRecord): Bar[] {
  if (problem !== undefined)
    throw new PinakesError('TAKEDOWN_LOG_DAMAGED', { where: `takedown ${id}`, detail: problem });
  return [
    ...contents.map((content): Bar => ({ kind: 'content', digest: parseDigest(content)!.bytes })),
    ...urls.map((url): Bar => ({ kind: 'url', urlKey: url as UrlKey })),
  ];
}
