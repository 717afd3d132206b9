/** The mementos of a URL: its captures that can be shown. TimeGates choose from them, and TimeMaps list them. */
import type { Archive } from '../../archive/index.ts';
import type { EpochMs } from '../../base/index.ts';
import type { Capture } from '../../catalog/index.ts';
import { firstCandidate, isMemento, isOfScheme } from '../../replay/index.ts';

/** The mementos in order of time, from a time on. */
export async function* mementosFrom(archive: Archive, url: string, from?: EpochMs): AsyncGenerator<Capture> {
  for await (const capture of archive.capturesOfUrl(url, from === undefined ? {} : { from }))
    if (isMemento(capture) && isOfScheme(capture, url)) yield capture;
}

/** The memento nearest to a time; the earlier of two equally near mementos. Without a time, the latest memento. */
export function nearestMemento(archive: Archive, url: string, at?: EpochMs): Promise<Capture | undefined> {
  return firstCandidate(archive, url, at, isMemento);
}

export async function firstMemento(
  archive: Archive,
  url: string,
  range: { from?: EpochMs; to?: EpochMs; reverse?: boolean } = {},
): Promise<Capture | undefined> {
  for await (const capture of archive.capturesOfUrl(url, range))
    if (isMemento(capture) && isOfScheme(capture, url)) return capture;
  return undefined;
}
