/**
 * Random sequences of operations on a directory volume and on a volume in memory. After each operation both must have
 * returned the same and have the same content.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { PinakesError, toHex } from '../../src/base/index.ts';
import { createDirectoryVolume, openDirectoryVolume, openMemoryVolume, type Volume } from '../../src/volume/index.ts';
import { collect } from './volume.ts';

const RUNS = 60;

type Step =
  | { readonly kind: 'create' | 'seal' | 'remove' | 'sync' | 'read'; readonly name: string }
  | { readonly kind: 'append'; readonly name: string; readonly drift: number; readonly bytes: Uint8Array }
  | { readonly kind: 'truncate'; readonly name: string; readonly length: number }
  | { readonly kind: 'rename'; readonly name: string; readonly to: string }
  | { readonly kind: 'reopen' };

const name = fc.constantFrom('a', 'b', 'x/a', 'x/y/b');
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constantFrom('create', 'seal', 'remove', 'sync', 'read'), name }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('append' as const),
      name,
      drift: fc.constantFrom(0, 0, 0, 0, 1, -1),
      bytes: fc.uint8Array({ maxLength: 40 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('truncate' as const), name, length: fc.nat(30) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('rename' as const), name, to: name }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'reopen' as const }) },
);

/** Does one step, and returns its outcome as text. */
async function take(volume: Volume, step: Exclude<Step, { kind: 'reopen' }>): Promise<string> {
  try {
    switch (step.kind) {
      case 'append': {
        const [info] = await volume.stat([step.name]);
        const half = step.bytes.length >> 1;
        const at = Math.max(0, (info?.bytes ?? 0) + step.drift);
        await volume.append(step.name, at, [step.bytes.subarray(0, half), step.bytes.subarray(half)]);
        return 'done';
      }
      case 'truncate':
        await volume.truncate(step.name, step.length);
        return 'done';
      case 'rename':
        await volume.rename(step.name, step.to);
        return 'done';
      case 'read':
        return toHex(await collect(volume.stream(step.name)));
      case 'remove':
        await volume.remove([step.name]);
        return 'done';
      case 'sync':
        await volume.sync([step.name]);
        return 'done';
      default:
        await volume[step.kind](step.name);
        return 'done';
    }
  } catch (cause) {
    if (cause instanceof PinakesError) return cause.code;
    throw cause;
  }
}

async function stateOf(volume: Volume): Promise<unknown[]> {
  const infos = await volume.list();
  return Promise.all(infos.map(async (info) => [info, toHex(await collect(volume.stream(info.name)))]));
}

test(`a directory volume and a volume in memory agree after every step of ${RUNS} random sequences`, async (t) => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  t.diagnostic(`seed ${seed}`);
  const directory = await mkdtemp(join(tmpdir(), 'pinakes-model-'));
  let serial = 0;
  try {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 10, maxLength: 40 }),
        fc.constantFrom(1, 64),
        async (steps, handlesMax) => {
          const path = join(directory, String(serial++));
          await createDirectoryVolume('main', path);
          const open = () => openDirectoryVolume('main', path, { writable: true, handlesMax });
          let real: Volume = await open();
          const model = openMemoryVolume('main');
          try {
            for (const step of steps) {
              if (step.kind === 'reopen') {
                await real.close();
                real = await open();
              } else assert.equal(await take(real, step), await take(model, step), JSON.stringify(step));
              assert.deepEqual(await stateOf(real), await stateOf(model), JSON.stringify(step));
            }
          } finally {
            await real.close();
          }
        },
      ),
      { numRuns: RUNS, seed },
    );
  } finally {
    await rm(directory, { recursive: true });
  }
});
