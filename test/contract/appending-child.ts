/**
 * The process that the kill test kills. It appends to a few objects of a directory volume, syncs, and prints a line
 * `<object> <bytes>` for every acknowledged append. The byte at offset n of every object is `byteAt(n)`, so that the
 * parent can check any length.
 *
 * Arguments: the directory, a seed, and how many objects.
 */
import { seededRandom } from '../../src/base/index.ts';
import { openDirectoryVolume } from '../../src/volume/index.ts';

export function byteAt(offset: number): number {
  return (Math.imul(offset, 2654435761) >>> 13) & 255;
}

async function main(directory: string, seed: number, objects: number): Promise<never> {
  const random = seededRandom(seed);
  const volume = await openDirectoryVolume('main', directory, { writable: true });
  const ends = new Map<string, number>();
  for (let index = 0; index < objects; index++) {
    const name = `crawl/segment-${index}`;
    const [info] = await volume.stat([name]);
    if (!info) await volume.create(name);
    ends.set(name, info?.bytes ?? 0);
  }
  const names = [...ends.keys()];
  for (;;) {
    const chosen = names.filter(() => random() < 0.6);
    await Promise.all(
      chosen.map(async (name) => {
        const at = ends.get(name)!;
        const length = 1 + Math.floor(random() * 20_000);
        const bytes = Uint8Array.from({ length }, (_, index) => byteAt(at + index));
        const cut = Math.floor(random() * length);
        await volume.append(name, at, [bytes.subarray(0, cut), bytes.subarray(cut)]);
        ends.set(name, at + length);
      }),
    );
    await volume.sync(chosen);
    process.stdout.write(chosen.map((name) => `${name} ${ends.get(name)}\n`).join(''));
  }
}

if (import.meta.main) await main(process.argv[2]!, Number(process.argv[3]), Number(process.argv[4]));
