/**
 * Writes the index: entries come in, each batch becomes visible as one. Contents are read before the transaction takes
 * them in, so that a slow one holds nobody up. One writer at a time; the archive's owner file sees to that.
 */
import type { DatabaseSync } from 'node:sqlite';
import { type Link, type Page, readPageAside } from '../../page/index.ts';
import type { UrlKey } from '../../url/index.ts';
import { packLinks, unpackLinks } from '../document-links.ts';
import {
  type CaptureIdentity,
  type EntryContent,
  emptyTally,
  type IndexEntry,
  type IndexTally,
} from '../index-entry.ts';
import { packText } from '../packed-text.ts';
import { bodyForm, indexForm } from '../token-form.ts';
import { hashOfKey, TargetHashes, targetWords } from '../url-hash.ts';
import { openForWriting } from './database.ts';
import { carryOver, emptyLog, requireDiskSpace } from './index-disk-space.ts';
import { edgesFile, type RankOptions, type RankReport, rankPages } from './rank.ts';
import { statementsOf, type WriterStatements } from './writer-statements.ts';

export type IndexWriterOptions = {
  /** Gives milliseconds, for the tally. */
  readonly stopwatch?: (() => number) | undefined;
  /** Memory of the process that reads documents. */
  readonly documentMemory?: number | undefined;
};

export type AddedEntries = {
  readonly tally: IndexTally;
  /** Which of the entries have contents that took too much to read, by index. */
  readonly tooCostly: readonly number[];
};

type ReadEntry = { readonly entry: IndexEntry; readonly page: Page | undefined };

export class IndexWriter {
  readonly #database: DatabaseSync;
  readonly #statements: WriterStatements;
  readonly #targets = new TargetHashes();
  readonly #collections = new Map<string, number>();
  readonly #stopwatch: () => number;
  readonly #documentMemory: number | undefined;
  readonly #path: string;
  #isOpen = false;
  #batch = 0;

  constructor(path: string, { stopwatch = () => 0, documentMemory }: IndexWriterOptions = {}) {
    this.#stopwatch = stopwatch;
    this.#documentMemory = documentMemory;
    this.#path = path;
    this.#database = openForWriting(path);
    carryOver(this.#database);
    this.#statements = statementsOf(this.#database);
    this.#batch = Number(this.#state('batch') ?? 0);
    this.#learnCollections();
  }

  #learnCollections(): void {
    this.#collections.clear();
    for (const { id, name } of this.#database.prepare('SELECT id, name FROM collections').all()) {
      this.#collections.set(String(name), Number(id));
    }
  }

