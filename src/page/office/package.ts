/**
 * The parts of an office document: a ZIP file of XML parts, which are read into memory one after another.
 *
 * The file is not trusted (I9). Parts without a relation are not read. Of the others, at most PARTS_MAX parts are read,
 * with PART_BYTES_MAX bytes each and TOTAL_BYTES_MAX bytes together. Declared sizes are ignored. Embedded files
 * (pictures, other documents) are not opened, and nothing is fetched.
 */
import { MemoryByteSource, readZipDirectory, readZipEntry, type ZipEntry } from '../../warc/index.ts';
import { decodeText } from '../charset.ts';
import { walkXml } from './xml-reader.ts';

const PART_BYTES_MAX = 32 * 1024 * 1024;
const TOTAL_BYTES_MAX = 64 * 1024 * 1024;
const PARTS_MAX = 5000;

/** A part with its text. */
export type OfficePart = { readonly name: string; readonly xml: string };

/** A relation of a part to another part, or to an external target. */
export type Relation = { readonly type: string; readonly target: string; readonly isExternal: boolean };

export class OfficePackage {
  /** False once a part was cut or left out. */
  isWhole = true;
  readonly #source: MemoryByteSource;
  readonly #entries = new Map<string, ZipEntry>();
  #leftBytes = TOTAL_BYTES_MAX;
  #leftParts = PARTS_MAX;

  private constructor(source: MemoryByteSource) {
    this.#source = source;
  }

  /** Opens a package. Rejects if the bytes are not a ZIP file. */
  static async open(bytes: Uint8Array): Promise<OfficePackage> {
    const source = new MemoryByteSource('document', bytes);
    const opened = new OfficePackage(source);
    const { entries, isSalvaged } = await readZipDirectory(source, () => {});
    opened.isWhole = !isSalvaged;
    // Names are compared in lower case. Of several equal names, the first counts.
    for (const entry of entries) {
      const name = entry.name.toLowerCase();
      if (!opened.#entries.has(name)) opened.#entries.set(name, entry);
    }
    return opened;
  }

  has(name: string): boolean {
    return this.#entries.has(name.toLowerCase());
  }

  /** The text of a part, up to the limits; empty if the part does not exist. */
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

  /** By id, the relations of a part of an Office Open XML document. The part '' is the document itself. */
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

/** A name without its namespace prefix, because every program can choose its own prefixes. */
export function bareName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

/** The value of an attribute with any prefix. */
export function attributeOf(attributes: ReadonlyMap<string, string>, name: string): string | undefined {
  const plain = attributes.get(name);
  if (plain !== undefined) return plain;
  for (const [key, value] of attributes) if (bareName(key) === name) return value;
  return undefined;
}

/** Resolves a path to the name of a part, relative to a folder. */
function resolved(folder: string, path: string): string {
  const names: string[] = [];
  for (const step of (path.startsWith('/') ? path : `${folder}${path}`).split('/')) {
    if (step === '..') names.pop();
    else if (step !== '' && step !== '.') names.push(step);
  }
  return names.join('/');
}
