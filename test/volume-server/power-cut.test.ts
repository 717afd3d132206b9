/**
 * A volume server whose process is killed and whose disk keeps only what was synced: everything acknowledged is there,
 * and nothing else is damaged.
 */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { type Random, seededRandom } from '../../src/base/index.ts';
import { failureOf, s3Client } from './s3-client.ts';
import { buildSyncedTree } from './synced-tree.ts';
import { addKeyTo, startVolumeServerProcess, type VolumeServerProcess } from './volume-server-process.ts';

const skip = process.platform !== 'linux' && 'the recorder finds the paths of open files in /proc';
const SEED = Number(process.env.SEED ?? Math.floor(Math.random() * 1e9));
const ROUNDS = Number(process.env.ROUNDS ?? 1);
const WORKERS = 6;
const BUCKET = 'archive';

/** What a key may hold: after an answer one thing, while a change is under way two. Undefined: no object. */
type Possible = (string | undefined)[];

/** Changes keys of its own until the server is gone, and notes what they may hold. */
class Worker {
  readonly expected = new Map<string, Possible>();
  acknowledged = 0;
  readonly #client: S3Client;
  readonly #random: Random;
  readonly #name: string;

  constructor(client: S3Client, random: Random, name: string) {
    this.#client = client;
    this.#random = random;
    this.#name = name;
  }

