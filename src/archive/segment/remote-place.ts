/** Where files on other servers are, and whether the archive's own volumes are there. */
import {
  isS3Url,
  parseEndpoint,
  parseRemotePlace,
  parseS3Key,
  parseS3Url,
  type RemoteOptions,
  type RemotePlace,
} from '../../volume/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';

/**
 * The place of an address. A bucket that is a volume of the archive too has the endpoint and the region of the volume,
 * unless others are given.
 */
export function placeOf(
  { connector }: Pick<OpenedArchive, 'connector'>,
  url: string,
  options: RemoteOptions,
): RemotePlace {
  if (!isS3Url(url) || options.endpoint !== undefined || options.region !== undefined)
    return parseRemotePlace(url, options);
  const { bucket } = parseS3Key(url);
  const known = connector.volumes.find(({ kind, path }) => kind === 's3' && parseS3Url(path).bucket === bucket);
  return parseRemotePlace(url, { ...options, endpoint: known?.endpoint, region: known?.region });
}

/** Whether an object belongs to a volume of the archive. */
export function isOwnObject({ connector }: Pick<OpenedArchive, 'connector'>, { url, endpoint }: RemotePlace): boolean {
  if (!isS3Url(url)) return false;
  const { bucket, key } = parseS3Key(url);
  return connector.volumes.some((volume) => {
    if (volume.kind !== 's3') return false;
    const own = parseS3Url(volume.path);
    const server = volume.endpoint === undefined ? undefined : parseEndpoint(volume.endpoint);
    return own.bucket === bucket && server === endpoint && (own.prefix === '' || key.startsWith(`${own.prefix}/`));
  });
}
