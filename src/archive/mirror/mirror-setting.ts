/**
 * A mirror in the connector: a second copy of the whole archive in another place.
 *
 * ```
 *   mirrors:
 *     - name: attic
 *       target: /mnt/attic/web        a directory, or s3://bucket/prefix, with an endpoint and a region
 *       id: "<urn:uuid:...>"          the same as in the object `mirror` of the target
 *       delayMs: 2592000000           how long states from before a deletion stay restorable
 *       withLinked: true              also copies files that were added in place
 *       everyMs: 21600000             a server syncs it this often
 *       afterJobs: true               a server syncs it after each job
 * ```
 */
import type { PinakesError } from '../../base/index.ts';

export type MirrorSetting = {
  readonly name: string;
  readonly target: string;
  readonly id: string;
  /** The server and region of a bucket. */
  readonly endpoint?: string;
  readonly region?: string;
  readonly delayMs: number;
  readonly withLinked: boolean;
  readonly everyMs?: number;
  readonly afterJobs?: boolean;
};

export function parseMirrors(value: unknown, bad: (detail: string) => PinakesError): MirrorSetting[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw bad('mirrors are not a list');
  const names = new Set<unknown>();
  return value.map((one: unknown, index): MirrorSetting => {
    const {
      name,
      target,
      id,
      delayMs = 0,
      withLinked = false,
      everyMs,
      afterJobs = false,
      endpoint,
      region,
    } = Object(one);
    if (typeof name !== 'string' || !/^[a-z0-9][a-z0-9-]*$/.test(name) || names.has(name))
      throw bad(`mirror ${index + 1} does not have a valid name of its own`);
    names.add(name);
    if (typeof target !== 'string' || target === '' || typeof id !== 'string')
      throw bad(`mirror ${name} does not have a valid target and id`);
    if (!isSpan(delayMs) || (everyMs !== undefined && !isSpan(everyMs)))
      throw bad(`mirror ${name} has a time that is not a number of milliseconds`);
    if (typeof withLinked !== 'boolean' || typeof afterJobs !== 'boolean')
      throw bad(`mirror ${name} has a setting that is neither true nor false`);
    if (![endpoint, region].every((text) => text === undefined || typeof text === 'string'))
      throw bad(`mirror ${name} has an endpoint or region that is not a text`);
    const server = { ...(endpoint !== undefined && { endpoint }), ...(region !== undefined && { region }) };
    return { name, target, id, ...server, delayMs, withLinked, ...(everyMs !== undefined && { everyMs }), afterJobs };
  });
}

function isSpan(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
