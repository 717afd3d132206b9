/**
 * What a bucket keeps besides its objects: unfinished uploads, and versions where the bucket keeps them. A takedown is
 * proved only when none of them has the bytes. Names are as they are in the bucket, also those of other programs.
 */
import { PinakesError } from '../../base/index.ts';
import type { VolumeCall } from '../part-volume.ts';
import { whereIn } from '../volume-error.ts';
import { hasFailedWith, type S3Connection } from './s3-connection.ts';
import { keyError } from './s3-key-error.ts';

export type UnfinishedUpload = { readonly name: string; readonly id: string; readonly begun: Date | undefined };

export type ObjectVersion = {
  readonly name: string;
  readonly versionId: string;
  readonly isLatest: boolean;
  readonly bytes: number;
  /** It has no bytes: it says that the object was removed. */
  readonly isDeleteMarker: boolean;
};

const REMOVED_AT_ONCE = 1_000;

export async function* listUploads(
  connection: S3Connection,
  prefix: string,
  call: VolumeCall,
): AsyncGenerator<UnfinishedUpload[]> {
  let marker: { key: string | undefined; id: string | undefined } | undefined;
  do {
    connection.assertOpen();
    const command = new connection.sdk.ListMultipartUploadsCommand({
      Bucket: connection.bucket,
      Prefix: connection.key(prefix),
      KeyMarker: marker?.key,
      UploadIdMarker: marker?.id,
      MaxUploads: connection.pageNames,
    });
    const page = await connection.read(
      'list',
      undefined,
      (client, abortSignal) => client.send(command, { abortSignal }),
      call,
    );
    const uploads = (page.Uploads ?? []).flatMap(({ Key = '', UploadId, Initiated }) => {
      const name = connection.nameOf(Key);
      return name === undefined || UploadId === undefined ? [] : [{ name, id: UploadId, begun: Initiated }];
    });
    if (uploads.length > 0) yield uploads;
    const next = page.IsTruncated ? { key: page.NextKeyMarker, id: page.NextUploadIdMarker } : undefined;
    assertMoves(connection, marker, next);
    marker = next;
  } while (marker);
}

export async function abortUpload(
  connection: S3Connection,
  { name, id }: Pick<UnfinishedUpload, 'name' | 'id'>,
  call: VolumeCall,
): Promise<void> {
  const command = new connection.sdk.AbortMultipartUploadCommand({
    Bucket: connection.bucket,
    Key: connection.key(name),
    UploadId: id,
  });
  try {
    await connection.write('delete', name, (client, abortSignal) => client.send(command, { abortSignal }), call);
  } catch (error) {
    if (!(error instanceof PinakesError) || !hasFailedWith(error.cause, 'NoSuchUpload', 404)) throw error;
  }
}

export async function* listVersions(
  connection: S3Connection,
  prefix: string,
  call: VolumeCall,
): AsyncGenerator<ObjectVersion[]> {
  let marker: { key: string | undefined; id: string | undefined } | undefined;
  do {
    connection.assertOpen();
    const command = new connection.sdk.ListObjectVersionsCommand({
      Bucket: connection.bucket,
      Prefix: connection.key(prefix),
      KeyMarker: marker?.key,
      VersionIdMarker: marker?.id,
      MaxKeys: connection.pageNames,
    });
    const page = await connection.read(
      'list',
      undefined,
      (client, abortSignal) => client.send(command, { abortSignal }),
      call,
    );
    const found = [
      ...(page.Versions ?? []).map((version) => ({ ...version, isDeleteMarker: false })),
      ...(page.DeleteMarkers ?? []).map((version) => ({ ...version, Size: 0, isDeleteMarker: true })),
    ];
    const versions = found.flatMap(({ Key = '', VersionId = 'null', IsLatest = false, Size = 0, isDeleteMarker }) => {
      const name = connection.nameOf(Key);
      return name === undefined
        ? []
        : [{ name, versionId: VersionId, isLatest: IsLatest, bytes: Size, isDeleteMarker }];
    });
    if (versions.length > 0) yield versions;
    const next = page.IsTruncated ? { key: page.NextKeyMarker, id: page.NextVersionIdMarker } : undefined;
    assertMoves(connection, marker, next);
    marker = next;
  } while (marker);
}

/** Removes versions for good. A version that is missing is ignored. */
export async function removeVersions(
  connection: S3Connection,
  versions: readonly Pick<ObjectVersion, 'name' | 'versionId'>[],
  call: VolumeCall,
): Promise<void> {
  for (let at = 0; at < versions.length; at += REMOVED_AT_ONCE) {
    const batch = versions.slice(at, at + REMOVED_AT_ONCE);
    const command = new connection.sdk.DeleteObjectsCommand({
      Bucket: connection.bucket,
      Delete: {
        Quiet: true,
        Objects: batch.map(({ name, versionId }) => ({ Key: connection.key(name), VersionId: versionId })),
      },
    });
    await connection.write(
      'delete',
      batch[0]!.name,
      async (client, abortSignal) => {
        const { Errors = [] } = await client.send(command, { abortSignal });
        const failed = Errors.find(({ Code }) => Code !== 'NoSuchKey' && Code !== 'NoSuchVersion');
        if (failed) throw keyError(failed, Errors.length);
      },
      call,
    );
  }
}

/** A server that repeats a page would be listed for ever. */
function assertMoves(
  connection: S3Connection,
  last: { key: string | undefined; id: string | undefined } | undefined,
  next: { key: string | undefined; id: string | undefined } | undefined,
): void {
  if (!next || (next.key !== undefined && (next.key !== last?.key || next.id !== last?.id))) return;
  throw new PinakesError('VOLUME_REFUSED', {
    where: whereIn(connection.volume),
    detail: 'the server repeats a page of its list',
  });
}
