/**
 * A slice of the archive as one WARC file. Records go as they are stored (I4).
 *
 * Self-contained, the file stands alone: a revisit becomes a full record, with its own head and the payload of the record it leans on, under a new id
 * and with WARC-Previous-Record-ID. Its HTTP head is its own but for the codings: the transfer coding goes, the content coding is that of the payload. A
 * server's "not modified" is no response that could carry a body; it stays a revisit, pointed at a full record that is in the file, put there if need be.
 */
import { assert, formatW3cDate, PinakesError } from '../base/index.ts';
import type { Block, Place } from '../catalog/index.ts';
import { urlKey } from '../url/index.ts';
import {
  type Field,
  headBytes,
  type NewRecord,
  RECORD_TRAILER,
  type RecordHead,
  revisitProfileOf,
  WarcFileWriter,
  warcFields,
} from '../warc/index.ts';
import { movedRecord, type SliceRecord, sliceOf } from './export-slice.ts';
import { type OpenedRecord, releasePayload } from './record-access.ts';
import { isWarcGzip, RepackedRecord } from './repacked-record.ts';
import { expandedRecord } from './revisit-expansion.ts';
import { type Referent, repointed } from './segment-rewrite.ts';
import { isMeant, type Selection } from './selection.ts';
import { isGone } from './storage-walk.ts';
import type { StreamParts } from './stream.ts';

const ATTEMPTS = 5;
const COPY_BYTES = 4 * 1024 * 1024;
/** Holders that were put in besides the slice are remembered up to so many; one more may then come twice. */
const EXTRAS_MAX = 100_000;

export type WarcExportOptions = {
  readonly selfContained?: boolean;
  /** Whether requests, metadata and warcinfo records come along; they do, unless told otherwise. */
  readonly companions?: boolean;
  readonly force?: boolean;
  readonly software: string;
  readonly title?: string;
  readonly onProgress?: (progress: { captures: number; bytes: number }) => void;
  readonly signal?: AbortSignal | undefined;
};

export type WarcExportReport = {
  captures: number;
  /** Requests, metadata and warcinfo records that came along. */
  companions: number;
  /** Revisits that became full records. */
  expanded: number;
  /** Revisits that stayed revisits. */
  revisits: number;
  /** Of these, in a self-contained file: their content is not in the archive. */
  unresolved: number;
  /** Full records from outside the slice that "not modified" revisits lean on. */
  extras: number;
  bytes: number;
};

export async function exportWarc(
  archive: StreamParts,
  selection: Selection,
  path: string,
  options: WarcExportOptions,
): Promise<WarcExportReport> {
  const coding = path.endsWith('.zst') ? 'zstd' : path.endsWith('.gz') ? 'gzip' : 'none';
  const writer = await WarcFileWriter.create(path, { coding, force: options.force === true });
  const force = options.force === true;
  try {
    const output = new WarcExport(archive, selection, writer, coding === 'gzip', options);
    await output.run();
    await writer.finish();
    return output.report;
  } catch (error) {
    await writer.discard({ force });
    throw error;
  }
}

class WarcExport {
  readonly report: WarcExportReport = {
    captures: 0,
    companions: 0,
    expanded: 0,
    revisits: 0,
    unresolved: 0,
    extras: 0,
    bytes: 0,
  };
  readonly #archive: StreamParts;
  readonly #selection: Selection;
  readonly #writer: WarcFileWriter;
  readonly #isGzip: boolean;
  readonly #options: WarcExportOptions;
  readonly #extras = new Set<string>();

  constructor(
    archive: StreamParts,
    selection: Selection,
    writer: WarcFileWriter,
    isGzip: boolean,
    options: WarcExportOptions,
  ) {
    this.#archive = archive;
    this.#selection = selection;
    this.#writer = writer;
    this.#isGzip = isGzip;
    this.#options = options;
  }

  async run(): Promise<void> {
    await this.#writeWarcinfo();
    const { companions = true, signal } = this.#options;
    for await (const { segment, records } of sliceOf(this.#archive, this.#selection, { companions, signal })) {
      for (const record of records) {
        signal?.throwIfAborted();
        await this.#putPatiently(segment.number, record);
      }
    }
    this.report.bytes = this.#writer.offset;
  }

  async #writeWarcinfo(): Promise<void> {
    const { software, title, selfContained } = this.#options;
    const fields: Field[] = [
      { name: 'software', value: software },
      { name: 'format', value: 'WARC File Format 1.1' },
      { name: 'conformsTo', value: 'http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/' },
      { name: 'description', value: selfContained ? 'self-contained slice of an archive' : 'slice of an archive' },
      ...(title === undefined ? [] : [{ name: 'isPartOf', value: title }]),
    ];
    const record: NewRecord = {
      type: 'warcinfo',
      recordId: this.#archive.newId(),
      date: formatW3cDate(this.#archive.clock()),
      contentType: 'application/warc-fields',
    };
    await this.#writer.write(record, warcFields(fields));
  }

  /** Compaction may move a record between the planning and the reading; nothing of it is written before it is found. */
  async #putPatiently(number: number, record: SliceRecord): Promise<void> {
    let current = { segment: number, record };
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#put(current.record, { segment: current.segment, ...current.record });
        return;
      } catch (error) {
        if (!isGone(error) || attempt >= ATTEMPTS) throw error;
        // A segment that is still there was moved to another volume.
        if (this.#archive.shelf.find(current.segment)) continue;
        const moved = await movedRecord(this.#archive, current.segment, current.record);
        if (!moved) return;
        current = moved;
      }
    }
  }

