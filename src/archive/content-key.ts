/**
 * Content keys: what storing returns, and what retrieval and deletion take.
 *
 * ```
 *   <volume>:<algorithm>:<hex digest>[~<overflow number>]        main:sha256:9f86d081...~1
 * ```
 * The volume is a hint: when the key was made, the record that holds the content was there, also when the key was made
 * for a duplicate elsewhere. The catalog finds the content wherever it is now.
 */
import { fromHex, PinakesError, toHex } from '../base/index.ts';
import type { BlockKey } from '../catalog/index.ts';

export type ContentKey = string;

export function formatContentKey(volume: string, block: BlockKey): ContentKey {
  return `${volume}:${formatContent(block)}`;
}

/** The key without the volume. */
export function formatContent({ digest, overflow }: BlockKey): ContentKey {
  return `sha256:${toHex(digest)}${overflow > 0 ? `~${overflow}` : ''}`;
}

/** The block that a key names. The volume may be left out. */
export function parseContentKey(text: string): BlockKey {
  const match = /^(?:[a-z0-9][a-z0-9-]*:)?sha256:([0-9a-f]{64})(?:~(\d{1,5}))?$/i.exec(text.trim());
  const digest = match && fromHex(match[1]!);
  if (!digest) throw new PinakesError('CONTENT_KEY_INVALID', { where: text.slice(0, 100) });
  return { digest, overflow: Number(match[2] ?? 0) };
}
