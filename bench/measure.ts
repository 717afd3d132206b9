/**
 * Medians and ratios. Every bench prints ratios to a baseline from the same run, because bare times depend on the load
 * of the machine.
 */

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)]!;
}

/** The median over the runs of the ratio of `limit` to `ours`; above 1 means that ours is faster. */
export function ratio(limit: readonly number[], ours: readonly number[]): string {
  return median(limit.map((value, run) => value / ours[run]!)).toFixed(2);
}

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
