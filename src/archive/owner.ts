/**
 * The owner file: it says which process has the archive open, for whoever finds the catalog locked. The lock decides;
 * it goes with its process, while the number of a process that was killed may be another's by now. Only of a process on
 * another machine, whose lock may not be seen from here, the file alone is believed.
 */
import { access, constants, readFile, rename, unlink, writeFile } from 'node:fs/promises';
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
  /** The path of the Unix socket or named pipe that takes commands; only the server's own user can open it. */
  readonly commandPath?: string | undefined;
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

  /** Says in the file that this process has the archive open. Whoever does so holds the lock of the catalog. */
  static async take(directory: string, purpose: string, clock: Clock): Promise<OwnerFile> {
    const owner: Owner = { pid: process.pid, host: hostname(), since: formatW3cDate(clock()), purpose };
    const file = new OwnerFile(join(directory, OWNER_NAME), owner);
    await file.announce(undefined);
    return file;
  }

  /**
   * Says in the file which server has the archive open, or that none has any more. Whoever reads it meanwhile sees it
   * before or after, never half.
   */
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

/**
 * Fails when the archive cannot be opened from here whoever has the lock: nothing may be written, or a process on
 * another machine has it open.
 */
export async function assertTakable(directory: string): Promise<void> {
  await access(directory, constants.W_OK).catch((cause: unknown) => {
    const { code = '' } = cause as { code?: string };
    if (DENIED.includes(code)) throw new PinakesError('ARCHIVE_UNWRITABLE', { where: directory, cause });
    throw fileError(cause, directory, 'writing');
  });
  const owner = await readOwner(join(directory, OWNER_NAME));
  if (owner && owner.host !== hostname()) throw busy(directory, owner);
}

/** The error of an archive whose catalog is locked. */
export async function lockedError(directory: string, cause: unknown): Promise<unknown> {
  const owner = await readOwner(join(directory, OWNER_NAME));
  return owner ? busy(directory, owner, cause) : cause;
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
  try {
    process.kill(owner.pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code === 'EPERM';
  }
}

function busy(directory: string, { pid, host, purpose, since }: Owner, cause?: unknown): PinakesError {
  const detail = `process ${pid} on ${host}, ${purpose}, since ${since}`;
  return new PinakesError('ARCHIVE_BUSY', { where: directory, detail, cause });
}
