/**
 * Reads a WACZ by range, without unpacking it. The WARC files inside are stored, so each one is returned as a range of
 * the file, and read in place. A WARC file that was compressed against the rules can be read as a stream.
 *
 * Packages of version 0.1 and 1.0, packages without a datapackage.json, packages in packages (multi-WACZ) and truncated
 * files are all read as far as possible. Faults are reported to `onFinding` each time they are met. A finding about an
 * entry has the offset of the entry in its package. A package inside another one is named `file.wacz!inner.wacz`.
 */

import { concat, EMPTY, PinakesError } from '../../base/index.ts';
import type { CdxEntry } from '../cdx/cdx-entry.ts';
import { type IndexFindingCode, indexFinding, type ReportFault, type ReportFinding } from '../cdx/cdx-finding.ts';
import { toByteText } from '../cdx/cdx-line.ts';
import { CdxLineReader, readCdx } from '../cdx/cdx-reader.ts';
import type { LineRange } from './cdx-search.ts';
import { readZipDirectory } from './wacz-directory.ts';
import { isReadable, readLocalHeader, readZipEntry, STORED, type ZipEntry } from './wacz-entry.ts';
import {
  DATAPACKAGE,
  DATAPACKAGE_DIGEST,
  parseWaczPackage,
  parseWaczPackageDigest,
  type WaczPackage,
  type WaczPackageDigest,
} from './wacz-package.ts';
import { readWaczPages, type WaczPage } from './wacz-page.ts';
import { type ByteSource, FileByteSource, SliceByteSource } from './wacz-source.ts';
import { ZipNumReader } from './zipnum.ts';

export type WaczOptions = { readonly onFinding: ReportFinding };

/** A WARC or ARC file inside a package. */
export type WaczWarc = {
  /** Path in its package, `archive/data.warc.gz`. */
  readonly name: string;
  /** The paths of the packages that contain it, outermost first; empty for an ordinary WACZ. */
  readonly packages: readonly string[];
  /** The file on disk. */
  readonly file: string;
  /** Where the bytes of the WARC file begin in `file`. They are compressed unless `isStored` is set. */
  readonly offset: number;
  /** Bytes of the WARC file; as declared when it is not stored. */
  readonly length: number;
  /** Whether it can be read by range, at `offset` of `file`. */
  readonly isStored: boolean;
  /** Reads the WARC file from its beginning, whether the ZIP stores or compresses it. */
  readonly open: () => AsyncIterable<Uint8Array>;
};

/** A larger datapackage.json is not read (I9). */
const JSON_BYTES_MAX = 64 * 1024 * 1024;
const NESTING_MAX = 4;

const WARC_NAME = /\.w?arc(\.gz|\.zst)?$/i;
const INDEX_NAME = /\.cdxj?(\.gz)?$/i;

export async function openWacz(path: string, options: WaczOptions): Promise<Wacz> {
  const source = await FileByteSource.open(path);
  try {
    return await Wacz.open(source, options);
  } catch (error) {
    await source.close();
    throw error;
  }
}

export class Wacz {
  readonly source: ByteSource;
  readonly entries: readonly ZipEntry[];
  /** Whether the directory was broken and the entries were found without it. */
  readonly isSalvaged: boolean;
  readonly packages: readonly string[];
  readonly #byName = new Map<string, ZipEntry>();
  readonly #onFinding: ReportFinding;
  readonly #partsOfSecondary = new Map<string, Set<string>>();
  #package: WaczPackage | undefined;