  async #put(record: SliceRecord, place: Place): Promise<void> {
    if (record.kind === undefined) {
      await this.#copy(place);
      this.report.companions++;
      return;
    }
    if (record.kind !== 'revisit') await this.#copy(place);
    else if (!this.#options.selfContained) await this.#keepRevisit(place);
    else await this.#standAlone(record, place);
    this.report.captures++;
    this.#options.onProgress?.({ captures: this.report.captures, bytes: this.#writer.offset });
  }

  async #keepRevisit(place: Place): Promise<void> {
    await this.#copy(place);
    this.report.revisits++;
  }

  async #standAlone(record: SliceRecord, place: Place): Promise<void> {
    const [block] = record.block ? await this.#archive.catalog.getBlocks([record.block]) : [];
    if (!block) {
      await this.#keepRevisit(place);
      this.report.unresolved++;
      return;
    }
    const own = await this.#archive.access.open(place);
    await releasePayload(own.payload);
    const profile = revisitProfileOf(own.head.get('warc-profile') ?? '');
    const isUnmodified = profile === 'server-not-modified' && own.http?.status === 304;
    if (isUnmodified) await this.#leanOnHolder(own, block);
    else await this.#expand(own, block);
  }

  /** The revisit as a full record. */
  async #expand(own: OpenedRecord, block: Block): Promise<void> {
    const { record, block: content } = await expandedRecord(this.#archive, own, block, this.#archive.newId());
    await this.#writer.writeStream(record, content);
    this.report.expanded++;
  }

  /** A "not modified" revisit, pointed at the record that holds the content; that comes along when the slice does not have it. */
  async #leanOnHolder(own: OpenedRecord, block: Block): Promise<void> {
    const { head, payload } = await this.#archive.access.open(block.holder);
    await releasePayload(payload);
    if (!(await this.#isInSlice(head, block))) await this.#addExtra(block.holder);
    const referent: Referent = {
      refersTo: head.recordId,
      refersToTargetUri: head.targetUri,
      refersToDate: head.date,
    };
    const message = own.http?.bytes ?? new Uint8Array(0);
    const fields = repointed(own.head, referent, this.#archive.newId()).filter(
      (field) => field.name.toLowerCase() !== 'content-length',
    );
    fields.push({ name: 'Content-Length', value: String(message.length) });
    await this.#writer.writeParts([headBytes(fields, own.head.version), message, RECORD_TRAILER]);
    this.report.revisits++;
  }

  async #isInSlice(head: RecordHead, block: Block): Promise<boolean> {
    const { targetUri, time } = head;
    if (targetUri === undefined || time === undefined) return false;
    const [found] = await this.#archive.catalog.findCaptures([{ urlKey: urlKey(targetUri), time }]);
    const { segment, offset } = block.holder;
    const capture = found!.find(({ place }) => place.segment === segment && place.offset === offset);
    return capture !== undefined && isMeant(capture, block.size, this.#selection);
  }

  async #addExtra(place: Place): Promise<void> {
    const id = `${place.segment}:${place.offset}`;
    if (this.#extras.has(id)) return;
    if (this.#extras.size < EXTRAS_MAX) this.#extras.add(id);
    this.report.extras++;
    await this.#copy(place);
  }

  /** A record as it is stored; only its packing may change. */
  async #copy(place: Place): Promise<void> {
    const { shelf, volumes, newId, scratch } = this.#archive;
    const segment = shelf.get(place.segment);
    if (!this.#isGzip || !isWarcGzip(segment) || !(await this.#isWhole(place))) {
      for await (const record of this.#archive.access.records(place)) {
        await using packed = await RepackedRecord.take(record, { newId, scratch });
        await this.#writer.writeStreamParts(packed.head, packed.block);
        return;
      }
      throw new PinakesError('NO_RECORD', { where: `${segment.name}:${place.offset}` });
    }
    if (place.length <= COPY_BYTES) {
      await this.#writer.writeMember(await this.#archive.access.member(place));
      return;
    }
    const end = place.offset + place.length;
    let left = place.length;
    for await (const bytes of volumes.get(segment.volume).stream(segment.name, place.offset, end)) {
      await this.#writer.writeMember(bytes);
      left -= bytes.length;
    }
    assert(left === 0, `${segment.name} is shorter than its records`);
  }

  /** Whether a member can go as it lies. Ours can; in files of others a record may be cut short. */
  async #isWhole(place: Place): Promise<boolean> {
    const { shelf, volumes, access } = this.#archive;
    if (!volumes.linked(shelf.get(place.segment).volume)) return true;
    for await (const record of access.records(place)) {
      for await (const _ of record.body());
      return record.tail?.complete === true && record.tail.length === place.length;
    }
    return false;
  }
}
