/**
 * The socket for commands of the command line: a Unix socket, on Windows a named pipe, that only the user of the server
 * can open. No proxy forwards to it, and many connections to the ports cannot block it.
 *
 * Not every system respects the mode of a socket. So the socket is in a new directory that only its owner may enter.
 * The directory is in the archive, or in the runtime directory of the user when the path would be too long or the file
 * system does not support sockets. The next server removes the directory of a killed server; the lock of the catalog
 * ensures that no other server runs.
 */
import { createHash } from 'node:crypto';
import { chmod, mkdtemp, readdir, rmdir, stat, unlink } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { type IdSource, PinakesError } from '../../base/index.ts';
import { ListeningSocket } from './listening-socket.ts';
import type { RequestHandler } from './request-pipeline.ts';

/** Systems allow 103 to 107 bytes. */
const PATH_BYTES_MAX = 100;
const SOCKET_NAME = 'socket';
/** How many characters `mkdtemp` adds to a prefix. */
const RANDOM_CHARACTERS = 6;
/** No limits: a person may take any time to answer. When a client dies, its connection closes. */
const CLIENT_TIMEOUTS = { silenceMs: 0, body: undefined };

export class CommandSocket {
  readonly path: string;
  readonly #socket: ListeningSocket;
  /** Requests that arrived over this socket. */
  readonly #requests = new WeakSet<IncomingMessage>();
  readonly #directory: string | undefined;

  private constructor(socket: ListeningSocket, path: string, directory?: string) {
    this.#socket = socket;
    this.path = path;
    this.#directory = directory;
  }

  static async open(archiveDirectory: string, newId: IdSource): Promise<CommandSocket> {
    if (process.platform === 'win32') {
      const path = `\\\\.\\pipe\\pinakes-${newId().replace(/[^0-9a-z]/gi, '')}`;
      return new CommandSocket(await ListeningSocket.listen({ path }, { timeouts: CLIENT_TIMEOUTS }), path);
    }
    let failure: unknown = new PinakesError('LISTEN_FAILED', {
      where: archiveDirectory,
      detail: 'every path for the command socket is too long; set XDG_RUNTIME_DIR or TMPDIR to a shorter path',
    });
    for (const prefix of prefixesFor(resolve(archiveDirectory))) {
      try {
        return await CommandSocket.#openBelow(prefix);
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  static async #openBelow(prefix: Prefix): Promise<CommandSocket> {
    await removeLeftovers(prefix);
    const directory = await mkdtemp(join(prefix.parent, prefix.name));
    const path = join(directory, SOCKET_NAME);
    try {
      // On a file system without modes, every user could enter the directory.
      if (((await stat(directory)).mode & 0o077) !== 0)
        throw new PinakesError('LISTEN_FAILED', { where: path, detail: 'its directory cannot be closed to others' });
      const socket = await ListeningSocket.listen({ path }, { timeouts: CLIENT_TIMEOUTS });
      await chmod(path, 0o600);
      return new CommandSocket(socket, path, directory);
    } catch (error) {
      await removeDirectory(directory);
      throw error;
    }
  }

  /** Whether a request arrived over this socket. */
  has(request: IncomingMessage): boolean {
    return this.#requests.has(request);
  }

  handleWith(handler: RequestHandler): void {
    this.#socket.handleWith((request, response) => {
      this.#requests.add(request);
      handler(request, response);
    });
  }

  /** See ListeningSocket. */
  leave(): Promise<void> {
    return this.#socket.leave();
  }

  async stop(force: AbortSignal): Promise<void> {
    await this.#socket.stop(force);
    if (this.#directory !== undefined) await removeDirectory(this.#directory);
  }
}

/** A parent for the directory of the socket, and the start of the directory's name. */
type Prefix = { readonly parent: string; readonly name: string };

function prefixesFor(archiveDirectory: string): Prefix[] {
  const inArchive = { parent: archiveDirectory, name: 'commands-' };
  const digest = createHash('sha256').update(archiveDirectory).digest('hex').slice(0, 16);
  const name = `pinakes-${digest}-`;
  const { XDG_RUNTIME_DIR: runtime } = process.env;
  const parents = [...(runtime !== undefined && isAbsolute(runtime) ? [runtime] : []), tmpdir()];
  return [inArchive, ...parents.map((parent) => ({ parent, name }))].filter(isShortEnough);
}

function isShortEnough({ parent, name }: Prefix): boolean {
  const directoryBytes = Buffer.byteLength(join(parent, name)) + RANDOM_CHARACTERS;
  return directoryBytes + 1 + SOCKET_NAME.length <= PATH_BYTES_MAX;
}

async function removeLeftovers({ parent, name }: Prefix): Promise<void> {
  // In a directory for temporary files, other users may have created links with names like these.
  for (const entry of await readdir(parent, { withFileTypes: true }))
    if (entry.isDirectory() && entry.name.startsWith(name)) await removeDirectory(join(parent, entry.name));
}

/** Removes a directory that contains nothing but the socket. A failure is ignored, because it does no harm. */
async function removeDirectory(directory: string): Promise<void> {
  await unlink(join(directory, SOCKET_NAME)).catch(() => {});
  await rmdir(directory).catch(() => {});
}
