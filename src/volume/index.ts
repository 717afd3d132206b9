/** volume: where segments are kept. Imports base only; knows nothing of records. */
export * from './directory/directory-volume.ts';
export * from './faulty-volume.ts';
export * from './linked/linked-volume.ts';
export * from './memory-part-volume.ts';
export * from './memory-volume.ts';
export { isObjectName } from './object-name.ts';
export * from './part-volume.ts';
export * from './volume.ts';
