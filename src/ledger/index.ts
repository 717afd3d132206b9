/**
 * ledger: where it is decided whether a content is held, and where everything that changes an archive is committed.
 * Joins warc, volume and catalog. Knows nothing of connectors, files of users, exports or the command line.
 */
export * from './record-facts.ts';
