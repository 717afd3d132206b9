/**
 * Damage that is found when records are read: the segment, the offset and the kind of damage. It is reported to the
 * caller, which still gets everything readable.
 */
import { type Finding, PinakesError } from '../base/index.ts';
import type { Segment } from '../catalog/index.ts';

export type Damage = {
  readonly volume: string;
  readonly segment: string;
  /** Where the record begins in the segment. */
  readonly offset: number;
  /** The code of a finding (docs/findings.md), or of a problem that a verification finds. */
  readonly code: string;
  readonly message: string;
  /** The URL of the record. Undefined when the head cannot be read. */
  readonly url: string | undefined;
};

/**
 * Damage of a record in a stream or an export, and how much of the record is in the output. `all`: the record as it is
 * stored, with the damage. `part`: the readable part, marked as truncated.
 */
export type OutputDamage = Damage & { readonly comes: 'all' | 'part' | 'nothing' };

/** One line with the place, the URL and the kind of damage. Contains text from the archive. */
export function formatDamage({ volume, segment, offset, code, message, url }: Damage): string {
  const what = url === undefined ? '' : ` (${url})`;
  return `damaged: volume ${volume}, ${segment}:${offset}${what}: ${code}, ${message}`;
}

/** The output of a caller that meets damaged records: a file or an index. */
export type DamageGoal = 'output' | 'index';

export function formatOutputDamage(damage: OutputDamage, goal: DamageGoal = 'output'): string {
  const comes: Record<OutputDamage['comes'], string> = {
    all: `it is in the ${goal} as it is stored`,
    part: `the readable part of it is in the ${goal}${goal === 'output' ? ', marked as cut short' : ''}`,
    nothing: `it is not in the ${goal}`,
  };
  return `${formatDamage(damage)}; ${comes[damage.comes]}`;
}

/**
 * Records that cannot be read one by one do not have places of their own. An add by copying takes all of them, but a
 * file that is itself a segment is read without them.
 */
const LEFT_OUT: ReadonlySet<string> = new Set(['coding-changed', 'member-shared']);

/**
 * A finding in a file that is a segment. The archive writes no NULs between records, so in its own segments NULs mean
 * lost records.
 */
export function inSegment(finding: Finding, isOwn = false): Finding {
  const isLoss = LEFT_OUT.has(finding.code) || (isOwn && finding.code === 'padding-skipped');
  return isLoss ? { ...finding, level: 'error' } : finding;
}

/** The damage of one record from all its findings. Undefined when there are none. */
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
 * Whether the disk cannot read bytes that it should have. Only the segment with these bytes is affected, unlike with a
 * disk that cannot be written to.
 */
export function isBadSector(error: unknown): error is PinakesError {
  if (!(error instanceof PinakesError) || !['DEVICE_FAILED', 'VOLUME_IO'].includes(error.code)) return false;
  return (error.cause as { syscall?: unknown } | undefined)?.syscall === 'read';
}

/** The result of a read. Undefined when the disk cannot read the bytes. */
export function ifGiven<T>(reading: Promise<T>): Promise<T | undefined> {
  return reading.catch((error: unknown) => {
    if (!isBadSector(error)) throw error;
    return undefined;
  });
}
