/**
 * Turns failures of the AWS SDK and of connections into errors of a volume, and says which of them may pass.
 *
 * - `transient`: the same request may succeed soon. It is sent again.
 * - `unreachable`: nothing answers at the address. It is tried again for a shorter time.
 * - `final`: the server or a person decided it. A retry gives the same answer.
 *
 * An error shows the code that the server gave and the beginning of its message. Neither has a secret: a server knows
 * only signatures. Messages of the credential chain are left out, since they may quote files.
 */
import { type ErrorCode, PinakesError } from '../../base/index.ts';
import { whereIn } from '../volume-error.ts';

export type S3Failure = {
  readonly kind: 'transient' | 'unreachable' | 'final';
  readonly code: ErrorCode;
  /** The name of the failure as the server, the SDK or the system calls it. */
  readonly name: string;
  /** The status of the HTTP answer; undefined when there was none. */
  readonly status: number | undefined;
  readonly detail: string;
};

const MESSAGE_LENGTH_MAX = 200;

const UNREACHABLE = new Set([
  'EADDRNOTAVAIL',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOTFOUND',
]);

/** Codes of servers that say what a person must fix. */
const FINAL: Readonly<Record<string, ErrorCode>> = {
  AccessDenied: 'VOLUME_DENIED',
  AccountProblem: 'VOLUME_DENIED',
  AllAccessDisabled: 'VOLUME_DENIED',
  AuthorizationHeaderMalformed: 'VOLUME_REFUSED',
  CredentialsProviderError: 'VOLUME_CREDENTIALS',
  EntityTooLarge: 'VOLUME_REFUSED',
  ExpiredToken: 'VOLUME_CREDENTIALS',
  Forbidden: 'VOLUME_DENIED',
  InvalidAccessKeyId: 'VOLUME_CREDENTIALS',
  InvalidObjectState: 'VOLUME_REFUSED',
  InvalidToken: 'VOLUME_CREDENTIALS',
  NoSuchBucket: 'BUCKET_MISSING',
  NoSuchKey: 'OBJECT_MISSING',
  // Another sealer completed the upload, or a rule of the bucket removed it.
  NoSuchUpload: 'VOLUME_IO',
  NotSignedUp: 'VOLUME_CREDENTIALS',
  PermanentRedirect: 'VOLUME_REFUSED',
  QuotaExceeded: 'DISK_FULL',
  SignatureDoesNotMatch: 'VOLUME_CREDENTIALS',
  TokenProviderError: 'VOLUME_CREDENTIALS',
  XAdminUserNotFound: 'VOLUME_CREDENTIALS',
  XMinioStorageFull: 'DISK_FULL',
};

/** Codes of servers that may pass although their status is below 500. */
const TRANSIENT = new Set([
  'BadDigest',
  'ConditionalRequestConflict',
  'IncompleteBody',
  'InvalidDigest',
  'OperationAborted',
  // The SDK corrects its clock by the server's, and the next try succeeds.
  'RequestTimeTooSkewed',
  'RequestTimeout',
  'RequestTimeoutException',
  'SlowDown',
  'Throttling',
  'ThrottlingException',
  'TooManyRequests',
  'XAmzContentSHA256Mismatch',
]);

/** Answers above 499 that do not pass by themselves. */
const FINAL_STATUS: Readonly<Record<number, ErrorCode>> = {
  401: 'VOLUME_CREDENTIALS',
  403: 'VOLUME_DENIED',
  404: 'OBJECT_MISSING',
  501: 'VOLUME_REFUSED',
  505: 'VOLUME_REFUSED',
  507: 'DISK_FULL',
};

/** What the SDK's errors and those of the system have. */
type Thrown = {
  readonly name?: unknown;
  readonly Code?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly cause?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly $response?: { readonly statusCode?: number };
};

export function failureOf(thrown: unknown): S3Failure {
  const error = systemCause((thrown ?? {}) as Thrown);
  const status = error.$metadata?.httpStatusCode ?? error.$response?.statusCode;
  const system = typeof error.code === 'string' ? error.code : undefined;
  const name = String(system ?? error.name ?? 'Error');
  const message = plainText(String(error.message ?? ''));
  const made = (kind: S3Failure['kind'], code: ErrorCode, detail = message): S3Failure => ({
    kind,
    code,
    name,
    status,
    detail: detail === name ? name : [name, detail].filter(Boolean).join(': '),
  });
  if (Object.hasOwn(FINAL, name))
    return made('final', FINAL[name]!, FINAL[name] === 'VOLUME_CREDENTIALS' ? '' : message);
  if (UNREACHABLE.has(name)) return made('unreachable', 'VOLUME_MISSING');
  if (name === 'TimeoutError' && /establish a connection/.test(message))
    return made('final', 'VOLUME_MISSING', 'no connection');
  if (TRANSIENT.has(name)) return made('transient', 'VOLUME_IO');
  if (/CERT|SELF_SIGNED|UNABLE_TO_|ERR_TLS|ERR_SSL|^EPROTO/.test(name)) return made('final', 'VOLUME_REFUSED');
  if (name === 'Error' && /Region is missing/.test(message))
    return made('final', 'VOLUME_REFUSED', 'no region is given: name it with --region, or set AWS_REGION');
  if (status === undefined || status < 300) return made('transient', 'VOLUME_IO');
  if (status === 429 || status === 408) return made('transient', 'VOLUME_IO');
  if (Object.hasOwn(FINAL_STATUS, status)) return made('final', FINAL_STATUS[status]!, `status ${status} ${message}`);
  if (status >= 500) return made('transient', 'VOLUME_IO', `status ${status} ${message}`);
  return made('final', 'VOLUME_REFUSED', `status ${status} ${message}`);
}

/** The error of a call on a volume. Errors that have a code already pass unchanged. */
export function s3Error(thrown: unknown, volume: string, object?: string): PinakesError {
  if (thrown instanceof PinakesError) return thrown;
  const { code, detail } = failureOf(thrown);
  return new PinakesError(code, { where: whereIn(volume, object), detail, cause: thrown });
}

/** A connection to a name with several addresses fails with an AggregateError. */
function systemCause(error: Thrown): Thrown {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors[0] as Thrown;
  return error;
}

function plainText(text: string): string {
  const line = text.replace(/[\p{Cc}\s]+/gu, ' ').trim();
  return line.length > MESSAGE_LENGTH_MAX ? `${line.slice(0, MESSAGE_LENGTH_MAX)}...` : line;
}
