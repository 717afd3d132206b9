/**
 * `filter=` of the CDX dialects.
 *
 *     IA, OutbackCDX   [~][!]field:pattern     a regular expression for the whole value
 *                                              with ~ a text that the value contains
 *     pywb             [!][=|~]field:text      a text that the value contains
 *                                              with = the whole value, with ~ a regular expression from its start
 *
 * Without a field, the filter applies to the whole line (IA, pywb).
 *
 * Clients may send regular expressions that run almost forever. All expressions of a query are tested on one page of
 * values at a time, with a common timeout, because the server serves no other request during the test.
 */
import { boundedTests } from '../../base/index.ts';
import { badRequest } from '../http/problem.ts';
import type { CdxDialect } from './cdx-dialect.ts';
import { type CdxRow, type FieldValue, fieldValue } from './cdx-row.ts';

const PATTERN_CHARACTERS_MAX = 1000;
/** The timeout of all expressions of a query for one page of lines. */
const TIMEOUT_MS = 200;

/** Returns the rows that pass. */
export type CdxFilter = (rows: readonly CdxRow[]) => CdxRow[];

type Condition = {
  readonly spec: string;
  readonly read: FieldValue;
  readonly isNegated: boolean;
  readonly matches: RegExp | ((value: string) => boolean);
};

const IA_FORM = /^(?<marks>[~!]{0,2})(?:(?<field>[\w.]+):)?(?<text>.*)$/s;
const PYWB_FORM = /^(?<marks>!?[=~]?)(?:(?<field>[\w.]+):)?(?<text>.*)$/s;

/** The filter that requires all conditions. `columns` are the fields of a whole line. */
export function parseFilters(specs: readonly string[], dialect: CdxDialect, columns: readonly string[]): CdxFilter {
  const getters = columns.map((field) => fieldValue(field)!);
  const lineOf: FieldValue = (row) => getters.map((get) => get(row)).join(' ');
  const conditions = specs.map((spec) => parseCondition(spec, dialect, { lineOf, columns: getters }));
  const expressions = conditions.filter(({ matches }) => matches instanceof RegExp);
  return (rows) => {
    const left = rows.filter((row) => conditions.every((condition) => mayPass(row, condition)));
    if (expressions.length === 0 || left.length === 0) return left;
    const verdicts = testAll(expressions, left);
    return left.filter((_, row) => expressions.every(({ isNegated }, at) => verdicts[at]![row] !== isNegated));
  };
}

/** Checks a condition without a regular expression. Expressions are tested later. */
function mayPass(row: CdxRow, { read, isNegated, matches }: Condition): boolean {
  return matches instanceof RegExp || matches(read(row)) !== isNegated;
}

type Line = { readonly lineOf: FieldValue; readonly columns: readonly FieldValue[] };

function parseCondition(spec: string, dialect: CdxDialect, line: Line): Condition {
  const { marks, field, text } = (dialect === 'pywb' ? PYWB_FORM : IA_FORM).exec(spec)!.groups as {
    marks: string;
    field?: string;
    text: string;
  };
  // No line begins with `=`: the filter would pass nothing, and with `!` everything.
  if (dialect !== 'pywb' && text.startsWith('=') && field === undefined)
    throw badRequest('only pywb has filters with =', 'Remove the =, or add dialect=pywb.', spec);
  const read = field === undefined ? line.lineOf : namedField(field, spec, dialect, line);
  return { spec, read, isNegated: marks.includes('!'), matches: matcherOf(text, marks, dialect, spec) };
}

const EMPTY_VALUE: FieldValue = () => '';

function namedField(field: string, spec: string, dialect: CdxDialect, { columns }: Line): FieldValue {
  // The Internet Archive also accepts the number of a column.
  if (dialect === 'ia' && /^\d{1,2}$/.test(field)) return columns[Number(field)] ?? EMPTY_VALUE;
  const value = fieldValue(field);
  if (value) return value;
  // In pywb, an unknown field is empty.
  if (dialect === 'pywb') return EMPTY_VALUE;
  throw badRequest(
    'the filter has an unknown field',
    `docs/cdx.md lists the fields; ${field} is not one of them.`,
    spec,
  );
}

function matcherOf(text: string, marks: string, dialect: CdxDialect, spec: string): Condition['matches'] {
  const isPart = dialect === 'pywb' ? !/[=~]/.test(marks) : marks.includes('~');
  if (isPart) return (value) => value.includes(text);
  if (marks.includes('=')) return (value) => value === text;
  const isWhole = dialect !== 'pywb';
  if (isWhole && /^[\w/:,@%=&; |-]*$/.test(text)) {
    const alternatives = new Set(text.split('|'));
    return (value) => alternatives.has(value);
  }
  return compile(text, isWhole, spec);
}

function compile(text: string, isWhole: boolean, spec: string): RegExp {
  if (text.length > PATTERN_CHARACTERS_MAX)
    throw badRequest('the expression is too long', `The limit is ${PATTERN_CHARACTERS_MAX} characters.`, spec);
  const isCaseless = text.startsWith('(?i)');
  const body = isCaseless ? text.slice(4) : text;
  try {
    return new RegExp(`^(?:${body})${isWhole ? '$' : ''}`, isCaseless ? 'iu' : 'u');
  } catch {
    // Without Unicode mode, unnecessary escapes are allowed, as in Java and Python.
    try {
      return new RegExp(`^(?:${body})${isWhole ? '$' : ''}`, isCaseless ? 'i' : '');
    } catch {
      throw badRequest(
        'the regular expression is not valid',
        'Put a backslash before literal special characters.',
        spec,
      );
    }
  }
}

function testAll(expressions: readonly Condition[], rows: readonly CdxRow[]): boolean[][] {
  // Expressions for the same field share its values.
  const valuesBy = new Map<FieldValue, string[]>();
  const valuesOf = (read: FieldValue) => {
    const values = valuesBy.get(read) ?? rows.map(read);
    valuesBy.set(read, values);
    return values;
  };
  const tests = expressions.map(({ matches, read }) => ({ expression: matches as RegExp, values: valuesOf(read) }));
  const verdicts = boundedTests(tests, TIMEOUT_MS);
  if (verdicts) return verdicts;
  const specs = expressions.map(({ spec }) => spec).join(' ');
  throw badRequest('the expression takes too long', 'Avoid repetitions inside repetitions, such as (a+)+.', specs);
}
