/**
 * Checks signatures of requests: AWS Signature Version 4, in the Authorization field or in the query of a presigned
 * URL. The signature covers the method, the path, the query, the signed fields and what the client says about its body.
 *
 * Every `x-amz-` field has to be signed, so that nobody between the client and the server can add one. Signatures are
 * compared in constant time.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Clock, EpochMs } from '../../base/index.ts';
import type { AccessKey } from '../objects/access-keys.ts';
import { accessDenied, S3Error } from '../objects/s3-error.ts';
import { percentDecoded, percentEncoded, queryPairs, type RequestTarget } from './request-target.ts';

const ALGORITHM = 'AWS4-HMAC-SHA256';
export const SKEW_MAX_MS = 15 * 60_000;
const TIME = /^\d{8}T\d{6}Z$/;
const PRESIGNED_SECONDS_MAX = 7 * 24 * 3600;
const SIGNING_KEYS_MAX = 256;
export const UNSIGNED_PAYLOAD = 'UNSIGNED-PAYLOAD';

/** Finds the key with this id; undefined when there is none. */
export type KeyLookup = (accessKeyId: string) => Promise<AccessKey | undefined>;

/** A request whose signature is right. */
export type SignedRequest = {
  readonly accessKey: AccessKey;
  /** What the client says about its body: a digest, or how it is signed. */
  readonly payload: string;
  /** Continues the chain of signatures, for bodies whose chunks are signed. */
  readonly chain: SignatureChain;
};

export type SignatureChain = {
  readonly time: string;
  readonly scope: string;
  readonly signingKey: Uint8Array;
  readonly signature: string;
};

type Claim = {
  readonly accessKeyId: string;
  readonly date: string;
  readonly region: string;
  readonly scope: string;
  readonly signedNames: readonly string[];
  readonly signature: string;
  readonly time: string;
  readonly payload: string;
  /** Seconds after which a presigned URL ends; undefined for other requests. */
  readonly expires: number | undefined;
};

export class SignatureCheck {
  readonly #lookup: KeyLookup;
  readonly #clock: Clock;
  /** Derived keys, by secret and scope. */
  readonly #signingKeys = new Map<string, Uint8Array>();

  constructor(lookup: KeyLookup, clock: Clock) {
    this.#lookup = lookup;
    this.#clock = clock;
  }

  /** Throws unless the request has a right signature of a key. */
  async check(request: IncomingMessage, target: RequestTarget): Promise<SignedRequest> {
    const fields = signableFields(request);
    const claim = claimOf(target, fields);
    const accessKey = await this.#lookup(claim.accessKeyId);
    if (!accessKey) throw new S3Error('InvalidAccessKeyId', 'The access key id is not known here.');
    const now = this.#clock();
    checkTime(claim, now);
    const signingKey = this.#signingKey(accessKey.secret, claim);
    const canonical = canonicalRequest(request.method ?? '', target, fields, claim);
    const expected = hmacHex(signingKey, [ALGORITHM, claim.time, claim.scope, sha256Hex(canonical)].join('\n'));
    if (!sameText(expected, claim.signature))
      throw new S3Error(
        'SignatureDoesNotMatch',
        'The signature does not match the request. Check the secret access key and how the request is signed.',
      );
    checkSignedNames(claim, fields);
    const { time, scope, signature, payload } = claim;
    return { accessKey, payload, chain: { time, scope, signingKey, signature } };
  }

  #signingKey(secret: string, { date, region }: Claim): Uint8Array {
    const id = `${secret} ${date} ${region}`;
    const known = this.#signingKeys.get(id);
    if (known) return known;
    const steps = [date, region, 's3', 'aws4_request'];
    const made = steps.reduce<Uint8Array>((key, step) => hmac(key, step), Buffer.from(`AWS4${secret}`));
    if (this.#signingKeys.size >= SIGNING_KEYS_MAX) this.#signingKeys.clear();
    this.#signingKeys.set(id, made);
    return made;
  }
}

export function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

export function sha256Hex(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

export function hmacHex(key: Uint8Array, text: string): string {
  return createHmac('sha256', key).update(text, 'latin1').digest('hex');
}

function hmac(key: Uint8Array, text: string): Uint8Array {
  return createHmac('sha256', key).update(text, 'latin1').digest();
}

/** The fields by name. Values of one name are joined, and runs of spaces are one space. */
function signableFields({ rawHeaders }: IncomingMessage): Map<string, string> {
  const fields = new Map<string, string>();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!.toLowerCase();
    const value = rawHeaders[at + 1]!.trim().replace(/ {2,}/g, ' ');
    const before = fields.get(name);
    fields.set(name, before === undefined ? value : `${before},${value}`);
  }
  return fields;
}

function claimOf({ query }: RequestTarget, fields: ReadonlyMap<string, string>): Claim {
  if (query.has('X-Amz-Algorithm') || query.has('X-Amz-Signature')) return presignedClaim(query, fields);
  const authorization = fields.get('authorization');
  if (authorization === undefined) throw accessDenied();
  const [, parts] = /^AWS4-HMAC-SHA256\s+(.+)$/.exec(authorization) ?? [];
  if (parts === undefined) {
    const code = authorization.startsWith('AWS ') ? 'InvalidRequest' : 'InvalidArgument';
    throw new S3Error(code, `The signature must be of the kind ${ALGORITHM}.`);
  }
  const named = new Map(parts.split(',').map((part) => part.trim().split(/=(.*)/, 2) as [string, string]));
  const payload = fields.get('x-amz-content-sha256');
  if (payload === undefined)
    throw new S3Error('InvalidRequest', 'Missing required header for this request: x-amz-content-sha256');
  if (!/^(?:[0-9a-f]{64}|UNSIGNED-PAYLOAD|STREAMING-[A-Z0-9-]{1,60})$/.test(payload))
    throw new S3Error(
      'InvalidArgument',
      `x-amz-content-sha256 must be a SHA-256, ${UNSIGNED_PAYLOAD} or a STREAMING- kind.`,
    );
  const time = fields.get('x-amz-date') ?? timeOfDate(fields.get('date')) ?? '';
  if (!TIME.test(time)) throw new S3Error('AccessDenied', 'The request needs a valid Date or x-amz-date field.');
  return claimFrom('AuthorizationHeaderMalformed', {
    credential: named.get('Credential'),
    signedNames: named.get('SignedHeaders'),
    signature: named.get('Signature'),
    time,
    payload,
    expires: undefined,
  });
}

