/** Bounds that keep memory flat whatever the input says (I9). */

const KIB = 1024;
const MIB = 1024 * KIB;

/**
 * A WARC or ARC head longer than this is not a head. Real heads are below 10 KiB; with JSON metadata in fields some
 * reach several hundred.
 */
export const RECORD_HEAD_BYTES_MAX = 1 * MIB;

/** An HTTP head longer than this is treated as body. */
export const HTTP_HEAD_BYTES_MAX = 1 * MIB;

/** Bytes of one read from a file. */
export const READ_CHUNK_BYTES = 256 * KIB;

/** How far a reader searches for the next record after damage. */
export const RESYNC_WINDOW_BYTES = 4 * MIB;

/** The largest zstd window a file may ask for; the proposed standard asks readers for at least 8 MiB. */
export const ZSTD_WINDOW_LOG_MAX = 27;

/** The largest zstd dictionary a file may bring. */
export const ZSTD_DICTIONARY_BYTES_MAX = 16 * MIB;
