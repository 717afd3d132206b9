/** Loads the Parquet engine only when a table is written, since loading it takes time and memory. */
import type { writeParquetTable } from './parquet-table.ts';

export const writeParquet: typeof writeParquetTable = async (...values) => {
  const { writeParquetTable: write } = await import('./parquet-table.ts');
  return write(...values);
};
