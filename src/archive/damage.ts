/**
 * Damage that shows when records are read back: in which segment, where, and what is wrong. Told to whoever reads; what
 * can be read is given all the same.
 */
import { type Finding, PinakesError } from '../base/index.ts';
import type { Segment } from '../catalog/index.ts';

export type Damage = {
  readonly volume: string;
  readonly segment: string;
  /** Where in the segment the record begins. */
  readonly offset: number;
  /** Of a finding (docs/findings.md), or of a problem that a verification finds. */
  readonly code: string;
  readonly message: string;
  /** Unknown where not even its head can be read. */
  readonly url: string | undefined;
};

/**
 * Of a record on its way out: how much of it comes. `all`: as it is stored, damage and all; `part`: what can be read,
 * said to be cut short.
 */
export type OutputDamage = Damage & { readonly comes: 'all' | 'part' | 'nothing' };

/** One line: where, of which page, what. Holds text out of the archive. */
export function formatDamage({ volume, segment, offset, code, message, url }: Damage): string {
  const what = url === undefined ? '' : ` (${url})`;
  return `damaged: volume ${volume}, ${segment}:${offset}${what}: ${code}, ${message}`;
}

/** Where damaged records are on their way to. */
export type DamageGoal = 'output' | 'index';

export function formatOutputDamage(damage: OutputDamage, goal: DamageGoal = 'output'): string {
  const comes: Record<OutputDamage['comes'], string> = {
    all: `it is in the ${goal} as it is stored`,
    part: `what can be read of it is in the ${goal}${goal === 'output' ? ', and says that it is cut short' : ''}`,
    nothing: `it is not in the ${goal}`,
  };
  return `${formatDamage(damage)}; ${comes[damage.comes]}`;
}

/**
 * Records that cannot be read one by one have no place of their own: nothing of them is lost where they are copied, but
 * in a segment they are left out.
 */
const LEFT_OUT: ReadonlySet<string> = new Set(['coding-changed', 'member-shared']);

/**
 * A finding in a file that is a segment. Into one of its own the archive puts no NULs between records: where they
 * stand, something is gone.
 */
export function inSegment(finding: Finding, isOwn = false): Finding {
  const isLoss = LEFT_OUT.has(finding.code) || (isOwn && finding.code === 'padding-skipped');
  return isLoss ? { ...finding, level: 'error' } : finding;
}

/** What is wrong with one record, in one telling; undefined when nothing is. */
export function damageOf(
  { volume, name }: Pick<Segment, 'volume' | 'name'>,
  findings: readonly Finding[],
  url: string | undefined,
): Damage | undefined {
  const [first] = findings;
  if (!first) return undefined;
  const message = findings.map(({ message }) => message).join('; ');
  return { volume, segment: name, offset: first.offset, code: first.code, message, url };
}

export function damageError({ segment, offset, code, message }: Damage): PinakesError {
  return new PinakesError('RECORD_DAMAGED', { where: `${segment}:${offset}`, detail: `${code}, ${message}` });
}

export function isDamage(error: unknown): error is PinakesError {
  return error instanceof PinakesError && error.code === 'RECORD_DAMAGED';
}

/**
 * Whether the disk does not give bytes any more that it should have. That costs the segment they belong to; a disk that
 * cannot be written to is another matter.
 */
export function isBadSector(error: unknown): error is PinakesError {
  if (!(error instanceof PinakesError) || !['DEVICE_FAILED', 'VOLUME_IO'].includes(error.code)) return false;
  return (error.cause as { syscall?: unknown } | undefined)?.syscall === 'read';
}

/** What is read; undefined when the disk does not give it any more. */
export function ifGiven<T>(reading: Promise<T>): Promise<T | undefined> {
  return reading.catch((error: unknown) => {
    if (!isBadSector(error)) throw error;
    return undefined;
  });
}
