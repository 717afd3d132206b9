/**
 * A volume on S3 against plain GETs of the same objects by the same client, on the volume server of Pinakes and, where
 * it is there, on versitygw. The requests and bytes of single records are counted by the volume.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GetObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { seededRandom } from '../src/base/index.ts';
import { createDirectoryVolume, openDirectoryVolume, openS3Volume, type S3Volume } from '../src/volume/index.ts';
import { BUCKET, noVersitygw, type S3Server, startVersitygw, startVolumeServer } from '../test/contract/s3-servers.ts';
import { randomBytes } from '../test/contract/volume.ts';
import { median, print, ratio } from './measure.ts';

const MIB = 1024 * 1024;
const RUNS = 15;
const READS = 400;
/** A commit of 200 small pages, and a sealed segment. */
const SIZES = { 'parts of 1 MiB': { bytes: MIB, count: 64 }, 'an object of 64 MiB': { bytes: 64 * MIB, count: 1 } };

export async function benchS3(): Promise<void> {
  await benchOn(await startVolumeServer());
  if (noVersitygw) print(noVersitygw);
  else await benchOn(await startVersitygw());
}

async function benchOn(server: S3Server): Promise<void> {
  const { endpoint, credentials } = server;
  const volume = await openS3Volume('far', `s3://${BUCKET}/bench`, {
    endpoint,
    credentials,
    clock: Date.now,
    writable: true,
  });
  const client = new S3Client({
    endpoint,
    credentials,
    region: 'us-east-1',
    forcePathStyle: true,
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
  const directory = mkdtempSync(join(tmpdir(), 'pinakes-bench-s3-'));
  try {
    print(`s3: ${server.title}, ${RUNS} alternating runs, medians`);
    for (const [title, { bytes, count }] of Object.entries(SIZES)) {
      const names = Array.from({ length: count }, (_, index) => `${bytes}/${index}`);
      for (const [index, name] of names.entries()) await volume.put(name, [randomBytes(bytes - index)]);
      const raw: number[] = [];
      const ours: number[] = [];
      const rawCpu: number[] = [];
      const oursCpu: number[] = [];
      for (let run = 0; run < RUNS; run++) {
        raw.push(await seconds(() => getAll(client, names), rawCpu));
        ours.push(await seconds(() => streamAll(volume, names), oursCpu));
      }
      const rate = (bytes * count) / MIB / median(ours);
      print(
        `  stream of ${title.padEnd(20)} ${ratio(raw, ours)} of a plain GET (bar 0.8), ${rate.toFixed(0)} MiB/s; CPU ${ratio(rawCpu, oursCpu)}`,
      );
    }
    await benchRecords(volume, directory);
  } finally {
    await volume.close();
    client.destroy();
    await server.close();
    rmSync(directory, { recursive: true });
  }
}

/** Reads single records of 300 bytes to 60 KB at random places, one after the other. */
async function benchRecords(volume: S3Volume, directory: string): Promise<void> {
  const random = seededRandom(1);
  const name = `${64 * MIB}/0`;
  const ranges = Array.from({ length: READS }, () => ({
    name,
    offset: Math.floor(random() * 60 * MIB),
    length: 300 + Math.floor(random() * random() * 60_000),
  }));
  await createDirectoryVolume('near', join(directory, 'near'));
  const near = await openDirectoryVolume('near', join(directory, 'near'), { writable: true });
  await near.create(name);
  await near.append(name, 0, [randomBytes(64 * MIB)]);
  await near.seal(name);
  const before = volume.counts();
  const far: number[] = [];
  const close: number[] = [];
  for (const range of ranges) {
    far.push(await seconds(() => volume.read([range])));
    close.push(await seconds(() => near.read([range])));
  }
  await near.close();
  const { gets, bytesRead } = volume.counts();
  const wanted = ranges.reduce((sum, { length }) => sum + length, 0);
  print(`  GETs for a record             ${((gets - before.gets) / READS).toFixed(2)} (bar 1)`);
  print(`  bytes read for a record       ${((bytesRead - before.bytesRead) / wanted).toFixed(2)} (bar 1.1)`);
  print(
    `  time of a record              ${(median(far) * 1000).toFixed(2)} ms, in a directory ${(median(close) * 1000).toFixed(2)} ms`,
  );
}

async function getAll(client: S3Client, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const { Body } = await client.send(new GetObjectCommand({ Bucket: BUCKET, Key: `bench/${name}` }));
    for await (const piece of Body as AsyncIterable<Uint8Array>) if (piece.length === 0) return;
  }
}

async function streamAll(volume: S3Volume, names: readonly string[]): Promise<void> {
  for (const name of names) for await (const piece of volume.stream(name)) if (piece.length === 0) return;
}

/** Adds the CPU time of this process to `cpu`. */
async function seconds(work: () => Promise<unknown>, cpu: number[] = []): Promise<number> {
  const begun = performance.now();
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  cpu.push((user + system) / 1e6);
  return (performance.now() - begun) / 1000;
}
