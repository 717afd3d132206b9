import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, readlink, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { concat, PinakesError, utf8 } from '../../base/index.ts';
import type { Volume } from '../volume.ts';
import { createDirectoryVolume, openDirectoryVolume } from './directory-volume.ts';

async function inDirectory(body: (directory: string) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'pinakes-directory-'));
  try {
    await body(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Runs the body on a volume in a new directory, and closes it. */
async function inVolume(
  body: (volume: Volume, directory: string) => Promise<void>,
  options: { handlesMax?: number } = {},
): Promise<void> {
  await inDirectory(async (directory) => {
    await createDirectoryVolume('main', directory);
    const volume = await openDirectoryVolume('main', directory, { writable: true, ...options });
    try {
      await body(volume, directory);
    } finally {
      await volume.close();
    }
  });
}

function failsWith(code: string, ...named: string[]): (cause: unknown) => boolean {
  return (cause) => {
    assert.ok(cause instanceof PinakesError, String(cause));
    assert.equal(cause.code, code, cause.message);
    for (const name of named) assert.ok(cause.message.includes(name), `${cause.message} does not name ${name}`);
    return true;
  };
}

async function put(volume: Volume, name: string, text: string): Promise<void> {
  await volume.create(name);
  await volume.append(name, 0, [utf8(text)]);
  await volume.sync([name]);
}

async function contentsOf(volume: Volume, name: string): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of volume.stream(name)) pieces.push(piece.slice());
  return Buffer.from(concat(pieces)).toString();
}

async function filesIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => !entry.isDirectory());
  return files.map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1)).sort();
}

test('objects are plain files with the names of the objects, and have the suffix .open until they are sealed', async () => {
  await inVolume(async (volume, directory) => {
    await put(volume, 'crawl/a.warc.gz', 'first');
    await put(volume, 'crawl/b.warc.gz', 'second');
    await volume.seal('crawl/b.warc.gz');
    assert.deepEqual(await filesIn(directory), ['.pinakes-volume', 'crawl/a.warc.gz.open', 'crawl/b.warc.gz']);
    assert.equal(await readFile(join(directory, 'crawl/b.warc.gz'), 'utf8'), 'second');
  });
});

test('a missing directory is not created, and VOLUME_MISSING names the volume and the directory', async () => {
  await inDirectory(async (directory) => {
    const absent = join(directory, 'absent');
    await assert.rejects(
      openDirectoryVolume('main', absent, { writable: true }),
      failsWith('VOLUME_MISSING', 'main', absent),
    );
    assert.equal(existsSync(absent), false);
    await writeFile(absent, 'a file');
    await assert.rejects(openDirectoryVolume('main', absent, { writable: false }), failsWith('VOLUME_MISSING', absent));
  });
});

test('an empty directory without a sentinel counts as the mount point of a missing disk', async () => {
  await inDirectory(async (directory) => {
    for (const writable of [true, false]) {
      await assert.rejects(
        openDirectoryVolume('main', directory, { writable }),
        failsWith('VOLUME_MISSING', directory),
      );
    }
    assert.deepEqual(await filesIn(directory), []);
    await createDirectoryVolume('main', directory);
    await createDirectoryVolume('main', directory);
    await (await openDirectoryVolume('main', directory, { writable: true })).close();
  });
});

test('a directory with files needs no sentinel to be opened as a volume', async () => {
  await inDirectory(async (directory) => {
    await writeFile(join(directory, 'old.warc.gz'), 'old');
    const readOnly = await openDirectoryVolume('main', directory, { writable: false });
    assert.deepEqual(await readOnly.list(), [{ name: 'old.warc.gz', bytes: 3, sealed: true }]);
    await readOnly.close();
    assert.deepEqual(await filesIn(directory), ['old.warc.gz']);
    await (await openDirectoryVolume('main', directory, { writable: true })).close();
    assert.deepEqual(await filesIn(directory), ['.pinakes-volume', 'old.warc.gz']);
  });
});

test('the directory of another volume can be read under another name but not written to', async () => {
  await inDirectory(async (directory) => {
    await createDirectoryVolume('main', directory);
    await assert.rejects(
      openDirectoryVolume('second', directory, { writable: true }),
      failsWith('VOLUME_MISSING', 'second', 'main'),
    );
    await (await openDirectoryVolume('partner', directory, { writable: false })).close();
  });
});

