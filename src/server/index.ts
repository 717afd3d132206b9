/**
 * server: HTTP over an archive: the web interface, replay, CDX, Memento, the API and its jobs. The only room that
 * listens.
 */
export { apiDocument } from './api/route-table.ts';
export { isAddressOrNetwork } from './http/connection-limit.ts';
export { isEverywhere } from './http/origins.ts';
export type { JobContext, JobKind } from './jobs/job-kind.ts';
export type { CommandRunner, RemoteCommand } from './jobs/remote-command.ts';
export { startServer } from './server.ts';
export type { AccessLine, RunningServer, ServerOptions } from './server-options.ts';
