/**
 * The volume server: a folder of objects over the part of S3 that volumes use. Objects are plain files, so every tool
 * reads them without the server:
 *
 *     <directory>/<bucket>/<key>             an object
 *     <directory>/.pinakes-s3/keys/          the keys with their secrets
 *     <directory>/.pinakes-s3/objects/       tags and metadata of objects
 *     <directory>/.pinakes-s3/uploads/       uploads in parts that have not become objects
 *     <directory>/.pinakes-s3/drafts/        objects that are being written
 *     <directory>/.pinakes-s3/lock.sqlite    one server at a time
 */

import { realpath, stat } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { type Clock, fileError, type IdSource, PinakesError } from '../../base/index.ts';
import { ConnectionLimit } from '../http/connection-limit.ts';
import { type ClientTimeouts, ListeningSocket, type TlsIdentity } from '../http/listening-socket.ts';
import { addressOf } from '../http/origins.ts';
import type { ProblemDetails } from '../http/problem.ts';
import type { RequestHandler } from '../http/request-pipeline.ts';
import { listVolumeKeys, RESERVED_FOLDER } from '../objects/access-keys.ts';
import { draftsFolder } from '../objects/draft.ts';
import { checkFolder, syncsDirectories } from '../objects/folder-check.ts';
import { MultipartUploads } from '../objects/multipart-uploads.ts';
import { ObjectStore } from '../objects/object-store.ts';
import { takeServerLock } from '../objects/server-lock.ts';
import type { AccessLine } from '../server-options.ts';
import { volumeHandler } from './volume-handler.ts';
import { errorDocument } from './xml-text.ts';

/** How long running requests may take after the server was asked to stop. */
const STOP_TIMEOUT_MS = 30_000;
const LOGGED_CHARACTERS_MAX = 2048;

export type VolumeServerOptions = {
  readonly directory: string;
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** Without it, connections are not encrypted. */
  readonly tls?: TlsIdentity | undefined;
  readonly clock: Clock;
  readonly newId: IdSource;
  /** Milliseconds that never go back, for the access log; the default is the clock. */
  readonly stopwatch?: () => number;
  readonly timeouts?: Partial<ClientTimeouts>;
  /** Addresses and networks of proxies, whose connections are not limited. */
  readonly proxies?: readonly string[] | undefined;
  readonly onAccess?: ((line: AccessLine) => void) | undefined;
  /** Called when the server itself failed a request. The client gets an answer without details. */
  readonly onFailure?: (error: unknown) => void;
};

export type RunningVolumeServer = {
  /** `http://127.0.0.1:9000`. */
  readonly url: string;
  /** False where the names of new files become durable only when the system writes them, as on Windows. */
  readonly syncsNames: boolean;
  /** Refuses new requests, and waits until running ones end. `force` breaks them off. */
  close(options?: { force?: AbortSignal }): Promise<void>;
};

export async function startVolumeServer(options: VolumeServerOptions): Promise<RunningVolumeServer> {
  const root = await rootOf(options.directory);
  const release = takeServerLock(join(root, RESERVED_FOLDER, 'lock.sqlite'), root);
  try {
    return await start(options, root, release);
  } catch (error) {
    release();
    throw fileError(error, root, 'writing');
  }
}

async function start(options: VolumeServerOptions, root: string, release: () => void): Promise<RunningVolumeServer> {
  const { host, port, tls, clock, newId, timeouts, proxies, onFailure } = options;
  await checkFolder(root);
  const store = new ObjectStore(root, clock, newId);
  const uploads = new MultipartUploads(root, store.folders, newId);
  for (const folder of [draftsFolder(root), join(root, RESERVED_FOLDER, 'uploads')]) {
    await store.folders.make(folder);
    await store.folders.sync(folder);
  }
  await store.recover();
  await uploads.recover();
  const socket = await ListeningSocket.listen(
    { host, port },
    { timeouts, limit: new ConnectionLimit(proxies), tls, problems: PROBLEMS, defersContinue: true },
  );
  const { handle, idle } = volumeHandler({ store, uploads, clock, newId, onFailure });
  socket.handleWith(logged(options, handle));
  const stop = async (force: AbortSignal | undefined) => {
    const deadline = AbortSignal.timeout(STOP_TIMEOUT_MS);
    await socket.stop(force ? AbortSignal.any([force, deadline]) : deadline);
    // Another server may use the folder only when nothing of this one changes it any more.
    await idle();
    release();
  };
  let stopped: Promise<void> | undefined;
  return {
    url: addressOf(host, socket.port).replace(/^http:/, tls ? 'https:' : 'http:'),
    syncsNames: await syncsDirectories(root),
    close: ({ force } = {}) => (stopped ??= stop(force)),
  };
}

/** The folder, which has to have keys: an empty one may be the mount point of a disk that is missing. */
async function rootOf(directory: string): Promise<string> {
  try {
    const root = await realpath(directory);
    if (!(await stat(root)).isDirectory()) throw new PinakesError('FILE_NOT_DIRECTORY', { where: directory });
    if ((await listVolumeKeys(root)).length === 0) throw new PinakesError('VOLUME_KEYS_MISSING', { where: directory });
    return root;
  } catch (cause) {
    throw fileError(cause, directory);
  }
}

/** What a client gets that sends no request, or one that is too slow. */
const PROBLEMS = {
  type: 'application/xml',
  text: ({ status, code, message, advice }: ProblemDetails) =>
    errorDocument(
      S3_CODES[code] ?? (status >= 500 ? 'ServiceUnavailable' : 'BadRequest'),
      `${message}. ${advice}`,
      '',
      '',
    ),
};

const S3_CODES: Readonly<Record<string, string>> = { TOO_SLOW: 'RequestTimeout', TOO_MANY_CONNECTIONS: 'SlowDown' };

function logged(options: VolumeServerOptions, handler: RequestHandler): RequestHandler {
  const { onAccess, clock, stopwatch = clock } = options;
  if (!onAccess) return handler;
  return (request, response) => {
    const start = stopwatch();
    const connection = request.socket;
    const written = connection.bytesWritten;
    response.once('close', () => {
      const bytes = Math.max(0, connection.bytesWritten - written);
      onAccess(accessLine(request, response, { time: clock(), milliseconds: stopwatch() - start, bytes }));
    });
    handler(request, response);
  };
}

function accessLine(
  request: IncomingMessage,
  response: ServerResponse,
  measured: Pick<AccessLine, 'time' | 'milliseconds' | 'bytes'>,
): AccessLine {
  return {
    ...measured,
    address: request.socket?.remoteAddress ?? '-',
    method: request.method ?? '-',
    // Until a presigned URL ends, everyone who has its signature can use it.
    target: (request.url ?? '').replace(/(X-Amz-Signature=)[^&]*/gi, '$1-').slice(0, LOGGED_CHARACTERS_MAX),
    protocol: `HTTP/${request.httpVersion}`,
    status: response.statusCode,
    socket: 'volume',
    agent: String(request.headers['user-agent'] ?? '').slice(0, 512),
    referrer: String(request.headers.referer ?? '').slice(0, LOGGED_CHARACTERS_MAX),
  };
}
