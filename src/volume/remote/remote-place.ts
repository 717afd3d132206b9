/**
 * Addresses of files on other servers: `https://host/file.warc.gz`, or `s3://bucket/key` with the endpoint and the
 * region of its server beside it. An address never has credentials or signatures in it, since it is written into the
 * manifest. The text of a refused address is not repeated when it may have a secret.
 */
import { badArgument } from '../../base/index.ts';
import { parseEndpoint, parseS3Url } from '../s3/s3-url.ts';

export type RemotePlace = {
  readonly url: string;
  /** Of a file in a bucket: the server, unless it is that of AWS. */
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
};

export type RemoteOptions = Pick<RemotePlace, 'endpoint' | 'region'> & {
  /** Allows plain HTTP also for other machines. */
  readonly insecure?: boolean | undefined;
};

export type S3Key = { readonly bucket: string; readonly key: string };

/** Names of parameters whose values give access. */
const SECRET =
  /^(?:x-amz-.*|x-goog-.*|x-oss-.*|awsaccesskeyid|ossaccesskeyid|googleaccessid|signature|sig|policy|key-pair-id|.*token|.*secret|.*password|api-?key|auth(?:orization)?)$/i;
const KEY_BYTES_MAX = 1_024;

export function isRemoteUrl(text: string): boolean {
  return /^(?:https?|s3):\/\//i.test(text);
}

/** The place of a file, with its address in its usual form. */
export function parseRemotePlace(text: string, options: RemoteOptions = {}): RemotePlace {
  if (/^s3:/i.test(text)) {
    const { bucket, key } = parseS3Key(text);
    const { endpoint, region } = options;
    return {
      url: `s3://${bucket}/${key}`,
      ...(endpoint !== undefined && { endpoint: parseEndpoint(endpoint) }),
      ...(region !== undefined && { region }),
    };
  }
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) throw badArgument(text, 'this is not an address of a file');
  assertNoSecret(url);
  url.hash = '';
  if (url.protocol === 'http:' && !options.insecure && !isLoopback(url))
    throw badArgument(url.href, 'files of other machines need https://; or add --insecure in a network that you trust');
  return { url: url.href };
}

export function parseS3Key(url: string): S3Key {
  const rest = url.slice('s3://'.length);
  const slash = rest.indexOf('/');
  const { bucket } = parseS3Url(`s3://${slash < 0 ? rest : rest.slice(0, slash)}`);
  const key = slash < 0 ? '' : rest.slice(slash + 1);
  if (/[\u0000-\u001f\u007f]/.test(key) || Buffer.byteLength(key) > KEY_BYTES_MAX)
    throw badArgument(url, `a key has no control characters and at most ${KEY_BYTES_MAX} bytes`);
  return { bucket, key };
}

export function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

function assertNoSecret(url: URL): void {
  const advice = 'it would be written into the archive; use an address that works without it';
  if (url.username || url.password)
    throw badArgument(url.origin, `the address has a name or a password in it: ${advice}`);
  const secret = [...url.searchParams.keys()].find((name) => SECRET.test(name));
  if (secret !== undefined)
    throw badArgument(url.origin + url.pathname, `the address has a key or a signature in it (${secret}): ${advice}`);
}
