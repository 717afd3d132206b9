/**
 * The second pass over one file: copies it under a temporary name, with a revisit in the place of each duplicate, and
 * reads it back. Everything between duplicates is copied as ranges of bytes, whatever it is (I4). Synchronous, for
 * worker threads.
 *
 * Of a duplicate only the beginning is read again: that the file is unchanged since all of it was hashed is checked
 * before and after. Where this run has not hashed it, and where more than its beginning matters, it is read whole. One
 * that is not what the plan says, or whose payload is not worth a revisit, stays.
 */
import { unlinkSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { type DigestAlgorithm, type Finding, PinakesError } from '../../base/index.ts';
import {
  type HttpHead,
  holdsHttp,
  httpHeadLength,
  MemberEncoder,
  type Opening,
  parseHttpHead,
  type RecordHead,
  RecordOpening,
} from '../../warc/index.ts';
import { type FileIdentity, identityIfThere, identityOf, sameIdentity } from '../file-identity.ts';
import { slimFinding } from '../finding-catalogue.ts';
import { hasCodings, hasDigest } from '../plan/original-check.ts';
import { type PlannedDuplicate, readPlan } from '../plan/plan-line.ts';
import { SpanReader } from '../plan/span-reader.ts';
import { ByteCopier } from './byte-copier.ts';
import { ByteCounter } from './byte-counter.ts';
import { readBack } from './read-back.ts';
import { ReplacementLog } from './replacement-log.ts';
import { revisitParts } from './revisit.ts';

const DUPLICATES_AT_ONCE = 256;
/** Compressed, the heads of a record take less. */
const OPENING_BYTES = 4 * 1024;

export type RewriteJob = {
  readonly path: string;
  /** Name within the collection; revisit ids are derived from it. */
  readonly name: string;
  /** What the file was when it was scanned. */
  readonly identity: FileIdentity;
  /** Where the new file is written. */
  readonly temporary: string;
  /** Whether it takes the place of the old one. */
  readonly isInPlace: boolean;
  /** File of planned duplicates in the order of their offsets; undefined copies the file as it is. */
  readonly plan: string | undefined;
  /**
   * A duplicate whose revisit does not take so many bytes less in the file stays; 0 leaves the decision to
   * `isWorthRevisit` alone.
   */
  readonly minSavingBytes: number;
  /** Whether nothing is written: the report says what would be. */
  readonly dryRun?: boolean | undefined;
  /** Whether each duplicate is read and hashed once more, because this run has not scanned it. */
  readonly mustRehash?: boolean | undefined;
  readonly digestBytes?: number | undefined;
};

/** Why a duplicate was not replaced. */
export type StayReason = 'small' | 'coding' | 'unrepeatable' | 'changed';

export type RewriteReport = {
  readonly identity: FileIdentity;
  readonly replaced: number;
  /** Bytes of payload that the file holds no more. */
  readonly payloadBytesSaved: number;
  readonly stayed: Readonly<Record<StayReason, number>>;
  readonly findings: readonly Finding[];
};

type Copier = Pick<ByteCopier, 'copyTo' | 'peek' | 'put' | 'skip'>;

/** Where it is noted what was put in place of what, while the new file is written. */
export function replacementLogPath(temporary: string): string {
  return `${temporary}.log`;
}

/**
 * Leaves nothing behind when it fails. A file that changed meanwhile is at fault itself, whatever was seen of it first.
 */
export function rewriteFile(job: RewriteJob): RewriteReport {
  try {
    return new Rewriting(job).run();
  } catch (error) {
    try {
      unlinkSync(job.temporary);
    } catch {
      // It was not there, or goes with the next attempt.
    }
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
    const copier = new ByteCopier(path, temporary, this.#job.isInPlace);
    const log = new ReplacementLog(replacementLogPath(temporary));
    try {
      if (plan !== undefined) this.#replaceAll(plan, copier, log);
      copier.copyTo(identity.size);
      copier.sync();
      readBack(path, identity.size, temporary, log);
      expectUnchanged(this.#job);
      return this.#report(identityOf(temporary));
    } finally {
      copier.close();
      log.close();
      unlinkSync(log.path);
    }
  }

  #predict(): RewriteReport {
    const { path, identity, plan } = this.#job;
    const counter = new ByteCounter(path);
    try {
      if (plan !== undefined) this.#replaceAll(plan, counter);
      counter.copyTo(identity.size);
      expectUnchanged(this.#job);
      return this.#report({ ...identity, size: counter.bytes });
    } finally {
      counter.close();
    }
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
    const reader = new SpanReader(this.#job.path);
    const decoder = new RecordOpening();
    const { coding, dictionary } = reader.start;
    const encoder = new MemberEncoder({ coding, dictionary });
    const replace = (planned: PlannedDuplicate, found: Found | undefined) =>
      this.#replace(planned, found, encoder, copier, log);
    try {
      for (const duplicates of readPlan(plan, DUPLICATES_AT_ONCE)) {
        if (this.#job.mustRehash || coding === 'zstd') {
          this.#readWhole(reader, duplicates, replace);
          continue;
        }
        for (const planned of duplicates) {
          copier.copyTo(planned.offset);
          const found = beginningOf(decoder.decode(copier.peek(Math.min(planned.length, OPENING_BYTES))));
          if (found) replace(planned, found);
          else this.#readWhole(reader, [planned], replace);
        }
      }
    } finally {
      encoder.close();
      decoder.close();
      reader.close();
    }
  }

  #readWhole(
    reader: SpanReader,
    duplicates: readonly PlannedDuplicate[],
    replace: (planned: PlannedDuplicate, found: Found | undefined) => void,
  ): void {
    reader.read(duplicates, {
      wants: (index) => {
        const payload = [algorithmOf(duplicates[index]!)];
        return { payload, framed: payload };
      },
      onRecord: (index, record) => {
        const planned = duplicates[index]!;
        const isProved = record?.facts.http && hasDigest(record.facts, planned.digest, this.#job.digestBytes);
        if (!record || !isProved) {
          replace(planned, undefined);
          return;
        }
        const { head, facts } = record;
        const { payloadBytes, isChunkingBroken } = facts;
        replace(planned, { head, http: facts.http!, payloadBytes, isHalf: isChunkingBroken || isTruncated(head) });
      },
    });
  }

  #replace(
    planned: PlannedDuplicate,
    found: Found | undefined,
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
    if (found.isHalf || !hasCodings(http, planned.original.codings)) {
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

/** A duplicate as it was found. */
type Found = {
  readonly head: RecordHead;
  readonly http: HttpHead;
  readonly payloadBytes: number;
  /**
   * Whether it does not hold its payload in the plain sense: cut off, or chunked in a way that only its stored form can
   * tell.
   */
  readonly isHalf: boolean;
};

/** What the beginning of a record tells, when it tells enough; a chunked body must be seen to its end. */
function beginningOf(opening: Opening | undefined): Found | undefined {
  if (!opening || opening.head.contentLength === undefined || !holdsHttp(opening.head)) return undefined;
  const { head, blockStart } = opening;
  const length = httpHeadLength(blockStart, 'response', false);
  if (length <= 0) return undefined;
  const http = parseHttpHead(Buffer.from(blockStart.subarray(0, length)));
  if (http.isChunked) return undefined;
  return { head, http, payloadBytes: head.contentLength! - length, isHalf: isTruncated(head) };
}

function isAsPlanned(planned: PlannedDuplicate, { head, payloadBytes }: Found): boolean {
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

export function algorithmOf(planned: PlannedDuplicate): DigestAlgorithm {
  return planned.digest.slice(0, planned.digest.indexOf(':')) as DigestAlgorithm;
}
