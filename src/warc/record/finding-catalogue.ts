/**
 * What a reader can find wrong in a file: every code with its level and its sentence, sorted by code. docs/findings.md
 * has the same list, and a test keeps the two in agreement.
 */
import type { Finding, FindingLevel } from '../../base/index.ts';

export type FindingEntry = { readonly level: FindingLevel; readonly says: string };

const error = (says: string): FindingEntry => ({ level: 'error', says });
const warning = (says: string): FindingEntry => ({ level: 'warning', says });
const note = (says: string): FindingEntry => ({ level: 'note', says });

export const FINDING_CATALOGUE = {
  'arc-length-adjusted': note('the length of the ARC version block is wrong, but the record after it was found'),
  'block-digest-malformed': warning('the block digest cannot be read as a digest of a known algorithm'),
  'block-digest-mismatch': error('the block does not have the digest its head declares'),
  'chunking-broken': warning(
    'the body is declared as chunked and is not, or not to its end; the rest is kept unchanged',
  ),
  'coding-changed': warning(
    'records of another compression follow, as in files that were joined; they cannot be read one by one',
  ),
  'content-coding-broken': warning('the body does not decode by its content coding; it is kept unchanged'),
  'content-length-invalid': error('the record does not say how long it is'),
  'content-length-long': error('the record is shorter than its Content-Length'),
  'content-length-rewritten': warning('the record was written with a corrected Content-Length'),
  'content-length-short': error('the record is longer than its Content-Length'),
  'date-invalid': warning('the date of the record is not a date'),
  'date-nonstandard': warning('the date of the record is not in the form of the standard; its meaning was derived'),
  'field-duplicate': warning('a field that must occur only once is repeated; the first one counts'),
  'field-malformed': warning('a line of the head is not a field, or is malformed'),
  'field-missing': warning('a field that every record must have is missing'),
  'file-empty': warning('the file is empty: nothing was ever written to it, or its content was lost'),
  'garbage-skipped': error('bytes that belong to no record were skipped'),
  'gzip-crc': error('the gzip member decodes, but its checksum is wrong'),
  'gzip-flags-reserved': warning('the gzip member has flags that no standard defines'),
  'gzip-length': error('the gzip member decodes, but its length field is wrong'),
  'head-truncated': error('the head of the record ends before its empty line'),
  'head-unreadable': error('bytes look like the beginning of a record, but its head cannot be read'),
  'http-head-missing': warning('the block should be an HTTP message and has no HTTP head'),
  'member-damaged': error('the member cannot be decoded to its end'),
  'member-endless': error(
    'the member decodes to more bytes without a record than are searched; the rest of it was skipped',
  ),
  'member-shared': warning('several records share one compressed member; they cannot be read one by one'),
  'member-truncated': error('the file ends inside a compressed member'),
  'padding-skipped': warning('NUL bytes between records were skipped'),
  'payload-digest-decoded': note('the payload digest covers the body with its content coding removed'),
  'payload-digest-framed': note('the payload digest covers the chunk framing, which the standard leaves out'),
  'payload-digest-malformed': warning('the payload digest cannot be read as a digest of a known algorithm'),
  'payload-digest-mismatch': error('the payload does not have the digest its head declares, by any definition in use'),
  'record-spans-members': note('the record spans several compressed members'),
  'record-truncated': error('the file ends inside the record'),
  'sector-unreadable': error('the disk cannot read some bytes of the file; all readable bytes around them were read'),
  'target-uri-bracketed': note('the target URI is in angle brackets, which were removed'),
  'text-too-costly': warning(
    'reading this document takes more memory or time than allowed; none of its text is indexed',
  ),
  'trailer-missing': warning('the record does not end with two line ends'),
  'version-unknown': warning('the version of the record is unknown; it is read like 1.1'),
  'zstd-dictionary-missing': error('the frame needs a dictionary that the file does not have'),
} as const satisfies Record<string, FindingEntry>;

export type FindingCode = keyof typeof FINDING_CATALOGUE;

export function warcFinding(code: FindingCode, file: string, offset: number, detail?: string): Finding {
  const { level, says } = FINDING_CATALOGUE[code];
  return { code, level, file, offset, message: detail ? `${says}: ${detail}` : says };
}

/** `1 byte`, `2 bytes`: a number of bytes in the message of a finding. */
export function countedBytes(count: number): string {
  return `${count} ${count === 1 ? 'byte' : 'bytes'}`;
}
