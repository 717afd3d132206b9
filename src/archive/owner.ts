/**
 * The owner file: it says which process has the archive open, for processes that find the catalog locked. The lock
 * decides who has the archive open. It ends with its process, while the process number in the file may later belong to
 * another process. The file decides only for a process on another machine, whose lock may be invisible here.
 */
import { access, constants, readFile, rename, unlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type Clock, fileError, formatW3cDate, PinakesError } from '../base/index.ts';

const OWNER_NAME = 'owner.json';
/** Errors of the system for a directory that this user, or any user, cannot write to. */
const DENIED = ['EACCES', 'EPERM', 'EROFS'];

/** Where the owner accepts requests for the archive that it has open. */
export type AnnouncedServer = {
  /** The URL of its HTTP API: `http://localhost:8080`. */
  readonly url: string;
  /** The file with the token that writing requires. Everyone who can read the file can write. */
  readonly tokenFile: string;
  /** The path of the Unix socket or named pipe for commands, which only the server's own user can open. */
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

  /** Writes that this process has the archive open. The caller holds the lock of the catalog. */
  static async take(directory: string, purpose: string, clock: Clock): Promise<OwnerFile> {
    const owner: Owner = { pid: process.pid, host: hostname(), since: formatW3cDate(clock()), purpose };
    const file = new OwnerFile(join(directory, OWNER_NAME), owner);
    await file.announce(undefined);
    return file;
  }

  /**
   * Writes which server has the archive open, or that none has. A reader sees the file before or after this, never half
   * of it.
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
 * Fails when the archive cannot be opened here even with a free lock: the directory is not writable, or a process on
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

/** The process that has the archive open, if there is one. */
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

/** A process on another machine cannot be checked, and is assumed to be alive. */
function isAlive(owner: Owner): boolean {
  return owner.host !== hostname() || isProcessAlive(owner.pid);
}

/** Whether a process of this machine is running. Its number may belong to another program by now. */
export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code === 'EPERM';
  }
}

function busy(directory: string, { pid, host, purpose, since }: Owner, cause?: unknown): PinakesError {
  const detail = `process ${pid} on ${host}, ${purpose}, since ${since}`;
  return new PinakesError('ARCHIVE_BUSY', { where: directory, detail, cause });
}
