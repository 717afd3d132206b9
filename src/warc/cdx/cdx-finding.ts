/**
 * What can be wrong in index files and in WACZ packages: every code with its level and its sentence, sorted by code.
 * The message of a finding is the sentence followed by details.
 */
import type { Finding, FindingLevel } from '../../base/index.ts';

type Entry = { readonly level: FindingLevel; readonly says: string };

const error = (says: string): Entry => ({ level: 'error', says });
const warning = (says: string): Entry => ({ level: 'warning', says });
const note = (says: string): Entry => ({ level: 'note', says });

export const INDEX_FINDING_CATALOGUE = {
  'cdx-columns': error('the line does not have as many columns as its format; it was left out'),
  'cdx-columns-surplus': warning('the line has too many columns; blanks were not escaped'),
  'cdx-gzip-damaged': error('the gzip data is damaged; the lines after this are lost'),
  'cdx-line-unknown': error('the line is neither CDX nor CDXJ'),
  'cdx-number-invalid': warning('a length or an offset is not a number'),
  'cdx-timestamp-invalid': error('the timestamp is not a number of 4 to 17 digits; the line was left out'),
  'cdx-timestamp-length': warning('the timestamp does not have 14 or 17 digits'),
  'cdxj-json': error('there is no JSON object after the timestamp; the line was left out'),
  'cdxj-parts': error('the line is not a key, a timestamp and an object separated by blanks; it was left out'),
  'cdxj-value': warning('a key of the line has an invalid value'),
  'line-not-utf8': warning('the line is not UTF-8; it was read as ISO 8859-1'),
  'line-too-long': error('the line is too long and was left out'),
  'wacz-directory-broken': error('the directory of the package is broken; entries were found by their local headers'),
  'wacz-entries-too-many': error('the package has too many entries; the others were not read'),
  'wacz-entry-checksum': error('the bytes of the entry do not have the CRC-32 that it declares'),
  'wacz-entry-cut': error('the entry reaches beyond the end of the file'),
  'wacz-entry-damaged': error('the compressed bytes of the entry are damaged'),
  'wacz-entry-encrypted': error('the entry is encrypted and cannot be read'),
  'wacz-entry-header': error('the entry has no local header where the directory places it'),
  'wacz-entry-method': error('the entry is compressed by an unknown method'),
  'wacz-entry-name': error('the name of the entry leads out of the package'),
  'wacz-entry-outside': error('the directory places the entry beyond the end of the file'),
  'wacz-entry-overlap': error('the entry overlaps another one; no byte is read as part of both'),
  'wacz-entry-size': error('the entry does not have the size that it declares'),
  'wacz-entry-twice': error('the package contains two entries with this name; the first one counts'),
  'wacz-file-missing': warning('a file that every package must have is missing'),
  'wacz-findings-more': note('more findings of the same kind were left out'),
  'wacz-hash-mismatch': error('the file does not have the hash that datapackage.json declares'),
  'wacz-hash-missing': warning('datapackage.json declares no hash of a known algorithm for the file'),
  'wacz-index-dangling': error('the index refers to bytes that the package does not contain'),
  'wacz-index-order': warning('the index is not in byte order, so a search may miss lines'),
  'wacz-json': error('the file is not a JSON object'),
  'wacz-nested-deep': error('packages are nested too deep; this one was not opened'),
  'wacz-nested-deflated': error('the package inside is compressed and cannot be read by range; it was not opened'),
  'wacz-not-stored': warning(
    'the file is compressed by the ZIP and must be stored; it can only be read from its beginning',
  ),
  'wacz-package-digest-invalid': error('datapackage-digest.json has no hash of a known algorithm'),
  'wacz-package-digest-mismatch': error(
    'datapackage.json does not have the hash that datapackage-digest.json declares',
  ),
  'wacz-package-resource': warning('datapackage.json lists a resource without a path'),
  'wacz-package-resources': error('datapackage.json lists no resources'),
  'wacz-page-invalid': warning('a line of the pages is not an object with a URL'),
  'wacz-pages-header': warning('the pages do not begin with a header'),
  'wacz-profile': warning('the profile of the package is not data-package'),
  'wacz-resource-missing': error('datapackage.json lists a file that the package does not contain'),
  'wacz-resource-unlisted': warning('the package contains a file that datapackage.json does not list'),
  'wacz-signature-created': warning('the time of the signature is not the time of the package'),
  'wacz-signature-invalid': error('the signature does not match the signed bytes'),
  'wacz-signature-key': warning('the signature has no key of a known form'),
  'wacz-signature-unverified': note(
    'the signature matches its certificate; the owner of the certificate was not verified',
  ),
  'wacz-size-mismatch': error('the file does not have the size that datapackage.json declares'),
  'wacz-version-missing': warning('datapackage.json does not say its wacz_version'),
  'wacz-version-other': note('the package is of another version of WACZ than 1.1.1'),
  'wacz-warc-elsewhere': note('a WARC file lies outside of archive/'),
  'zipnum-block-cut': error('a block of the index reaches beyond the end of its file'),
  'zipnum-block-damaged': error('a block of the index does not inflate to its end; its readable lines were used'),
  'zipnum-block-digest': error('a block of the index does not have its declared digest'),
  'zipnum-block-large': error('a block of the index is too large and was not read'),
  'zipnum-incomplete': error('the secondary index does not cover all lines of the index'),
  'zipnum-line-unknown': error('a line of the secondary index does not name a block'),
  'zipnum-part-missing': error('the secondary index names a data file that is missing'),
} as const satisfies Record<string, Entry>;

export type IndexFindingCode = keyof typeof INDEX_FINDING_CATALOGUE;

export type ReportFinding = (finding: Finding) => void;

/** Reports a fault in a text. The receiver knows the file and the offset of this text. */
export type ReportFault = (code: IndexFindingCode, detail?: string) => void;

export function indexFinding(code: IndexFindingCode, file: string, offset: number, detail?: string): Finding {
  const { level, says } = INDEX_FINDING_CATALOGUE[code];
  return { code, level, file, offset, message: detail ? `${says}: ${detail}` : says };
}

/** Quotes a text from a file for a message, and cuts it when it is long. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}...` : text);
}
