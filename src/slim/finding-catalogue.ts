/**
 * The findings about files and records that slim does not change: every code with its level and its sentence, sorted by
 * code. docs/slim.md has the same table, and a test keeps the two in agreement.
 */
import type { Finding, FindingLevel } from '../base/index.ts';

export type SlimFindingEntry = { readonly level: FindingLevel; readonly says: string };

const entry = (level: FindingLevel, says: string): SlimFindingEntry => ({ level, says });

export const SLIM_FINDING_CATALOGUE = {
  'slim-arc-in-place': entry(
    'note',
    'an ARC file stays unchanged; with --to it is converted to a WARC file and deduplicated',
  ),
  'slim-collision': entry('warning', 'the record has the same digest as another content; both contents are kept'),
  'slim-copy-differs': entry(
    'error',
    'the file differs from its second copy in more than revisits; the second copy stays unchanged',
  ),
  'slim-duplicate-differs': entry('error', 'the record is no longer the duplicate that was found; it stays unchanged'),
  'slim-file-busy': entry('warning', 'the file changed or is being written to; it stays unchanged'),
  'slim-file-damaged': entry('warning', 'the file is damaged; it stays unchanged, and no revisit refers to it'),
  'slim-file-later': entry(
    'note',
    'the file is not part of the run that is continued here; run the command again afterwards',
  ),
  'slim-file-linked': entry(
    'warning',
    'the file has another name in the collection; in place it stays unchanged, and no revisit refers to it',
  ),
  'slim-lean-unnoted': entry(
    'warning',
    'the directory is read-only, so it cannot be noted which records revisits in other files refer to; name those files too when these are slimmed again',
  ),
  'slim-member-shared': entry(
    'note',
    'records share one compressed member; the file stays unchanged, and no revisit refers to it',
  ),
  'slim-original-unusable': entry('warning', 'no revisit can refer to the record; its duplicates stay unchanged'),
  'slim-package-skipped': entry('note', 'a WACZ package stays unchanged; unpack its WARC files to slim them'),
} satisfies Record<string, SlimFindingEntry>;

export type SlimFindingCode = keyof typeof SLIM_FINDING_CATALOGUE;

export function slimFinding(code: SlimFindingCode, file: string, offset: number, detail?: string): Finding {
  const { level, says } = SLIM_FINDING_CATALOGUE[code];
  return { code, level, file, offset, message: detail ? `${says}: ${detail}` : says };
}
