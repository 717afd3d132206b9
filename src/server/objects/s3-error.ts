/** Errors of the S3 protocol: a code that clients know, its HTTP status, and a sentence for people. */

const STATUS_BY_CODE = {
  AccessDenied: 403,
  AuthorizationHeaderMalformed: 400,
  AuthorizationQueryParametersError: 400,
  BadDigest: 400,
  BadRequest: 400,
  BucketAlreadyOwnedByYou: 409,
  BucketNotEmpty: 409,
  EntityTooLarge: 400,
  EntityTooSmall: 400,
  ExistingObjectIsDirectory: 409,
  IncompleteBody: 400,
  InsufficientStorage: 507,
  InternalError: 500,
  InvalidAccessKeyId: 403,
  InvalidArgument: 400,
  InvalidDigest: 400,
  InvalidPart: 400,
  InvalidPartOrder: 400,
  InvalidRange: 416,
  InvalidRequest: 400,
  InvalidURI: 400,
  KeyTooLongError: 400,
  MalformedXML: 400,
  MetadataTooLarge: 400,
  MethodNotAllowed: 405,
  MissingContentLength: 411,
  NoSuchBucket: 404,
  NoSuchKey: 404,
  NoSuchUpload: 404,
  NoSuchVersion: 404,
  NotImplemented: 501,
  ObjectLockConfigurationNotFoundError: 404,
  ObjectParentIsFile: 409,
  PreconditionFailed: 412,
  RequestTimeTooSkewed: 403,
  RequestTimeout: 400,
  ServiceUnavailable: 503,
  SignatureDoesNotMatch: 403,
  XAmzContentSHA256Mismatch: 400,
} as const;

export type S3ErrorCode = keyof typeof STATUS_BY_CODE;

export class S3Error extends Error {
  override readonly name = 'S3Error';
  readonly code: S3ErrorCode;
  readonly status: number;
  /** More header fields of the reply. */
  readonly fields: Readonly<Record<string, string>>;

  constructor(code: S3ErrorCode, message: string, fields: Readonly<Record<string, string>> = {}) {
    super(message);
    this.code = code;
    this.status = STATUS_BY_CODE[code];
    this.fields = fields;
  }
}

/** The one answer for everything that a key may not see, whether it exists or not. */
export function accessDenied(): S3Error {
  return new S3Error('AccessDenied', 'Access Denied');
}

export function notImplemented(what: string): S3Error {
  return new S3Error('NotImplemented', `This server does not implement ${what}.`);
}

export function noSuchKey(): S3Error {
  return new S3Error('NoSuchKey', 'The specified key does not exist.');
}

export function preconditionFailed(): S3Error {
  return new S3Error('PreconditionFailed', 'At least one of the preconditions that you specified did not hold.');
}
