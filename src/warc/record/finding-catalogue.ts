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
  'arc-length-adjusted': note(
    'the length of the ARC version block is off, and the record after it was found all the same',
  ),
  'block-digest-malformed': warning('the block digest cannot be read as a digest of a known algorithm'),
  'block-digest-mismatch': error('the block does not have the digest its head declares'),
  'chunking-broken': warning(
    'the body says it is chunked and is not, or not to its end; the rest is taken as it stands',
  ),
  'coding-changed': warning(
    'records of another compression follow, as in files that were joined; they cannot be read one by one',
  ),
  'content-coding-broken': warning('the body does not decode by its content coding; it is taken as it stands'),
  'content-length-invalid': error('the record does not say how long it is'),
  'content-length-long': error('the record is shorter than its Content-Length'),
  'content-length-rewritten': warning('the record was written anew with the length it has'),
  'content-length-short': error('the record goes on past its Content-Length'),
  'date-invalid': warning('the date of the record is not a date'),
  'date-nonstandard': warning('the date of the record is not written as the standard asks, and was worked out'),
  'field-duplicate': warning('a field that may stand once stands twice; the first counts'),
  'field-malformed': warning('a line of the head is not a field, or not as it should be written'),
  'field-missing': warning('a field that every record must have is missing'),
  'file-empty': warning('the file is empty: it was begun and never written, or lost what it had'),
  'garbage-skipped': error('bytes that belong to no record were skipped'),
  'gzip-crc': error('the gzip member decodes, but its checksum is wrong'),
  'gzip-flags-reserved': warning('the gzip member has flags that no standard defines'),
  'gzip-length': error('the gzip member decodes, but its length field is wrong'),
  'head-truncated': error('the head of the record ends before its empty line'),
  'head-unreadable': error('something begins like a record, and its head cannot be read'),
  'http-head-missing': warning('the block should be an HTTP message and has no HTTP head'),
  'member-damaged': error('the member cannot be decoded to its end'),
  'member-endless': error(
    'the member unpacks to far more bytes that belong to no record than are looked through; it was left',
  ),
  'member-shared': warning('several records share one compressed member; they cannot be read one by one'),
  'member-truncated': error('the file ends inside a compressed member'),
  'padding-skipped': warning('NUL bytes between records were skipped'),
  'payload-digest-decoded': note('the payload digest covers the body with its content coding removed'),
  'payload-digest-framed': note('the payload digest covers the chunk framing, which the standard leaves out'),
  'payload-digest-malformed': warning('the payload digest cannot be read as a digest of a known algorithm'),
  'payload-digest-mismatch': error(
    'the payload does not have the digest its head declares, in any of the ways that are in use',
  ),
  'record-spans-members': note('the record goes over several compressed members'),
  'record-truncated': error('the file ends inside the record'),
  'sector-unreadable': error('the disk does not give bytes of the file; what can be read around them was'),
  'target-uri-bracketed': note('the target URI stands in angle brackets, which were taken off'),
  'text-too-costly': warning(
    'reading this document takes more memory or time than it may; none of its text is indexed',
  ),
  'trailer-missing': warning('the record does not end with two line ends'),
  'version-unknown': warning('the version of the record is not one that is known; it is read like 1.1'),
  'zstd-dictionary-missing': error('the frame needs a dictionary that the file does not bring'),
} as const satisfies Record<string, FindingEntry>;

export type FindingCode = keyof typeof FINDING_CATALOGUE;

export function findingOf(code: FindingCode, file: string, offset: number, detail?: string): Finding {
  const { level, says } = FINDING_CATALOGUE[code];
  return { code, level, file, offset, message: detail ? `${says}: ${detail}` : says };
}

/** `1 byte`, `2 bytes`: a number of bytes in the message of a finding. */
export function countedBytes(count: number): string {
  return `${count} ${count === 1 ? 'byte' : 'bytes'}`;
}