function presignedClaim(query: ReadonlyMap<string, string>, fields: ReadonlyMap<string, string>): Claim {
  const code = 'AuthorizationQueryParametersError';
  if (query.get('X-Amz-Algorithm') !== ALGORITHM) throw new S3Error(code, `X-Amz-Algorithm must be ${ALGORITHM}.`);
  const expires = query.get('X-Amz-Expires') ?? '';
  if (!/^\d{1,6}$/.test(expires) || Number(expires) < 1 || Number(expires) > PRESIGNED_SECONDS_MAX)
    throw new S3Error(code, `X-Amz-Expires must be a number of seconds up to ${PRESIGNED_SECONDS_MAX}.`);
  return claimFrom(code, {
    credential: query.get('X-Amz-Credential'),
    signedNames: query.get('X-Amz-SignedHeaders'),
    signature: query.get('X-Amz-Signature'),
    time: query.get('X-Amz-Date'),
    payload: query.get('X-Amz-Content-Sha256') ?? fields.get('x-amz-content-sha256') ?? UNSIGNED_PAYLOAD,
    expires: Number(expires),
  });
}

type ClaimParts = {
  readonly credential: string | undefined;
  readonly signedNames: string | undefined;
  readonly signature: string | undefined;
  readonly time: string | undefined;
  readonly payload: string;
  readonly expires: number | undefined;
};

function claimFrom(
  code: 'AuthorizationHeaderMalformed' | 'AuthorizationQueryParametersError',
  { credential = '', signedNames = '', signature = '', time = '', payload, expires }: ClaimParts,
): Claim {
  const [accessKeyId = '', date = '', region = '', service = '', end = '', ...more] = credential.split('/');
  const isScope = /^\d{8}$/.test(date) && service === 's3' && end === 'aws4_request' && more.length === 0;
  if (!isScope) throw new S3Error(code, 'The credential must be KEY/DATE/REGION/s3/aws4_request.');
  if (!TIME.test(time)) throw new S3Error(code, 'The time of the request must be like 20240301T100000Z.');
  if (!time.startsWith(date)) throw new S3Error(code, 'The date of the credential is not the date of the request.');
  if (!/^[0-9a-f]{64}$/.test(signature)) throw new S3Error(code, 'The signature must be 64 hexadecimal digits.');
  const names = signedNames.split(';');
  if (!names.includes('host')) throw new S3Error(code, 'The field host must be signed.');
  const scope = `${date}/${region}/s3/aws4_request`;
  return { accessKeyId, date, region, scope, signedNames: names, signature, time, payload, expires };
}

function checkTime({ time, expires }: Claim, now: EpochMs): void {
  const signed = Date.parse(time.replace(/^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\dZ)$/, '$1-$2-$3:$4:$5'));
  const isLate = now - signed > (expires === undefined ? SKEW_MAX_MS : expires * 1000);
  if (expires !== undefined && isLate) throw new S3Error('AccessDenied', 'Request has expired');
  if (Number.isNaN(signed) || isLate || signed - now > SKEW_MAX_MS)
    throw new S3Error(
      'RequestTimeTooSkewed',
      `The clocks of the client and of the server are too far apart. It is ${new Date(now).toISOString()} here.`,
    );
}

/** The Date field in the form of x-amz-date. */
function timeOfDate(date: string | undefined): string | undefined {
  const time = Date.parse(date ?? '');
  return Number.isNaN(time) ? undefined : new Date(time).toISOString().replace(/\.\d+|[-:]/g, '');
}

function checkSignedNames({ signedNames }: Claim, fields: ReadonlyMap<string, string>): void {
  const unsigned = [...fields.keys()].filter((name) => name.startsWith('x-amz-') && !signedNames.includes(name));
  if (unsigned.length > 0)
    throw new S3Error('AccessDenied', `There were headers present in the request which were not signed: ${unsigned}`);
}

/** Fields are text of one byte a character, as they were sent. */
function canonicalRequest(
  method: string,
  { rawPath, rawQuery }: RequestTarget,
  fields: ReadonlyMap<string, string>,
  { signedNames, payload }: Claim,
): Buffer {
  const pairs = queryPairs(rawQuery)
    .map(([name, value]) => [percentEncoded(percentDecoded(name)), percentEncoded(percentDecoded(value))] as const)
    .filter(([name]) => name !== 'X-Amz-Signature')
    .sort(([a, x], [b, y]) => (a < b ? -1 : a > b ? 1 : x < y ? -1 : 1));
  const lines = [
    method,
    percentEncoded(percentDecoded(rawPath), '/'),
    pairs.map((pair) => pair.join('=')).join('&'),
    ...signedNames.map((name) => `${name}:${fields.get(name) ?? ''}`),
    '',
    signedNames.join(';'),
    payload,
  ];
  return Buffer.from(lines.join('\n'), 'latin1');
}
