/**
 * Resolving is one statement of SQL over a manifest, the same for DuckDB, which Pinakes brings, and for any other
 * engine over the same Parquet files. docs/slim.md explains it; a test keeps the two in agreement.
 *
 * A cluster is all records with one digest, one size and one extension, all stored in chunks or none: replay shows the
 * body of the one under the head of the other, and a head that says nothing of chunks leaves their framing in the text.
 * Its original is the earliest: by date, then by file, then by offset.
 */

export const RESOLVE_STATEMENT = `SELECT
  *,
  row_number() OVER cluster AS copy_number,
  first_value(file) OVER cluster AS original_file,
  first_value(record_offset) OVER cluster AS original_offset,
  first_value(record_length) OVER cluster AS original_length,
  first_value(uri) OVER cluster AS original_uri,
  first_value(date) OVER cluster AS original_date,
  first_value(record_id) OVER cluster AS original_record_id,
  first_value(declared_digest) OVER cluster AS original_declared_digest
FROM manifest
WHERE holds
WINDOW cluster AS (
  PARTITION BY digest, payload_bytes, extension, chunked
  ORDER BY time_ms, file, record_offset
)`;

/**
 * The records that must stay what they are, because something in the collection finds its content through them. First
 * the originals of the revisits that are there already: by id; by URI and about the time; by URI and digest, since
 * tools write dates that are a second off, where a record that declares no digest may have any, since indexers compute
 * it; or by URI alone when the revisit says no more that could be looked up. Ids are compared without their brackets,
 * and URIs as replay looks them up, or more loosely: what stays for nothing costs room, what goes costs a content.
 *
 * Then the responses to requests with a body or with a method other than GET, which replay finds only beside their
 * request; so nothing leans on them either.
 */
export const REFERENCED_STATEMENT = String.raw`SELECT file, record_offset, digest, is_answer FROM (
  SELECT m.file, m.record_offset, m.digest, false AS is_answer FROM manifest AS m SEMI JOIN pointer AS p
    ON lower(trim(m.record_id, '<> ')) = lower(trim(p.refers_to, '<> ')) AND p.type = 'revisit'
  UNION ALL
  SELECT m.file, m.record_offset, m.digest, false AS is_answer FROM manifest AS m SEMI JOIN pointer AS p
    ON regexp_replace(lower(m.uri), '^https?://(www\d*\.)?|/+$', '', 'g')
      = regexp_replace(lower(p.refers_to_uri), '^https?://(www\d*\.)?|/+$', '', 'g')
      AND m.time_ms >= p.refers_to_ms - 60000 AND m.time_ms <= p.refers_to_ms + 60000 AND p.type = 'revisit'
  UNION ALL
  SELECT m.file, m.record_offset, m.digest, false AS is_answer FROM manifest AS m SEMI JOIN pointer AS p
    ON regexp_replace(lower(m.uri), '^https?://(www\d*\.)?|/+$', '', 'g')
      = regexp_replace(lower(coalesce(p.refers_to_uri, p.uri)), '^https?://(www\d*\.)?|/+$', '', 'g')
      AND (m.declared_digest IS NULL OR lower(m.declared_digest) = lower(p.declared_digest)) AND p.type = 'revisit'
  UNION ALL
  SELECT m.file, m.record_offset, m.digest, false AS is_answer FROM manifest AS m SEMI JOIN pointer AS p
    ON regexp_replace(lower(m.uri), '^https?://(www\d*\.)?|/+$', '', 'g')
      = regexp_replace(lower(coalesce(p.refers_to_uri, p.uri)), '^https?://(www\d*\.)?|/+$', '', 'g')
      AND p.refers_to_ms IS NULL AND (p.refers_to IS NULL OR p.declared_digest IS NULL) AND p.type = 'revisit'
  UNION ALL
  SELECT m.file, m.record_offset, m.digest, true AS is_answer FROM manifest AS m SEMI JOIN pointer AS p
    ON lower(trim(m.record_id, '<> ')) = lower(trim(p.concurrent_to, '<> ')) AND p.type = 'request'
  UNION ALL
  SELECT m.file, m.record_offset, m.digest, true AS is_answer FROM manifest AS m SEMI JOIN pointer AS p
    ON lower(trim(m.concurrent_to, '<> ')) = lower(trim(p.record_id, '<> ')) AND p.type = 'request'
)`;

/**
 * What cannot be pointed at, because it stands for several contents: a URI and second, as replay looks originals up,
 * and likewise a record id. No record with such a place or id holds anything for others.
 */
export const AMBIGUOUS_STATEMENT = `SELECT uri, time_ms // 1000 AS second FROM manifest
  WHERE type IN ('response', 'resource', 'conversion')
  GROUP BY uri, time_ms // 1000
  HAVING count(DISTINCT digest) > 1`;
