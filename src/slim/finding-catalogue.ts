/**
 * What slim has to say about files and records it leaves alone: every code with its level and its sentence, sorted by
 * code. docs/slim.md has the same table, and a test keeps the two in agreement.
 */
import type { Finding, FindingLevel } from '../base/index.ts';

export type SlimFindingEntry = { readonly level: FindingLevel; readonly says: string };

export const SLIM_FINDING_CATALOGUE = {
  'slim-arc-in-place': {
    level: 'note',
    says: 'an ARC file is left as it is; with --to it becomes a WARC file and takes part',
  },
  'slim-collision': { level: 'warning', says: 'the digest is that of another content; both are kept' },
  'slim-duplicate-differs': { level: 'error', says: 'the record is no longer the duplicate that was found; it stays' },
  'slim-file-busy': { level: 'warning', says: 'the file changed or is being written to; it is left as it is' },
  'slim-file-damaged': { level: 'warning', says: 'the file is damaged; it is left as it is, and nothing leans on it' },
  'slim-file-later': {
    level: 'note',
    says: 'the file is not a part of the run that goes on here; run it again afterwards',
  },
  'slim-file-linked': {
    level: 'warning',
    says: 'the file has another name in the collection; in place it is left as it is, and nothing leans on it',
  },
  'slim-lean-unnoted': {
    level: 'warning',
    says: 'what files elsewhere lean on cannot be noted here; name those files too when these are slimmed again',
  },
  'slim-member-shared': {
    level: 'note',
    says: 'records share one compressed member; the file is left as it is, and nothing leans on it',
  },
  'slim-original-unusable': { level: 'warning', says: 'nothing can lean on the record; its duplicates stay' },
  'slim-package-skipped': { level: 'note', says: 'a package is left as it is; unpack its WARC files to slim them' },
} as const satisfies Record<string, SlimFindingEntry>;

export type SlimFindingCode = keyof typeof SLIM_FINDING_CATALOGUE;

export function slimFinding(code: SlimFindingCode, file: string, offset: number, detail?: string): Finding {
  const { level, says } = SLIM_FINDING_CATALOGUE[code];
  return { code, level, file, offset, message: detail ? `${says}: ${detail}` : says };
}
