/** Archives on a bucket in memory, alone or beside a directory. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type Archive, type ArchiveOptions, createArchive, type Policies, VolumeSet } from '../../src/archive/index.ts';
import { type Finding, seededIds, seededRandom } from '../../src/base/index.ts';
import type { MemoryBucket } from '../../src/volume/index.ts';
import { BucketVolume } from './memory-bucket.ts';
import { openWithParts } from './opened-parts.ts';
import { allCaptures, contentOf, NOON, page, payloadAt, temporaryDirectory, trialOptions } from './trial-archive.ts';

export const urlOf = (name: string) => `http://bucket.example/${name}`;
export const partsIn = (bucket: MemoryBucket) => [...bucket.keys()].filter((name) => name.endsWith('.part'));
export const segmentsIn = (bucket: MemoryBucket) => [...bucket.keys()].filter((name) => name.endsWith('.warc.gz'));

export type OpenOptions = {
  readonly takesOver?: boolean;
  readonly seed?: number;
  readonly clock?: () => number;
  readonly onFinding?: (finding: Finding) => void;
};

export async function openOn(directory: string, bucket: MemoryBucket, open: OpenOptions = {}): Promise<Archive> {
  return openOnVolume(directory, new BucketVolume('main', bucket), open);
}

export async function openOnVolume(directory: string, volume: BucketVolume, open: OpenOptions = {}): Promise<Archive> {
  const { takesOver = false, seed = 1, ...given } = open;
  const options = trialOptions({ seed, ...given });
  const volumes = await VolumeSet.ofBucket(volume, { directory, ...options, takesOver });
  return openWithParts(directory, { ...options, volumes });
}

/** Makes this archive the owner of the bucket without opening it. */
export async function take(bucket: MemoryBucket, directory: string): Promise<void> {
  await VolumeSet.ofBucket(new BucketVolume('main', bucket), {
    directory,
    ...trialOptions({ seed: 4 }),
    takesOver: true,
  });
}

export async function begin(t: TestContext, policies: Partial<Policies> = {}, open: OpenOptions = {}) {
  const bucket: MemoryBucket = new Map();
  const directory = await temporaryDirectory(t);
  await createArchive(directory, { policies });
  const archive = await openOn(directory, bucket, open);
  t.after(() => archive.close().catch(() => {}));
  return { directory, bucket, archive };
}

/** An archive with the directory `main` and the bucket `far`. */
export async function openBeside(
  t: TestContext,
  directory: string,
  far: BucketVolume,
  { takesOver = false, seed = 7, clock }: OpenOptions = {},
): Promise<Archive> {
  const options: ArchiveOptions = trialOptions({ newId: seededIds(seededRandom(seed)), ...(clock && { clock }) });
  const plain = await openWithParts(directory, options);
  await plain.close();
  const [setting] = plain.connector.volumes;
  const onDisk = await VolumeSet.open(directory, [setting!], options);
  const volumes = await VolumeSet.ofBucket(far, { directory, ...options, takesOver }, [
    { setting: setting!, volume: onDisk.get('main') },
  ]);
  const archive = await openWithParts(directory, { ...options, volumes });
  t.after(() => archive.close().catch(() => {}));
  return archive;
}

export async function storeAll(archive: Archive, names: readonly string[], collection = 'web'): Promise<void> {
  for (const name of names)
    await archive.store(page(urlOf(name), NOON + name.length * 1000, contentOf(name)), { collection });
}

export async function assertHas(archive: Archive, names: readonly string[]): Promise<void> {
  assert.deepEqual((await allCaptures(archive)).map(({ url }) => url).sort(), names.map(urlOf).sort());
  for (const name of names) assert.deepEqual(await payloadAt(archive, urlOf(name)), Buffer.from(contentOf(name)), name);
}
