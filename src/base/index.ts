/**
 * base: digests, times, bytes, limits, heap growth, errors, threads, media types, existing files, sectors, durable
 * names, regular expressions with a time limit. Imports no other room.
 */
export * from './abort.ts';
export * from './assert.ts';
export * from './bounded-regex.ts';
export * from './bytes.ts';
export * from './call-observer.ts';
export * from './concurrency.ts';
export * from './digest.ts';
export * from './error.ts';
export * from './error-catalogue.ts';
export * from './existing-file.ts';
export * from './finding.ts';
export * from './frame.ts';
export * from './heap-growth.ts';
export * from './job-process.ts';
export { serveJobs, type ThreadAnswer, type ThreadJob } from './job-process-child.ts';
export * from './limits.ts';
export * from './lru-cache.ts';
export * from './make-directories.ts';
export * from './media-kind.ts';
export * from './open-file.ts';
export * from './random.ts';
export * from './record-date.ts';
export * from './sector.ts';
export * from './sync-directory.ts';
export * from './thread.ts';
export * from './thread-pool.ts';
export * from './time.ts';
export * from './volume-sentinel.ts';
