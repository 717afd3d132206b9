/**
 * server: HTTP over an archive: the web interface, replay, CDX, Memento, the API and its jobs; and the volume server,
 * which serves a folder of objects over S3. The only room that listens.
 */
export { apiDocument } from './api/route-table.ts';
export { AUDIT_ACTIONS, type AuditAction, type AuditEntry, auditedFacts } from './audit/audit-entry.ts';
export type { AuditLog } from './audit/audit-log.ts';
export { openAudit } from './audit/open-audit.ts';
export { isAddressOrNetwork } from './http/connection-limit.ts';
export { isLoopback } from './http/host-check.ts';
export type { TlsIdentity } from './http/listening-socket.ts';
export { isEverywhere } from './http/origins.ts';
export { parseRate, type Rate } from './http/rate-limit.ts';
export type { JobContext, JobKind } from './jobs/job-kind.ts';
export type { CommandRunner, RemoteCommand } from './jobs/remote-command.ts';
export {
  type AccessKey,
  addVolumeKey,
  type KeyRights,
  listVolumeKeys,
  removeVolumeKey,
  type VolumeKey,
} from './objects/access-keys.ts';
export { openSessions } from './people/open-sessions.ts';
export type { Session, SessionStore } from './people/session-store.ts';
export type { SignInOptions } from './people/sign-in-options.ts';
export { type RunningVolumeServer, startVolumeServer, type VolumeServerOptions } from './s3/volume-server.ts';
export { startServer } from './server.ts';
export type { AccessLine, RunningServer, ServerOptions } from './server-options.ts';
export { Telemetry } from './telemetry/telemetry.ts';
export { openTokens } from './tokens/open-tokens.ts';
export { RIGHTS, type Right } from './tokens/right.ts';
export { isRole, ROLES, type Role, type RoleRule } from './tokens/role.ts';
export { TokenFile } from './tokens/token-file.ts';
export { hashOfToken, type NamedToken, type TokenStore } from './tokens/token-store.ts';
export { TokenTable } from './tokens/token-table.ts';
