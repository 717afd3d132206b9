/**
 * Writes the index. Each batch of entries is one transaction. Contents are read before the transaction begins, so that
 * a slow content does not block readers. There is one writer at a time, because the archive has one owner.
 */
import type { DatabaseSync } from 'node:sqlite';
import { type Link, type Page, readPageInBackground } from '../../page/index.ts';
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
import { checkpointLog, requireDiskSpace, truncateLog } from './index-disk-space.ts';
import { edgesFile, type RankOptions, type RankReport, rankPages } from './rank.ts';
import { statementsOf, type WriterStatements } from './writer-statements.ts';

export type IndexWriterOptions = {
  /** Returns milliseconds, for the tally. */
  readonly stopwatch?: (() => number) | undefined;
  /** The memory limit of the process that reads documents. */
  readonly documentMemory?: number | undefined;
};

export type AddedEntries = {
  readonly tally: IndexTally;
  /** The indexes of entries whose contents took too much memory or time to read. */
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
    checkpointLog(this.#database);
    this.#statements = statementsOf(this.#database);
    this.#batch = Number(this.#state('batch') ?? 0);
    this.#loadCollections();
  }

  #loadCollections(): void {
    this.#collections.clear();
    for (const { id, name } of this.#database.prepare('SELECT id, name FROM collections').all()) {
      this.#collections.set(String(name), Number(id));
    }
  }

  /** Adds entries to the current batch. */
  async add(entries: readonly IndexEntry[]): Promise<AddedEntries> {
    const tally = emptyTally();
    const start = this.#stopwatch();
    const read: ReadEntry[] = [];
    for (const entry of entries) read.push({ entry, page: entry.content && (await this.#read(entry, entry.content)) });
    requireDiskSpace(this.#database, this.#path);
    this.#begin();
    for (const { entry, page } of read) this.#addEntry(entry, page, tally);
    this.#markUnranked(tally.captures + tally.redirects);
    tally.busyMs = this.#stopwatch() - start;
    const tooCostly = read.flatMap(({ page }, index) => (page?.isTooCostly ? [index] : []));
    return { tally, tooCostly };
  }

  /** Reads the page of a payload. Undefined if it is not a page. */
  #read({ mime, url }: IndexEntry, { payload, codings, contentType }: EntryContent): Promise<Page | undefined> {
    const source = { bytes: payload, codings, mime, contentType: contentType || mime, url };
    return readPageInBackground(source, {}, { memoryBytesMax: this.#documentMemory });
  }

  /** Remembers that ranks are out of date. The flag stays until a computation of ranks is complete. */
  #markUnranked(captures: number): void {
    if (captures > 0) this.#statements.putState.run('unranked', 'yes');
  }

  #begin(): void {
    if (this.#isOpen) return;
    this.#database.exec('BEGIN IMMEDIATE');
    this.#isOpen = true;
  }

  /** Makes the batch visible, together with the state of the indexer. */
  async commit(state: Readonly<Record<string, string | null>> = {}): Promise<void> {
    this.#begin();
    this.#batch++;
    for (const [name, value] of Object.entries({ ...state, batch: String(this.#batch) })) {
      if (value === null) this.#statements.dropState.run(name);
      else this.#statements.putState.run(name, value);
    }
    this.#database.exec('COMMIT');
    this.#isOpen = false;
    checkpointLog(this.#database);
  }

  /** Discards the current batch. */
  async rollBack(): Promise<void> {
    this.#endBatch();
    truncateLog(this.#database);
    // Collections that the batch added no longer have ids.
    this.#loadCollections();
  }

  #endBatch(): void {
    this.#isOpen = false;
    // An error may have ended the transaction already.
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
      if (entry.content) this.#addNonPage(entry);
      return;
    }
    if (!this.#addCapture(document, known === undefined, entry, page, tally)) return;
    if (entry.redirect) tally.redirects++;
    else tally.captures++;
  }

  /** Adds a capture of a document. Returns false if the capture was known and only its segment changed. */
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

  /** Adds the target of a redirect, as written, as a document with one link and no words. */
  #addRedirect(entry: IndexEntry, link: Link): number {
    const nothing = [entry.digest, entry.overflow, 'redirect', '', '', 0, null, null, 0, '', ''] as const;
    const id = Number(this.#statements.putDocument.run(...nothing).lastInsertRowid);
    this.#statements.putText.run(id, '', packText(''), null, packLinks([link]));
    return id;
  }

  /** Remembers a content that is not a page, so that it is not read again for its other captures. */
  #addNonPage(entry: IndexEntry): void {
    const nothing = [entry.digest, entry.overflow, '', entry.mime, '', 0, null, null, 0, '', ''] as const;
    this.#statements.putDocument.run(...nothing);
  }

  #addUrl(entry: IndexEntry): number {
    return Number(this.#statements.putUrl.run(entry.key, entry.url, hashOfKey(entry.key as UrlKey)).lastInsertRowid);
  }

  /** Adds a content at a URL, with its first capture. */
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

  /** The links of a known document at another URL. */
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

  /**
   * Removes captures. Also removes versions without captures, and documents and words without versions. Returns the
   * number of captures that the index had.
   */
  async remove(names: readonly CaptureIdentity[]): Promise<number> {
    this.#begin();
    let removed = 0;
    for (const { key, time, hash, collection } of names) {
      const number = this.#collections.get(collection) ?? -1;
      for (const { version } of this.#statements.findCaptures.all(key, time, hash, number)) {
        this.#statements.dropCapture.run(version!, time, hash, number);
        this.#updateVersion(Number(version));
        removed++;
      }
    }
    this.#markUnranked(removed);
    return removed;
  }

  /** Removes up to `limit` captures of a segment. Returns how many it removed. */
  async removeSegment(segment: number, limit: number): Promise<number> {
    this.#begin();
    const rows = this.#statements.capturesOfSegment.all(segment, limit);
    for (const { version, time, hash, collection } of rows) {
      this.#statements.dropCapture.run(version!, time!, hash!, collection!);
      this.#updateVersion(Number(version));
    }
    this.#markUnranked(rows.length);
    return rows.length;
  }

  /**
   * Counts the captures of a version again after a removal. Removes a version without captures, with its unused data.
   */
  #updateVersion(version: number): void {
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

  /** Sets the segment of captures that were moved. */
  async move(names: readonly CaptureIdentity[], segment: number): Promise<void> {
    this.#begin();
    for (const { key, time, hash, collection } of names) {
      const number = this.#collections.get(collection) ?? -1;
      for (const { version } of this.#statements.findCaptures.all(key, time, hash, number)) {
        this.#statements.moveCapture.run(segment, version!, time, hash, number);
      }
    }
  }

  /**
   * Gives all captures the segment -1, before the whole stream is read again. Captures that keep this number
   * have left the archive.
   */
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

  /** Merges the full-text tables, because the tables keep the words of removed documents until they are merged (I6). */
  async purge(): Promise<void> {
    if (this.#state('purge') === undefined) return;
    this.#begin();
    this.#database.exec(
      "INSERT INTO words (words) VALUES ('optimize'); INSERT INTO targets (targets) VALUES ('optimize')",
    );
    await this.commit({ purge: null });
    this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  }

  /** Computes ranks and citation counts. Searches see all of them at once. */
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
