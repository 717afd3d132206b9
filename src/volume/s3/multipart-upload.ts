/**
 * Puts an object by a multipart upload. The object appears at once, with all bytes, when the upload is completed. An
 * upload that fails is aborted. One whose beginning had no answer, or whose abort fails, is left to the collector of
 * unfinished uploads.
 */
import { PinakesError } from '../../base/index.ts';
import type { VolumeCall } from '../part-volume.ts';
import type { ReadRange } from '../volume.ts';
import { whereIn } from '../volume-error.ts';
import { forEachLimited } from './request-limit.ts';
import { hasFailedWith, type S3Connection } from './s3-connection.ts';

/** Parts at the same time. */
const PARTS_AT_ONCE = 8;
/** Bytes of parts at the same time. A part that the server copies has none here. */
const BYTES_AT_ONCE = 48 * 1024 * 1024;

export type UploadedPart =
  | { readonly kind: 'copy'; readonly range: ReadRange }
  | { readonly kind: 'bytes'; readonly bytes: number; read(): Promise<Uint8Array> };

export async function uploadParts(
  connection: S3Connection,
  name: string,
  parts: readonly UploadedPart[],
  call: VolumeCall,
): Promise<void> {
  const { sdk, bucket, volume } = connection;
  const object = { Bucket: bucket, Key: connection.key(name) };
  const begin = new sdk.CreateMultipartUploadCommand(object);
  const { UploadId } = await connection.write(
    'put',
    name,
    (client, abortSignal) => client.send(begin, { abortSignal }),
    call,
  );
  if (UploadId === undefined) throw refused(volume, name, 'the server gave the upload no id');
  const upload = { ...object, UploadId };
  try {
    const tags: { PartNumber: number; ETag: string }[] = [];
    await forEachLimited(parts, partsAtOnce(parts), async (part, index) => {
      const PartNumber = index + 1;
      const ETag = await sendPart(connection, name, { ...upload, PartNumber }, part, call);
      tags[index] = { PartNumber, ETag };
    });
    const complete = new sdk.CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts: tags } });
    await connection.write('put', name, (client, abortSignal) => client.send(complete, { abortSignal }), call);
  } catch (error) {
    // After a lost answer, a completed upload is unknown to the server. The caller looks whether the object is there.
    if (!hasFailedWith(causeOf(error), 'NoSuchUpload')) await abort(connection, upload);
    throw error;
  }
}

/** How many of the largest parts fit into the memory for them. */
function partsAtOnce(parts: readonly UploadedPart[]): number {
  const largest = parts.reduce((bytes, part) => (part.kind === 'copy' ? bytes : Math.max(bytes, part.bytes)), 0);
  return largest === 0 ? PARTS_AT_ONCE : Math.max(1, Math.min(PARTS_AT_ONCE, Math.floor(BYTES_AT_ONCE / largest)));
}

async function sendPart(
  connection: S3Connection,
  name: string,
  upload: { Bucket: string; Key: string; UploadId: string; PartNumber: number },
  part: UploadedPart,
  call: VolumeCall,
): Promise<string> {
  const { sdk, volume } = connection;
  if (part.kind === 'copy') {
    const { name: source, offset, length } = part.range;
    const command = new sdk.UploadPartCopyCommand({
      ...upload,
      CopySource: encodeSource(`${connection.bucket}/${connection.key(source)}`),
      CopySourceRange: `bytes=${offset}-${offset + length - 1}`,
    });
    const { CopyPartResult } = await connection.write(
      'put',
      name,
      (client, abortSignal) => client.send(command, { abortSignal }),
      call,
    );
    // A server that does not know copies may take the request for the upload of an empty part.
    if (!CopyPartResult?.ETag) throw refused(volume, name, 'the server does not copy parts');
    return CopyPartResult.ETag;
  }
  const body = await part.read();
  const command = new sdk.UploadPartCommand({ ...upload, Body: body, ContentLength: body.length });
  const { ETag } = await connection.write(
    'put',
    name,
    (client, abortSignal) => {
      connection.counter.wrote(body.length);
      return client.send(command, { abortSignal });
    },
    call,
  );
  if (!ETag) throw refused(volume, name, 'the server gave a part no ETag');
  return ETag;
}

async function abort(
  connection: S3Connection,
  upload: { Bucket: string; Key: string; UploadId: string },
): Promise<void> {
  const command = new connection.sdk.AbortMultipartUploadCommand(upload);
  try {
    await connection.once('delete', (client, abortSignal) => client.send(command, { abortSignal }));
  } catch {
    // The collector removes it later.
  }
}

function encodeSource(source: string): string {
  return source.split('/').map(encodeURIComponent).join('/');
}

function causeOf(error: unknown): unknown {
  return error instanceof PinakesError && error.cause !== undefined ? error.cause : error;
}

function refused(volume: string, name: string, detail: string): PinakesError {
  return new PinakesError('VOLUME_REFUSED', { where: whereIn(volume, name), detail });
}