  async work(onAcknowledged: () => void): Promise<void> {
    for (let step = 0; ; step++) {
      const key = this.#key();
      const before = this.expected.get(key)?.[0];
      const isDeletion = before !== undefined && this.#random() < 0.3;
      const body = isDeletion ? undefined : `${this.#name} ${step} `.repeat(1 + Math.floor(this.#random() * 2000));
      this.expected.set(key, [before, body]);
      try {
        await this.#change(key, before, body);
      } catch (error) {
        // The server is gone. It has not refused anything that it should take.
        assert.ok(!('$metadata' in (error as object)) || !(error as { $response?: unknown }).$response, String(error));
        return;
      }
      this.expected.set(key, [body]);
      this.acknowledged++;
      onAcknowledged();
    }
  }

  /** Few keys in nested folders, so that folders are made and removed often. */
  #key(): string {
    const [a, b] = [Math.floor(this.#random() * 3), Math.floor(this.#random() * 2)];
    return `${this.#name}/${a}/deep/${b}`;
  }

  async #change(key: string, before: string | undefined, body: string | undefined): Promise<void> {
    const place = { Bucket: BUCKET, Key: key };
    const Metadata = { length: String(body?.length) };
    if (body === undefined) await this.#client.send(new DeleteObjectCommand(place));
    else if (this.#random() < 0.2) {
      const { UploadId } = await this.#client.send(new CreateMultipartUploadCommand({ ...place, Metadata }));
      const { ETag } = await this.#client.send(
        new UploadPartCommand({ ...place, UploadId, PartNumber: 1, Body: body }),
      );
      const MultipartUpload = { Parts: [{ PartNumber: 1, ETag }] };
      await this.#client.send(new CompleteMultipartUploadCommand({ ...place, UploadId, MultipartUpload }));
    } else {
      const condition = before === undefined ? { IfNoneMatch: '*' } : {};
      await this.#client.send(new PutObjectCommand({ ...place, Body: body, Metadata, ...condition }));
    }
  }
}

async function check(client: S3Client, key: string, possible: Possible, round: string): Promise<void> {
  let found: string | undefined;
  try {
    const reply = await client.send(new GetObjectCommand({ Bucket: BUCKET, Key: key }));
    found = await reply.Body!.transformToString();
    assert.equal(reply.Metadata!.length, String(found.length), `${round}: ${key} has other metadata`);
  } catch (error) {
    assert.equal((error as Error).name, 'NoSuchKey', `${round}: ${key}: ${error}`);
  }
  const shown = (text: string | undefined) =>
    text === undefined ? 'nothing' : `${text.slice(0, 12)}... ${text.length}`;
  assert.ok(
    possible.includes(found),
    `${round}: ${key} holds ${shown(found)}, not ${possible.map(shown).join(' or ')}`,
  );
}

/** A server whose syncs are recorded, and the server on what a power cut leaves of its disk. */
async function withRecordedServer(
  body: (server: VolumeServerProcess, cutPower: () => Promise<VolumeServerProcess>) => Promise<void>,
): Promise<void> {
  const parent = await mkdtemp(join(tmpdir(), 'pinakes-power-cut-'));
  const [record, directory, left] = ['record', 'directory', 'left'].map((name) => join(parent, name));
  for (const made of [record, directory]) mkdirSync(made!);
  const on = { directory: directory!, key: await addKeyTo(directory!, 'main', BUCKET, 'write') };
  await using server = await startVolumeServerProcess({
    on,
    nodeArgs: ['--import', join(import.meta.dirname, 'sync-recorder.ts')],
    env: { PINAKES_SYNC_RECORD: record!, PINAKES_SYNC_ROOT: directory! },
  });
  let after: VolumeServerProcess | undefined;
  try {
    await body(server, async () => {
      await server.kill();
      buildSyncedTree(record!, directory!, left!);
      after = await startVolumeServerProcess({ on: { ...on, directory: left! } });
      return after;
    });
  } finally {
    await after?.kill();
    await rm(parent, { recursive: true, force: true });
  }
}

test('after a power cut in the middle of changes, everything acknowledged is there and nothing is damaged', {
  skip,
}, async (t) => {
  t.diagnostic(`SEED=${SEED}`);
  for (let round = 0; round < ROUNDS; round++) {
    const name = `SEED=${SEED} round ${round}`;
    const random = seededRandom(SEED + round);
    await withRecordedServer(async (server, cutPower) => {
      const client = s3Client(server);
      const workers = Array.from(
        { length: WORKERS },
        (_, at) => new Worker(client, seededRandom(SEED + 100 * round + at), `w${at}`),
      );
      const enough = Promise.withResolvers<void>();
      let left = 40 + Math.floor(random() * 80);
      const running = workers.map((worker) => worker.work(() => --left === 0 && enough.resolve()));
      await Promise.race([enough.promise, Promise.all(running)]);
      const after = await cutPower();
      await Promise.all(running);
      assert.equal(server.said(), '', name);
      const reader = s3Client(after);
      for (const worker of workers)
        for (const [key, possible] of worker.expected) await check(reader, key, possible, name);
      assert.deepEqual(await readdir(join(after.directory, '.pinakes-s3/drafts')), [], name);
    });
  }
});

test('parts of an upload, and an upload with copied parts, outlive a power cut', { skip }, async () => {
  await withRecordedServer(async (server, cutPower) => {
    const client = s3Client(server);
    const place = { Bucket: BUCKET, Key: 'joined/a.warc.gz' };
    const { UploadId } = await client.send(new CreateMultipartUploadCommand(place));
    const part = Buffer.alloc(5 * 1024 * 1024, 'part');
    const first = await client.send(new UploadPartCommand({ ...place, UploadId, PartNumber: 1, Body: part }));
    const second = await client.send(new UploadPartCommand({ ...place, UploadId, PartNumber: 2, Body: 'end' }));
    await client.send(new PutObjectCommand({ ...place, Key: 'plain', Body: 'plain' }));
    await client.send(new CopyObjectCommand({ ...place, Key: 'deep/copy', CopySource: `${BUCKET}/plain` }));
    const aborted = await client.send(new CreateMultipartUploadCommand({ ...place, Key: 'aborted' }));
    await client.send(new AbortMultipartUploadCommand({ ...place, Key: 'aborted', UploadId: aborted.UploadId }));
    const after = await cutPower();
    const reader = s3Client(after);
    const Parts = [first, second].map(({ ETag }, at) => ({ ETag, PartNumber: at + 1 }));
    await reader.send(new CompleteMultipartUploadCommand({ ...place, UploadId, MultipartUpload: { Parts } }));
    const { ContentLength } = await reader.send(new HeadObjectCommand(place));
    assert.equal(ContentLength, part.length + 3);
    await reader.send(new HeadObjectCommand({ ...place, Key: 'deep/copy' }));
    const late = { ...place, Key: 'aborted', UploadId: aborted.UploadId, PartNumber: 1, Body: 'late' };
    assert.equal(await failureOf(reader.send(new UploadPartCommand(late))), 'NoSuchUpload');
  });
});
