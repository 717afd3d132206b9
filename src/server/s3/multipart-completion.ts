/**
 * CompleteMultipartUpload: joins the parts that the client names into the object. The upload ends when the object is
 * durable. A client whose answer was lost may complete it again: it gets the same answer, while the object is still
 * the one that this upload made.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import {
  CHECKSUM_ALGORITHMS,
  type ChecksumAlgorithm,
  type Checksums,
  type RunningChecksum,
  runningChecksum,
} from '../objects/checksum.ts';
import { PART_NUMBER_MAX, type Upload, type UploadPart } from '../objects/multipart-uploads.ts';
import type { Condition, ObjectInfo } from '../objects/object-store.ts';
import { S3Error } from '../objects/s3-error.ts';
import { DOCUMENT_BYTES_MAX } from './bucket-operations.ts';
import { CheckedBody, checksumFieldTexts } from './checked-body.ts';
import { quoted, unquoted, writeCondition } from './object-conditions.ts';
import { checksumElements } from './object-fields.ts';
import { requireReceivable } from './object-operations.ts';
import { type Operation, requireObjectRight, sendXml } from './operation.ts';
import { sendSlowXml } from './slow-reply.ts';
import { childText, malformed, readXml, type XmlElement } from './xml-reader.ts';
import { element, xmlDocument } from './xml-text.ts';

/** Every part but the last has at least this size, as S3 has it. */
const PART_BYTES_MIN = 5 * 1024 * 1024;

type NamedPart = { readonly number: number; readonly etag: string; readonly checksums: Checksums };

export async function completeMultipartUpload(operation: Operation): Promise<void> {
  requireObjectRight(operation, 'write');
  const { request, response, signed, store, uploads, bucket, key, query } = operation;
  const condition = writeCondition(request.headers);
  const body = new CheckedBody(request, response, signed, { isDescription: true });
  const named = namedParts(readXml(await body.read(DOCUMENT_BYTES_MAX)));
  const name = { bucket, key };
  const id = query.get('uploadId')!;
  const upload = await uploads.find(id, name).catch(async (cause: unknown) => {
    const present = await store.info(name);
    if (present?.uploadId !== id) throw cause;
    return present;
  });
  if (!('id' in upload)) {
    sendXml(operation, resultOf(operation, upload));
    return;
  }
  await sendSlowXml(operation, () =>
    uploads.alone(upload, async () => {
      // Another request may have completed it while this one waited.
      const present = await store.info(name);
      if (present?.uploadId === id) return resultOf(operation, present);
      const parts = chosenParts(await uploads.parts(await uploads.find(id, name)), named);
      condition(present);
      const made = await joined(operation, upload, parts, condition);
      await uploads.remove(upload);
      return resultOf(operation, made);
    }),
  );
}

async function joined(
  operation: Operation,
  upload: Upload,
  parts: readonly UploadPart[],
  condition: Condition,
): Promise<ObjectInfo> {
  const { store, uploads, bucket, key, request } = operation;
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  refuseOtherFacts(request, upload, bytes);
  await requireReceivable(operation, bytes);
  const { checksumAlgorithm: algorithm, checksumType, fields, metadata } = upload;
  const isWhole = algorithm !== undefined && checksumType === 'FULL_OBJECT';
  const whole = isWhole ? runningChecksum(algorithm) : undefined;
  await using draft = await store.newDraft({ bucket, key });
  await draft.write(bytesOf(operation, upload, parts, whole));
  const checksums: Checksums = {};
  if (whole) checksums[algorithm!] = whole.finish();
  else if (algorithm) checksums[algorithm] = composed(algorithm, parts);
  refuseOtherChecksums(request, checksums);
  const md5 = createHash('md5');
  for (const { etag } of parts) md5.update(etag, 'hex');
  const etag = `${md5.digest('hex')}-${parts.length}`;
  const facts = { fields, metadata, etag, checksums, checksumType, uploadId: upload.id };
  return await store.commit({ bucket, key }, draft, facts, condition);

  async function* bytesOf(
    { response }: Operation,
    upload: Upload,
    parts: readonly UploadPart[],
    checksum: RunningChecksum | undefined,
  ): AsyncGenerator<Uint8Array> {
    for (const part of parts) {
      // Nobody waits for the answer any more. The client will ask again.
      if (response.destroyed) throw new S3Error('RequestTimeout', 'The client has gone.');
      for await (const piece of uploads.read(upload, part)) {
        checksum?.update(piece);
        yield piece;
      }
    }
  }
}

