/**
 * The body of a request, checked against everything that the client says about it: its length, its SHA-256, its MD5,
 * its checksums in fields or trailers, the signatures of its chunks. What does not match is an error when the body
 * ends, so what was made of it has to be discarded then.
 *
 * Only the digests that somebody needs are computed: the MD5 for the tag of an object, the others when the client
 * sent them.
 */
import { createHash, type Hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  algorithmNamed,
  CHECKSUM_BYTES,
  type ChecksumAlgorithm,
  type Checksums,
  type RunningChecksum,
  runningChecksum,
} from '../objects/checksum.ts';
import { notImplemented, S3Error } from '../objects/s3-error.ts';
import { chunkedBody, incompleteBody } from './chunked-body.ts';
import { type SignedRequest, UNSIGNED_PAYLOAD } from './signature.ts';

const CHECKSUM_FIELD = 'x-amz-checksum-';
/** Fields about checksums that are not checksums. */
const CHECKSUM_SETTINGS = new Set(['algorithm', 'mode', 'type'].map((name) => CHECKSUM_FIELD + name));

/** What is known of a body after all of it was read. */
export type BodyFacts = { readonly bytes: number; readonly md5: Uint8Array; readonly checksums: Checksums };

type Payload = {
  /** The digest that the client signed, in hex; undefined when it signed none. */
  readonly digest: string | undefined;
  readonly isChunked: boolean;
  readonly hasSignedChunks: boolean;
  readonly hasTrailer: boolean;
};

export class CheckedBody {
  /** The number of bytes of the object. */
  readonly length: number;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #signed: SignedRequest;
  readonly #payload: Payload;
  readonly #md5Field: Uint8Array | undefined;
  readonly #checksumFields: ReadonlyMap<ChecksumAlgorithm, string>;
  readonly #trailer: ChecksumAlgorithm | undefined;
  readonly #computed: ChecksumAlgorithm | undefined;
  #facts: BodyFacts | undefined;

