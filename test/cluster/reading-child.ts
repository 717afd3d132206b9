/**
 * A reader of the cluster trial. Reads numbers of captures from its input, one a line, each at least a second after the
 * capture was acknowledged. Prints `seen <number>` when the archive gives the right content, else `wrong <number> why`.
 */
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { type Archive, openArchive } from '../../src/archive/index.ts';
import { PinakesError, seededIds, seededRandom } from '../../src/base/index.ts';
import { bytesOf } from '../archive/trial-archive.ts';
import { bodyOf, urlOf } from './trial-capture.ts';

const [directory, timesText] = process.argv.slice(2) as string[];
/** So long a reader may be without the database or the bucket. */
const AWAY_MS_MAX = 60_000;
const AGAIN_MS = 200;
const AWAY: ReadonlySet<string> = new Set([
  'CATALOG_UNREACHABLE',
  'VOLUME_MISSING',
  'FILE_UNREACHABLE',
  'ARCHIVE_BUSY',
]);

async function read(number: number): Promise<string> {
  for (let waitedMs = 0; ; waitedMs += AGAIN_MS) {
    try {
      archive ??= await openArchive(directory!, {
        clock: Date.now,
        stopwatch: () => performance.now(),
        newId: seededIds(seededRandom(process.pid)),
        purpose: 'reader',
        clusterTimes: JSON.parse(timesText!),
      });
      const payload = await bytesOf((await archive.get(urlOf(number))).payload);
      return payload.equals(bodyOf(number)) ? `seen ${number}` : `wrong ${number} other bytes`;
    } catch (error) {
      if (!(error instanceof PinakesError)) throw error;
      const isAway = AWAY.has(error.code) || error.retryable;
      if (!isAway || waitedMs > AWAY_MS_MAX) return `wrong ${number} ${error.code} ${error.message}`;
      await delay(AGAIN_MS);
    }
  }
}

let archive: Archive | undefined;
for await (const line of createInterface(process.stdin)) writeSync(1, `${await read(Number(line))}\n`);
await archive?.close();
