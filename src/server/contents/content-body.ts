/**
 * Bodies of requests that the client may have compressed with gzip or zstd. A few bytes can decode to gigabytes, so
 * decoding ends at a number of bytes that is known before.
 */
import type { Readable } from 'node:stream';
import { constants, createGunzip, createZstdDecompress } from 'node:zlib';
import { ZSTD_WINDOW_LOG_MAX } from '../../base/index.ts';
import { badRequest, HttpProblem } from '../http/problem.ts';

export type BodyCoding = 'identity' | 'gzip' | 'zstd';

export function codingOfBody(field: string | undefined): BodyCoding {
  const coding = field?.trim().toLowerCase() ?? 'identity';
  if (coding === 'identity' || coding === 'gzip' || coding === 'zstd') return coding;
  throw new HttpProblem({
    status: 415,
    code: 'MEDIA_TYPE_REFUSED',
    message: 'the Content-Encoding is unknown',
    advice: 'Use gzip or zstd, or send the body as it is.',
  });
}

/** The decoded bytes. Throws as soon as there are more than `bytesMax`, or when the bytes do not decode. */
export async function* decodedBody(source: Readable, coding: BodyCoding, bytesMax: number): AsyncGenerator<Uint8Array> {
  const decoder = decoderOf(coding);
  let bytes = 0;
  try {
    const pieces = decoder ? passed(source, decoder) : source.iterator({ destroyOnReturn: false });
    for await (const piece of pieces as AsyncIterable<Uint8Array>) {
      bytes += piece.length;
      if (bytes > bytesMax) throw tooLarge(bytesMax);
      yield piece;
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Errors of zlib: Z_DATA_ERROR, ZSTD_error_prefix_unknown...
    if (/^(Z_|ZSTD_|ERR_ZLIB)/.test(code ?? ''))
      throw badRequest('the body does not have its Content-Encoding', 'Send the body again.');
    throw error;
  } finally {
    decoder?.destroy();
  }
}

/** The whole decoded body. */
export async function wholeBody(source: Readable, coding: BodyCoding, bytesMax: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of decodedBody(source, coding, bytesMax)) pieces.push(piece);
  return Buffer.concat(pieces);
}

function decoderOf(coding: BodyCoding) {
  if (coding === 'gzip') return createGunzip();
  if (coding === 'zstd')
    return createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX } });
  return undefined;
}

/** The connection must outlive a refusal, or the client would not receive it. So the decoder never ends the source. */
function passed(source: Readable, decoder: NonNullable<ReturnType<typeof decoderOf>>): Readable {
  source.once('error', (error) => decoder.destroy(error));
  source.once('close', () => {
    if (!source.readableEnded) decoder.destroy(new Error('the client disconnected'));
  });
  return source.pipe(decoder);
}

function tooLarge(bytesMax: number): HttpProblem {
  return new HttpProblem({
    status: 413,
    code: 'BODY_TOO_LARGE',
    message: `the body has more than ${bytesMax} bytes when it is decoded`,
    advice: 'Send fewer items in one request, or the size that the content really has.',
    fields: { connection: 'close' },
  });
}
