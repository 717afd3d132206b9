/**
 * Decodes bodies in the chunks of `Content-Encoding: aws-chunked`:
 *
 *     <size in hex>[;chunk-signature=<64 hex>] CR LF <bytes> CR LF ...
 *     0[;chunk-signature=<64 hex>] CR LF [<name>:<value> CR LF ...] [x-amz-trailer-signature:<64 hex> CR LF] CR LF
 *
 * With signatures, each chunk's covers the one before it, and the first covers that of the request. A wrong one is an
 * error at the end of its chunk, so the bytes before it count only when the whole body has been read.
 */
import { createHash } from 'node:crypto';
import { S3Error } from '../objects/s3-error.ts';
import { hmacHex, type SignatureChain, sameText, sha256Hex } from './signature.ts';

const LINE_BYTES_MAX = 4096;
const TRAILERS_MAX = 16;
const DIGEST_OF_NOTHING = sha256Hex('');

export type ChunkedBody = {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** The fields after the body; complete when the chunks have been read. */
  readonly trailers: ReadonlyMap<string, string>;
};

/** `chain` is undefined when the chunks are not signed. */
export function chunkedBody(source: AsyncIterable<Uint8Array>, chain: SignatureChain | undefined): ChunkedBody {
  const trailers = new Map<string, string>();
  return { chunks: decode(new ByteSource(source), chain && new ChunkSignatures(chain), trailers), trailers };
}

async function* decode(
  source: ByteSource,
  signatures: ChunkSignatures | undefined,
  trailers: Map<string, string>,
): AsyncGenerator<Uint8Array> {
  for (;;) {
    const [, size = '', signature] =
      /^([0-9a-fA-F]{1,12})(?:;chunk-signature=([0-9a-f]{64}))?$/.exec(await source.line()) ?? [];
    if (size === '' || (signature === undefined) !== (signatures === undefined)) throw badFraming();
    const length = Number.parseInt(size, 16);
    signatures?.begin();
    for (let left = length; left > 0; ) {
      const piece = await source.some(left);
      left -= piece.length;
      signatures?.update(piece);
      yield piece;
    }
    signatures?.end(signature!);
    if (length === 0) break;
    if ((await source.line()) !== '') throw badFraming();
  }
  await readTrailers(source, signatures, trailers);
  if (!(await source.isAtEnd())) throw badFraming();
}

async function readTrailers(
  source: ByteSource,
  signatures: ChunkSignatures | undefined,
  trailers: Map<string, string>,
): Promise<void> {
  let signed = '';
  for (let lines = 0; lines <= TRAILERS_MAX; lines++) {
    // Some clients leave out the empty line after the last trailer.
    const line = (await source.isAtEnd()) ? '' : await source.line();
    if (line === '') {
      if (signed !== '' && signatures) throw signatureMismatch();
      return;
    }
    const [, name = '', value = ''] = /^([A-Za-z0-9-]+):(.*)$/.exec(line) ?? [];
    if (name === '') throw badFraming();
    if (name.toLowerCase() !== 'x-amz-trailer-signature') {
      signed += `${name.toLowerCase()}:${value.trim()}\n`;
      trailers.set(name.toLowerCase(), value.trim());
      continue;
    }
    signatures?.endTrailers(signed, value.trim());
    signed = '';
  }
  throw badFraming();
}

/** The chain of signatures of one body. */
class ChunkSignatures {
  readonly #chain: SignatureChain;
  #before: string;
  #hash = createHash('sha256');

  constructor(chain: SignatureChain) {
    this.#chain = chain;
    this.#before = chain.signature;
  }

  begin(): void {
    this.#hash = createHash('sha256');
  }

  update(bytes: Uint8Array): void {
    this.#hash.update(bytes);
  }

  end(signature: string): void {
    this.#check('AWS4-HMAC-SHA256-PAYLOAD', [DIGEST_OF_NOTHING, this.#hash.digest('hex')], signature);
  }

  endTrailers(lines: string, signature: string): void {
    this.#check('AWS4-HMAC-SHA256-TRAILER', [sha256Hex(Buffer.from(lines, 'latin1'))], signature);
  }

  #check(kind: string, digests: readonly string[], signature: string): void {
    const { time, scope, signingKey } = this.#chain;
    const expected = hmacHex(signingKey, [kind, time, scope, this.#before, ...digests].join('\n'));
    if (!sameText(expected, signature)) throw signatureMismatch();
    this.#before = expected;
  }
}

/** Lines and bytes of a stream. */
class ByteSource {
  readonly #source: AsyncIterator<Uint8Array>;
  #held: Uint8Array = new Uint8Array(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  async isAtEnd(): Promise<boolean> {
    while (this.#held.length === 0) {
      const { value, done } = await this.#source.next();
      if (done) return true;
      this.#held = value;
    }
    return false;
  }

  /** At least one byte, and at most `max`. */
  async some(max: number): Promise<Uint8Array> {
    if (await this.isAtEnd()) throw incompleteBody();
    const piece = this.#held.subarray(0, max);
    this.#held = this.#held.subarray(piece.length);
    return piece;
  }

  /** A line without its end. */
  async line(): Promise<string> {
    let text = '';
    for (;;) {
      if (await this.isAtEnd()) throw incompleteBody();
      const end = this.#held.indexOf(0x0a);
      const piece = this.#held.subarray(0, end < 0 ? undefined : end);
      if (text.length + piece.length > LINE_BYTES_MAX) throw badFraming();
      text += Buffer.from(piece).toString('latin1');
      this.#held = this.#held.subarray(end < 0 ? piece.length : end + 1);
      if (end < 0) continue;
      if (!text.endsWith('\r')) throw badFraming();
      return text.slice(0, -1);
    }
  }
}

export function incompleteBody(): S3Error {
  return new S3Error('IncompleteBody', 'The body has fewer or more bytes than the fields of the request say.');
}

function badFraming(): S3Error {
  return new S3Error('InvalidRequest', 'The chunks of the body are not framed as aws-chunked.');
}

function signatureMismatch(): S3Error {
  return new S3Error('SignatureDoesNotMatch', 'The signature of a chunk or of the trailer is wrong.');
}
