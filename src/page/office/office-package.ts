/**
 * The parts of an office document: a ZIP file with XML in it, read into memory one part after the other.
 *
 * All of it is distrusted (I9): parts that are named are read, none of them beyond PART_BYTES_MAX, no more than
 * PARTS_MAX of them and no more than TOTAL_BYTES_MAX together, whatever sizes they declare. Files inside of the parts
 * (pictures, other documents) are not looked into, so nesting leads nowhere. Nothing is fetched.
 */
import { MemoryByteSource, readZipDirectory, readZipEntry, type ZipEntry } from '../../warc/index.ts';
import { decodeText } from '../charset.ts';
import { walkXml } from './xml-reader.ts';

const PART_BYTES_MAX = 32 * 1024 * 1024;
const TOTAL_BYTES_MAX = 64 * 1024 * 1024;
const PARTS_MAX = 5000;

/** A part whose text is in hand. */
export type OfficePart = { readonly name: string; readonly xml: string };

/** Where a part leads: to another part of the package, or outside. */
export type Relation = { readonly type: string; readonly target: string; readonly isExternal: boolean };

export class OfficePackage {
  /** Whether nothing was left out so far. */
  isWhole = true;
  readonly #source: MemoryByteSource;
  readonly #entries = new Map<string, ZipEntry>();
  #leftBytes = TOTAL_BYTES_MAX;
  #leftParts = PARTS_MAX;

  private constructor(source: MemoryByteSource) {
    this.#source = source;
  }

  /** Rejects when the bytes are no ZIP file. */
  static async open(bytes: Uint8Array): Promise<OfficePackage> {
    const source = new MemoryByteSource('document', bytes);
    const opened = new OfficePackage(source);
    const { entries, isSalvaged } = await readZipDirectory(source, () => {});
    opened.isWhole = !isSalvaged;
    // Names are told apart without regard to case; of two that are alike the first counts.
    for (const entry of entries) {
      const name = entry.name.toLowerCase();
      if (!opened.#entries.has(name)) opened.#entries.set(name, entry);
    }
    return opened;
  }

  has(name: string): boolean {
    return this.#entries.has(name.toLowerCase());
  }

  /** The text of a part; empty when it is not there, as much of it as may be read otherwise. */
  async read(name: string): Promise<string> {
    const entry = this.#entries.get(name.toLowerCase());
    if (!entry) return '';
    const most = Math.min(PART_BYTES_MAX, this.#leftBytes);
    if (this.#leftParts-- <= 0 || most <= 0) {
      this.isWhole = false;
      return '';
    }
    const pieces: Uint8Array[] = [];
    let length = 0;
    const unsound = () => {
      this.isWhole = false;
    };
    for await (const piece of readZipEntry(this.#source, entry, unsound)) {
      pieces.push(Buffer.from(piece.subarray(0, most - length)));
      length += piece.length;
      if (length < most) continue;
      if (length > most || entry.bytes !== most) this.isWhole = false;
      break;
    }
    this.#leftBytes -= Math.min(length, most);
    return decodeText(Buffer.concat(pieces), 'application/xml').text;
  }

  /** What a part of an Office Open XML document leads to, by id; the document itself is the part ''. */
  async relations(part: string): Promise<Map<string, Relation>> {
    const slash = part.lastIndexOf('/') + 1;
    const [folder, name] = [part.slice(0, slash), part.slice(slash)];
    const relations = new Map<string, Relation>();
    walkXml(await this.read(`${folder}_rels/${name}.rels`), {
      open(element, attributes) {
        if (bareName(element) !== 'relationship') return;
        const target = attributes.get('target') ?? '';
        const isExternal = attributes.get('targetmode')?.toLowerCase() === 'external';
        const type = attributes.get('type')?.split('/').at(-1) ?? '';
        relations.set(attributes.get('id') ?? '', {
          type,
          target: isExternal ? target.trim() : resolved(folder, target),
          isExternal,
        });
      },
    });
    return relations;
  }
}

/** A name without the prefix of its namespace, which every program may choose. */
export function bareName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

/** The value of an attribute, whatever its prefix. */
export function attributeOf(attributes: ReadonlyMap<string, string>, name: string): string | undefined {
  const plain = attributes.get(name);
  if (plain !== undefined) return plain;
  for (const [key, value] of attributes) if (bareName(key) === name) return value;
  return undefined;
}

/** The name of the part that a path means, seen from a folder. */
function resolved(folder: string, path: string): string {
  const names: string[] = [];
  for (const step of (path.startsWith('/') ? path : `${folder}${path}`).split('/')) {
    if (step === '..') names.pop();
    else if (step !== '' && step !== '.') names.push(step);
  }
  return names.join('/');
}
