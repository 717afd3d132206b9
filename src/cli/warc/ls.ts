/** `pinakes warc ls`: lists the records of files, one per line. */
import { type Digest, type Finding, formatDigest, parseDigest, sameDigest } from '../../base/index.ts';
import {
  type BlockFacts,
  BlockScanner,
  type DigestVerdict,
  judgeDigests,
  type ReadingRecord,
  type RecordHead,
  verdictScanOptions,
} from '../../warc/index.ts';
import type { CommandContext } from '../command.ts';
import { walkInputs } from '../input-walk.ts';
import { formatFinding, printable } from '../terminal.ts';

export type LsOptions = { readonly json?: boolean };

export async function warcLs(context: CommandContext, paths: readonly string[], options: LsOptions): Promise<number> {
  const { terminal, signal } = context;
  const onFinding = (finding: Finding) => {
    if (finding.level !== 'note') terminal.say(formatFinding(finding));
  };
  return walkInputs(terminal, paths, { label: 'ls', onFinding, signal }, async ({ input }) => {
    let records = 0;
    for await (const record of input.read()) {
      if (records++ === 0 && !options.json)
        await terminal.line(
          `${printable(input.name)}\n${columns('OFFSET', 'LENGTH', 'TYPE', 'STATUS', 'DATE', 'URI')}`,
        );
      const wants = options.json ? verdictScanOptions(record.head, ['sha1']) : {};
      const scanner = new BlockScanner(record.head, wants);
      for await (const piece of record.body()) scanner.push(piece);
      const facts = scanner.end();
      if (options.json) await terminal.json({ file: input.name, ...listing(record, facts) });
      else await terminal.line(row(record, facts));
    }
  });
}

function columns(offset: string, length: string, type: string, status: string, date: string, uri: string): string {
  return `${offset.padStart(12)} ${length.padStart(11)}  ${type.padEnd(12)} ${status.padStart(6)}  ${date.padEnd(20)}  ${uri}`;
}

function row(record: ReadingRecord, facts: BlockFacts): string {
  const { head, tail } = record;
  const offset = head.innerOffset > 0 ? `${head.offset}+${head.innerOffset}` : String(head.offset);
  const status = facts.http?.status === undefined ? '' : String(facts.http.status);
  const length = tail?.length === undefined ? '-' : String(tail.length);
  return printable(
    columns(offset, length, head.type || '-', status, head.date ?? '-', head.targetUri ?? '-'),
  ).trimEnd();
}

/** The facts of a record, under the names that other listing tools use. Facts that the record lacks are left out. */
function listing(record: ReadingRecord, facts: BlockFacts): Record<string, unknown> {
  const { head, tail } = record;
  const isComplete = tail?.isComplete ?? false;
  const verdict = judgeDigests(head, facts, isComplete);
  const uri = head.get('warc-target-uri') ?? null;
  return {
    offset: head.offset,
    ...(head.innerOffset > 0 && { inner_offset: head.innerOffset }),
    type: head.type,
    uri,
    ...(head.targetUri !== undefined && head.targetUri !== uri && { url: head.targetUri }),
    date: head.date ?? null,
    id: head.recordId ?? null,
    content_length: head.contentLength ?? null,
    content_type: head.contentType ?? null,
    ...(tail?.length !== undefined && { [record.isCompressed ? 'compressed_length' : 'length']: tail.length }),
    ...(!isComplete && { error: head.contentLength === undefined ? 'bad content-length' : 'truncated body' }),
    block_sha1: sha1Of(facts.blockDigests),
    ...blockVerdict(verdict),
    ...(facts.http &&
      head.type !== 'request' && { status: facts.http.status ?? null, mime: facts.http.get('content-type') ?? null }),
    ...payloadFacts(head, facts, verdict),
    ...declaredFields(head),
  };
}

function sha1Of(digests: readonly Digest[]): string | undefined {
  const sha1 = digests.find((digest) => digest.algorithm === 'sha1');
  return sha1 && formatDigest(sha1);
}

function blockVerdict(verdict: DigestVerdict): Record<string, unknown> {
  if (verdict.block === 'unjudged') return {};
  return { block_digest_ok: verdict.block === 'malformed' ? null : verdict.block === 'block' };
}

const MATCH_NAMES = {
  block: 'block',
  payload: 'dechunked',
  framed: 'raw',
  decoded: 'decoded',
  none: 'neither',
  malformed: 'unknown-alg',
} as const;

function payloadFacts(head: RecordHead, facts: BlockFacts, verdict: DigestVerdict): Record<string, unknown> {
  if (!facts.http || head.type === 'request' || head.type === 'revisit') return {};
  const matched = verdict.payload === 'payload' ? payloadMatch(head, facts) : verdict.payload;
  return {
    payload_sha1_raw: sha1Of(facts.framedDigests),
    ...(matched !== 'unjudged' && { payload_digest_matches: MATCH_NAMES[matched] }),
    ...(facts.isChunked && {
      chunked: true,
      dechunk_ok: !facts.isChunkingBroken,
      payload_sha1_dechunked: sha1Of(facts.payloadDigests),
    }),
  };
}

/**
 * The bytes that a matching digest was computed from. Some writers hash the whole block. When a body is not chunked,
 * the stored body is the payload.
 */
function payloadMatch(head: RecordHead, facts: BlockFacts): 'block' | 'payload' | 'framed' {
  const declared = parseDigest(head.get('warc-payload-digest') ?? '');
  const isPayload = facts.payloadDigests.some((digest) => declared && sameDigest(digest, declared));
  if (!isPayload) return 'block';
  return facts.isChunked ? 'payload' : 'framed';
}

const DECLARED: readonly (readonly [name: string, field: string])[] = [
  ['block_digest', 'warc-block-digest'],
  ['payload_digest', 'warc-payload-digest'],
  ['concurrent_to', 'warc-concurrent-to'],
  ['profile', 'warc-profile'],
  ['refers_to', 'warc-refers-to'],
  ['refers_to_target_uri', 'warc-refers-to-target-uri'],
  ['refers_to_date', 'warc-refers-to-date'],
  ['segment_number', 'warc-segment-number'],
  ['truncated', 'warc-truncated'],
];

function declaredFields(head: RecordHead): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [name, field] of DECLARED) {
    const value = head.get(field);
    if (value !== undefined) found[name] = value;
  }
  return found;
}