  /** Takes entries into the batch at hand. */
  async add(entries: readonly IndexEntry[]): Promise<AddedEntries> {
    const tally = emptyTally();
    const start = this.#stopwatch();
    const read: ReadEntry[] = [];
    for (const entry of entries) read.push({ entry, page: entry.content && (await this.#read(entry, entry.content)) });
    requireDiskSpace(this.#database, this.#path);
    this.#begin();
    for (const { entry, page } of read) this.#addEntry(entry, page, tally);
    this.#noteChanged(tally.captures + tally.redirects);
    tally.busyMs = this.#stopwatch() - start;
    const tooCostly = read.flatMap(({ page }, index) => (page?.isTooCostly ? [index] : []));
    return { tally, tooCostly };
  }

  /** The page that a payload holds; undefined when it is not a page. */
  #read({ mime, url }: IndexEntry, { payload, codings, contentType }: EntryContent): Promise<Page | undefined> {
    const source = { bytes: payload, codings, mime, contentType: contentType || mime, url };
    return readPageAside(source, {}, { memoryBytesMax: this.#documentMemory });
  }

  /** Ranks are of what there was before, until they are computed anew, which may be broken off. */
  #noteChanged(captures: number): void {
    if (captures > 0) this.#statements.putState.run('unranked', 'yes');
  }

  #begin(): void {
    if (this.#isOpen) return;
    this.#database.exec('BEGIN IMMEDIATE');
    this.#isOpen = true;
  }

  /** Makes the batch visible, with what the indexer wants to remember. */
  async commit(state: Readonly<Record<string, string | null>> = {}): Promise<void> {
    this.#begin();
    this.#batch++;
    for (const [name, value] of Object.entries({ ...state, batch: String(this.#batch) })) {
      if (value === null) this.#statements.dropState.run(name);
      else this.#statements.putState.run(name, value);
    }
    this.#database.exec('COMMIT');
    this.#isOpen = false;
    carryOver(this.#database);
  }

  /** Forgets the batch at hand. */
  async rollBack(): Promise<void> {
    this.#endBatch();
    emptyLog(this.#database);
    // Those that came with the batch have no numbers any more.
    this.#learnCollections();
  }

  #endBatch(): void {
    this.#isOpen = false;
    // A failure can have ended it already.
    if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
  }

  #addEntry(entry: IndexEntry, page: Page | undefined, tally: IndexTally): void {
    let known = this.#statements.findDocument.get(entry.digest, entry.overflow);
    if (known && known.kind === '') {
      if (!page) return;
      this.#statements.dropDocument.run(known.id!);
      known = undefined;
    }
    const document = known
      ? Number(known.id)
      : entry.redirect
        ? this.#addRedirect(entry, entry.redirect)
        : page && this.#addDocument(entry, page, tally);
    if (document === undefined) {
      if (entry.content) this.#addNothing(entry);
      return;
    }
    if (!this.#addCapture(document, known === undefined, entry, page, tally)) return;
    if (entry.redirect) tally.redirects++;
    else tally.captures++;
  }

  /** Notes a capture of a document; false when it was known, and only its place is new. */
  #addCapture(document: number, isNew: boolean, entry: IndexEntry, page: Page | undefined, tally: IndexTally): boolean {
    const knownUrl = this.#statements.findUrl.get(entry.key);
    const url = knownUrl ? Number(knownUrl.id) : this.#addUrl(entry);
    const knownVersion = isNew || !knownUrl ? undefined : this.#statements.findVersion.get(document, url);
    const version = knownVersion ? Number(knownVersion.id) : this.#addVersion(document, url, entry, page, tally);
    const { time, hash, status, mime, segment } = entry;
    const collection = this.#collectionId(entry.collection);
    const { changes } = this.#statements.putCapture.run(version, time, hash, collection, status, mime, segment);
    if (changes === 0) this.#statements.moveCapture.run(segment, version, time, hash, collection);
    else if (knownVersion) this.#statements.countCapture.run(time, time, version);
    return changes > 0;
  }

  #addDocument(entry: IndexEntry, page: Page, tally: IndexTally): number {
    const body = bodyForm(page.text);
    const isPartlyRead = page.isTruncated || !body.isWhole;
    const { lastInsertRowid } = this.#statements.putDocument.run(
      entry.digest,
      entry.overflow,
      'page',
      entry.mime,
      page.language,
      entry.content!.size,
      page.publishedAt ?? null,
      page.modifiedAt ?? null,
      isPartlyRead ? 1 : 0,
      page.charset,
      page.title,
    );
    const id = Number(lastInsertRowid);
    const links = packLinks(page.links);
    this.#statements.putText.run(id, page.description, packText(page.text), page.base ?? null, links);
    const start = this.#stopwatch();
    this.#statements.putWords.run(
      id,
      indexForm(page.title),
      indexForm(page.headings.join('\n')),
      indexForm(page.description),
      body.form,
    );
    tally.wordsMs += this.#stopwatch() - start;
    tally.documents++;
    tally.bytes += entry.content!.size;
    tally.textBytes += page.text.length;
    if (isPartlyRead) tally.partlyRead++;
    if (page.isTooCostly) tally.tooCostly++;
    return id;
  }

  /** A place that responses lead to, as they write it: like a page that has one link and not a word. */
  #addRedirect(entry: IndexEntry, link: Link): number {
    const nothing = [entry.digest, entry.overflow, 'redirect', '', '', 0, null, null, 0, '', ''] as const;
    const id = Number(this.#statements.putDocument.run(...nothing).lastInsertRowid);
    this.#statements.putText.run(id, '', packText(''), null, packLinks([link]));
    return id;
  }

  /**
   * A content of unknown type that proved to be no page is remembered, so that its captures do not bring it up again.
   */
  #addNothing(entry: IndexEntry): void {
    const nothing = [entry.digest, entry.overflow, '', entry.mime, '', 0, null, null, 0, '', ''] as const;
    this.#statements.putDocument.run(...nothing);
  }

  #addUrl(entry: IndexEntry): number {
    return Number(this.#statements.putUrl.run(entry.key, entry.url, hashOfKey(entry.key as UrlKey)).lastInsertRowid);
  }

  /** A content at a URL, with the one capture that is at hand. */
  #addVersion(document: number, url: number, entry: IndexEntry, page: Page | undefined, tally: IndexTally): number {
    const { all, cited } = this.#targets.of(page ? page.links : this.#linksAt(document, entry.url));
    const row = this.#statements.putVersion.run(document, url, this.#batch + 1, entry.time, entry.time);
    const id = Number(row.lastInsertRowid);
    if (cited.length > 0) this.#statements.putCited.run(id, new Uint8Array(cited.buffer));
    if (all.length > 0) {
      const start = this.#stopwatch();
      this.#statements.putTargets.run(id, targetWords(all));
      tally.wordsMs += this.#stopwatch() - start;
    }
    tally.links += all.length;
    return id;
  }

  /** The links of a document that is known already, at another URL. */
  #linksAt(document: number, url: string) {
    const row = this.#statements.getLinks.get(document)!;
    return unpackLinks(row.links as Uint8Array | null, row.base as string | null, url);
  }

  #collectionId(name: string): number {
    const known = this.#collections.get(name);
    if (known !== undefined) return known;
    const id = Number(this.#statements.putCollection.run(name).lastInsertRowid);
    this.#collections.set(name, id);
    return id;
  }

  /** Takes captures out, and with the last of them versions, documents and words. Gives how many were there. */
  async remove(names: readonly CaptureIdentity[]): Promise<number> {
    this.#begin();
    let removed = 0;
    for (const { key, time, hash, collection } of names) {
      const number = this.#collections.get(collection) ?? -1;
      for (const { version } of this.#statements.findCaptures.all(key, time, hash, number)) {
        this.#statements.dropCapture.run(version!, time, hash, number);
        this.#shrink(Number(version));
        removed++;
      }
    }
    this.#noteChanged(removed);
    return removed;
  }

  /** Takes out captures of a segment number that nothing has claimed. */
  async removeSegment(segment: number, limit: number): Promise<number> {
    this.#begin();
    const rows = this.#statements.capturesOfSegment.all(segment, limit);
    for (const { version, time, hash, collection } of rows) {
      this.#statements.dropCapture.run(version!, time!, hash!, collection!);
      this.#shrink(Number(version));
    }
    this.#noteChanged(rows.length);
    return rows.length;
  }

  #shrink(version: number): void {
    const left = this.#statements.capturesLeft.get(version)!;
    if (Number(left.count) > 0) {
      this.#statements.setSpan.run(left.count!, left.first!, left.last!, version);
      return;
    }
    const { document, url } = this.#statements.getVersion.get(version)!;
    this.#statements.dropVersion.run(version);
    this.#statements.dropTargets.run(version);
    this.#statements.dropCited.run(version);
    if (!this.#statements.versionOfUrl.get(url!)) this.#statements.dropUrl.run(url!);
    if (this.#statements.versionOfDocument.get(document!)) return;
    this.#statements.dropDocument.run(document!);
    this.#statements.dropText.run(document!);
    this.#statements.dropWords.run(document!);
    this.#statements.putState.run('purge', 'yes');
  }

  /** Notes where captures stand by now. */
  async move(names: readonly CaptureIdentity[], segment: number): Promise<void> {
    this.#begin();
    for (const { key, time, hash, collection } of names) {
      const number = this.#collections.get(collection) ?? -1;
      for (const { version } of this.#statements.findCaptures.all(key, time, hash, number)) {
        this.#statements.moveCapture.run(segment, version!, time, hash, number);
      }
    }
  }

  /** Gives all captures the segment number -1, for a pass over everything; what still has it afterwards is gone. */
  async unassignCaptures(): Promise<void> {
    this.#begin();
    this.#database.exec('UPDATE captures SET segment = -1; DELETE FROM segments');
  }

  async setSegments(segments: readonly (readonly [number, number])[]): Promise<void> {
    this.#begin();
    this.#database.exec('DELETE FROM segments');
    for (const [number, deadBytes] of segments) this.#statements.putSegment.run(number, deadBytes);
  }

  async setUnresolved(names: readonly Omit<CaptureIdentity, 'collection'>[], isUnresolved: boolean): Promise<void> {
    this.#begin();
    for (const { key, time, hash } of names) {
      if (isUnresolved) this.#statements.putUnresolved.run(key, time, hash);
      else this.#statements.dropUnresolved.run(key, time, hash);
    }
  }

  /** Words of documents that left stay in the full-text tables until these are merged (I6). */
  async purge(): Promise<void> {
    if (this.#state('purge') === undefined) return;
    this.#begin();
    this.#database.exec(
      "INSERT INTO words (words) VALUES ('optimize'); INSERT INTO targets (targets) VALUES ('optimize')",
    );
    await this.commit({ purge: null });
    this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  }

  /** Computes ranks and citation counts anew; searches see them all at once. */
  async rank(options: RankOptions = {}): Promise<RankReport> {
    this.#begin();
    const { report, digest } = rankPages(this.#database, edgesFile(this.#path), options);
    await this.commit({ ranked: String(this.#batch), ranking: digest, unranked: null });
    return report;
  }

  #state(name: string): string | undefined {
    const row = this.#statements.getState.get(name);
    return row === undefined ? undefined : String(row.value);
  }

  async close(): Promise<void> {
    this.#endBatch();
    this.#database.close();
  }
}