test('calls fail with VOLUME_MISSING while the directory is gone, and work again when it is back', async () => {
  await inVolume(async (volume, directory) => {
    await put(volume, 'c/a', 'before');
    await put(volume, 'c/b', 'unread');
    const away = `${directory}-away`;
    await rename(directory, away);
    const check = async () => {
      const missing = failsWith('VOLUME_MISSING', 'main', directory);
      await assert.rejects(volume.list(), missing);
      await assert.rejects(volume.stat(['c/a']), missing);
      await assert.rejects(volume.create('c/c'), missing);
      await assert.rejects(volume.append('c/a', 6, [utf8('lost')]), missing);
      await assert.rejects(volume.sync(['c/a']), missing);
      await assert.rejects(volume.truncate('c/a', 0), missing);
      await assert.rejects(volume.seal('c/a'), missing);
      await assert.rejects(volume.rename('c/a', 'c/c'), missing);
      await assert.rejects(volume.remove(['c/a']), missing);
      await assert.rejects(volume.read([{ name: 'c/b', offset: 0, length: 1 }]), missing);
      await assert.rejects(contentsOf(volume, 'c/b'), missing);
      await assert.rejects(volume.space(), missing);
    };
    await check();
    // The empty mount point of an unmounted disk.
    await mkdir(directory);
    await check();
    assert.deepEqual(await filesIn(directory), []);
    await rm(directory, { recursive: true });
    await rename(away, directory);
    await volume.append('c/a', 6, [utf8(' and after')]);
    await volume.sync(['c/a']);
    assert.equal(await contentsOf(volume, 'c/a'), 'before and after');
  });
});

test('a read-only volume changes nothing, not even the leftovers of a crash', async () => {
  await inDirectory(async (directory) => {
    await writeFile(join(directory, 'a.open'), 'open');
    await writeFile(join(directory, '.renamed.b.open'), 'new');
    await writeFile(join(directory, 'b'), 'old');
    await writeFile(join(directory, 'c'), 'sealed');
    await writeFile(join(directory, 'c.open'), 'seal');
    const volume = await openDirectoryVolume('main', directory, { writable: false });
    const before = await filesIn(directory);
    assert.deepEqual(await volume.list(), [
      { name: 'a', bytes: 4, sealed: false },
      { name: 'b', bytes: 3, sealed: false },
      { name: 'c', bytes: 6, sealed: true },
    ]);
    assert.deepEqual(await volume.stat(['b']), [{ name: 'b', bytes: 3, sealed: false }]);
    assert.equal(await contentsOf(volume, 'b'), 'new');
    assert.equal(await contentsOf(volume, 'c'), 'sealed');
    const refused = failsWith('VOLUME_READ_ONLY', 'main');
    await assert.rejects(volume.create('x'), refused);
    await assert.rejects(volume.append('a', 4, [utf8('x')]), refused);
    await assert.rejects(volume.sync(['a']), refused);
    await assert.rejects(volume.truncate('a', 0), refused);
    await assert.rejects(volume.seal('a'), refused);
    await assert.rejects(volume.rename('a', 'x'), refused);
    await assert.rejects(volume.remove(['a']), refused);
    await volume.close();
    assert.deepEqual(await filesIn(directory), before);
  });
});

test('a rename interrupted by a crash is finished at the next opening', async () => {
  await inDirectory(async (directory) => {
    await mkdir(join(directory, 'x'));
    for (const [file, text] of [
      ['x/.renamed.a', 'sealed over open'],
      ['x/a.open', 'old'],
      ['x/.renamed.b.open', 'open over sealed'],
      ['x/b', 'old'],
      ['x/.renamed.c.open', 'the old one is gone already'],
    ] as const) {
      await writeFile(join(directory, file), text);
    }
    const volume = await openDirectoryVolume('main', directory, { writable: true });
    assert.deepEqual(await filesIn(directory), ['.pinakes-volume', 'x/a', 'x/b.open', 'x/c.open']);
    assert.deepEqual(await volume.list(), [
      { name: 'x/a', bytes: 16, sealed: true },
      { name: 'x/b', bytes: 16, sealed: false },
      { name: 'x/c', bytes: 27, sealed: false },
    ]);
    assert.equal(await contentsOf(volume, 'x/b'), 'open over sealed');
    await volume.close();
  });
});

