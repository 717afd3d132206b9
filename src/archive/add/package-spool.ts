/**
 * The WARC and ARC files inside of packages (WACZ), written one at a time into the archive's spool, so that they are
 * added like any other file. At most one of them takes up space at a time. The next opening of the archive removes
 * files that a crash left behind.
 */
import { open, unlink } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { type Finding, fileError } from '../../base/index.ts';
import { beginsAsPackage, openWacz } from '../../warc/index.ts';

/** Spooled files are named by a number, since a name in a package may be too long or odd for a file. */
let spooledFiles = 0;

/** Whether a file is a package, by its first bytes or its name. */
export async function isPackage(path: string): Promise<boolean> {
  if (extname(path).toLowerCase() === '.wacz') return true;
  try {
    await using handle = await open(path, 'r');
    return await beginsAsPackage(handle);
  } catch (cause) {
    throw fileError(cause, path);
  }
}

export type SpooledFile = {
  readonly path: string;
  /** Its name in findings: the package, `!`, and the name inside. */
  readonly name: string;
};

/** The files of a package, one after another. Each is removed when the next one is requested. */
export async function* spoolPackage(
  path: string,
  directory: string,
  onFinding: (finding: Finding) => void,
): AsyncGenerator<SpooledFile> {
  const wacz = await openWacz(path, { onFinding });
  try {
    for await (const warc of wacz.warcs()) {
      const spooled = join(directory, `package-${process.pid}-${++spooledFiles}`);
      try {
        await write(spooled, warc.open());
        yield { path: spooled, name: [path, ...warc.packages, warc.name].join('!') };
      } finally {
        await unlink(spooled).catch(() => {});
      }
    }
  } finally {
    await wacz.close();
  }
}

async function write(path: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    await using handle = await open(path, 'w');
    for await (const piece of bytes) await handle.writeFile(piece);
  } catch (cause) {
    throw fileError(cause, path, 'writing');
  }
}
