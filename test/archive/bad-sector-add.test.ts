/**
 * Files with bytes that the disk cannot read. Their other bytes are added, and stay in the archive however the disk
 * changes later.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Archive, openArchive } from '../../src/archive/index.ts';
import type { Finding } from '../../src/base/index.ts';
import { type Coding, readRecords } from '../../src/warc/index.ts';
import { breakSector } from './bad-sector-sample.ts';
import { members, response, revisitOf, warcinfo, writeForeign } from './foreign-file.ts';
import {
  allCaptures,
  contentOf,
  makeArchive,
  NOON,
  payloadAt,
  temporaryDirectory,
  trialOptions,
} from './trial-archive.ts';

const SECTOR_BYTES = 4096;
const CODINGS = { gzip: '.gz', zstd: '.zst', none: '' } as const;
const urlOf = (n: number) => `http://a.example/${n}`;
const numbers = Array.from({ length: 100 }, (_, n) => n);

class Sample {
  readonly file: string;
  readonly bytes: Buffer;
  /** Where the record of each page begins and ends. */
  readonly #places: { from: number; to: number }[] = [];

  constructor(directory: string, coding: Coding) {
    const pages = numbers.map((n) => response(urlOf(n), NOON + n * 1000, contentOf(`page ${n}`)));
    const parts = members([warcinfo(), ...pages], coding);
    let at = parts.start.length + parts.members[0]!.length;
    for (const { length } of parts.members.slice(1)) this.#places.push({ from: at, to: (at += length) });
    this.bytes = Buffer.concat([parts.start, ...parts.members]);
    this.file = join(directory, `a.warc${CODINGS[coding]}`);
    writeFileSync(this.file, this.bytes);
  }

  /** The first sector, one shortly after it, one in the middle, and the last. */
  get sectors(): number[] {
    const last = Math.floor((this.bytes.length - 1) / SECTOR_BYTES);
    return [0, 3, last >> 1, last].map((sector) => sector * SECTOR_BYTES);
  }

  /** Pages without a byte in these sectors. */
  beside(...sectors: number[]): number[] {
    const isMet = ({ from, to }: { from: number; to: number }) =>
      sectors.some((sector) => from < sector + SECTOR_BYTES && to > sector);
    return numbers.filter((n) => !isMet(this.#places[n]!));
  }
}

async function assertReadable(archive: Archive, pages: readonly number[]): Promise<void> {
  for (const n of pages) assert.deepEqual(await payloadAt(archive, urlOf(n)), Buffer.from(contentOf(`page ${n}`)));
}

async function reopened(t: TestContext, archive: Archive): Promise<Archive> {
  await archive.close();
  const again = await openArchive(archive.directory, trialOptions({ seed: 2 }));
  t.after(() => again.close());
  return again;
}

for (const coding of ['gzip', 'zstd', 'none'] as const) {
  for (const inPlace of [true, false])
    test(`I10: everything but the content of a bad sector is added, ${inPlace ? 'in place' : 'copied'}, and the sector is reported: ${coding}`, async (t) => {
      const sample = new Sample(await temporaryDirectory(t), coding);
      for (const sector of sample.sectors) {
        const archive = await makeArchive(t);
        const repair = await breakSector(t, sample.file, sector);
        const findings: Finding[] = [];
        const report = await archive.add([sample.file], {
          inPlace,
          workers: 0,
          onFinding: (one) => findings.push(one),
        });
        assert.deepEqual(report.failures, []);
        const reported = findings.filter(({ code }) => code === 'sector-unreadable');
        assert.deepEqual(
          reported.map(({ file, offset }) => [file, offset]),
          [[sample.file, sector]],
        );
        const pages = sample.beside(sector);
        assert.ok(pages.length > 90);
        await assertReadable(archive, pages);
        repair();
        await assertReadable(archive, pages);
      }
    });

  test(`a file added in place is recognized when one of its sectors becomes bad, or readable again: ${coding}`, async (t) => {
    const sample = new Sample(await temporaryDirectory(t), coding);
    for (const sector of sample.sectors) {
      let archive = await makeArchive(t);
      let repair = await breakSector(t, sample.file, sector);
      await archive.add([sample.file], { inPlace: true, workers: 0 });
      let captures = (await allCaptures(archive)).length;
      for (const bad of [sector, undefined, ...sample.sectors]) {
        repair();
        if (bad !== undefined) repair = await breakSector(t, sample.file, bad);
        archive = await reopened(t, archive);
        await assertReadable(archive, bad === undefined ? sample.beside(sector) : sample.beside(sector, bad));
        const report = await archive.add([sample.file], { inPlace: true, workers: 0 });
        assert.deepEqual(report.failures, []);
        // The content of the sector is added the first time that the whole file can be read.
        if (bad === undefined) captures += report.captures;
        assert.equal((await allCaptures(archive)).length, captures);
      }
      repair();
      await archive.close();
    }
  });
}

/** A file that is large enough to be sampled. No sample is in its bad sector. */
function writeLarge(directory: string, coding: Coding): { file: string; contents: Buffer[]; sector: number } {
  const contents = Array.from({ length: 300 }, () => randomBytes(3000));
  const pages = contents.map((content, n) => response(urlOf(n), NOON + n * 1000, content));
  const { start, members: parts } = members([warcinfo(), ...pages], coding);
  const file = join(directory, `large.warc${CODINGS[coding]}`);
  writeFileSync(file, Buffer.concat([start, ...parts]));
  return { file, contents, sector: 5 * SECTOR_BYTES };
}

for (const coding of ['gzip', 'zstd', 'none'] as const)
  test(`the content of a bad sector is added when the file is added again and the sector can be read: ${coding}`, async (t) => {
    const { file, contents, sector } = writeLarge(await temporaryDirectory(t), coding);
    const archive = await makeArchive(t);
    const repair = await breakSector(t, file, sector);
    await archive.add([file], { workers: 0 });
    const captures = (await allCaptures(archive)).length;
    await archive.add([file], { workers: 0 });
    assert.equal((await allCaptures(archive)).length, captures, 'nothing twice');
    repair();
    await archive.add([file], { workers: 0 });
    for (const [n, content] of contents.entries()) assert.deepEqual(await payloadAt(archive, urlOf(n)), content);
    assert.equal((await archive.add([file], { workers: 0 })).filesKnown, 1);
  });

for (const isInterrupted of [false, true])
  test(`adding a file in place again catalogues the content of a former bad sector, without deleted captures${isInterrupted ? ', also when the add was interrupted' : ''}`, async (t) => {
    const { file, contents, sector } = writeLarge(await temporaryDirectory(t), 'gzip');
    let archive = await makeArchive(t);
    const repair = await breakSector(t, file, sector);
    const stop = new AbortController();
    const onProgress = () => isInterrupted && stop.abort();
    const adding = archive.add([file], { inPlace: true, workers: 0, signal: stop.signal, onProgress });
    if (isInterrupted) await assert.rejects(adding, { name: 'AbortError' });
    else await adding;
    await archive.delete({ url: urlOf(200) });
    repair();
    archive = await reopened(t, archive);
    assert.ok((await allCaptures(archive)).length < contents.length - 1);
    await archive.add([file], { inPlace: true, workers: 0 });
    assert.equal((await allCaptures(archive)).length, contents.length - 1);
    for (const [n, content] of contents.entries())
      if (n !== 200) assert.deepEqual(await payloadAt(archive, urlOf(n)), content);
    const [segment] = await archive.segments();
    assert.equal(segment!.records, contents.length + 1);
    assert.equal((await archive.add([file], { inPlace: true, workers: 0 })).filesKnown, 1);
    assert.equal((await archive.verify()).errors, 0);
  });

test('revisits of the content of a bad sector are resolved when the file is added in place again', async (t) => {
  const directory = await temporaryDirectory(t);
  const pages = numbers.map((n) => response(urlOf(n), NOON + n * 1000, randomBytes(3000)));
  const { start, members: parts } = members([warcinfo(), ...pages], 'gzip');
  const [file, later] = [join(directory, 'original.warc.gz'), join(directory, 'later.warc.gz')];
  writeFileSync(file, Buffer.concat([start, ...parts]));
  const named = pages.map((original, n) => revisitOf(original, `http://later.example/${n}`, NOON + 1e6 + n * 1000));
  await writeForeign(later, [warcinfo(), ...named]);
  const archive = await makeArchive(t);
  const repair = await breakSector(t, file, 5 * SECTOR_BYTES);
  await archive.add([file], { inPlace: true, workers: 0 });
  const { unresolved } = await archive.add([later], { workers: 0 });
  assert.ok(unresolved > 0 && unresolved < numbers.length);
  repair();
  await archive.add([file], { inPlace: true, workers: 0 });
  assert.ok((await allCaptures(archive)).every(({ block }) => block));
});

test('the content of a bad sector is added later, even when the first add was interrupted behind the sector', async (t) => {
  const { file, contents, sector } = writeLarge(await temporaryDirectory(t), 'gzip');
  const archive = await makeArchive(t);
  const repair = await breakSector(t, file, sector);
  const stop = new AbortController();
  const interrupted = archive.add([file], { workers: 0, signal: stop.signal, onProgress: () => stop.abort() });
  await assert.rejects(interrupted, { name: 'AbortError' });
  assert.ok((await allCaptures(archive)).length > 0);
  repair();
  await archive.add([file], { workers: 0 });
  for (const [n, content] of contents.entries()) assert.deepEqual(await payloadAt(archive, urlOf(n)), content);
});

test('adding a file with a bad sector again does not bring back deleted captures, and the report says so', async (t) => {
  const { file, sector } = writeLarge(await temporaryDirectory(t), 'gzip');
  const archive = await makeArchive(t);
  const repair = await breakSector(t, file, sector);
  await archive.add([file], { workers: 0 });
  await archive.delete({ url: urlOf(200) });
  repair();
  const captures = (await allCaptures(archive)).length;
  for (let time = 0; time < 2; time++) {
    assert.equal((await archive.add([file], { workers: 0 })).deletedSince, 1);
    assert.equal((await allCaptures(archive)).length, captures);
  }
});

test('a file in place that was replaced by another of the same length is refused, whichever sectors cannot be read', async (t) => {
  const sample = new Sample(await temporaryDirectory(t), 'none');
  for (const sector of sample.sectors) {
    let archive = await makeArchive(t);
    let repair = await breakSector(t, sample.file, sector);
    await archive.add([sample.file], { inPlace: true, workers: 0 });
    repair();
    writeFileSync(
      sample.file,
      sample.bytes.map((byte) => byte ^ 1),
    );
    for (const bad of [undefined, ...sample.sectors]) {
      if (bad !== undefined) repair = await breakSector(t, sample.file, bad);
      archive = await reopened(t, archive);
      await assert.rejects(payloadAt(archive, urlOf(25)), { code: 'OBJECT_CHANGED' });
      repair();
    }
    await archive.close();
    writeFileSync(sample.file, sample.bytes);
  }
});

test('a reader with skipsGaps returns every record around a bad sector, and other readers fail with DEVICE_FAILED', async (t) => {
  for (const coding of ['gzip', 'zstd', 'none'] as const) {
    const sample = new Sample(await temporaryDirectory(t), coding);
    for (const sector of sample.sectors) {
      const repair = await breakSector(t, sample.file, sector);
      const codes: string[] = [];
      const urls: (string | undefined)[] = [];
      const onFinding = ({ code, offset }: Finding) => codes.push(`${code} ${offset}`);
      for await (const record of readRecords(sample.file, { skipsGaps: true, onFinding })) {
        for await (const _ of record.body());
        if (record.tail?.isComplete && record.head.type === 'response') urls.push(record.head.targetUri);
      }
      assert.ok(codes.includes(`sector-unreadable ${sector}`), `${coding} ${sector}: ${codes}`);
      assert.deepEqual(
        sample.beside(sector).filter((n) => !urls.includes(urlOf(n))),
        [],
      );
      await assert.rejects(
        async () => {
          for await (const _ of readRecords(sample.file));
        },
        { code: 'DEVICE_FAILED' },
      );
      repair();
    }
  }
});
