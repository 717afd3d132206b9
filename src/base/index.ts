/** base: digests, times, bytes, limits, errors, threads, media types, durable names. Imports no other room. */
export * from './assert.ts';
export * from './bytes.ts';
export * from './digest.ts';
export * from './error.ts';
export * from './error-catalogue.ts';
export * from './finding.ts';
export * from './frame.ts';
export * from './limits.ts';
export * from './make-directories.ts';
export * from './mime.ts';
export * from './random.ts';
export * from './recent.ts';
export * from './sync-directory.ts';
export * from './thread.ts';
export * from './thread-pool.ts';
export * from './time.ts';
export * from './volume-mark.ts';
