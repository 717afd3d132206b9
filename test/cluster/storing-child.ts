/**
 * A writer of the cluster trial. It stores the captures of its share, each with an id of its own, and asks again until
 * each is acknowledged. It deletes some of them, takes a few down, and the first writer compacts. It prints a line
 * before each call and another one when the call has returned:
 * ```
 *     open                       the archive is open
 *     begin put|remove <number>
 *     done put|remove <number>
 *     ended                      everything is acknowledged
 * ```
 * Arguments: the directory, the writer, the number of writers, the first capture, the end, the times of the cluster.
 */
import { writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { type Archive, type ArchiveOptions, openArchive } from '../../src/archive/index.ts';
import { PinakesError, seededIds, seededRandom } from '../../src/base/index.ts';
import { isDeleted, isTakenDown, pageOf, urlOf } from './trial-capture.ts';

const [directory, writerText, writersText, firstText, endText, timesText] = process.argv.slice(2) as string[];
const writer = Number(writerText);
const AT_ONCE = 24;
const AGAIN_MS = 200;
const COMPACT_EVERY = 600;

const say = (line: string) => writeSync(1, `${line}\n`);

/** Errors that a client may meet while machines fail. It asks again, which is safe with an id. */
async function untilDone(work: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await work();
      return;
    } catch (error) {
      if (!(error instanceof PinakesError)) throw error;
      if (process.env.TRIAL_DEBUG)
        writeSync(2, `${new Date().toISOString()} ${writer}: ${error.code} ${error.message}\n`);
      await delay(AGAIN_MS);
    }
  }
}

async function acknowledged(kind: string, number: number, work: () => Promise<unknown>): Promise<void> {
  say(`begin ${kind} ${number}`);
  await untilDone(work);
  say(`done ${kind} ${number}`);
}

async function one(archive: Archive, number: number): Promise<void> {
  await acknowledged('put', number, () => archive.store(pageOf(number), { id: `trial ${number}` }));
  const url = urlOf(number);
  if (isTakenDown(number))
    await acknowledged('remove', number, () => archive.takeDown({ urls: [url] }, { reason: 'trial', by: 'trial' }));
  else if (isDeleted(number)) await acknowledged('remove', number, () => archive.delete({ url }));
}

async function open(): Promise<Archive> {
  let archive: Archive | undefined;
  const options: ArchiveOptions = {
    clock: Date.now,
    stopwatch: () => performance.now(),
    newId: seededIds(seededRandom((process.pid * 7919 + Date.now()) % 2 ** 31)),
    purpose: `writer ${writer}`,
    clusterTimes: JSON.parse(timesText!),
    ...(process.env.TRIAL_DEBUG && {
      onLedgerEvent: (line: string) => void writeSync(2, `${new Date().toISOString()} ${writer}: ${line}\n`),
    }),
  };
  await untilDone(async () => {
    archive = await openArchive(directory!, options);
  });
  return archive!;
}

const archive = await open();
say('open');
const numbers: number[] = [];
for (let number = Number(firstText); number < Number(endText); number++)
  if (number % Number(writersText) === writer) numbers.push(number);
let stored = 0;
for (let at = 0; at < numbers.length; at += AT_ONCE) {
  await Promise.all(numbers.slice(at, at + AT_ONCE).map((number) => one(archive, number)));
  stored += AT_ONCE;
  // Another process may compact at this moment.
  if (writer === 0 && stored % COMPACT_EVERY < AT_ONCE) await archive.compact().catch(onlyOurs);
}
say('ended');
await archive.close();

function onlyOurs(error: unknown): void {
  if (!(error instanceof PinakesError)) throw error;
}
