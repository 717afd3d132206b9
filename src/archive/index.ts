/** archive: store, retrieve, delete, add, export, stream, verify, compact, rebuild. Joins warc, volume and catalog. */
export type { AddOptions, AddProgress, AddReport } from './add.ts';
export { Archive, type ArchiveOptions, createArchive, dropCatalog, type InitOptions, openArchive } from './archive.ts';
export type { CompactOptions, CompactReport } from './compact.ts';
export { type Connector, type Policies, parseConnector, readConnector, type VolumeSetting } from './connector.ts';
export { type ContentKey, formatContentKey, parseContentKey } from './content-key.ts';
export type { DeletePreview, DeleteReport } from './delete.ts';
export { type Owner, ownerOf } from './owner.ts';
export type { Retrieved, RetrievedContent } from './retrieve.ts';
export { type Selection, selectCaptures } from './selection.ts';
export type { Stored, StoreInput, StoreMode, StoreOptions } from './store.ts';
export { VolumeSet } from './volume-set.ts';