/** The checksum of the checksums of the parts. */
function composed(algorithm: ChecksumAlgorithm, parts: readonly UploadPart[]): string {
  const running = runningChecksum(algorithm);
  for (const { checksums } of parts) running.update(Buffer.from(checksums[algorithm]!, 'base64'));
  return `${running.finish()}-${parts.length}`;
}

/** What the client says about the whole object, so that it notices a part that it has forgotten. */
function refuseOtherFacts(
  { headers }: IncomingMessage,
  { checksumAlgorithm, checksumType }: Upload,
  bytes: number,
): void {
  const { 'x-amz-mp-object-size': size = String(bytes), 'x-amz-checksum-type': type = checksumType } = headers;
  if (size !== String(bytes)) throw new S3Error('InvalidRequest', `The parts together have ${bytes} bytes.`);
  if (checksumAlgorithm && type !== checksumType)
    throw new S3Error('InvalidRequest', `The checksum of the upload is of the type ${checksumType}.`);
}

function refuseOtherChecksums(request: IncomingMessage, checksums: Checksums): void {
  for (const [name, given] of checksumFieldTexts(request)) {
    const own = checksums[name];
    if (own !== undefined && own !== given && own.replace(/-\d+$/, '') !== given)
      throw new S3Error('BadDigest', `The ${name.toUpperCase()} that you specified is not that of the object.`);
  }
}

function namedParts(document: XmlElement): NamedPart[] {
  if (document.name !== 'CompleteMultipartUpload') throw malformed();
  const parts = document.children.filter(({ name }) => name === 'Part');
  if (parts.length === 0 || parts.length > PART_NUMBER_MAX) throw malformed();
  return parts.map((part) => {
    const number = childText(part, 'PartNumber')?.trim() ?? '';
    const etag = childText(part, 'ETag');
    if (!/^\d{1,5}$/.test(number) || etag === undefined) throw malformed();
    const checksums: Checksums = {};
    for (const name of CHECKSUM_ALGORITHMS) {
      const text = childText(part, `Checksum${name.toUpperCase()}`)?.trim();
      if (text !== undefined) checksums[name] = text;
    }
    return { number: Number(number), etag: unquoted(etag), checksums };
  });
}

/** The parts of the upload that the client names, which have to be as it says. */
function chosenParts(parts: readonly UploadPart[], named: readonly NamedPart[]): UploadPart[] {
  const byNumber = new Map(parts.map((part) => [part.number, part]));
  let before = 0;
  const chosen = named.map(({ number, etag, checksums }) => {
    if (number <= before) throw new S3Error('InvalidPartOrder', 'The parts must be in ascending order.');
    before = number;
    const part = byNumber.get(number);
    const isSame =
      part?.etag === etag &&
      Object.entries(checksums).every(([name, value]) => {
        const own = part.checksums[name as ChecksumAlgorithm];
        return own === undefined || own === value;
      });
    if (!isSame) throw new S3Error('InvalidPart', `Part ${number} was not uploaded, or its ETag is another.`);
    return part;
  });
  const small = chosen.slice(0, -1).find(({ bytes }) => bytes < PART_BYTES_MIN);
  if (small)
    throw new S3Error('EntityTooSmall', `Part ${small.number} is under ${PART_BYTES_MIN} bytes and not the last.`);
  return chosen;
}

function resultOf({ bucket, key, request, rawPath }: Operation, info: ObjectInfo): string {
  const inside =
    element('Location', `http://${request.headers.host}${rawPath}`) +
    element('Bucket', bucket) +
    element('Key', key) +
    element('ETag', quoted(info.etag)) +
    checksumElements(info) +
    element('ChecksumType', Object.keys(info.checksums).length > 0 ? info.checksumType : undefined);
  return xmlDocument('CompleteMultipartUploadResult', inside);
}
