/**
 * Finds out how a bucket behaves, by trying it. Servers differ, and some accept conditions without keeping them.
 *
 * Conditions are tried by several PUTs at the same time under one name, in several rounds: exactly one may succeed, and
 * its bytes must be there afterwards. That is evidence and no proof, so the rules of an archive do not depend on it,
 * except that an owner object is refused where conditions are ignored. Scratch objects are under `_pinakes/probe/`.
 */
import type { VolumeCall } from '../part-volume.ts';
import { hasFailedWith, type S3Connection } from './s3-connection.ts';
import { s3Error } from './s3-error.ts';
import { listVersions, removeVersions } from './s3-versions.ts';

/** `refused`: the server does not take requests with conditions. `ignored`: it takes them and does not keep them. */
export type ConditionWorth = 'atomic' | 'refused' | 'ignored';

export type BucketTraits = {
  /** PUT only if the name is free. */
  readonly conditions: ConditionWorth;
  /** PUT only if the object is the version that the caller knows. */
  readonly replaces: ConditionWorth;
  /** Whether removed objects are kept as versions; undefined when the key may not know. */
  readonly keepsVersions: boolean | undefined;
  readonly hasObjectLock: boolean | undefined;
  /** How far the server's clock is ahead. */
  readonly clockSkewMs: number;
};

const ROUNDS = 3;
const RACERS = 8;

export async function probeBucket(connection: S3Connection, call: VolumeCall): Promise<BucketTraits> {
  const scratch: string[] = [];
  const nonce = Array.from({ length: 4 }, () =>
    Math.floor(connection.random() * 65_536)
      .toString(16)
      .padStart(4, '0'),
  );
  const named = (purpose: string, round: number) => {
    const name = `_pinakes/probe/${nonce.join('')}-${purpose}-${round}`;
    scratch.push(name);
    return name;
  };
  let hasVersions = false;
  const put = async (name: string, text: string, condition: object = {}): Promise<string | undefined> => {
    call.signal?.throwIfAborted();
    const { ETag, VersionId } = await connection.once('put', (client, abortSignal) =>
      client.send(
        new connection.sdk.PutObjectCommand({
          Bucket: connection.bucket,
          Key: connection.key(name),
          Body: Buffer.from(text),
          ...condition,
        }),
        { abortSignal },
      ),
    );
    hasVersions ||= VersionId !== undefined && VersionId !== 'null';
    return ETag;
  };

  const rounds = async (purpose: string, race: (name: string) => Promise<ConditionWorth>): Promise<ConditionWorth> => {
    for (let round = 1; round <= ROUNDS; round++) {
      const worth = await race(named(purpose, round));
      if (worth !== 'atomic') return worth;
    }
    return 'atomic';
  };

  try {
    await connection.check(call);
    const conditions = await rounds('create', (name) =>
      race(connection, name, (text) => put(name, text, { IfNoneMatch: '*' })),
    );
    const replaces = await rounds('replace', async (name) => {
      const tag = await put(name, 'the first version');
      if (tag === undefined) return 'refused';
      return await race(connection, name, (text) => put(name, text, { IfMatch: tag }));
    });
    const keeps = await keepsVersions(connection);
    return {
      conditions,
      replaces,
      keepsVersions: hasVersions || keeps,
      hasObjectLock: await hasObjectLock(connection),
      clockSkewMs: connection.clockSkewMs ?? 0,
    };
  } catch (error) {
    throw s3Error(error, connection.volume);
  } finally {
    await clear(connection, scratch, hasVersions);
  }
}

/** Exactly one of the racers may win, a late one must lose, and the object has the winner's bytes. */
async function race(
  connection: S3Connection,
  name: string,
  put: (text: string) => Promise<unknown>,
): Promise<ConditionWorth> {
  const texts = Array.from({ length: RACERS }, (_, index) => `racer ${index} of ${name}`);
  const outcomes = await Promise.allSettled(texts.map((text) => put(text)));
  const won = texts.filter((_, index) => outcomes[index]!.status === 'fulfilled');
  if (won.length > 1) return 'ignored';
  const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []));
  if (won.length === 0 && failures.some((error) => hasFailedWith(error, 400, 405, 501))) return 'refused';
  if (await isTaken(() => put(`a late racer of ${name}`))) return 'ignored';
  // Other failures say nothing about conditions.
  for (const error of failures) if (!isLoss(error)) throw s3Error(error, connection.volume, name);
  if (won.length === 0) return 'refused';
  const command = new connection.sdk.GetObjectCommand({ Bucket: connection.bucket, Key: connection.key(name) });
  const text = await connection.once('get', async (client, abortSignal) =>
    (await client.send(command, { abortSignal })).Body?.transformToString(),
  );
  return text === won[0] ? 'atomic' : 'ignored';
}

async function isTaken(put: () => Promise<unknown>): Promise<boolean> {
  try {
    await put();
    return true;
  } catch (error) {
    if (isLoss(error)) return false;
    throw error;
  }
}

function isLoss(error: unknown): boolean {
  return hasFailedWith(error, 409, 412, 503);
}

async function keepsVersions(connection: S3Connection): Promise<boolean | undefined> {
  const command = new connection.sdk.GetBucketVersioningCommand({ Bucket: connection.bucket });
  return await known(async () => {
    const { Status } = await connection.once('get', (client, abortSignal) => client.send(command, { abortSignal }));
    return Status === 'Enabled';
  });
}

async function hasObjectLock(connection: S3Connection): Promise<boolean | undefined> {
  const command = new connection.sdk.GetObjectLockConfigurationCommand({ Bucket: connection.bucket });
  return await known(async () => {
    try {
      const answer = await connection.once('get', (client, abortSignal) => client.send(command, { abortSignal }));
      return answer.ObjectLockConfiguration?.ObjectLockEnabled === 'Enabled';
    } catch (error) {
      if (hasFailedWith(error, 'ObjectLockConfigurationNotFoundError')) return false;
      throw error;
    }
  });
}

/** Undefined when the key may not ask or the server does not know the question. */
async function known(ask: () => Promise<boolean>): Promise<boolean | undefined> {
  try {
    return await ask();
  } catch {
    return undefined;
  }
}

/** Removes the scratch objects. What cannot be removed stays; it has no bytes of an archive. */
async function clear(connection: S3Connection, names: readonly string[], hasVersions: boolean): Promise<void> {
  try {
    for (const name of names) {
      const command = new connection.sdk.DeleteObjectCommand({ Bucket: connection.bucket, Key: connection.key(name) });
      await connection.once('delete', (client, abortSignal) => client.send(command, { abortSignal }));
    }
    if (!hasVersions) return;
    const kept = (await Array.fromAsync(listVersions(connection, '_pinakes/probe/', {}))).flat();
    await removeVersions(
      connection,
      kept.filter(({ name }) => names.includes(name)),
      {},
    );
  } catch {
    // The outcome of the probe counts.
  }
}
