/** Collapsing: of adjacent lines with the same value, only the first or the last is kept. */
import { badRequest } from '../http/problem.ts';
import type { CdxDialect } from './cdx-dialect.ts';
import { type CdxRow, fieldValue } from './cdx-row.ts';

const SPECS_MAX = 20;

export type Collapse = {
  /** The value by which neighbours are compared. */
  readonly tokenOf: (row: CdxRow) => string;
  readonly keeps: 'first' | 'last';
};

export function parseCollapse(parameters: URLSearchParams, dialect: CdxDialect): Collapse | undefined {
  if (dialect === 'pywb') {
    const digits = parameters.get('collapseTime');
    if (!digits) return undefined;
    if (!/^\d{1,2}$/.test(digits))
      throw badRequest('collapseTime is not a number', 'Use the number of digits.', digits);
    return { tokenOf: (row) => `${row.timestamp.slice(0, Number(digits))} ${row.statuscode}`, keeps: 'first' };
  }
  const isOutback = dialect === 'outbackcdx';
  const first = [...(isOutback ? parameters.getAll('collapseToFirst') : []), ...parameters.getAll('collapse')];
  const specs = first.length > 0 ? first : isOutback ? parameters.getAll('collapseToLast') : [];
  if (specs.length === 0) return undefined;
  if (specs.length > SPECS_MAX) throw badRequest('there are too many collapses', `The limit is ${SPECS_MAX}.`);
  const values = specs.map(parseSpec);
  return { tokenOf: (row) => values.map((value) => value(row)).join(' '), keeps: first.length > 0 ? 'first' : 'last' };
}

function parseSpec(spec: string): (row: CdxRow) => string {
  const match = /^([\w.]+)(?::(\d{1,4}))?$/.exec(spec);
  const value = match && fieldValue(match[1]!);
  if (!match || !value)
    throw badRequest(
      'the collapse is not valid',
      'Use a field, or a field and a number of characters: timestamp:8.',
      spec,
    );
  const length = match[2] === undefined ? undefined : Number(match[2]);
  return length === undefined ? value : (row) => value(row).slice(0, length);
}

/** Collapses lines across the pages of a reply. */
export class Collapser {
  readonly #collapse: Collapse;
  #token: string | undefined;
  #held: CdxRow | undefined;

  constructor(collapse: Collapse) {
    this.#collapse = collapse;
  }

  push(rows: readonly CdxRow[]): CdxRow[] {
    const kept: CdxRow[] = [];
    for (const row of rows) {
      const token = this.#collapse.tokenOf(row);
      const isNew = token !== this.#token;
      this.#token = token;
      if (this.#collapse.keeps === 'first') {
        if (isNew) kept.push(row);
        continue;
      }
      if (isNew && this.#held) kept.push(this.#held);
      this.#held = row;
    }
    return kept;
  }

  end(): CdxRow[] {
    return this.#held ? [this.#held] : [];
  }
}
