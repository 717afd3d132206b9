/** The door to Parquet tables: the engine takes time and memory to load, which nothing else should pay for. */
import type { writeParquetTable } from './parquet-table.ts';

export const writeParquet: typeof writeParquetTable = async (...values) => {
  const { writeParquetTable: write } = await import('./parquet-table.ts');
  return write(...values);
};
