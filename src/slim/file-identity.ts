/**
 * Detects that a file was changed or replaced: by inode, size and modification time. Also detects that another process
 * has a file open for writing. Only Linux shows this; elsewhere a writer is noticed only by its changes.
 */
import { type BigIntStats, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { readingFile } from '../base/index.ts';

export type FileIdentity = { readonly size: number; readonly modifiedNs: string; readonly inode: string };

export function identityOf(path: string): FileIdentity {
  return identityFrom(readingFile(path, () => statSync(path, { bigint: true })));
}

export function identityIfThere(path: string): FileIdentity | undefined {
  const info = statSync(path, { bigint: true, throwIfNoEntry: false });
  return info && identityFrom(info);
}

function identityFrom({ size, mtimeNs, dev, ino }: BigIntStats): FileIdentity {
  return { size: Number(size), modifiedNs: String(mtimeNs), inode: `${dev}:${ino}` };
}

export function sameIdentity(a: FileIdentity, b: FileIdentity): boolean {
  return a.size === b.size && a.modifiedNs === b.modifiedNs && a.inode === b.inode;
}

/**
 * The same text for all names of a file: for hard links, and for the paths of several mounts of one disk. The number of
 * the disk is left out, because it can differ between mounts.
 */
export function fileFingerprint({ size, modifiedNs, inode }: FileIdentity): string {
  return `${inode.slice(inode.indexOf(':') + 1)} ${size} ${modifiedNs}`;
}

/** The paths that share their file with another of the paths. */
export function namesOfOneFile(paths: readonly string[]): Set<string> {
  const first = new Map<string, string>();
  const found = new Set<string>();
  for (const path of paths) {
    const identity = identityIfThere(path);
    if (!identity) continue;
    const other = first.get(fileFingerprint(identity));
    if (other === undefined) first.set(fileFingerprint(identity), path);
    else found.add(other).add(path);
  }
  return found;
}

/** The precision of the modification time that a copy gets. */
const COPY_TIME_NS = 1_000_000n;

/** Whether it is the same file, or a copy of it with the same size and modification time. */
export function sameOrCopy(a: FileIdentity, b: FileIdentity): boolean {
  if (sameIdentity(a, b)) return true;
  const apart = BigInt(a.modifiedNs) - BigInt(b.modifiedNs);
  return a.size === b.size && apart <= COPY_TIME_NS && apart >= -COPY_TIME_NS;
}

const ACCESS_MODE = 0o3;
const LOOKS = 5;

/** The real paths of the files that processes have open for writing, as far as this user may see them. */
export function filesOpenForWriting(): Set<string> {
  const found = new Set<string>();
  for (const pid of entries('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    for (const descriptor of entries(`/proc/${pid}/fd`)) {
      const path = pathOpenForWriting(pid, descriptor);
      if (path !== undefined) found.add(path);
    }
  }
  return found;
}

/**
 * The path and the access mode of a descriptor are two separate reads. Between them the descriptor can be closed, and
 * its number given to another file, also in this process. A file that is only read would then seem to be written. So
 * both are read again, and the result counts only when they stay the same.
 */
function pathOpenForWriting(pid: string, descriptor: string): string | undefined {
  try {
    const link = `/proc/${pid}/fd/${descriptor}`;
    const path = readlinkSync(link);
    if (!path.startsWith('/') || path.startsWith('/dev/')) return undefined;
    for (let look = 0; look < LOOKS; look++) {
      const flags = /^flags:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/fdinfo/${descriptor}`, 'latin1'));
      const isWritten = flags !== null && (Number.parseInt(flags[1]!, 8) & ACCESS_MODE) !== 0;
      if (!isWritten || readlinkSync(link) !== path) return undefined;
    }
    return path;
  } catch {
    // The process or the descriptor is gone by now.
    return undefined;
  }
}

function entries(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
