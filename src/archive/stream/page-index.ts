/**
 * Finds captures by page id.
 *
 * ```
 *   <archive>/pages.txt      <16 hexadecimal digits> SP <URL key> LF      one line a page, sorted
 *   note  page-index         digest of the segments, as they were when the file was made
 * ```
 * Page ids are spread evenly over all 64-bit numbers. A row for each of them in the catalog would be written in random
 * order with every stored capture, and would make the catalog a fifth larger, although pages are rarely looked up by
 * id. So the file is made for the first look-up, from one walk over the catalog. It is searched by bisection. It is
 * derived data: it can be removed at any time, and a rebuild makes it outdated.
 *
 * An id that is in the file is looked up there even if records were stored since. An id is made from the URL alone, so
 * its line stays true, and the captures are read from the catalog. The file is made again when it lacks the requested
 * id and records were stored since.
 */
import { open, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type EpochMs, fileError } from '../../base/index.ts';
import { type Capture, rangeOfKey } from '../../catalog/index.ts';
import { refusalOf } from '../../ledger/index.ts';
import { formatPageId, type PageId, pageId, type UrlKey } from '../../url/index.ts';
import { exactRange, FileByteSource, searchLines, sortLines } from '../../warc/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { segmentsFingerprint } from '../segment/segments-fingerprint.ts';

const PAGES_NAME = 'pages.txt';
const PAGES_NOTE = 'page-index';
const WRITE_LINES = 4096;

export class PageIndex {
  readonly #archive: OpenedArchive;
  #making: Promise<void> | undefined;
  #made: string | undefined;

  constructor(archive: OpenedArchive) {
    this.#archive = archive;
  }

  /**
   * The capture of a page that is nearest to a time. If two are equally near, the earlier one. Without a time, the
   * latest.
   */
  async find(id: PageId, at: EpochMs = Number.MAX_SAFE_INTEGER): Promise<Capture | undefined> {
    let best: Capture | undefined;
    for await (const capture of this.captures(id))
      if (!best || Math.abs(capture.time - at) < Math.abs(best.time - at)) best = capture;
    return best;
  }

  /** All captures of a page, in order of time. */
  async *captures(id: PageId): AsyncGenerator<Capture> {
    for (const urlKey of await this.#keysOf(id)) {
      // URLs that differ only in `http` or `https`, or in `www`, have one key but different ids.
      for await (const page of this.#archive.catalog.captures(rangeOfKey(urlKey)))
        for (const capture of page) if (pageId(capture.url) === id) yield capture;
    }
  }

  async #keysOf(id: PageId): Promise<UrlKey[]> {
    const fingerprint = await segmentsFingerprint(this.#archive);
    const made = await this.#madeFor();
    const found = made === undefined ? undefined : await this.#search(id);
    if (found !== undefined && (found.length > 0 || made === fingerprint)) return found;
    this.#making ??= this.#make().finally(() => {
      this.#making = undefined;
    });
    await this.#making;
    return (await this.#search(id)) ?? [];
  }

  /** The fingerprint that the file was made for. In a cluster, each machine has a file of its own. */
  async #madeFor(): Promise<string | undefined> {
    const { catalog } = this.#archive;
    return catalog.isShared ? this.#made : (await catalog.notes(PAGES_NOTE))[PAGES_NOTE];
  }

  /** Undefined when there is no file. */
  async #search(id: PageId): Promise<UrlKey[] | undefined> {
    const path = this.#path;
    const source = await FileByteSource.open(path).catch((error: { code?: string }) => {
      if (error.code !== 'FILE_MISSING') throw error;
    });
    if (!source) return undefined;
    try {
      const keys: UrlKey[] = [];
      const range = exactRange(formatPageId(id));
      for await (const { line } of searchLines(source, range, { file: path, onFinding: () => {} }))
        keys.push(line.slice(line.indexOf(' ') + 1) as UrlKey);
      return keys;
    } finally {
      await source.close();
    }
  }

  get #path(): string {
    return join(this.#archive.directory, PAGES_NAME);
  }

  async #make(): Promise<void> {
    const { catalog, scratch, isOld } = this.#archive;
    // Computed before the walk. A page that is stored during the walk may be missing from the file. The fingerprint is
    // then outdated, so the next search for a missing page makes the file again.
    const fingerprint = await segmentsFingerprint(this.#archive);
    const draft = `${this.#path}.tmp`;
    try {
      {
        await using file = await open(draft, 'w');
        let batch: string[] = [];
        for await (const line of sortLines(this.#lines(), { directory: scratch, unique: true })) {
          batch.push(`${line}\n`);
          if (batch.length < WRITE_LINES) continue;
          await file.appendFile(batch.join(''));
          batch = [];
        }
        await file.appendFile(batch.join(''));
        await file.sync();
      }
      await rename(draft, this.#path);
    } catch (cause) {
      await unlink(draft).catch(() => {});
      throw fileError(cause, this.#path, 'writing');
    }
    this.#made = fingerprint;
    // Without the note, the next search for a missing page makes the file again.
    if (!isOld && !catalog.isShared) refusalOf(await catalog.commit({ putNotes: { [PAGES_NOTE]: fingerprint } }));
  }

  async *#lines(): AsyncGenerator<string> {
    let last = '';
    for await (const page of this.#archive.catalog.captures({})) {
      for (const { url, urlKey } of page) {
        // Captures of one page are nearly always consecutive.
        if (url === last) continue;
        last = url;
        yield `${formatPageId(pageId(url))} ${urlKey}`;
      }
    }
  }
}
