import assert from 'node:assert/strict';
import {
  appendFile,
  type FileHandle,
  mkdtemp,
  open,
  readFile,
  rename,
  rm,
  stat,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { PinakesError } from '../../base/index.ts';
import { FINGERPRINT_BYTES } from './file-ends.ts';
import { createLinkedVolume, type LinkedVolume, openLinkedVolume } from './linked-volume.ts';

type Place = { readonly directory: string; readonly manifest: string; open(): Promise<LinkedVolume> };

async function inPlace(body: (place: Place) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'pinakes-linked-'));
  const manifest = join(directory, 'linked.jsonl');
  const opened: LinkedVolume[] = [];
  try {
    await createLinkedVolume('old', manifest);
    const open = async () => {
      const volume = await openLinkedVolume('old', manifest);
      opened.push(volume);
      return volume;
    };
    await body({ directory, manifest, open });
  } finally {
    await Promise.all(opened.map((volume) => volume.close()));
    await rm(directory, { recursive: true });
  }
}

function failsWith(code: string, ...named: string[]): (cause: unknown) => boolean {
  return (cause) => {
    assert.ok(cause instanceof PinakesError, String(cause));
    assert.equal(cause.code, code, cause.message);
    for (const name of named) assert.ok(cause.message.includes(name), `${cause.message} does not name ${name}`);
    return true;
  };
}

async function read(volume: LinkedVolume, name: string): Promise<string> {
  const [bytes] = await volume.read([{ name, offset: 0, length: 1000 }]);
  return Buffer.from(bytes!).toString();
}

test('linked files stay where they are, and remain objects of the volume when it is opened again', async () => {
  await inPlace(async ({ directory, open }) => {
    const path = join(directory, 'some file.warc');
    await writeFile(path, 'contents');
    const volume = await open();
    await volume.link(path, 'crawl/a.warc');
    assert.equal(await read(volume, 'crawl/a.warc'), 'contents');
    const again = await open();
    assert.deepEqual(await again.list(), [{ name: 'crawl/a.warc', bytes: 8, sealed: true }]);
    assert.equal(again.pathOf('crawl/a.warc'), path);
    assert.equal(await read(again, 'crawl/a.warc'), 'contents');
    assert.deepEqual(await again.space(), { freeBytes: 0, totalBytes: 8 });
  });
});

test('unlinking forgets the name and keeps the file', async () => {
  await inPlace(async ({ directory, open }) => {
    const path = join(directory, 'a');
    await writeFile(path, 'contents');
    const volume = await open();
    await volume.link(path, 'a');
    await assert.rejects(volume.link(path, 'a'), failsWith('OBJECT_EXISTS', 'a'));
    await read(volume, 'a');
    await volume.unlink(['a', 'never']);
    await assert.rejects(read(volume, 'a'), failsWith('OBJECT_MISSING', 'a'));
    assert.deepEqual(await (await open()).list(), []);
    assert.equal(await readFile(path, 'utf8'), 'contents');
    await writeFile(path, 'other contents');
    await volume.link(path, 'a');
    assert.equal(await read(await open(), 'a'), 'other contents');
  });
});

test('a missing file does not affect other files, and its error names it', async () => {
  await inPlace(async ({ directory, open }) => {
    const [a, b] = [join(directory, 'a'), join(directory, 'b')];
    await writeFile(a, 'a');
    await writeFile(b, 'b');
    const volume = await open();
    await volume.link(a, 'a');
    await volume.link(b, 'b');
    await rm(a);
    await assert.rejects(read(volume, 'a'), failsWith('FILE_MISSING', a));
    assert.equal(await read(volume, 'b'), 'b');
    assert.equal((await (await open()).list()).length, 2);
    await writeFile(a, 'a');
    assert.equal(await read(volume, 'a'), 'a');
    await assert.rejects(volume.link(join(directory, 'c'), 'c'), failsWith('FILE_MISSING', join(directory, 'c')));
    await assert.rejects(volume.link(directory, 'c'), failsWith('FILE_IS_DIRECTORY', directory));
  });
});

test('a file that was cut, appended to, or changed at either end is OBJECT_CHANGED; a new modification time alone is not', async () => {
  const long = 'x'.repeat(3 * FINGERPRINT_BYTES);
  const changes: Record<string, (path: string) => Promise<void>> = {
    cut: (path) => truncate(path, 10),
    appended: (path) => appendFile(path, '!'),
    'other beginning': (path) => writeFile(path, `y${long.slice(1)}`),
    'other end': (path) => writeFile(path, `${long.slice(1)}y`),
  };
  for (const [what, change] of Object.entries(changes)) {
    await inPlace(async ({ directory, open }) => {
      const path = join(directory, 'a');
      await writeFile(path, long);
      await (await open()).link(path, 'a');
      await change(path);
      const volume = await open();
      await assert.rejects(read(volume, 'a'), failsWith('OBJECT_CHANGED', path), what);
      await assert.rejects(read(volume, 'a'), failsWith('OBJECT_CHANGED', path), what);
      await writeFile(path, long);
      await utimes(path, 1, 1);
      assert.equal(await read(volume, 'a'), long.slice(0, 1000));
    });
  }
});

