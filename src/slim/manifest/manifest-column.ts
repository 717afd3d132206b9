/**
 * The columns of a manifest: one row for each record that has a content or refers to one. The names are the same in
 * Parquet files, in the text files of a run, and in SQL.
 *
 * ```
 *   file              path, as it was typed
 *   record_offset     bytes from the start of the file; of the compressed member, when there is one
 *   record_length     bytes in the file, as stored, including the line ends after the record
 *   type              response, resource, conversion, revisit, or request (only with a body or a method other than GET)
 *   uri, date         WARC-Target-URI and WARC-Date, as written; brackets around the URI are taken off
 *   time_ms           the date as milliseconds since 1970
 *   digest            `algorithm:` and lower-case hexadecimal, of the payload
 *   payload_bytes     size of the payload; null in manifests that were read from text
 *   holds             whether revisits may refer to this record; never true for an empty payload
 *   yields            whether the record may become a revisit; never true when `holds` is false
 *   record_id         WARC-Record-ID, brackets included
 *   declared_digest   WARC-Payload-Digest, as written
 *   mime, status      of the HTTP response
 *   http_head_bytes   length of the HTTP head
 *   chunked           whether the body is stored in chunks
 *   refers_to, refers_to_uri, refers_to_ms, concurrent_to      the record that this record refers to
 *   extension         0; from 1 on for a content that differs from another with the same digest (null means 0)
 * ```
 * A resolved manifest has eight more: `copy_number`, and file, offset, length, URI, date, record id and declared
 * digest of the original.
 */

export type ManifestColumn = { readonly name: string; readonly type: string };

const column = (name: string, type: string): ManifestColumn => ({ name, type });

export const MANIFEST_COLUMNS: readonly ManifestColumn[] = [
  column('file', 'VARCHAR'),
  column('record_offset', 'BIGINT'),
  column('record_length', 'BIGINT'),
  column('type', 'VARCHAR'),
  column('uri', 'VARCHAR'),
  column('date', 'VARCHAR'),
  column('time_ms', 'BIGINT'),
  column('digest', 'VARCHAR'),
  column('payload_bytes', 'BIGINT'),
  column('holds', 'BOOLEAN'),
  column('yields', 'BOOLEAN'),
  column('record_id', 'VARCHAR'),
  column('declared_digest', 'VARCHAR'),
  column('mime', 'VARCHAR'),
  column('status', 'INTEGER'),
  column('http_head_bytes', 'INTEGER'),
  column('chunked', 'BOOLEAN'),
  column('refers_to', 'VARCHAR'),
  column('refers_to_uri', 'VARCHAR'),
  column('refers_to_ms', 'BIGINT'),
  column('concurrent_to', 'VARCHAR'),
  column('extension', 'INTEGER'),
];

export const RESOLVED_COLUMNS: readonly ManifestColumn[] = [
  ...MANIFEST_COLUMNS,
  column('copy_number', 'BIGINT'),
  column('original_file', 'VARCHAR'),
  column('original_offset', 'BIGINT'),
  column('original_length', 'BIGINT'),
  column('original_uri', 'VARCHAR'),
  column('original_date', 'VARCHAR'),
  column('original_record_id', 'VARCHAR'),
  column('original_declared_digest', 'VARCHAR'),
];

/**
 * The SQL source for text lines: one line per row, values separated by tabs and not quoted. So values must not contain
 * tabs or line ends.
 */
export function linesSource(files: readonly string[], columns: readonly ManifestColumn[]): string {
  const names = files.map((file) => `'${file.replaceAll("'", "''")}'`).join(', ');
  const struct = columns.map(({ name, type }) => `'${name}': '${type}'`).join(', ');
  return (
    `read_csv([${names}], delim='\\t', quote='', escape='', header=false, auto_detect=false, nullstr='', ` +
    `max_line_size=${LINE_BYTES_MAX}, buffer_size=${16 * LINE_BYTES_MAX}, columns={${struct}})`
  );
}

/** Pinakes does not write longer lines. */
const LINE_BYTES_MAX = 256 * 1024;