test('nothing is left of a replaced object, whether the old or the new object was sealed', async () => {
  await inVolume(async (volume, directory) => {
    for (const sealed of ['from', 'to']) {
      for (const name of ['from', 'to']) {
        await put(volume, name, name);
        if (name === sealed) await volume.seal(name);
      }
      await volume.rename('from', 'to');
      assert.deepEqual(await filesIn(directory), ['.pinakes-volume', sealed === 'from' ? 'to' : 'to.open']);
      await volume.remove(['to']);
    }
  });
});

test('a sealed file counts before an open file of its name; the open file is removed if the sealed file begins with it, else set aside', async () => {
  await inDirectory(async (directory) => {
    await createDirectoryVolume('main', directory);
    for (const [file, text] of [
      ['a', 'whole text'],
      ['a.open', 'whole'],
      ['b', 'whole text'],
      ['b.open', 'other'],
      ['.superseded.1.b', 'from an earlier time'],
      ['c', 'short'],
      ['c.open', 'short, and longer'],
    ] as const) {
      await writeFile(join(directory, file), text);
    }
    const volume = await openDirectoryVolume('main', directory, { writable: true });
    assert.deepEqual(
      (await volume.list()).map(({ name, sealed }) => [name, sealed]),
      [
        ['a', true],
        ['b', true],
        ['c', true],
      ],
    );
    assert.deepEqual(volume.setAside.toSorted(), [
      join(directory, '.superseded.1.c'),
      join(directory, '.superseded.2.b'),
    ]);
    assert.equal(await readFile(join(directory, '.superseded.2.b'), 'utf8'), 'other');
    assert.equal(await readFile(join(directory, '.superseded.1.c'), 'utf8'), 'short, and longer');
    assert.equal(existsSync(join(directory, 'a.open')), false);
    await volume.close();
  });
});

test('files that are not objects are neither listed nor changed', async () => {
  const foreign = ['.DS_Store', '.a.warc.gz.Xy3', 'notes about this.txt', 'x/.nfs0001', 'x.open/y', 'lost+found/z'];
  await inDirectory(async (directory) => {
    await createDirectoryVolume('main', directory);
    for (const file of foreign) {
      await mkdir(join(directory, file, '..'), { recursive: true });
      await writeFile(join(directory, file), 'foreign');
    }
    const volume = await openDirectoryVolume('main', directory, { writable: true });
    assert.deepEqual(await volume.list(), []);
    await put(volume, 'x/a', 'mine');
    await volume.remove(['x/a']);
    await volume.close();
    assert.deepEqual(await filesIn(directory), ['.pinakes-volume', ...foreign].sort());
  });
});

test('links to files and folders elsewhere are followed, except a link in a circle', async () => {
  await inDirectory(async (directory) => {
    const [root, other] = [join(directory, 'volume'), join(directory, 'other')];
    await createDirectoryVolume('main', root);
    await mkdir(other);
    await writeFile(join(other, 'a'), 'elsewhere');
    await symlink(other, join(root, 'folder'));
    await symlink(join(other, 'a'), join(root, 'file'));
    await symlink(root, join(root, 'circle'));
    await symlink(join(other, 'gone'), join(root, 'dangling'));
    const volume = await openDirectoryVolume('main', root, { writable: true });
    assert.deepEqual(
      (await volume.list()).map(({ name }) => name),
      ['file', 'folder/a'],
    );
    assert.equal(await contentsOf(volume, 'folder/a'), 'elsewhere');
    await volume.close();
  });
});

test('a link to a file in the volume does not make a second object of it', async () => {
  await inVolume(async (volume, directory) => {
    await put(volume, 'a/one', 'x');
    await symlink(join(directory, 'a'), join(directory, 'b'));
    await symlink(join(directory, 'a', 'one'), join(directory, 'two'));
    assert.deepEqual(
      (await volume.list()).map(({ name }) => name),
      ['a/one'],
    );
  });
});

test('a folder is removed with its last object and created again when needed', async () => {
  await inVolume(async (volume, directory) => {
    await put(volume, 'a/b/c', 'x');
    await put(volume, 'a/d', 'y');
    await volume.remove(['a/b/c']);
    assert.deepEqual(await readdir(join(directory, 'a')), ['d.open']);
    await volume.rename('a/d', 'e/f/g');
    assert.deepEqual((await readdir(directory)).sort(), ['.pinakes-volume', 'e']);
    await put(volume, 'a/b/c', 'again');
    assert.equal(await contentsOf(volume, 'a/b/c'), 'again');
  });
});