/** Makes reads of some sectors of a file fail, until the returned function is called. */
async function breakSector(t: TestContext, path: string, from: number, to = from + 4096): Promise<() => void> {
  const handle = await open(path);
  const reads = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  type Given = [Buffer, number, number, number];
  const read = reads.read as (this: FileHandle, ...given: Given) => Promise<unknown>;
  const mocked = t.mock.method(reads, 'read', async function (this: FileHandle, ...given: Given) {
    const [, , length, position] = given;
    if (position < to && position + length > from)
      throw Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO', syscall: 'read' });
    return read.apply(this, given);
  });
  return () => mocked.mock.restore();
}

test('a link without sectors is checked by modification time while a sector at the end is unreadable', async (t) => {
  await inPlace(async ({ directory, manifest, open }) => {
    const path = join(directory, 'a');
    await writeFile(path, 'x'.repeat(3 * FINGERPRINT_BYTES));
    await (await open()).link(path, 'a');
    const lines = await readFile(manifest, 'utf8');
    assert.match(lines, /"sectors":"[0-9a-f]{256}"/);
    await writeFile(manifest, lines.replace(/,"sectors":"[0-9a-f]*"/, ''));
    const mend = await breakSector(t, path, 3 * FINGERPRINT_BYTES - 4096);
    assert.equal((await read(await open(), 'a')).length, 1000);
    await utimes(path, 1, 1);
    await assert.rejects(read(await open(), 'a'), failsWith('DEVICE_FAILED', path));
    mend();
    assert.equal((await read(await open(), 'a')).length, 1000);
  });
});

test('a link that only has a modification time is refused when that time has changed', async (t) => {
  await inPlace(async ({ directory, open }) => {
    const path = join(directory, 'a');
    await writeFile(path, 'x'.repeat(5000));
    const mend = await breakSector(t, path, 0, 5000);
    await (await open()).link(path, 'a');
    mend();
    assert.equal((await read(await open(), 'a')).length, 1000);
    await utimes(path, 1, 1);
    await assert.rejects(read(await open(), 'a'), failsWith('OBJECT_CHANGED', path));
  });
});

test('each sector is compared once, whatever the length of the file', async (t) => {
  for (const bytes of [1, 4096, 5000, 70_000, 131_072, 131_073, 200_001]) {
    await inPlace(async ({ directory, open }) => {
      const path = join(directory, 'a');
      const content = Buffer.from(Array.from({ length: bytes }, (_, at) => (at * 31 + (at >> 8)) % 251));
      await writeFile(path, content);
      await (await open()).link(path, 'a');
      const last = Math.floor((bytes - 1) / 4096) * 4096;
      const mend = await breakSector(t, path, last);
      await utimes(path, 1, 1);
      const reading = (await open()).read([{ name: 'a', offset: 0, length: Math.min(last, 100) }]);
      if (last === 0) await assert.rejects(reading, failsWith('DEVICE_FAILED', path));
      else assert.deepEqual(Buffer.from((await reading)[0]!), content.subarray(0, Math.min(last, 100)));
      if (last > 0) {
        await writeFile(path, content.fill(255, 0, 1));
        await assert.rejects(read(await open(), 'a'), failsWith('OBJECT_CHANGED', path));
      }
      mend();
    });
  }
});

test('a file that is replaced while its handle is closed is detected', async () => {
  await inPlace(async ({ directory, open }) => {
    const volume = await open();
    for (let index = 0; index <= 70; index++) {
      await writeFile(join(directory, `f${index}`), `file ${index}`);
      await volume.link(join(directory, `f${index}`), `f${index}`);
    }
    assert.equal(await read(volume, 'f0'), 'file 0');
    for (let index = 1; index <= 70; index++) await read(volume, `f${index}`);
    await writeFile(join(directory, 'other'), 'FILE 0');
    await rename(join(directory, 'other'), join(directory, 'f0'));
    await assert.rejects(read(volume, 'f0'), failsWith('OBJECT_CHANGED', 'f0'));
  });
});

