/** A violation of a house rule at a line of a file. */

export type Violation = {
  /** The path from the root of the repository, with forward slashes. */
  readonly file: string;
  readonly line: number;
  readonly rule: string;
  readonly message: string;
};

export function formatViolation(violation: Violation): string {
  return `${violation.file}:${violation.line} ${violation.rule} ${violation.message}`;
}

/** Orders by file, then line, then rule. */
export function compareViolations(a: Violation, b: Violation): number {
  return order(a.file, b.file) || a.line - b.line || order(a.rule, b.rule) || order(a.message, b.message);
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
