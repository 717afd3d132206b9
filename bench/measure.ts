/**
 * Medians and ratios. Every bench prints ratios against something measured in the same run; bare times depend on the
 * machine's mood.
 */

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)]!;
}

/** Median of the runs' own ratios of `limit` to `ours`: over 1 means that ours is faster. */
export function ratio(limit: readonly number[], ours: readonly number[]): string {
  return median(limit.map((value, run) => value / ours[run]!)).toFixed(2);
}

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
