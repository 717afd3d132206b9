/**
 * Marks: what identifies a capture for good, in deletion records and in the catalog (C5). Places change and numbers
 * belong to one catalog, so neither is part of a mark.
 *
 * ```
 *   mark   first 16 bytes of SHA-256 over UTF-8 lines, joined by LF:
 *          name of the collection, URL key, time in milliseconds, Capture.hash in decimal, content
 *
 *   content   digest in hexadecimal; empty: it is not known; `*`: a deletion of a revisit whose content was known
 * ```
 * The content of a revisit of another crawler is known only while a record of the content is in the archive. So the
 * same revisit may be deleted with its content known and be found again when it is unknown, or the other way around.
 * It is recognised in both cases, and a revisit of another content is not mistaken for it:
 *
 * ```
 *                        a deletion lists       an entry is compared with
 *   revisit, known       digest, `*`            digest, empty
 *   revisit, unknown     empty                  empty, `*`
 *   any other capture    digest or empty        digest or empty
 * ```
 */
import { hash } from 'node:crypto';
import { toHex } from '../base/index.ts';
import type { Capture, Mark } from '../catalog/index.ts';

export const MARK_BYTES = 16;

const UNKNOWN_CONTENT = '';
const ANY_CONTENT = '*';

/** What a capture is identified by. */
export type MarkedCapture = Pick<Capture, 'urlKey' | 'time' | 'hash' | 'block' | 'kind'>;

/** The mark of a capture with the content that is known of it. */
export function markOf(capture: MarkedCapture, collectionName: string): Mark {
  return markWith(capture, collectionName, contentOf(capture));
}

/** The marks that a capture is compared with before it is entered. The first is its own. */
export function marksOf(capture: MarkedCapture, collectionName: string): Mark[] {
  const own = contentOf(capture);
  const contents = capture.kind === 'revisit' ? [own, own === UNKNOWN_CONTENT ? ANY_CONTENT : UNKNOWN_CONTENT] : [own];
  return contents.map((content) => markWith(capture, collectionName, content));
}

/** The marks that a deletion of the capture lists. The first is its own. */
export function deletionMarksOf(capture: MarkedCapture, collectionName: string): Mark[] {
  const own = contentOf(capture);
  const contents = capture.kind === 'revisit' && own !== UNKNOWN_CONTENT ? [own, ANY_CONTENT] : [own];
  return contents.map((content) => markWith(capture, collectionName, content));
}

function contentOf({ block }: MarkedCapture): string {
  return block ? toHex(block.digest) : UNKNOWN_CONTENT;
}

function markWith({ urlKey, time, hash: idHash }: MarkedCapture, collectionName: string, content: string): Mark {
  const text = [collectionName, urlKey, time, idHash, content].join('\n');
  return hash('sha256', text, 'buffer').subarray(0, MARK_BYTES);
}
