/**
 * The manifest of a mirror: one state of the archive, with the digest of everything that the state consists of. A sync
 * writes it last, when all that it names is durable, and only then removes what no manifest names any more. So whenever
 * a sync is killed, the newest whole manifest can be restored.
 *
 * ```
 *   manifests/<number, 9 digits>.jsonl
 *
 *   {"mirror":1,"number":n,"archive":"...","time":"...","takedowns":n,"isClean":true,"volumes":[{"name":...},...]}
 *   {"volume":"main","name":"...","isSealed":true,"bytes":n,"pieces":[["<object>",bytes,"<SHA-256>"],...]}
 *   {"file":"archive.yaml","bytes":n,"pieces":[["<object>",bytes,"<SHA-256>"]]}
 *   {"absent":"...","volume":"...","bytes":n,"why":"..."}
 *   {"end":<number of lines before this one>,"sha256":"<of the lines before this one>"}
 * ```
 * `takedowns` is the number of the newest takedown in the log, and `isClean` says that the state had no bytes of what
 * was barred. A state that is not clean, or is older than a takedown, is not kept.
 */
import { digestOf, fromUtf8, toHex, utf8 } from '../../base/index.ts';
import { listedObjects, type SegmentStore } from '../../ledger/index.ts';
import type { VolumeSetting } from '../connector.ts';

export const MANIFEST_FOLDER = 'manifests/';
const VERSION = 1;
const MANIFEST_BYTES_MAX = 1024 * 1024 * 1024;

/** Bytes of the mirror: an object, its length and its SHA-256 in hexadecimal. */
export type Piece = readonly [object: string, bytes: number, sha256: string];

/** An object of a volume: a segment, or one of the archive's own. */
export type MirroredObject = {
  readonly volume: string;
  readonly name: string;
  readonly isSealed: boolean;
  readonly bytes: number;
  readonly pieces: readonly Piece[];
};

export type MirroredFile = { readonly file: string; readonly bytes: number; readonly pieces: readonly Piece[] };

/** An object that the archive has and the mirror does not. */
export type AbsentObject = {
  readonly absent: string;
  readonly volume: string;
  readonly bytes: number;
  readonly why: string;
};

export type MirrorManifest = {
  readonly number: number;
  readonly archive: string;
  /** As W3C date. */
  readonly time: string;
  readonly takedowns: number;
  readonly isClean: boolean;
  readonly volumes: readonly Pick<VolumeSetting, 'name' | 'kind' | 'writable'>[];
  readonly objects: readonly MirroredObject[];
  readonly files: readonly MirroredFile[];
  readonly absent: readonly AbsentObject[];
};

export function manifestName(number: number): string {
  return `${MANIFEST_FOLDER}${String(number).padStart(9, '0')}.jsonl`;
}

export function formatManifest({ objects, files, absent, ...head }: MirrorManifest): Uint8Array {
  const lines = [{ mirror: VERSION, ...head }, ...objects, ...files, ...absent].map((line) => JSON.stringify(line));
  const text = `${lines.join('\n')}\n`;
  return utf8(`${text}${JSON.stringify({ end: lines.length, sha256: digestOfText(text) })}\n`);
}

/** Undefined: the manifest is torn, damaged, or of a later version. */
export function parseManifest(bytes: Uint8Array): MirrorManifest | undefined {
  const text = fromUtf8(bytes);
  const last = text.lastIndexOf('\n', text.length - 2) + 1;
  const before = text.slice(0, last);
  try {
    const { end, sha256 } = Object(JSON.parse(text.slice(last)));
    const lines = before.split('\n').slice(0, -1);
    if (end !== lines.length || sha256 !== digestOfText(before)) return undefined;
    const [head, ...rest] = lines.map((line) => JSON.parse(line));
    const { mirror, ...facts } = head;
    if (mirror !== VERSION) return undefined;
    const objects = rest.filter((line) => 'name' in line);
    const files = rest.filter((line) => 'file' in line);
    const absent = rest.filter((line) => 'absent' in line);
    // The digest shows that this program wrote the lines.
    return { ...facts, objects, files, absent } as MirrorManifest;
  } catch {
    return undefined;
  }
}

/** The manifests of a mirror that are whole, newest first, and the numbers of those that are not. */
export async function readManifests(
  store: SegmentStore,
): Promise<{ readonly manifests: MirrorManifest[]; readonly damaged: number[] }> {
  const manifests: MirrorManifest[] = [];
  const damaged: number[] = [];
  for (const { name } of await listedObjects(store, MANIFEST_FOLDER)) {
    const number = Number(/^manifests\/(\d{9})\.jsonl$/.exec(name)?.[1] ?? Number.NaN);
    if (Number.isNaN(number)) continue;
    const bytes = await store.readObject(name, MANIFEST_BYTES_MAX);
    const manifest = bytes && parseManifest(bytes);
    if (manifest?.number === number) manifests.push(manifest);
    else damaged.push(number);
  }
  return { manifests: manifests.sort((a, b) => b.number - a.number), damaged };
}

export function piecesOf({ objects, files }: Pick<MirrorManifest, 'objects' | 'files'>): Piece[] {
  return [...objects, ...files].flatMap(({ pieces }) => pieces);
}

function digestOfText(text: string): string {
  return toHex(digestOf('sha256', utf8(text)).bytes);
}
