/** Answers the requests of a volume server: checks the signature, finds the operation, turns errors into documents. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock, IdSource } from '../../base/index.ts';
import { isDisconnect } from '../http/client-disconnect.ts';
import type { RequestHandler } from '../http/request-pipeline.ts';
import { KeyRing } from '../objects/access-keys.ts';
import type { MultipartUploads } from '../objects/multipart-uploads.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import { S3Error } from '../objects/s3-error.ts';
import { insufficientStorage } from './object-operations.ts';
import { requireExistingBucket } from './operation.ts';
import { operationOf } from './operation-table.ts';
import { readTarget } from './request-target.ts';
import { SignatureCheck } from './signature.ts';
import { errorDocument } from './xml-text.ts';

/** No bucket can have this name. */
const HEALTH_PATH = '/_health';
/** A body up to this size is read and dropped before an error is sent, so that the connection stays usable. */
const DROPPED_BYTES_MAX = 1024 * 1024;
/** A client that is refused may send this long, so that it reads the answer and not the end of the connection. */
const LINGER_MS = 2000;

/** Errors that have another name when the bucket is missing too. */
const MISSING: ReadonlySet<string> = new Set(['NoSuchKey', 'NoSuchUpload']);

export type VolumeHandlerOptions = {
  readonly store: ObjectStore;
  readonly uploads: MultipartUploads;
  readonly clock: Clock;
  readonly newId: IdSource;
  readonly onFailure: ((error: unknown) => void) | undefined;
};

export type VolumeHandler = {
  readonly handle: RequestHandler;
  /** Settles when the work of all requests has ended, also of those whose clients have gone. */
  readonly idle: () => Promise<void>;
};

export function volumeHandler(options: VolumeHandlerOptions): VolumeHandler {
  const { store, uploads, clock, newId, onFailure } = options;
  const keys = new KeyRing(store.root);
  const signatures = new SignatureCheck((id) => keys.lookup(id), clock);

  const running = new Set<Promise<void>>();

  const handle: RequestHandler = (request, response) => {
    const requestId = newId()
      .replace(/[^0-9a-z]/gi, '')
      .slice(-16)
      .toUpperCase();
    response.setHeader('x-amz-request-id', requestId);
    const documentOf = (error: unknown) => {
      const known = s3ErrorOf(error);
      if (known.status >= 500 && known.code !== 'NotImplemented' && !isDisconnect(error, response)) onFailure?.(error);
      const text = errorDocument(known.code, known.message, (request.url ?? '').split('?')[0]!, requestId);
      return { known, text };
    };
    const fail = (error: unknown) => {
      const { known, text } = documentOf(error);
      sendError(request, response, known, text);
    };
    const work = answer(request, response, (error) => documentOf(error).text)
      .catch(fail)
      .finally(() => running.delete(work));
    running.add(work);
  };
  return {
    handle,
    idle: async () => {
      while (running.size > 0) await Promise.all(running);
    },
  };

  async function answer(
    request: IncomingMessage,
    response: ServerResponse,
    errorText: (error: unknown) => string,
  ): Promise<void> {
    const { method = '', url = '', headers } = request;
    if (url === HEALTH_PATH && (method === 'GET' || method === 'HEAD')) {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-length': '3' });
      response.end(method === 'HEAD' ? undefined : 'ok\n');
      return;
    }
    const target = readTarget(url);
    const signed = await signatures.check(request, target);
    const run = operationOf(method, target, headers['x-amz-copy-source'] !== undefined);
    const isMissing = (cause: unknown) => cause instanceof S3Error && MISSING.has(cause.code);
    await run({ ...target, request, response, signed, store, uploads, clock, errorText }).catch(async (cause) => {
      if (isMissing(cause)) await requireExistingBucket({ store, bucket: target.bucket });
      throw cause;
    });
  }
}

/** What a client is told of an error. Details of faults of the server are for the operator only. */
function s3ErrorOf(error: unknown): S3Error {
  if (error instanceof S3Error) return error;
  const { code } = (error ?? {}) as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT') return insufficientStorage();
  return new S3Error('InternalError', 'The server could not do this. Its operator can see why. Please try again.');
}

/** Sends an error, also while the client still sends a body that is not wanted any more. */
function sendError(request: IncomingMessage, response: ServerResponse, error: S3Error, text: string): void {
  if (response.destroyed) return;
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const body = Buffer.from(text);
  const fields = { ...error.fields, 'content-type': 'application/xml', 'content-length': String(body.length) };
  const send = () => response.end(request.method === 'HEAD' ? undefined : body);
  const { 'content-length': length, 'transfer-encoding': transfer } = request.headers;
  const isWaiting = request.headers.expect !== undefined && !response.writableEnded;
  if (request.complete || (transfer === undefined && (length ?? '0') === '0')) {
    response.writeHead(error.status, fields);
    send();
  } else if (!isWaiting && transfer === undefined && Number(length) <= DROPPED_BYTES_MAX) {
    response.writeHead(error.status, fields);
    request.once('end', send).once('close', send).resume();
  } else {
    response.writeHead(error.status, { ...fields, connection: 'close' });
    response.write(body);
    const timer = setTimeout(() => response.end(), LINGER_MS);
    request
      .once('end', () => response.end())
      .once('close', () => clearTimeout(timer))
      .resume();
  }
}