test('a name cannot be both an object and a folder, whether the object is open or sealed', async () => {
  await inVolume(async (volume) => {
    await put(volume, 'open', 'x');
    await put(volume, 'sealed', 'x');
    await volume.seal('sealed');
    await put(volume, 'folder/a', 'x');
    for (const name of ['open/a', 'sealed/a', 'sealed/a/b', 'folder']) {
      await assert.rejects(volume.create(name), failsWith('OBJECT_EXISTS'), name);
      await assert.rejects(volume.rename('open', name), PinakesError, name);
    }
    assert.deepEqual(
      (await volume.list()).map(({ name }) => name),
      ['folder/a', 'open', 'sealed'],
    );
  });
});

test('a second writer on the same directory gets OBJECT_MOVED', async () => {
  await inVolume(async (first, directory) => {
    await put(first, 'a', 'first');
    const second = await openDirectoryVolume('main', directory, { writable: true });
    await second.append('a', 5, [utf8(' second')]);
    await assert.rejects(first.append('a', 5, [utf8(' FIRST')]), failsWith('OBJECT_MOVED', 'a'));
    assert.equal(await contentsOf(first, 'a'), 'first second');
    await second.close();
  });
});

const devFull = { skip: !existsSync('/dev/full') && 'no device that refuses to sync' };

test('an object that cannot be synced is doubted: no later append, sync or seal is acknowledged', devFull, async () => {
  await inVolume(async (volume, directory) => {
    await symlink('/dev/full', join(directory, 'a.open'));
    await put(volume, 'b', 'fine');
    await assert.rejects(volume.sync(['b', 'a']), failsWith('VOLUME_IO', 'object a'));
    await assert.rejects(volume.sync(['a']), failsWith('VOLUME_IO', 'object a'));
    await assert.rejects(volume.append('a', 0, [utf8('x')]), failsWith('OBJECT_MOVED', 'object a'));
    await assert.rejects(volume.seal('a'), failsWith('VOLUME_IO', 'object a'));
    await assert.rejects(volume.rename('a', 'c'), failsWith('VOLUME_IO'));
    assert.ok(existsSync(join(directory, 'a.open')));
    await volume.append('b', 4, [utf8(' still')]);
    await volume.sync(['b']);
  });
});

const procFd = { skip: !existsSync('/proc/self/fd') && 'open files cannot be counted here' };

test('no more files stay open than allowed, and no file stays open after closing', procFd, async () => {
  const openFiles = async (directory: string) => {
    const links = (await readdir('/proc/self/fd')).map((fd) => readlink(join('/proc/self/fd', fd)).catch(() => ''));
    return (await Promise.all(links)).filter((path) => path.startsWith(directory)).length;
  };
  await inVolume(
    async (volume, directory) => {
      const names = Array.from({ length: 40 }, (_, index) => `object-${index}`);
      await Promise.all(names.map((name) => put(volume, name, name)));
      await volume.read(names.map((name) => ({ name, offset: 0, length: 100 })));
      const left = volume.stream(names[0]!)[Symbol.asyncIterator]();
      await left.next();
      await volume.remove([names[0]!]);
      await volume.list();
      assert.ok((await openFiles(directory)) <= 6, `${await openFiles(directory)} files are open`);
      for (const name of names.slice(1)) assert.equal(await contentsOf(volume, name), name);
      await volume.close();
      assert.equal(await openFiles(directory), 0);
    },
    { handlesMax: 5 },
  );
});

test('errors contain the message of the system', async () => {
  await inVolume(async (volume, directory) => {
    await put(volume, 'a', 'x');
    await unlink(join(directory, 'a.open'));
    await mkdir(join(directory, 'a.open'));
    await volume.remove(['unrelated']);
    await assert.rejects(volume.remove(['a']), (cause: unknown) => {
      assert.ok(cause instanceof PinakesError);
      assert.ok(['VOLUME_IO', 'FILE_UNWRITABLE'].includes(cause.code));
      assert.match(cause.message, /volume main, object a: .*\(E[A-Z]+: .*unlink/);
      assert.ok(cause.cause instanceof Error);
      return true;
    });
  });
});
