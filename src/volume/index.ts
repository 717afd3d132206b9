/** volume: where segments are kept. Imports base only; knows nothing of records. */
export * from './directory/directory-volume.ts';
export * from './faulty-volume.ts';
export * from './linked/linked-volume.ts';
export * from './memory-part-volume.ts';
export * from './memory-volume.ts';
export { isObjectName } from './object-name.ts';
export * from './part-volume.ts';
export { type InspectedFile, RemoteFiles } from './remote/remote-files.ts';
export {
  isRemoteUrl,
  parseRemotePlace,
  parseS3Key,
  type RemoteOptions,
  type RemotePlace,
} from './remote/remote-place.ts';
export type { RequestCounts } from './s3/request-counts.ts';
export type { S3Credentials } from './s3/s3-connection.ts';
export type { BucketTraits, ConditionWorth } from './s3/s3-probe.ts';
export { isS3Url, parseEndpoint, parseS3Url, type S3Place } from './s3/s3-url.ts';
export type { ObjectVersion, UnfinishedUpload } from './s3/s3-versions.ts';
export { openS3Volume, S3Volume, type S3VolumeOptions } from './s3/s3-volume.ts';
export * from './volume.ts';
