/** The object that a request copies from: `x-amz-copy-source`, with its own conditions. */
import type { IncomingHttpHeaders } from 'node:http';
import type { ObjectName, ObjectStore, OpenObject } from '../objects/object-store.ts';
import { preconditionFailed, S3Error } from '../objects/s3-error.ts';
import { readCondition } from './object-conditions.ts';
import { decodeText } from './request-target.ts';

export function copySource(headers: IncomingHttpHeaders): ObjectName {
  const text = String(headers['x-amz-copy-source'] ?? '');
  const [path = '', version = 'versionId=null'] = text.split('?', 2);
  if (version !== 'versionId=null') throw new S3Error('NoSuchVersion', 'Objects have no versions here.');
  const decoded = decodeText(path).replace(/^\//, '');
  const slash = decoded.indexOf('/');
  if (slash < 0) throw new S3Error('InvalidArgument', 'The source of a copy must be BUCKET/KEY, percent-encoded.');
  return { bucket: decoded.slice(0, slash), key: decoded.slice(slash + 1) };
}

/** Opens the source when its conditions hold. The caller closes the handle. */
export async function openSource(
  store: ObjectStore,
  source: ObjectName,
  headers: IncomingHttpHeaders,
): Promise<OpenObject> {
  const opened = await store.open(source);
  try {
    if (readCondition(headers, opened.info, 'x-amz-copy-source-') === 'unchanged') throw preconditionFailed();
    return opened;
  } catch (cause) {
    await opened.handle.close();
    throw cause;
  }
}
