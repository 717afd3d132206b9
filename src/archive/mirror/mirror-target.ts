/**
 * The place of a mirror: a volume of either kind, whose objects never change under their names.
 *
 * ```
 *   mirror                              {"pinakes":"mirror","version":1,"id":"...","archive":"..."}
 *   manifests/<number>.jsonl            what one sync found the archive to be (mirror-manifest.ts)
 *   volumes/<volume>/<name>             a sealed segment, or an object of the archive's own, as in its volume
 *   parts/<volume>/<name>/<from>-<to>   records of a segment that still grew
 *   files/<name>-<beginning of its SHA-256>      a file of the archive's directory
 * ```
 * The object `mirror` tells a mirror from an empty mount point and from the mirror of another archive. Every segment in
 * it is a plain WARC file.
 */
import { readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Clock, fromUtf8, PinakesError, utf8, VOLUME_SENTINEL } from '../../base/index.ts';
import { AppendingStore, listedObjects, PartStore, type SegmentStore } from '../../ledger/index.ts';
import {
  type AnyVolume,
  createDirectoryVolume,
  isPartVolume,
  openDirectoryVolume,
  openS3Volume,
  type PartVolume,
} from '../../volume/index.ts';
import type { MirrorSetting } from './mirror-setting.ts';

/** The name in the sentinel of the directory, so that it is not taken for a volume of an archive. */
const VOLUME_NAME = 'mirror';
const MARK_NAME = 'mirror';
const MARK_VERSION = 1;
const MARK_BYTES_MAX = 64 * 1024;

/** Where a mirror is: a directory, or a bucket as `s3://bucket/prefix`, at a server other than that of AWS. */
export type MirrorPlace = Pick<MirrorSetting, 'target' | 'endpoint' | 'region'>;

/** Opens the volume of a mirror whose target is an address. */
export type OpenRemote = (name: string, place: MirrorPlace, isWritable: boolean) => Promise<PartVolume>;

export function bucketOpener(clock: Clock): OpenRemote {
  return (name, { target, endpoint, region }, writable) =>
    openS3Volume(name, target, { endpoint, region, writable, clock });
}

export type MirrorTarget = AsyncDisposable & {
  readonly volume: AnyVolume;
  readonly store: SegmentStore;
  /** Where it is, for messages. */
  readonly where: string;
};

export type MirrorMark = { readonly id: string; readonly archive: string };

/** Whether the target of a mirror is an address, and not a directory. */
export function isAddress(target: string): boolean {
  return /^[a-z][a-z0-9]+:\/\//.test(target);
}

/** Makes an empty place a mirror. Fails when there is something in it already. */
export async function createTarget(setting: MirrorSetting, mark: MirrorMark, remote: OpenRemote): Promise<void> {
  const { target } = setting;
  const refuse = (where: string, found: string) => {
    throw new PinakesError('MIRROR_TAKEN', { where, detail: `it has ${found} already; name a place of its own` });
  };
  if (!isAddress(target)) {
    const found = (await readdir(target).catch(() => [])).find((name) => name !== VOLUME_SENTINEL);
    if (found !== undefined) refuse(target, found);
    await createDirectoryVolume(VOLUME_NAME, target);
  }
  await using opened = await openAny(setting, true, remote);
  const [found] = await listedObjects(opened.store);
  if (found) refuse(opened.where, found.name);
  const text = JSON.stringify({ pinakes: 'mirror', version: MARK_VERSION, ...mark });
  await opened.store.writeObject(MARK_NAME, utf8(`${text}\n`));
}

/** Opens the mirror of an archive. */
export async function openTarget(setting: MirrorSetting, isWritable: boolean, remote: OpenRemote) {
  const opened = await openAny(setting, isWritable, remote);
  const mark = await readMark(opened).catch(async (error: unknown) => {
    await opened[Symbol.asyncDispose]();
    throw error;
  });
  if (mark.id === setting.id) return opened;
  await opened[Symbol.asyncDispose]();
  const detail = `it is a mirror of the archive ${mark.archive}, but not this one`;
  throw new PinakesError('MIRROR_TAKEN', { where: opened.where, detail });
}

/** Opens a place by its path or address, whichever archive it is a mirror of. Only for reading. */
export async function openAnyMirror(
  place: MirrorPlace,
  remote: OpenRemote,
): Promise<MirrorTarget & { mark: MirrorMark }> {
  const opened = await openAny({ name: 'mirror', ...place }, false, remote);
  try {
    return { ...opened, mark: await readMark(opened) };
  } catch (error) {
    await opened[Symbol.asyncDispose]();
    throw error;
  }
}

async function openAny(
  { name, ...place }: MirrorPlace & Pick<MirrorSetting, 'name'>,
  writable: boolean,
  remote: OpenRemote,
): Promise<MirrorTarget> {
  const { target } = place;
  const volume = await openVolume(name, place, writable, remote);
  const store = isPartVolume(volume) ? new PartStore(volume) : new AppendingStore(volume);
  return { volume, store, where: `mirror ${name} at ${target}`, [Symbol.asyncDispose]: () => volume.close() };
}

async function openVolume(name: string, place: MirrorPlace, writable: boolean, remote: OpenRemote): Promise<AnyVolume> {
  const { target } = place;
  const where = `mirror ${name} at ${target}`;
  if (isAddress(target)) return remote(VOLUME_NAME, place, writable);
  try {
    return await openDirectoryVolume(VOLUME_NAME, resolve(target), { writable });
  } catch (cause) {
    if (!(cause instanceof PinakesError) || cause.code !== 'VOLUME_MISSING') throw cause;
    throw new PinakesError('MIRROR_MISSING', { where, detail: cause.detail ?? '', cause });
  }
}

async function readMark({ store, where }: MirrorTarget): Promise<MirrorMark> {
  const bytes = await store.readObject(MARK_NAME, MARK_BYTES_MAX);
  const mark = bytes && parseMark(fromUtf8(bytes));
  if (mark) return mark;
  const detail = bytes ? 'its mark cannot be read' : 'there is no mark of a mirror; is its disk mounted?';
  throw new PinakesError('MIRROR_MISSING', { where, detail });
}

function parseMark(text: string): MirrorMark | undefined {
  try {
    const { pinakes, version, id, archive } = Object(JSON.parse(text));
    if (pinakes !== 'mirror' || version !== MARK_VERSION) return undefined;
    return typeof id === 'string' && typeof archive === 'string' ? { id, archive } : undefined;
  } catch {
    return undefined;
  }
}
