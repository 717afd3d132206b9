/**
 * ledger: where it is decided whether a content is held, and where everything that changes an archive is committed.
 * Joins warc, volume and catalog. Knows nothing of connectors, files of users, exports or the command line.
 */
export * from './decide.ts';
export * from './deletion-record.ts';
export * from './mark.ts';
export * from './record-facts.ts';
export * from './runs.ts';
export * from './snapshot-bounds.ts';
export * from './warcinfo-fields.ts';
