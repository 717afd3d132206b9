/**
 * The audit log in `audit.jsonl` of the archive's directory, readable by its user only: a line of JSON for each entry.
 *
 * - The file is opened for every group of entries, and only appended to. So a tool such as logrotate can rename it at
 *   any time, and several processes can write to it: the command line does while a server runs.
 * - A line that a crash has cut off is ended before the next one, and left out when reading.
 * - What was rotated away is not read. The file begins again without it.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { fileError } from '../../base/index.ts';
import type { AuditEntry } from './audit-entry.ts';
import { type AuditLog, type AuditPage, type AuditQuery, matches } from './audit-log.ts';

export const AUDIT_NAME = 'audit.jsonl';
const PRIVATE_MODE = 0o600;
const PIECE_BYTES = 64 * 1024;
const LINE_FEED = 0x0a;

type Waiting = { readonly line: string; readonly done: () => void; readonly failed: (error: unknown) => void };

export class AuditFile implements AuditLog {
  readonly #path: string;
  #waiting: Waiting[] = [];
  #isWriting = false;

  constructor(directory: string) {
    this.#path = join(directory, AUDIT_NAME);
  }

  append(entry: AuditEntry): Promise<void> {
    return new Promise((done, failed) => {
      this.#waiting.push({ line: `${JSON.stringify(entry)}\n`, done, failed });
      if (!this.#isWriting) void this.#write();
    });
  }

  async read(query: AuditQuery): Promise<AuditPage> {
    const entries: AuditEntry[] = [];
    const after = query.after === undefined ? undefined : parseCursor(query.after);
    let isPast = after === undefined;
    for await (const entry of this.#backwards()) {
      if (!isPast) {
        // The entry of the cursor may have been rotated away since.
        if (entry.id === after!.id) {
          isPast = true;
          continue;
        }
        if (entry.time >= after!.time) continue;
        isPast = true;
      }
      // Processes append in turns, so times are in order but for the moments between a clock and a write.
      if (query.since !== undefined && entry.time < query.since - CLOCK_TOLERANCE_MS) break;
      if (!matches(query, entry)) continue;
      if (entries.length === query.limit) {
        const { time, id } = entries.at(-1)!;
        return { entries, next: `${time}~${id}` };
      }
      entries.push(entry);
    }
    return { entries };
  }

  /** Writes everything that waits, group by group. */
  async #write(): Promise<void> {
    this.#isWriting = true;
    while (this.#waiting.length > 0) {
      const group = this.#waiting;
      this.#waiting = [];
      try {
        await this.#appendLines(group.map(({ line }) => line).join(''));
        for (const { done } of group) done();
      } catch (cause) {
        for (const { failed } of group) failed(fileError(cause, this.#path, 'writing'));
      }
    }
    this.#isWriting = false;
  }

  async #appendLines(lines: string): Promise<void> {
    await using file = await open(this.#path, 'a+', PRIVATE_MODE);
    // One write, so that lines of several processes do not mix.
    const text = (await endsInLine(file)) ? lines : `\n${lines}`;
    await file.appendFile(text);
    await file.datasync();
  }

  async *#backwards(): AsyncGenerator<AuditEntry> {
    let file: FileHandle;
    try {
      file = await open(this.#path, 'r');
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return;
      throw fileError(cause, this.#path);
    }
    await using _ = file;
    let end = (await file.stat()).size;
    /** The start of a line whose beginning is in an earlier piece. */
    let rest = Buffer.alloc(0);
    while (end > 0) {
      const start = Math.max(0, end - PIECE_BYTES);
      const piece = Buffer.alloc(end - start);
      await file.read(piece, 0, piece.length, start);
      const bytes = Buffer.concat([piece, rest]);
      const firstEnd = start === 0 ? -1 : bytes.indexOf(LINE_FEED);
      end = start;
      if (start > 0 && firstEnd < 0) {
        rest = bytes;
        continue;
      }
      rest = bytes.subarray(0, firstEnd + 1);
      const lines = bytes
        .subarray(firstEnd + 1)
        .toString('utf8')
        .split('\n');
      for (const line of lines.reverse()) {
        const entry = entryIn(line);
        if (entry) yield entry;
      }
    }
  }
}

const CLOCK_TOLERANCE_MS = 60_000;

async function endsInLine(file: FileHandle): Promise<boolean> {
  const { size } = await file.stat();
  if (size === 0) return true;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] === LINE_FEED;
}

function parseCursor(cursor: string): { time: number; id: string } {
  const [, time, id] = /^(\d{1,16})~(.+)$/s.exec(cursor) ?? [];
  if (time === undefined || id === undefined) throw new RangeError('not a cursor');
  return { time: Number(time), id };
}

function entryIn(line: string): AuditEntry | undefined {
  if (line === '') return undefined;
  try {
    const entry = JSON.parse(line) as AuditEntry;
    return typeof entry.time === 'number' && typeof entry.who?.name === 'string' ? entry : undefined;
  } catch {
    return undefined;
  }
}
