/** server: HTTP over an archive: the web page, replay, CDX, Memento, the API and its jobs. The only room that listens. */
export { isAddressOrNetwork } from './connection-bound.ts';
export type { CommandRunner, JobContext, JobKind, RemoteCommand } from './job-kind.ts';
export { isEverywhere } from './origins.ts';
export { startServer } from './server.ts';
export type { AccessLine, RunningServer, ServerOptions } from './server-options.ts';
