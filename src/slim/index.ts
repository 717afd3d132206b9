/**
 * slim: deduplicates collections of WARC and ARC files without an archive: manifest, resolve, rewrite. Knows nothing of
 * archives, volumes or catalogs.
 */

export * from './collection.ts';
export * from './finding-catalogue.ts';
export { MANIFEST_COLUMNS, RESOLVED_COLUMNS } from './manifest/manifest-column.ts';
export { MANIFEST_FORMATS, type ManifestFormat } from './plan/manifest-target.ts';
export * from './plan/resolve-statement.ts';
export * from './run/assess.ts';
export * from './run/compare.ts';
export * from './run/resolve.ts';
export * from './run/run.ts';
export * from './run/run-summary.ts';
export * from './run/split.ts';
export { slimSum } from './run/sum.ts';
export * from './run/sync.ts';
export * from './run/undo.ts';
export { WORK_DIRECTORY } from './work-directory.ts';