test('every change except linking and unlinking fails with VOLUME_READ_ONLY', async () => {
  await inPlace(async ({ directory, open }) => {
    await writeFile(join(directory, 'a'), 'a');
    const volume = await open();
    await volume.link(join(directory, 'a'), 'a');
    const refused = failsWith('VOLUME_READ_ONLY', 'old');
    assert.equal(volume.writable, false);
    await assert.rejects(volume.create('b'), refused);
    await assert.rejects(volume.append('a'), refused);
    await assert.rejects(volume.sync(['a']), refused);
    await assert.rejects(volume.truncate('a'), refused);
    await assert.rejects(volume.seal('a'), refused);
    await assert.rejects(volume.rename('a'), refused);
    await assert.rejects(volume.remove(['a']), refused);
    assert.equal(await read(volume, 'a'), 'a');
  });
});

test('a missing manifest, or another file in its place, is VOLUME_MISSING and never an empty volume', async () => {
  await inPlace(async ({ directory }) => {
    for (const text of [undefined, '', 'WARC/1.0\r\n', '{"pinakes":"linked-volume"']) {
      const path = join(directory, 'other.jsonl');
      if (text !== undefined) await writeFile(path, text);
      await assert.rejects(openLinkedVolume('old', path), failsWith('VOLUME_MISSING', 'old', path));
    }
    await assert.rejects(createLinkedVolume('old', join(directory, 'other.jsonl')), failsWith('VOLUME_MISSING'));
  });
});

test('a manifest whose last line a crash cut loses only that line, and new lines follow the last whole line', async () => {
  await inPlace(async ({ directory, manifest, open }) => {
    for (const name of ['a', 'b', 'c']) await writeFile(join(directory, name), name);
    const first = await open();
    await first.link(join(directory, 'a'), 'a');
    await first.link(join(directory, 'b'), 'b');
    const whole = await readFile(manifest);
    const lastLine = whole.lastIndexOf(10, whole.length - 2) + 1;
    for (let length = lastLine; length < whole.length; length += 17) {
      await writeFile(manifest, whole.subarray(0, length));
      const volume = await open();
      assert.deepEqual(volume.damagedLines, []);
      assert.deepEqual(
        (await volume.list()).map(({ name }) => name),
        ['a'],
      );
      await volume.link(join(directory, 'c'), 'c');
      assert.deepEqual(
        (await (await open()).list()).map(({ name }) => name),
        ['a', 'c'],
      );
    }
  });
});

test('the next link removes unacknowledged bytes after the last line, whatever their number', async () => {
  await inPlace(async ({ directory, manifest, open }) => {
    await writeFile(join(directory, 'a'), 'a');
    await appendFile(manifest, 'x'.repeat(5000));
    await (await open()).link(join(directory, 'a'), 'a');
    const volume = await open();
    assert.equal(volume.pathOf('a'), join(directory, 'a'));
    assert.deepEqual(volume.damagedLines, []);
    assert.doesNotMatch(await readFile(manifest, 'utf8'), /xxxx/);
  });
});

test('a damaged line in the middle costs no other line and is listed by its number', async () => {
  await inPlace(async ({ directory, manifest, open }) => {
    const first = await open();
    for (const name of ['a', 'b', 'c']) {
      await writeFile(join(directory, name), name);
      await first.link(join(directory, name), name);
    }
    const lines = (await readFile(manifest, 'utf8')).split('\n');
    lines[2] = lines[2]!.replace('"bytes":1', '"bytes":x');
    await writeFile(manifest, lines.join('\n'));
    const volume = await open();
    assert.deepEqual(volume.damagedLines, [3]);
    assert.deepEqual(
      (await volume.list()).map(({ name }) => name),
      ['a', 'c'],
    );
  });
});

test('NULs after the last whole line are listed as a damaged line', async () => {
  await inPlace(async ({ directory, manifest, open }) => {
    const first = await open();
    for (const name of ['a', 'b']) {
      await writeFile(join(directory, name), name);
      await first.link(join(directory, name), name);
    }
    const text = await readFile(manifest);
    const start = text.lastIndexOf('\n', text.length - 2) + 1;
    for (const from of [start, start + 20]) {
      await writeFile(manifest, Buffer.from(text).fill(0, from));
      assert.deepEqual((await open()).damagedLines, [3]);
    }
    await writeFile(manifest, text.subarray(0, start + 20));
    assert.deepEqual((await open()).damagedLines, [], 'the torn line was never acknowledged');
  });
});

test('a thousand simultaneous links share their syncs and are all kept; a second writer is refused', async () => {
  await inPlace(async ({ directory, manifest, open }) => {
    const path = join(directory, 'a');
    await writeFile(path, 'a');
    const volume = await open();
    const other = await open();
    await Promise.all(Array.from({ length: 1000 }, (_, index) => volume.link(path, `n/${index}`)));
    assert.equal((await (await open()).list()).length, 1000);
    const { size } = await stat(manifest);
    await assert.rejects(other.link(path, 'x'), failsWith('OBJECT_MOVED'));
    assert.equal((await stat(manifest)).size, size);
  });
});