  private constructor(
    source: ByteSource,
    directory: { entries: readonly ZipEntry[]; isSalvaged: boolean },
    packages: readonly string[],
    onFinding: ReportFinding,
  ) {
    this.source = source;
    this.entries = directory.entries;
    this.isSalvaged = directory.isSalvaged;
    this.packages = packages;
    this.#onFinding = onFinding;
    for (const entry of directory.entries) if (!this.#byName.has(entry.name)) this.#byName.set(entry.name, entry);
  }

  /** Opens a package in any source; throws NOT_WACZ when the source is not a ZIP file. */
  static async open(source: ByteSource, { onFinding }: WaczOptions, packages: readonly string[] = []): Promise<Wacz> {
    const wacz = new Wacz(source, await readZipDirectory(source, onFinding), packages, onFinding);
    const bytes = await wacz.readWhole(DATAPACKAGE);
    if (bytes) wacz.#package = parseWaczPackage(bytes, wacz.#reportAt(DATAPACKAGE));
    return wacz;
  }

  /** The content of datapackage.json; undefined when it is missing or unreadable. */
  get package(): WaczPackage | undefined {
    return this.#package;
  }

  entry(name: string): ZipEntry | undefined {
    return this.#byName.get(name);
  }

  /** The content of an entry, in pieces. */
  read(entry: ZipEntry): AsyncGenerator<Uint8Array> {
    return readZipEntry(this.source, entry, this.#onFinding);
  }

  /** The content of a small entry; undefined when it is missing or too large. */
  async readWhole(name: string): Promise<Uint8Array | undefined> {
    const entry = this.entry(name);
    if (!entry) return undefined;
    const parts: Uint8Array[] = [];
    let bytes = 0;
    for await (const part of this.read(entry)) {
      bytes += part.length;
      if (bytes > JSON_BYTES_MAX) {
        this.#reportAt(name)('wacz-json', `${name} has more than ${JSON_BYTES_MAX} bytes`);
        return undefined;
      }
      parts.push(part);
    }
    return parts.length === 0 ? EMPTY : concat(parts);
  }

  /** The content of datapackage-digest.json; undefined when there is none. */
  async packageDigest(): Promise<WaczPackageDigest | undefined> {
    const bytes = await this.readWhole(DATAPACKAGE_DIGEST);
    return bytes && parseWaczPackageDigest(bytes, this.#reportAt(DATAPACKAGE_DIGEST));
  }

  /** The range of the source that holds the bytes of an entry, compressed or not. */
  async locate(entry: ZipEntry): Promise<{ offset: number; length: number } | undefined> {
    const header = await readLocalHeader(this.source, entry.headerOffset);
    if (!header) {
      this.#reportEntry('wacz-entry-header', entry);
      return undefined;
    }
    const length = Math.max(0, Math.min(entry.compressedBytes, this.source.size - header.dataOffset));
    return { offset: header.dataOffset, length };
  }

  /** All WARC and ARC files, including those of inner packages. */
  async *warcs(): AsyncGenerator<WaczWarc> {
    for (const entry of this.entries) {
      if (!WARC_NAME.test(entry.name) || !isReadable(entry)) continue;
      const place = await this.locate(entry);
      if (!place) continue;
      const isStored = entry.method === STORED;
      if (!isStored) this.#reportEntry('wacz-not-stored', entry);
      if (!entry.name.startsWith('archive/')) this.#reportEntry('wacz-warc-elsewhere', entry);
      yield {
        name: entry.name,
        packages: this.packages,
        file: this.source.file,
        offset: this.source.fileOffset + place.offset,
        length: isStored ? place.length : (entry.bytes ?? 0),
        isStored,
        open: () => this.read(entry),
      };
    }
    for await (const inner of this.nested()) yield* inner.warcs();
  }

  /** The packages inside this one. They are read through the file of this package, which must stay open. */
  async *nested(): AsyncGenerator<Wacz> {
    for (const entry of this.entries) {
      if (!/\.wacz$/i.test(entry.name) || !isReadable(entry)) continue;
      if (this.packages.length + 1 >= NESTING_MAX) {
        this.#reportEntry('wacz-nested-deep', entry);
        continue;
      }
      if (entry.method !== STORED) {
        this.#reportEntry('wacz-nested-deflated', entry);
        continue;
      }
      const place = await this.locate(entry);
      if (!place) continue;
      const slice = new SliceByteSource(this.#fileOf(entry.name), this.source, place.offset, place.length);
      const inner = await this.#openInner(slice, entry);
      if (inner) yield inner;
    }
  }

  async #openInner(slice: ByteSource, entry: ZipEntry): Promise<Wacz | undefined> {
    try {
      return await Wacz.open(slice, { onFinding: this.#onFinding }, [...this.packages, entry.name]);
    } catch (error) {
      if (!(error instanceof PinakesError && error.code === 'NOT_WACZ')) throw error;
      this.#reportEntry('wacz-directory-broken', entry);
      return undefined;
    }
  }

  /** The pages of `pages/pages.jsonl`, or of the list with this name. */
  async *pages(name = 'pages/pages.jsonl'): AsyncGenerator<WaczPage> {
    const entry = this.entry(name);
    if (entry) yield* readWaczPages(this.read(entry), { file: this.#fileOf(name), onFinding: this.#onFinding });
  }

  /** The names of all lists of pages. */
  pageLists(): string[] {
    return this.entries.map((entry) => entry.name).filter((name) => /^pages\/.*\.jsonl$/.test(name));
  }

  /** The names of the index files, without secondary indexes. */
  indexes(): string[] {
    return this.entries
      .map((entry) => entry.name)
      .filter((name) => name.startsWith('indexes/') && INDEX_NAME.test(name));
  }

  /** All entries of one index file, or of all index files. */
  async *index(name?: string): AsyncGenerator<CdxEntry> {
    for (const each of name === undefined ? this.indexes() : [name]) {
      const entry = this.entry(each);
      if (entry) yield* readCdx(this.read(entry), { file: this.#fileOf(each), onFinding: this.#onFinding });
    }
  }

  /** The names of the secondary indexes. */
  secondaryIndexes(): string[] {
    return this.entries.map((entry) => entry.name).filter((name) => /^indexes\/.*\.idx$/.test(name));
  }

  /**
   * The index lines in a range of keys. Blocks of a compressed index are found by its secondary index. An index without
   * a secondary index is read completely, since indexes of this kind are small and not always sorted.
   */
  async *search(range: LineRange): AsyncGenerator<CdxEntry> {
    const covered = new Set<string>();
    for (const name of this.secondaryIndexes()) {
      const zipNum = await this.zipNum(name);
      if (!zipNum) continue;
      for (const part of zipNum.parts) covered.add(part);
      const lines = new CdxLineReader({ file: this.#fileOf(name), onFinding: this.#onFinding });
      for await (const line of zipNum.reader.lines(range)) {
        const entry = lines.read(line, 0);
        if (entry) yield entry;
      }
    }
    const start = toByteText(range.start);
    const end = range.end === undefined ? undefined : toByteText(range.end);
    for (const name of this.indexes()) {
      if (covered.has(name)) continue;
      for await (const entry of this.index(name)) {
        const text = toByteText(`${entry.urlKey} ${entry.timestamp} `);
        if (text >= start && (end === undefined || text < end)) yield entry;
      }
    }
  }

  /**
   * A reader for a secondary index and the data files that it names. Undefined when one of these is compressed by the
   * ZIP, so that its blocks cannot be read by range.
   */
  async zipNum(name: string): Promise<{ reader: ZipNumReader; parts: ReadonlySet<string> } | undefined> {
    const secondary = this.entry(name);
    if (!secondary) return undefined;
    const folder = name.slice(0, name.lastIndexOf('/') + 1);
    const ofPart = (part: string) =>
      `${folder}${part === '' ? `${name.slice(folder.length, -'.idx'.length)}.cdx.gz` : part}`;
    const reader = new ZipNumReader({
      index: () => this.read(secondary),
      file: this.#fileOf(name),
      openPart: (part) => this.#slice(ofPart(part)),
      onFinding: this.#onFinding,
    });
    let parts = this.#partsOfSecondary.get(name);
    if (!parts) {
      parts = new Set();
      for await (const { block } of reader.blocks()) if (this.entry(ofPart(block.part))) parts.add(ofPart(block.part));
      this.#partsOfSecondary.set(name, parts);
    }
    for (const part of parts) if (this.entry(part)?.method !== STORED) return undefined;
    return { reader, parts };
  }

  async #slice(name: string): Promise<ByteSource | undefined> {
    const entry = this.entry(name);
    if (!entry || entry.method !== STORED || entry.isEncrypted) return undefined;
    const place = await this.locate(entry);
    return place && new SliceByteSource(this.#fileOf(name), this.source, place.offset, place.length);
  }

  async close(): Promise<void> {
    await this.source.close();
  }

  #fileOf(name: string): string {
    return `${this.source.name}!${name}`;
  }

  #reportAt(name: string): ReportFault {
    const offset = this.entry(name)?.headerOffset ?? 0;
    return (code, detail) => this.#onFinding(indexFinding(code, this.source.name, offset, detail));
  }

  #reportEntry(code: IndexFindingCode, entry: ZipEntry): void {
    this.#onFinding(indexFinding(code, this.source.name, entry.headerOffset, entry.name));
  }
}
