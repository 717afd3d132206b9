/**
 * Resolving is one SQL statement over a manifest. It runs in DuckDB, which Pinakes includes, and in any other engine
 * that reads the same Parquet files. docs/slim.md explains it; a test keeps the two in agreement.
 *
 * A cluster is all records with the same digest, size and extension. Either all of them are stored in chunks or none.
 * Replay shows the body of the original with the head of the duplicate, and a head without chunked coding would leave
 * the chunk framing in the text. The original is the earliest record: by date, then by file, then by offset.
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
 * The records that must stay, because other records of the collection find their content through them.
 *
 * First the originals of existing revisits, found in four ways. By id. By URI and date, give or take a minute. By URI
 * and digest, since tools write dates that are a second off; a record that does not declare a digest matches any, since
 * indexers compute it. And by URI alone when the revisit does not have more to look up. Ids are compared without their
 * brackets, and URIs at least as loosely as replay compares them: a record that stays needlessly costs space, a record
 * that is replaced wrongly costs a content.
 *
 * Then the responses to requests with a body or with a method other than GET. Replay finds these only through their
 * request, so no revisit may refer to them either.
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
 * Ambiguous places: a URI and second, by which replay looks up originals, that belongs to several contents. Ambiguous
 * record ids are found the same way. No record with such a place or id may be an original.
 */
export const AMBIGUOUS_STATEMENT = `SELECT uri, time_ms // 1000 AS second FROM manifest
  WHERE type IN ('response', 'resource', 'conversion')
  GROUP BY uri, time_ms // 1000
  HAVING count(DISTINCT digest) > 1`;
