/**
 * `filter=` of the CDX dialects.
 *
 *     IA, OutbackCDX   [~][!]field:pattern     a regular expression that matches the whole value; with ~ a part of it
 *     pywb             [!][=|~]field:text      a part of the value; with = all of it, with ~ a regular expression from its start
 *
 * Without a field the whole line is meant (IA, pywb).
 *
 * Expressions come from strangers, and some take the engine forever. They run over a page of values at a time, all of a
 * question together inside one fence: nobody else is answered meanwhile.
 */
import { boundedTests } from '../../base/index.ts';
import { badRequest } from '../http/problem.ts';
import type { CdxDialect } from './cdx-dialect.ts';
import { type CdxRow, type FieldValue, fieldValue } from './cdx-row.ts';

const PATTERN_CHARACTERS_MAX = 1000;
/** What the expressions of a question may take for one page of lines. */
const TIMEOUT_MS = 200;

/** Of these rows, those that pass. */
export type CdxFilter = (rows: readonly CdxRow[]) => CdxRow[];

type Condition = {
  readonly spec: string;
  readonly read: FieldValue;
  readonly isNegated: boolean;
  readonly matches: RegExp | ((value: string) => boolean);
};

const IA_FORM = /^(?<marks>[~!]{0,2})(?:(?<field>[\w.]+):)?(?<text>.*)$/s;
const PYWB_FORM = /^(?<marks>!?[=~]?)(?:(?<field>[\w.]+):)?(?<text>.*)$/s;

/** What passes all of these. `columns` are the fields of a whole line. */
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

/** What expressions say is not asked yet. */
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
  // No line begins so: what it would find is nothing, and with `!` everything.
  if (dialect !== 'pywb' && text.startsWith('=') && field === undefined)
    throw badRequest('a filter with = is one of pywb', 'Leave the = out, or ask with dialect=pywb.', spec);
  const read = field === undefined ? line.lineOf : namedField(field, spec, dialect, line);
  return { spec, read, isNegated: marks.includes('!'), matches: matcherOf(text, marks, dialect, spec) };
}

const EMPTY_VALUE: FieldValue = () => '';

function namedField(field: string, spec: string, dialect: CdxDialect, { columns }: Line): FieldValue {
  // The Internet Archive also takes the number of a column.
  if (dialect === 'ia' && /^\d{1,2}$/.test(field)) return columns[Number(field)] ?? EMPTY_VALUE;
  const value = fieldValue(field);
  if (value) return value;
  // In pywb a field that no line has is empty.
  if (dialect === 'pywb') return EMPTY_VALUE;
  throw badRequest(
    'the filter names a field that is not there',
    `Fields stand in docs/cdx.md; ${field} is none.`,
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
    throw badRequest('the expression is too long', `It may have ${PATTERN_CHARACTERS_MAX} characters.`, spec);
  const isCaseless = text.startsWith('(?i)');
  const body = isCaseless ? text.slice(4) : text;
  try {
    return new RegExp(`^(?:${body})${isWhole ? '$' : ''}`, isCaseless ? 'iu' : 'u');
  } catch {
    // Outside of the Unicode mode superfluous escapes are forgiven, which Java and Python do too.
    try {
      return new RegExp(`^(?:${body})${isWhole ? '$' : ''}`, isCaseless ? 'i' : '');
    } catch {
      throw badRequest(
        'this is no regular expression',
        'Put a backslash before characters that mean themselves.',
        spec,
      );
    }
  }
}

function testAll(expressions: readonly Condition[], rows: readonly CdxRow[]): boolean[][] {
  // Several expressions about one field share its values.
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
  throw badRequest('the expression takes too long', 'Avoid repetitions inside of repetitions, as in (a+)+.', specs);
}
