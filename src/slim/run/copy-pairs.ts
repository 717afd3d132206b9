/**
 * Pairs the files of a slimmed collection with the files of its second copy: by their names, or, for a file that the
 * run converted from an ARC file, with that ARC file.
 *
 * A sync that was interrupted leaves a converted file beside its ARC file. Then the ARC file still is the counterpart,
 * so that no capture is counted twice.
 */
import { basename, dirname, join } from 'node:path';
import { type CollectionFile, warcName } from '../collection.ts';
import { hasSameBytes } from '../file-comparison.ts';
import { identityOf } from '../file-identity.ts';

export type CopyPair = {
  /** The path of the slimmed file. */
  readonly slimmed: string;
  /** The path of the file with its captures in the second copy. */
  readonly second: string;
  /** The path of the slimmed file in the second copy; differs from `second` when that is an ARC file. */
  readonly target: string;
};

export type Pairing = {
  /** Converted ARC files come first, because revisits can refer to the record ids that only the conversion gives. */
  readonly pairs: readonly CopyPair[];
  readonly onlySlimmed: readonly string[];
  readonly onlySecond: readonly string[];
};

export function pairFiles(slimmed: readonly CollectionFile[], second: readonly CollectionFile[]): Pairing {
  const slimmedPaths = new Map(slimmed.map(({ name, path }) => [name, path]));
  const left = new Map(second.map(({ name, path }) => [name, path]));
  const converted: CopyPair[] = [];
  for (const arc of second) {
    if (!arc.isArc || slimmedPaths.has(arc.name)) continue;
    const name = convertedName(arc.name, slimmedPaths, left);
    if (name === undefined) continue;
    const target = join(dirname(arc.path), basename(name));
    converted.push({ slimmed: slimmedPaths.get(name)!, second: arc.path, target });
    for (const used of [name, arc.name]) left.delete(used);
    slimmedPaths.delete(name);
  }
  const same: CopyPair[] = [];
  const onlySlimmed: string[] = [];
  for (const [name, path] of slimmedPaths) {
    const there = left.get(name);
    left.delete(name);
    if (there === undefined) onlySlimmed.push(path);
    else same.push({ slimmed: path, second: there, target: there });
  }
  return { pairs: [...converted, ...same], onlySlimmed, onlySecond: [...left.values()] };
}

/** The name of the file that was converted from an ARC file: numbered when the plain name belongs to another. */
function convertedName(
  arc: string,
  slimmed: ReadonlyMap<string, string>,
  second: ReadonlyMap<string, string>,
): string | undefined {
  const plain = warcName(arc);
  for (const name of [join(dirname(plain), `2~${basename(plain)}`), plain]) {
    const [path, there] = [slimmed.get(name), second.get(name)];
    if (path !== undefined && (there === undefined || isSameFile(path, there))) return name;
  }
  return undefined;
}

export function isSameFile(first: string, second: string): boolean {
  return identityOf(first).size === identityOf(second).size && hasSameBytes(first, second);
}
