/**
 * A process that writes to a directory volume is killed at random, again and again: all acknowledged bytes are there
 * and correct.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { seededRandom } from '../../src/base/index.ts';
import { createDirectoryVolume, openDirectoryVolume } from '../../src/volume/index.ts';
import { byteAt } from './appending-child.ts';

const ROUNDS = 10;
const OBJECTS = 3;

test('every byte that a killed process acknowledged is there, and the next process appends after it', async (t) => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  t.diagnostic(`seed ${seed}`);
  const random = seededRandom(seed);
  const directory = await mkdtemp(join(tmpdir(), 'pinakes-kill-'));
  try {
    await createDirectoryVolume('main', directory);
    const acknowledged = new Map<string, number>();
    for (let round = 0; round < ROUNDS; round++) {
      const child = spawn(
        process.execPath,
        [join(import.meta.dirname, 'appending-child.ts'), directory, String(seed + round), String(OBJECTS)],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      );
      const ended = new Promise<NodeJS.Signals | null>((resolve) =>
        child.once('close', (_, signal) => resolve(signal)),
      );
      let lines = 0;
      const readLines = (async () => {
        for await (const line of createInterface(child.stdout)) {
          const match = /^(\S+) (\d+)$/.exec(line);
          // The kill can cut off the last line. A number with fewer digits is smaller, so it promises less.
          if (!match) continue;
          acknowledged.set(match[1]!, Math.max(acknowledged.get(match[1]!) ?? 0, Number(match[2])));
          if (++lines === 1) void setTimeout(random() * 150).then(() => child.kill('SIGKILL'));
        }
      })();
      assert.equal(await ended, 'SIGKILL', `round ${round}: the child ended by itself`);
      await readLines;
      assert.ok(lines > 0);
      const volume = await openDirectoryVolume('main', directory, { writable: round % 2 === 0 });
      for (const [name, bytes] of acknowledged) {
        let at = 0;
        for await (const piece of volume.stream(name)) {
          for (const byte of piece) if (byte !== byteAt(at++)) assert.fail(`${name} is wrong at ${at - 1}`);
        }
        assert.ok(at >= bytes, `${name} holds ${at} of ${bytes} acknowledged bytes`);
      }
      await volume.close();
    }
    t.diagnostic(`${[...acknowledged.values()].reduce((sum, bytes) => sum + bytes, 0)} bytes acknowledged`);
  } finally {
    await rm(directory, { recursive: true });
  }
});
