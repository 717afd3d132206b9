/**
 * Small objects that change under a condition, such as the one that says who owns a volume.
 *
 * A condition that does not hold may be the effect of an earlier try of the same PUT whose answer was lost, or of a
 * request that a proxy sent twice. So the object is read then: with the caller's bytes in it, the PUT was done. Callers
 * put bytes that no one else puts.
 *
 * What conditions are worth differs between servers: see s3-probe.ts.
 */
import { concat, PinakesError } from '../../base/index.ts';
import type { TaggedObject, VolumeCall } from '../part-volume.ts';
import { whereIn } from '../volume-error.ts';
import type { ObjectPart } from './object-stream.ts';
import { hasFailedWith, type S3Connection } from './s3-connection.ts';

const BYTES_MAX = 1024 * 1024;

export async function readTagged(
  connection: S3Connection,
  name: string,
  call: VolumeCall,
): Promise<TaggedObject | undefined> {
  const command = new connection.sdk.GetObjectCommand({ Bucket: connection.bucket, Key: connection.key(name) });
  try {
    // Bytes and tag come from one answer, which is read again as a whole if it is cut.
    return await connection.read(
      'get',
      name,
      async (client, abortSignal) => {
        const { Body, ETag, ContentLength = 0 } = await client.send(command, { abortSignal });
        const body = Body as ObjectPart['body'];
        try {
          const pieces: Uint8Array[] = [];
          let bytes = 0;
          for await (const piece of body) {
            pieces.push(piece);
            bytes += piece.length;
            if (bytes > BYTES_MAX) throw refused(connection, name, `it has more than ${BYTES_MAX} bytes`);
          }
          if (bytes !== ContentLength) throw new Error('the answer ended early');
          connection.counter.read(bytes);
          if (!ETag) throw refused(connection, name, 'the server gave it no ETag');
          return { bytes: concat(pieces), tag: ETag };
        } finally {
          body.destroy();
        }
      },
      call,
    );
  } catch (error) {
    if (error instanceof PinakesError && error.code === 'OBJECT_MISSING') return undefined;
    throw error;
  }
}

export function putIfAbsent(
  connection: S3Connection,
  name: string,
  bytes: Uint8Array,
  call: VolumeCall,
): Promise<string | undefined> {
  return putIf(connection, name, bytes, { IfNoneMatch: '*' }, call);
}

export function putIfTag(
  connection: S3Connection,
  name: string,
  tag: string,
  bytes: Uint8Array,
  call: VolumeCall,
): Promise<string | undefined> {
  return putIf(connection, name, bytes, { IfMatch: tag }, call);
}

async function putIf(
  connection: S3Connection,
  name: string,
  bytes: Uint8Array,
  condition: { readonly IfNoneMatch?: string; readonly IfMatch?: string },
  call: VolumeCall,
): Promise<string | undefined> {
  const command = new connection.sdk.PutObjectCommand({
    Bucket: connection.bucket,
    Key: connection.key(name),
    Body: bytes,
    ContentLength: bytes.length,
    ...condition,
  });
  try {
    const { ETag } = await connection.write(
      'put',
      name,
      (client, abortSignal) => {
        connection.counter.wrote(bytes.length);
        return client.send(command, { abortSignal });
      },
      call,
    );
    if (ETag) return ETag;
  } catch (error) {
    const cause = error instanceof PinakesError ? error.cause : error;
    // A condition on a missing object is answered with 404.
    if (!hasFailedWith(cause, 'PreconditionFailed', 412, 'NoSuchKey', 404)) throw error;
  }
  const found = await readTagged(connection, name, call);
  return found && Buffer.compare(found.bytes, bytes) === 0 ? found.tag : undefined;
}

function refused(connection: S3Connection, name: string, detail: string): PinakesError {
  return new PinakesError('VOLUME_REFUSED', { where: whereIn(connection.volume, name), detail });
}
