/** What the verbs on an archive do, loaded together. */
export { archiveAdd } from './archive-add.ts';
export { archiveCompact } from './archive-compact.ts';
export { archiveDelete } from './archive-delete.ts';
export { archiveExport } from './archive-export.ts';
export { archiveGet } from './archive-get.ts';
export { archiveInit } from './archive-init.ts';
export { archiveCat, archivePut } from './archive-put.ts';
export { archiveRebuild } from './archive-rebuild.ts';
export { archiveStats } from './archive-stats.ts';
export { archiveStream } from './archive-stream.ts';
export { archiveVerify } from './archive-verify.ts';
export { volumeAdd, volumeLs, volumeMigrate, volumeSet } from './archive-volume.ts';
