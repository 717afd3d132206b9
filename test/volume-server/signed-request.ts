/** Sends requests with a signature of version 4, also wrong ones: what a friendly client would not send. */
import { createHash, createHmac } from 'node:crypto';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { VolumeKeyFile } from './volume-server-process.ts';

export type SignedOptions = {
  readonly method?: string;
  /** Path and query, encoded. */
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Fields that are sent and not signed. */
  readonly unsigned?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string | undefined;
  /** The value of x-amz-content-sha256; the digest of the body if not given. */
  readonly payload?: string;
  readonly time?: Date;
  readonly ca?: string;
  /** The name in the certificate. */
  readonly servername?: string;
};

export type Answer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly text: string };

export type Signed = {
  readonly headers: Record<string, string>;
  readonly signature: string;
  readonly signingKey: Buffer;
  readonly time: string;
  readonly scope: string;
};

export function sha256(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

export function hmac(key: Uint8Array | string, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

/** The fields of a signed request. */
export function signed(endpoint: string, key: VolumeKeyFile, options: SignedOptions): Signed {
  const { method = 'GET', target, headers = {}, body = '', time: at = new Date() } = options;
  const time = at.toISOString().replace(/\.\d+|[-:]/g, '');
  const all: Record<string, string> = {
    host: new URL(endpoint).host,
    'x-amz-date': time,
    'x-amz-content-sha256': options.payload ?? sha256(body),
    ...headers,
  };
  const names = Object.keys(all).sort();
  const [path, query = ''] = target.split('?', 2) as [string, string?];
  const pairs = query === '' ? [] : query.split('&').map((pair) => (pair.includes('=') ? pair : `${pair}=`));
  const canonical = [
    method,
    path,
    pairs.sort().join('&'),
    ...names.map((name) => `${name}:${all[name]}`),
    '',
    names.join(';'),
    all['x-amz-content-sha256'],
  ].join('\n');
  const scope = `${time.slice(0, 8)}/us-east-1/s3/aws4_request`;
  const steps = [time.slice(0, 8), 'us-east-1', 's3', 'aws4_request'];
  const signingKey = steps.reduce<Buffer>(hmac, Buffer.from(`AWS4${key.secretAccessKey}`));
  const signature = hmac(signingKey, ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n')).toString('hex');
  const authorization = `AWS4-HMAC-SHA256 Credential=${key.accessKeyId}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`;
  return { headers: { ...all, authorization, ...options.unsigned }, signature, signingKey, time, scope };
}

export async function sendSigned(endpoint: string, key: VolumeKeyFile, options: SignedOptions): Promise<Answer> {
  const { headers } = signed(endpoint, key, options);
  return send(endpoint, options, headers);
}

/** Sends a request as it is. */
export function send(
  endpoint: string,
  { method = 'GET', target, body, ca, servername }: Omit<SignedOptions, 'headers'>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const { protocol, hostname, port } = new URL(endpoint);
  const settings = { method, hostname, port, path: target, headers, agent: false };
  return new Promise((resolve, reject) => {
    const request = protocol === 'https:' ? httpsRequest({ ...settings, ca, servername }) : httpRequest(settings);
    request.once('error', reject);
    request.once('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (piece) => (text += piece));
      response.once('error', reject);
      response.once('end', () => resolve({ status: response.statusCode!, headers: response.headers, text }));
    });
    request.end(body);
  });
}

/** The code of an error document. */
export function codeOf({ text }: Answer): string {
  return /<Code>(\w+)<\/Code>/.exec(text)?.[1] ?? '';
}

/** A body in signed chunks. `bend` may change a piece of it before it is sent. */
export function signedChunks(
  { signature, signingKey, time, scope }: Signed,
  pieces: readonly (readonly [name: 'chunk' | 'trailer', bytes: string])[],
  bend: (part: string, at: number) => string = (part) => part,
): string {
  let before = signature;
  let body = '';
  for (const [at, [name, bytes]] of pieces.entries()) {
    const isTrailer = name === 'trailer';
    const kind = isTrailer ? 'AWS4-HMAC-SHA256-TRAILER' : 'AWS4-HMAC-SHA256-PAYLOAD';
    const digests = isTrailer ? [sha256(bytes)] : [sha256(''), sha256(bytes)];
    before = hmac(signingKey, [kind, time, scope, before, ...digests].join('\n')).toString('hex');
    const isLast = !isTrailer && bytes === '';
    const end = isLast ? (pieces[at + 1]?.[0] === 'trailer' ? '' : '\r\n') : '\r\n';
    body += isTrailer
      ? `${bytes.replace('\n', '\r\n')}x-amz-trailer-signature:${before}\r\n\r\n`
      : `${Buffer.byteLength(bytes).toString(16)};chunk-signature=${before}\r\n${bend(bytes, at)}${end}`;
  }
  return body;
}
