/**
 * The second pass over one file: copies it under a temporary name, with a revisit for each duplicate, and reads the
 * copy back. The bytes between duplicates are copied as ranges without being parsed (I4). Synchronous, for worker
 * threads.
 *
 * Only the beginning of a duplicate is read again: the first pass hashed the whole file, and checks before and after
 * the copy show that the file has not changed since. A duplicate is read whole when this run has not hashed it, or when
 * its beginning is not enough. A duplicate that does not match the plan, or whose payload is not worth a revisit,
 * stays.
 */
import { unlinkSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { type Finding, PinakesError } from '../../base/index.ts';
import {
  type HttpHead,
  holdsHttp,
  httpHeadLength,
  MemberEncoder,
  parseHttpHead,
  type RecordHead,
  type RecordStart,
  RecordStartDecoder,
} from '../../warc/index.ts';
import { type FileIdentity, identityIfThere, identityOf, sameIdentity } from '../file-identity.ts';
import { slimFinding } from '../finding-catalogue.ts';
import { algorithmOf, hasCodings, hasDigest } from '../plan/original-check.ts';
import { type PlannedDuplicate, readPlan } from '../plan/plan-line.ts';
import { SpanReader } from '../plan/span-reader.ts';
import { ByteCopier } from './byte-copier.ts';
import { ByteCounter } from './byte-counter.ts';
import { removeIfThere } from './installation.ts';
import { readBack } from './read-back.ts';
import { ReplacementLog } from './replacement-log.ts';
import { revisitParts } from './revisit.ts';

const DUPLICATES_AT_ONCE = 256;
/** Enough for the compressed heads of nearly all records. */
const OPENING_BYTES = 4 * 1024;

export type RewriteJob = {
  readonly path: string;
  /** Name within the collection; revisit ids are derived from it. */
  readonly name: string;
  /** The identity of the file when it was scanned. */
  readonly identity: FileIdentity;
  /** The path under which the new file is written. */
  readonly temporary: string;
  /** Whether the new file will replace the old one. */
  readonly isInPlace: boolean;
  /** The file with the planned duplicates; undefined to copy the file unchanged. */
  readonly plan: string | undefined;
  /**
   * A duplicate stays when its revisit would save fewer bytes in the file. 0 leaves the decision to `isWorthRevisit`.
   */
  readonly minSavingBytes: number;
  /** Writes nothing; the report says what would be written. */
  readonly dryRun?: boolean | undefined;
  /** Whether to read and hash each duplicate again, because this run has not scanned the file. */
  readonly mustRehash?: boolean | undefined;
  readonly digestBytes?: number | undefined;
};

/** Why a duplicate was not replaced. */
export type StayReason = 'small' | 'coding' | 'unrepeatable' | 'changed';

export type RewriteReport = {
  readonly identity: FileIdentity;
  readonly replaced: number;
  /** Bytes of payload that the file does not contain any more. */
  readonly payloadBytesSaved: number;
  readonly stayed: Readonly<Record<StayReason, number>>;
  readonly findings: readonly Finding[];
};

type Copier = Pick<ByteCopier, 'copyTo' | 'peek' | 'put' | 'skip'>;

/** The path of the replacement log, which exists while the new file is written. */
export function replacementLogPath(temporary: string): string {
  return `${temporary}.log`;
}

/**
 * Removes the new file when it fails. When the old file has changed, that is reported instead of the first error.
 */
export function rewriteFile(job: RewriteJob): RewriteReport {
  try {
    return new Rewriting(job).run();
  } catch (error) {
    removeIfThere(job.temporary);
    expectUnchanged(job);
    throw error;
  }
}

/** Throws FILE_CHANGED when the file is not the one that was scanned. */
export function expectUnchanged({ path, identity }: Pick<RewriteJob, 'path' | 'identity'>): void {
  const now = identityIfThere(path);
  if (!now || !sameIdentity(now, identity)) throw new PinakesError('FILE_CHANGED', { where: path });
}

class Rewriting {
  readonly #job: RewriteJob;
  readonly #findings: Finding[] = [];
  readonly #stayed: Record<StayReason, number> = { small: 0, coding: 0, unrepeatable: 0, changed: 0 };
  #replaced = 0;
  #payloadBytesSaved = 0;

  constructor(job: RewriteJob) {
    this.#job = job;
  }

  run(): RewriteReport {
    const { path, identity, temporary, plan } = this.#job;
    expectUnchanged(this.#job);
    if (this.#job.dryRun) return this.#predict();
    using copier = new ByteCopier(path, temporary, this.#job.isInPlace ? path : undefined);
    const log = new ReplacementLog(replacementLogPath(temporary));
    try {
      if (plan !== undefined) this.#replaceAll(plan, copier, log);
      copier.copyTo(identity.size);
      copier.sync();
      readBack(path, identity.size, temporary, log);
      expectUnchanged(this.#job);
      return this.#report(identityOf(temporary));
    } finally {
      log.close();
      unlinkSync(log.path);
    }
  }

  #predict(): RewriteReport {
    const { path, identity, plan } = this.#job;
    using counter = new ByteCounter(path);
    if (plan !== undefined) this.#replaceAll(plan, counter);
    counter.copyTo(identity.size);
    expectUnchanged(this.#job);
    return this.#report({ ...identity, size: counter.bytes });
  }

  #report(identity: FileIdentity): RewriteReport {
    return {
      identity,
      replaced: this.#replaced,
      payloadBytesSaved: this.#payloadBytesSaved,
      stayed: this.#stayed,
      findings: this.#findings,
    };
  }

  #replaceAll(plan: string, copier: Copier, log?: ReplacementLog): void {
    using reader = new SpanReader(this.#job.path);
    const decoder = new RecordStartDecoder();
    const { coding, dictionary } = reader.start;
    const encoder = new MemberEncoder({ coding, dictionary });
    const replace = (planned: PlannedDuplicate, found: FoundDuplicate | undefined) =>
      this.#replace(planned, found, encoder, copier, log);
    try {
      for (const duplicates of readPlan(plan, DUPLICATES_AT_ONCE)) {
        if (this.#job.mustRehash || coding === 'zstd') {
          this.#readWhole(reader, duplicates, replace);
          continue;
        }
        for (const planned of duplicates) {
          copier.copyTo(planned.offset);
          const found = duplicateIn(decoder.decode(copier.peek(Math.min(planned.length, OPENING_BYTES))));
          if (found) replace(planned, found);
          else this.#readWhole(reader, [planned], replace);
        }
      }
    } finally {
      encoder.close();
      decoder.close();
    }
  }

  #readWhole(
    reader: SpanReader,
    duplicates: readonly PlannedDuplicate[],
    replace: (planned: PlannedDuplicate, found: FoundDuplicate | undefined) => void,
  ): void {
    reader.read(duplicates, {
      wants: (index) => {
        const payload = [algorithmOf(duplicates[index]!)];
        return { payload, framed: payload };
      },
      onRecord: (index, record) => {
        const planned = duplicates[index]!;
        const isConfirmed = record?.facts.http && hasDigest(record.facts, planned.digest, this.#job.digestBytes);
        if (!record || !isConfirmed) {
          replace(planned, undefined);
          return;
        }
        const { head, facts } = record;
        const { payloadBytes, isChunkingBroken } = facts;
        replace(planned, {
          head,
          http: facts.http!,
          payloadBytes,
          isIncomplete: isChunkingBroken || isTruncated(head),
        });
      },
    });
  }

  #replace(
    planned: PlannedDuplicate,
    found: FoundDuplicate | undefined,
    encoder: MemberEncoder,
    copier: Copier,
    log: ReplacementLog | undefined,
  ): void {
    if (!found || !isAsPlanned(planned, found)) {
      this.#stayed.changed++;
      this.#findings.push(slimFinding('slim-duplicate-differs', this.#job.path, planned.offset));
      return;
    }
    const { head, http, payloadBytes } = found;
    if (found.isIncomplete || !hasCodings(http, planned.original.codings)) {
      this.#stayed.coding++;
      return;
    }
    const { name } = this.#job;
    const parts = revisitParts({ head, http, payloadBytes, name, offset: planned.offset }, planned.original);
    if (typeof parts === 'string') {
      this.#stayed[parts]++;
      return;
    }
    const record = Buffer.concat(parts);
    const member = encoder.encode([record]);
    const { minSavingBytes } = this.#job;
    if (minSavingBytes > 0 && planned.length - member.length < minSavingBytes) {
      this.#stayed.small++;
      return;
    }
    copier.copyTo(planned.offset);
    copier.put(member);
    copier.skip(planned.length);
    this.#replaced++;
    this.#payloadBytesSaved += payloadBytes;
    log?.add({
      oldOffset: planned.offset,
      oldLength: planned.length,
      newLength: member.length,
      memberCrc: crc32(member),
      recordCrc: crc32(record),
    });
  }
}

/** A duplicate as read from the file. */
type FoundDuplicate = {
  readonly head: RecordHead;
  readonly http: HttpHead;
  readonly payloadBytes: number;
  /**
   * Whether the stored body is not exactly the payload: the record is truncated, or its chunks are broken.
   */
  readonly isIncomplete: boolean;
};

/** The duplicate, from the beginning of its record; undefined when that is not enough, as for a chunked body. */
function duplicateIn(start: RecordStart | undefined): FoundDuplicate | undefined {
  if (!start || start.head.contentLength === undefined || !holdsHttp(start.head)) return undefined;
  const { head, blockStart } = start;
  const length = httpHeadLength(blockStart, 'response', false);
  if (length <= 0) return undefined;
  const http = parseHttpHead(Buffer.from(blockStart.subarray(0, length)));
  if (http.isChunked) return undefined;
  return { head, http, payloadBytes: head.contentLength! - length, isIncomplete: isTruncated(head) };
}

function isAsPlanned(planned: PlannedDuplicate, { head, payloadBytes }: FoundDuplicate): boolean {
  return (
    head.format !== 'arc' &&
    head.type === 'response' &&
    head.targetUri === planned.uri &&
    head.date === planned.date &&
    payloadBytes > 0 &&
    (planned.payloadBytes === null || payloadBytes === planned.payloadBytes)
  );
}

function isTruncated(head: RecordHead): boolean {
  return head.get('warc-truncated') !== undefined;
}
