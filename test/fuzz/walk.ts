/** Reads a whole input from memory with cursor and scanner, counts the steps, and collects the results. */
import { type Digest, digestOf, type Random, RunningDigest, toHex } from '../../src/base/index.ts';
import {
  BlockScanner,
  type BlockScanOptions,
  RecordCursor,
  type RecordHead,
  type RecordTail,
} from '../../src/warc/index.ts';

export type FoundRecord = {
  readonly head: RecordHead;
  readonly tail: RecordTail | undefined;
  readonly bodyBytes: number;
  readonly bodySha1: string;
};

export type Walked = {
  readonly records: readonly FoundRecord[];
  readonly findings: readonly { readonly code: string; readonly offset: number }[];
  readonly steps: number;
};

/**
 * The walk took more steps than a correct reading of this number of bytes can take, so the reader is in an endless
 * loop.
 */
class Hang extends Error {}

const WANTS: BlockScanOptions = { block: ['sha1'], payload: ['sha256'], framed: ['sha1'], decoded: ['sha1'] };
const STEPS_MIN = 2000;
const STEPS_A_BYTE = 8;

/**
 * `pieceBytes` is the size of the next piece of input. `behind` are bytes in memory after the input. A reader that
 * reads past the end of its input would take them for more of the file.
 */
export function walk(bytes: Buffer, pieceBytes: () => number, behind = Buffer.alloc(8)): Walked {
  const cursor = new RecordCursor('input');
  const records: FoundRecord[] = [];
  const findings: { code: string; offset: number }[] = [];
  let fed = 0;
  let steps = 0;
  let head: RecordHead | undefined;
  let scanner: BlockScanner | undefined;
  let body = new RunningDigest('sha1');
  let bodyBytes = 0;
  const close = (tail: RecordTail | undefined) => {
    scanner!.end();
    records.push({ head: head!, tail, bodyBytes, bodySha1: hexOf(body.finish()) });
    head = undefined;
  };
  try {
    for (;;) {
      if (++steps > STEPS_MIN + STEPS_A_BYTE * bytes.length) throw new Hang(`${steps} steps for ${bytes.length} bytes`);
      switch (cursor.step()) {
        case 'need-input': {
          const room = cursor.reserve();
          const taken = bytes.copy(room, 0, fed, fed + Math.min(room.length, pieceBytes()));
          fed += taken;
          room.set(behind.subarray(0, room.length - taken), taken);
          if (taken === 0) cursor.end();
          else cursor.commit(taken);
          break;
        }
        case 'finding':
          findings.push({ code: cursor.finding.code, offset: cursor.finding.offset });
          break;
        case 'record':
          if (head) throw new Error('a record began inside another');
          head = cursor.head;
          scanner = new BlockScanner(head, WANTS);
          body = new RunningDigest('sha1');
          bodyBytes = 0;
          break;
        case 'body':
          body.update(cursor.chunk);
          bodyBytes += cursor.chunk.length;
          scanner!.push(cursor.chunk);
          break;
        case 'end':
          close(cursor.tail);
          break;
        case 'done':
          if (head) throw new Error('the input ended inside a record');
          return { records, findings, steps };
      }
    }
  } finally {
    cursor.close();
  }
}

function hexOf(digest: Digest): string {
  return toHex(digest.bytes);
}

export function sha1Of(bytes: Uint8Array): string {
  return hexOf(digestOf('sha1', bytes));
}

const PIECE_BYTES = [1, 7, 50, 100, 500, 500, 500, 500, 3000, 3000, 3000, 3000, 3000, 3000, 3000, 3000];

/** Pieces of all sizes. The smallest are rare, because they take longest. */
export function randomPieces(random: Random): () => number {
  const largest = PIECE_BYTES[Math.floor(random() * PIECE_BYTES.length)]!;
  return () => 1 + Math.floor(random() * largest);
}

/** The whole input in one piece. */
export function onePiece(): number {
  return Number.POSITIVE_INFINITY;
}