  /**
   * Refuses fields that cannot be right before any of the body is read. `options.computed` is a checksum that is needed
   * even if the client does not send it. `options.isDescription`: the checksums in the fields are not of this body.
   */
  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    signed: SignedRequest,
    options: { readonly computed?: ChecksumAlgorithm | undefined; readonly isDescription?: boolean } = {},
  ) {
    this.#request = request;
    this.#response = response;
    this.#signed = signed;
    this.#payload = payloadOf(signed.payload);
    this.#md5Field = md5Field(request);
    this.#checksumFields = options.isDescription ? new Map() : checksumFields(request);
    this.#computed = options.computed;
    this.#trailer = this.#payload.hasTrailer ? announcedTrailer(request) : undefined;
    this.length = lengthOf(request, this.#payload.isChunked);
  }

  /** Known after the last chunk. */
  get facts(): BodyFacts {
    return this.#facts!;
  }

  /** The bytes. Fails at the end when they are not what the client said. Also asks a waiting client to send them. */
  async *chunks(): AsyncGenerator<Uint8Array> {
    if (this.#request.headers.expect !== undefined) this.#response.writeContinue();
    const { digest, isChunked, hasSignedChunks } = this.#payload;
    const source = received(this.#request);
    const chunked = isChunked ? chunkedBody(source, hasSignedChunks ? this.#signed.chain : undefined) : undefined;
    const md5 = createHash('md5');
    const sha256 = digest === undefined ? undefined : createHash('sha256');
    const running = this.#runningChecksums();
    let bytes = 0;
    for await (const chunk of chunked?.chunks ?? source) {
      bytes += chunk.length;
      if (bytes > this.length) throw incompleteBody();
      md5.update(chunk);
      sha256?.update(chunk);
      for (const [, one] of running) one.update(chunk);
      yield chunk;
    }
    if (bytes !== this.length) throw incompleteBody();
    this.#facts = { bytes, md5: this.#checkedMd5(md5), checksums: this.#checkedSums(running, chunked?.trailers) };
    if (sha256 && sha256.digest('hex') !== digest)
      throw new S3Error('XAmzContentSHA256Mismatch', 'The SHA-256 in x-amz-content-sha256 is not that of the body.');
  }

  /** The whole body, for documents. */
  async read(bytesMax: number): Promise<Uint8Array> {
    if (this.length > bytesMax) throw new S3Error('EntityTooLarge', `The document is over ${bytesMax} bytes long.`);
    const pieces: Uint8Array[] = [];
    for await (const piece of this.chunks()) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  #runningChecksums(): [ChecksumAlgorithm, RunningChecksum][] {
    const names = new Set(this.#checksumFields.keys());
    if (this.#trailer) names.add(this.#trailer);
    if (this.#computed) names.add(this.#computed);
    return [...names].map((name) => [name, runningChecksum(name)]);
  }

  #checkedMd5(hash: Hash): Uint8Array {
    const md5 = hash.digest();
    if (this.#md5Field && !md5.equals(this.#md5Field))
      throw new S3Error('BadDigest', 'The Content-MD5 is not that of the body.');
    return md5;
  }

  #checkedSums(
    running: readonly (readonly [ChecksumAlgorithm, RunningChecksum])[],
    trailers: ReadonlyMap<string, string> | undefined,
  ): Checksums {
    const checksums: Checksums = {};
    for (const [name, one] of running) {
      const given = this.#checksumFields.get(name) ?? trailers?.get(CHECKSUM_FIELD + name);
      if (given === undefined && name === this.#trailer)
        throw new S3Error('InvalidRequest', `The trailer ${CHECKSUM_FIELD}${name} is missing.`);
      checksums[name] = one.finish();
      if (given !== undefined && checksums[name] !== given)
        throw new S3Error('BadDigest', `The ${name.toUpperCase()} that you specified is not that of the body.`);
    }
    return checksums;
  }
}

/** The bytes of the connection. A client that goes away in the middle has not sent a whole body. */
async function* received(request: IncomingMessage): AsyncGenerator<Uint8Array> {
  // A body that is refused in the middle must not take the connection with it: the refusal has to be sent.
  yield* request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>;
  if (!request.complete) throw incompleteBody();
}

function payloadOf(payload: string): Payload {
  const none = { digest: undefined, isChunked: false, hasSignedChunks: false, hasTrailer: false };
  switch (payload) {
    case UNSIGNED_PAYLOAD:
      return none;
    case 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD':
      return { ...none, isChunked: true, hasSignedChunks: true };
    case 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER':
      return { ...none, isChunked: true, hasSignedChunks: true, hasTrailer: true };
    case 'STREAMING-UNSIGNED-PAYLOAD-TRAILER':
      return { ...none, isChunked: true, hasTrailer: true };
    default:
      if (/^[0-9a-f]{64}$/.test(payload)) return { ...none, digest: payload };
      if (payload.startsWith('STREAMING-')) throw notImplemented(`bodies of the kind ${payload}`);
      throw new S3Error(
        'InvalidArgument',
        `x-amz-content-sha256 must be ${UNSIGNED_PAYLOAD}, a STREAMING- kind or a SHA-256 in hexadecimal digits.`,
      );
  }
}

function lengthOf({ headers }: IncomingMessage, isChunked: boolean): number {
  const length = isChunked ? headers['x-amz-decoded-content-length'] : headers['content-length'];
  // A request without a body needs no length.
  if (length === undefined && !isChunked && headers['transfer-encoding'] === undefined) return 0;
  if (!/^\d{1,15}$/.test(String(length)))
    throw new S3Error('MissingContentLength', 'The request must say how many bytes its body has.');
  return Number(length);
}

function md5Field({ headers }: IncomingMessage): Uint8Array | undefined {
  const text = headers['content-md5'];
  if (text === undefined) return undefined;
  const bytes = Buffer.from(String(text), 'base64');
  if (bytes.length !== 16) throw new S3Error('InvalidDigest', 'The Content-MD5 is not valid.');
  return bytes;
}

/** The checksums in the fields of a request, which are of its body. */
function checksumFields(request: IncomingMessage): Map<ChecksumAlgorithm, string> {
  const fields = checksumFieldTexts(request);
  for (const [name, text] of fields) {
    const bytes = Buffer.from(text, 'base64');
    if (bytes.length !== CHECKSUM_BYTES[name] || bytes.toString('base64') !== text)
      throw new S3Error('InvalidRequest', `Value for ${CHECKSUM_FIELD}${name} header is invalid.`);
  }
  return fields;
}

/** The checksums in the fields of a request, as they are. */
export function checksumFieldTexts({ headers }: IncomingMessage): Map<ChecksumAlgorithm, string> {
  const fields = new Map<ChecksumAlgorithm, string>();
  for (const [field, text] of Object.entries(headers)) {
    if (!field.startsWith(CHECKSUM_FIELD) || CHECKSUM_SETTINGS.has(field)) continue;
    const name = algorithmNamed(field.slice(CHECKSUM_FIELD.length));
    if (!name) throw notImplemented(`the checksum ${field}`);
    fields.set(name, String(text));
  }
  return fields;
}

function announcedTrailer({ headers }: IncomingMessage): ChecksumAlgorithm | undefined {
  const name = String(headers['x-amz-trailer'] ?? '')
    .trim()
    .toLowerCase();
  if (name === '') return undefined;
  const algorithm = name.startsWith(CHECKSUM_FIELD) ? algorithmNamed(name.slice(CHECKSUM_FIELD.length)) : undefined;
  if (!algorithm) throw notImplemented(`the trailer ${name}`);
  return algorithm;
}
