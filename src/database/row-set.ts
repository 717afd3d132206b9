/** A set of rows as parameters of a statement, one array for each column, and as a table that the statement reads. */
import { binaryArray, type Element, type ElementType } from './binary-array.ts';

export type Column<Row> = {
  readonly name: string;
  readonly type: ElementType;
  readonly of: (row: Row, index: number) => Element;
};

export type RowSet = {
  /** For FROM: the rows under a name, with `n` counting them from 1. */
  readonly table: string;
  readonly values: readonly Buffer[];
};

/** The rows as the table `name`. The parameters begin at `first`. */
export function rowSet<Row>(
  name: string,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  first: number,
): RowSet {
  const arrays = columns.map(({ type }, index) => `$${first + index}::${type}[]`);
  const names = columns.map((column) => column.name);
  return {
    table: `unnest(${arrays.join(', ')}) with ordinality as ${name} (${names.join(', ')}, n)`,
    values: columns.map(({ type, of }) => binaryArray(type, rows.map(of))),
  };
}

/** The names of columns, each of the table `of` if one is given, for a list in a statement. */
export function namesOf(columns: readonly Pick<Column<never>, 'name'>[], of?: string): string {
  return columns.map(({ name }) => (of === undefined ? name : `${of}.${name}`)).join(', ');
}
