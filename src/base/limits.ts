/** Limits that bound memory for any input (I9). */

const KIB = 1024;
const MIB = 1024 * KIB;

/**
 * A WARC or ARC head longer than this is not a head. Real heads are below 10 KiB; some with JSON metadata in fields
 * reach several hundred.
 */
export const RECORD_HEAD_BYTES_MAX = 1 * MIB;

/** An HTTP head longer than this is treated as body. */
export const HTTP_HEAD_BYTES_MAX = 1 * MIB;

/** Bytes of one read from a file. */
export const READ_CHUNK_BYTES = 256 * KIB;

/** How far a reader searches for the next record after damage. */
export const RESYNC_WINDOW_BYTES = 4 * MIB;

/** The largest zstd window that a file may require; the proposed standard asks readers to support at least 8 MiB. */
export const ZSTD_WINDOW_LOG_MAX = 27;

/** The largest zstd dictionary that a file may contain. */
export const ZSTD_DICTIONARY_BYTES_MAX = 16 * MIB;
