/**
 * The owner file: one process has an archive open at a time, and a second one is told who it is. A file left by a process that is gone is
 * taken over; the catalog's own lock has the last word when two come at once.
 */
import { open, readFile, rename, unlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type Clock, fileError, formatW3cDate, PinakesError } from '../base/index.ts';

const OWNER_NAME = 'owner.json';
/** What the system says of a directory that this user may not write to, or nobody. */
const DENIED = ['EACCES', 'EPERM', 'EROFS'];

/** Where the owner can be asked to do things with the archive that it has open. */
export type AnnouncedServer = {
  /** Of its HTTP API: `http://localhost:8080`. */
  readonly url: string;
  /** The file that holds the token which writing takes; whoever may read it may write. */
  readonly tokenFile: string;
};

export type Owner = {
  readonly pid: number;
  readonly host: string;
  readonly since: string;
  readonly purpose: string;
  readonly server?: AnnouncedServer;
};

export class OwnerFile {
  readonly #path: string;
  readonly #owner: Owner;

  private constructor(path: string, owner: Owner) {
    this.#path = path;
    this.#owner = owner;
  }

  static async take(directory: string, purpose: string, clock: Clock): Promise<OwnerFile> {
    const path = join(directory, OWNER_NAME);
    const owner: Owner = { pid: process.pid, host: hostname(), since: formatW3cDate(clock()), purpose };
    for (let attempt = 0; ; attempt++) {
      try {
        const handle = await open(path, 'wx');
        try {
          await handle.writeFile(`${JSON.stringify(owner)}\n`);
        } finally {
          await handle.close();
        }
        return new OwnerFile(path, owner);
      } catch (cause) {
        const { code = '' } = cause as { code?: string };
        if (DENIED.includes(code)) throw new PinakesError('ARCHIVE_UNWRITABLE', { where: directory, cause });
        if (code !== 'EEXIST') throw fileError(cause, path, 'writing');
        const other = await readOwner(path);
        if (attempt > 3 || (other && isAlive(other))) throw busy(directory, other);
        await unlink(path).catch(() => {});
      }
    }
  }

  /** Says in the file which server has the archive open, or that none has any more. Whoever reads it meanwhile sees it before or after, never half. */
  async announce(server: AnnouncedServer | undefined): Promise<void> {
    const { pid, host, since, purpose } = this.#owner;
    const owner: Owner = { pid, host, since, purpose, ...(server && { server }) };
    const draft = `${this.#path}.new`;
    try {
      await writeFile(draft, `${JSON.stringify(owner)}\n`);
      await rename(draft, this.#path);
    } catch (cause) {
      throw fileError(cause, this.#path, 'writing');
    }
  }

  async release(): Promise<void> {
    await unlink(this.#path).catch(() => {});
  }
}

/** Who has the archive open, if anybody. */
export async function ownerOf(directory: string): Promise<Owner | undefined> {
  const owner = await readOwner(join(directory, OWNER_NAME));
  return owner && isAlive(owner) ? owner : undefined;
}

async function readOwner(path: string): Promise<Owner | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Owner;
  } catch {
    return undefined;
  }
}

/** A process of another machine cannot be asked; it is taken to be there. */
function isAlive(owner: Owner): boolean {
  if (owner.host !== hostname()) return true;
  if (owner.pid === process.pid) return true;
  try {
    process.kill(owner.pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code === 'EPERM';
  }
}

function busy(directory: string, owner: Owner | undefined): PinakesError {
  const detail = owner
    ? `process ${owner.pid} on ${owner.host}, ${owner.purpose}, since ${owner.since}`
    : 'its owner file cannot be read';
  return new PinakesError('ARCHIVE_BUSY', { where: directory, detail });
}
