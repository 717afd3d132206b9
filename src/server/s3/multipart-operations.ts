/** The operations on uploads in parts, but for completing them: see `multipart-completion.ts`. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { toHex } from '../../base/index.ts';
import { type ChecksumAlgorithm, runningChecksum } from '../objects/checksum.ts';
import { PART_NUMBER_MAX, type Upload } from '../objects/multipart-uploads.ts';
import type { ChecksumType } from '../objects/object-facts.ts';
import { notImplemented, S3Error } from '../objects/s3-error.ts';
import { requireBucket } from './bucket-operations.ts';
import { CheckedBody } from './checked-body.ts';
import { copySource, openSource } from './copy-source.ts';
import { readRange } from './file-range.ts';
import { countOf, encoder } from './list-operations.ts';
import { quoted } from './object-conditions.ts';
import { checksumElements, checksumReplyFields, givenFields, requestedChecksum } from './object-fields.ts';
import { requireReceivable } from './object-operations.ts';
import { type Operation, ownerElements, requireObjectRight, requireRight, sendNothing, sendXml } from './operation.ts';
import { sendSlowXml } from './slow-reply.ts';
import { element, group, xmlDocument } from './xml-text.ts';

const LISTED_MAX = 1000;

export async function createMultipartUpload(operation: Operation): Promise<void> {
  requireObjectRight(operation, 'write');
  const { request, uploads, bucket, key, clock } = operation;
  const given = givenFields(request.headers);
  await requireReceivable(operation, 0);
  const checksumAlgorithm = requestedChecksum(request.headers);
  const checksumType = typeOf(request.headers['x-amz-checksum-type'], checksumAlgorithm);
  const upload = await uploads.create({ bucket, key, initiated: clock(), ...given, checksumAlgorithm, checksumType });
  if (checksumAlgorithm) {
    operation.response.setHeader('x-amz-checksum-algorithm', checksumAlgorithm.toUpperCase());
    operation.response.setHeader('x-amz-checksum-type', checksumType);
  }
  const inside = element('Bucket', bucket) + element('Key', key) + element('UploadId', upload.id);
  sendXml(operation, xmlDocument('InitiateMultipartUploadResult', inside));
}

function typeOf(field: string | string[] | undefined, algorithm: ChecksumAlgorithm | undefined): ChecksumType {
  const type = field ?? (algorithm === 'crc64nvme' ? 'FULL_OBJECT' : 'COMPOSITE');
  const isHash = algorithm === 'sha1' || algorithm === 'sha256';
  const isPossible = type === 'FULL_OBJECT' ? !isHash : type === 'COMPOSITE' && algorithm !== 'crc64nvme';
  if (!isPossible) throw new S3Error('InvalidRequest', `The checksum type ${type} does not go with its algorithm.`);
  return type as ChecksumType;
}

export async function uploadPart(operation: Operation): Promise<void> {
  const { upload, number } = await addressedPart(operation);
  const { request, response, signed, uploads, clock } = operation;
  const body = new CheckedBody(request, response, signed, { computed: upload.checksumAlgorithm });
  await requireReceivable(operation, body.length);
  const part = await uploads.writePart(upload, number, body.chunks(), () => {
    const { md5, bytes, checksums } = body.facts;
    return { etag: toHex(md5), bytes, checksums, modified: clock() };
  });
  const fields = checksumReplyFields({ checksums: part.checksums, checksumType: 'FULL_OBJECT' });
  delete fields['x-amz-checksum-type'];
  sendNothing(operation, 200, { etag: quoted(part.etag), ...fields });
}

export async function uploadPartCopy(operation: Operation): Promise<void> {
  const { upload, number } = await addressedPart(operation);
  const { request, signed, store, uploads, clock } = operation;
  const source = copySource(request.headers);
  requireRight(signed.accessKey, source.bucket, source.key, 'read');
  const { info, handle } = await openSource(store, source, request.headers);
  await using _ = handle;
  const { from, to } = copiedRange(request.headers['x-amz-copy-source-range'], info.bytes);
  await requireReceivable(operation, to - from);
  await sendSlowXml(operation, async () => {
    const md5 = createHash('md5');
    const checksum = upload.checksumAlgorithm && runningChecksum(upload.checksumAlgorithm);
    for await (const piece of readRange(handle, from, to)) {
      md5.update(piece);
      checksum?.update(piece);
    }
    const facts = {
      number,
      etag: md5.digest('hex'),
      bytes: to - from,
      modified: clock(),
      checksums: checksum ? { [upload.checksumAlgorithm!]: checksum.finish() } : {},
    };
    const version = await handle.stat({ bigint: true });
    const path = join(store.bucketFolder(source.bucket), ...source.key.split('/'));
    const part =
      (await uploads.linkPart(upload, path, version, { ...facts, from })) ??
      // The object was replaced meanwhile, so the bytes that are still open here have no name to link.
      (await uploads.writePart(upload, number, readRange(handle, from, to), () => facts));
    const inside = element('LastModified', new Date(part.modified).toISOString()) + element('ETag', quoted(part.etag));
    return xmlDocument('CopyPartResult', inside + checksumElements(part));
  });
}

export async function listParts(operation: Operation): Promise<void> {
  requireObjectRight(operation, 'read');
  const { uploads, bucket, key, query, signed } = operation;
  const upload = await uploads.find(query.get('uploadId')!, { bucket, key });
  const most = countOf(query, 'max-parts', LISTED_MAX);
  const marker = countOf(query, 'part-number-marker', PART_NUMBER_MAX) % PART_NUMBER_MAX;
  const parts = (await uploads.parts(upload)).filter(({ number }) => number > marker);
  const shown = parts.slice(0, most);
  const owner = ownerElements(signed.accessKey);
  const head =
    element('Bucket', bucket) +
    element('Key', key) +
    element('UploadId', upload.id) +
    group('Initiator', owner) +
    group('Owner', owner) +
    element('StorageClass', 'STANDARD') +
    element('PartNumberMarker', marker) +
    element('NextPartNumberMarker', shown.at(-1)?.number ?? 0) +
    element('MaxParts', most) +
    element('IsTruncated', shown.length < parts.length) +
    (upload.checksumAlgorithm
      ? element('ChecksumAlgorithm', upload.checksumAlgorithm.toUpperCase()) +
        element('ChecksumType', upload.checksumType)
      : '');
  const inside = shown.map((part) =>
    group(
      'Part',
      element('PartNumber', part.number) +
        element('LastModified', new Date(part.modified).toISOString()) +
        element('ETag', quoted(part.etag)) +
        element('Size', part.bytes) +
        checksumElements(part),
    ),
  );
  sendXml(operation, xmlDocument('ListPartsResult', head + inside.join('')));
}

export async function listMultipartUploads(operation: Operation): Promise<void> {
  await requireBucket(operation);
  const { uploads, bucket, query, signed } = operation;
  if (query.get('delimiter')) throw notImplemented('a delimiter for lists of uploads');
  const encode = encoder(query.get('encoding-type'));
  const prefix = query.get('prefix') ?? '';
  const keyMarker = query.get('key-marker') ?? '';
  const idMarker = query.get('upload-id-marker') ?? '';
  const most = countOf(query, 'max-uploads', LISTED_MAX);
  const all = (await uploads.list(bucket)).filter(
    ({ key }) => key.startsWith(prefix) && key.startsWith(signed.accessKey.prefix),
  );
  // After the marked upload of the marked key; without one, after all uploads of that key.
  const marked = all.findLastIndex(({ key, id }) =>
    idMarker === '' ? isUpTo(key, keyMarker) : key === keyMarker && id === idMarker,
  );
  const from =
    keyMarker === '' ? 0 : marked < 0 ? all.findLastIndex(({ key }) => isUpTo(key, keyMarker)) + 1 : marked + 1;
  const shown = all.slice(from, from + most);
  const isTruncated = from + shown.length < all.length;
  const head =
    element('Bucket', bucket) +
    element('KeyMarker', encode(keyMarker)) +
    element('UploadIdMarker', idMarker) +
    element('NextKeyMarker', isTruncated ? encode(shown.at(-1)?.key ?? keyMarker) : undefined) +
    element('NextUploadIdMarker', isTruncated ? (shown.at(-1)?.id ?? idMarker) : undefined) +
    element('Prefix', encode(prefix)) +
    element('EncodingType', query.get('encoding-type')) +
    element('MaxUploads', most) +
    element('IsTruncated', isTruncated);
  const inside = shown.map(({ key, id, initiated }) =>
    group(
      'Upload',
      element('Key', encode(key)) +
        element('UploadId', id) +
        element('StorageClass', 'STANDARD') +
        element('Initiated', new Date(initiated).toISOString()),
    ),
  );
  sendXml(operation, xmlDocument('ListMultipartUploadsResult', head + inside.join('')));
}

export async function abortMultipartUpload(operation: Operation): Promise<void> {
  requireObjectRight(operation, 'write');
  const { uploads, bucket, key, query } = operation;
  const upload = await uploads.find(query.get('uploadId')!, { bucket, key });
  await uploads.alone(upload, () => uploads.remove(upload));
  sendNothing(operation, 204);
}

function isUpTo(key: string, marker: string): boolean {
  return Buffer.compare(Buffer.from(key), Buffer.from(marker)) <= 0;
}

/** The upload and the part number that a request names. */
async function addressedPart(operation: Operation): Promise<{ upload: Upload; number: number }> {
  requireObjectRight(operation, 'write');
  const { uploads, bucket, key, query } = operation;
  const number = query.get('partNumber') ?? '';
  if (!/^\d{1,5}$/.test(number) || Number(number) < 1 || Number(number) > PART_NUMBER_MAX)
    throw new S3Error('InvalidArgument', `Part number must be an integer between 1 and ${PART_NUMBER_MAX}.`);
  return { upload: await uploads.find(query.get('uploadId') ?? '', { bucket, key }), number: Number(number) };
}

/** The bytes that a part copies: all, or a range that lies in the object. */
function copiedRange(field: string | string[] | undefined, bytes: number): { from: number; to: number } {
  if (field === undefined) return { from: 0, to: bytes };
  const [, from, last] = /^bytes=(\d{1,15})-(\d{1,15})$/.exec(String(field)) ?? [];
  if (from === undefined || Number(last) < Number(from))
    throw new S3Error('InvalidArgument', 'x-amz-copy-source-range must be bytes=FIRST-LAST.');
  if (Number(last) >= bytes) throw new S3Error('InvalidRange', `The source has only ${bytes} bytes.`);
  return { from: Number(from), to: Number(last) + 1 };
}
