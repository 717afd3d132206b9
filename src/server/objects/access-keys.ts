/**
 * The keys of a volume server. A key may read, or read and write, what is below one prefix: a folder in a bucket, a
 * bucket, or all buckets.
 *
 * Signatures need the secret itself on the server, so a hash of it would not do. Each key is one file in a folder that
 * only the user of the server may open:
 *
 *     <directory>/.pinakes-s3/keys/<access key id>.json     mode 0600
 *
 * Files are created and removed, and never changed. So a running server sees at once when a key is added or removed.
 */
import { chmod, link, mkdir, readdir, readFile, realpath, stat, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  assert,
  badArgument,
  fileError,
  LruCache,
  makeDirectories,
  PinakesError,
  syncDirectory,
} from '../../base/index.ts';
import { bucketProblem, keyProblem } from './object-key.ts';

export const RESERVED_FOLDER = '.pinakes-s3';
const ACCESS_KEY_ID = /^[A-Z0-9]{16,32}$/;
const KEYS_KEPT = 1000;
const KEY_NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;

export type KeyRights = 'read' | 'write';

export type VolumeKey = {
  readonly name: string;
  readonly accessKeyId: string;
  /** Empty for a key to all buckets, which may also make and remove buckets. */
  readonly bucket: string;
  /** Empty, or a folder that ends with a slash. Keys of objects begin with it. */
  readonly prefix: string;
  readonly rights: KeyRights;
};

/** A key with its secret. */
export type AccessKey = VolumeKey & { readonly secret: string };

/** A key to add. Its id and its secret are random. */
export type NewVolumeKey = Pick<AccessKey, 'name' | 'rights' | 'accessKeyId' | 'secret'> & {
  /** `BUCKET`, `BUCKET/FOLDER`, or `/` for all buckets. */
  readonly prefix: string;
};

/** Adds a key, and the folder of its bucket. */
export async function addVolumeKey(directory: string, { prefix, ...given }: NewVolumeKey): Promise<AccessKey> {
  const { name } = given;
  if (!KEY_NAME.test(name)) throw badArgument(name, 'the name of a key has lower-case letters, digits and dashes');
  const place = placeOf(prefix);
  const root = await existingRoot(directory);
  const known = await keysIn(root);
  if (known.some((key) => key.name === name))
    throw badArgument(name, 'there is a key of this name already; remove it first, or choose another name');
  const key: AccessKey = { ...given, ...place };
  assert(ACCESS_KEY_ID.test(key.accessKeyId), 'an access key id has upper-case letters and digits');
  const folder = join(root, RESERVED_FOLDER, 'keys');
  try {
    if (key.bucket !== '') await mkdir(join(root, key.bucket)).catch(unlessExists);
    await makeDirectories(folder);
    await chmod(join(root, RESERVED_FOLDER), 0o700);
    const draft = join(folder, `.${key.accessKeyId}.new`);
    await writeFile(draft, `${JSON.stringify(key)}\n`, { mode: 0o600, flag: 'wx', flush: true });
    await link(draft, fileOf(root, key.accessKeyId));
    await unlink(draft);
    for (const synced of [folder, join(root, RESERVED_FOLDER), root]) await syncDirectory(synced);
  } catch (cause) {
    throw fileError(cause, root, 'writing');
  }
  return key;
}

/** The keys in the order of their names, without their secrets. */
export async function listVolumeKeys(directory: string): Promise<VolumeKey[]> {
  const keys = await keysIn(await existingRoot(directory));
  return keys.map(({ secret: _, ...rest }) => rest).sort((a, b) => (a.name < b.name ? -1 : 1));
}

export async function removeVolumeKey(directory: string, name: string): Promise<void> {
  const root = await existingRoot(directory);
  const found = (await keysIn(root)).filter((key) => key.name === name);
  if (found.length === 0) throw badArgument(name, 'there is no key of this name; `pinakes volume key ls` lists them');
  for (const { accessKeyId } of found) await unlink(fileOf(root, accessKeyId));
  await syncDirectory(join(root, RESERVED_FOLDER, 'keys'));
}

/** The keys of a running server. Every lookup sees the present file, so that a removed key ends at once. */
export class KeyRing {
  readonly #root: string;
  readonly #known = new LruCache<string, AccessKey>(KEYS_KEPT, () => 1);

  constructor(root: string) {
    this.#root = root;
  }

  async lookup(accessKeyId: string): Promise<AccessKey | undefined> {
    if (!ACCESS_KEY_ID.test(accessKeyId)) return undefined;
    const path = fileOf(this.#root, accessKeyId);
    const found = await stat(path, { bigint: true }).catch(unlessMissing);
    if (!found) return undefined;
    const version = `${accessKeyId} ${found.ino} ${found.mtimeNs}`;
    const known = this.#known.get(version);
    if (known) return known;
    const key = await readKey(path);
    if (key) this.#known.keep(version, key);
    return key;
  }
}

/** Whether a key may see something of a bucket. */
export function isOfBucket(key: VolumeKey, bucket: string): boolean {
  return (key.bucket === '' && bucketProblem(bucket) === undefined) || key.bucket === bucket;
}

/** Whether a key may see an object. */
export function isWithin(key: VolumeKey, bucket: string, name: string): boolean {
  return isOfBucket(key, bucket) && name.startsWith(key.prefix);
}

function placeOf(text: string): Pick<VolumeKey, 'bucket' | 'prefix'> {
  if (text === '/') return { bucket: '', prefix: '' };
  const [, bucket = '', folder = ''] = /^([^/]*)\/?(.*?)\/?$/s.exec(text) ?? [];
  const problem = bucketProblem(bucket) ?? (folder === '' ? undefined : keyProblem(folder)?.message);
  if (problem !== undefined)
    throw badArgument(text, `--prefix is BUCKET, BUCKET/FOLDER, or / for all buckets; ${problem}`);
  return { bucket, prefix: folder === '' ? '' : `${folder}/` };
}

async function existingRoot(directory: string): Promise<string> {
  try {
    const root = await realpath(directory);
    if ((await stat(root)).isDirectory()) return root;
  } catch (cause) {
    throw fileError(cause, directory);
  }
  throw new PinakesError('FILE_NOT_DIRECTORY', { where: directory });
}

async function keysIn(root: string): Promise<AccessKey[]> {
  const folder = join(root, RESERVED_FOLDER, 'keys');
  const names = (await readdir(folder).catch(unlessMissing)) ?? [];
  const files = names.filter((name) => ACCESS_KEY_ID.test(name.replace(/\.json$/, '')));
  const keys = await Promise.all(files.map((name) => readKey(join(folder, name))));
  return keys.filter((key) => key !== undefined);
}

/** Undefined for a file that has just been removed. */
async function readKey(path: string): Promise<AccessKey | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as AccessKey;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    if (cause instanceof SyntaxError) return undefined;
    throw fileError(cause, path);
  }
}

function fileOf(root: string, accessKeyId: string): string {
  return join(root, RESERVED_FOLDER, 'keys', `${accessKeyId}.json`);
}

function unlessMissing(cause: NodeJS.ErrnoException): undefined {
  if (cause.code !== 'ENOENT') throw cause;
}

function unlessExists(cause: NodeJS.ErrnoException): undefined {
  if (cause.code !== 'EEXIST') throw cause;
}
