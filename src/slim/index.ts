/** slim: deduplicates WARC and ARC collections where they lie: manifest, resolve, rewrite. Knows nothing of archives, volumes or catalogs. */
export * from './collection.ts';
export * from './finding-catalogue.ts';
export * from './run.ts';
export * from './run-summary.ts';
export { WORK_DIRECTORY } from './work-directory.ts';
