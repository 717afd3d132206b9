/** slim: deduplicates WARC and ARC collections where they lie: manifest, resolve, rewrite. Knows nothing of archives, volumes or catalogs. */
export * from './assess.ts';
export * from './collection.ts';
export * from './compare.ts';
export * from './finding-catalogue.ts';
export { MANIFEST_COLUMNS, RESOLVED_COLUMNS } from './manifest-column.ts';
export { MANIFEST_FORMATS, type ManifestFormat } from './manifest-target.ts';
export * from './refs.ts';
export * from './resolve.ts';
export * from './resolve-statement.ts';
export * from './run.ts';
export * from './run-summary.ts';
export * from './split.ts';
export { slimSum } from './sum.ts';
export * from './undo.ts';
export { WORK_DIRECTORY } from './work-directory.ts';
