/**
 * Failures of PostgreSQL and of the connection to it as errors with a code. Failures of statements that are faults of
 * our own pass through unchanged.
 */
import { type ErrorCode, firstFailure, PinakesError } from '../base/index.ts';

type Failure = { readonly code?: unknown; readonly message?: unknown };

/** Two transactions were in each other's way, and one of them has changed nothing. */
const CONFLICTS: ReadonlySet<unknown> = new Set([
  '40001', // serialization_failure
  '40P01', // deadlock_detected
  '23505', // unique_violation: another transaction has inserted the row since it was looked up
]);

/** A row that another transaction has inserted since it was looked up. The work has to begin again. */
export class Conflict extends Error {
  override readonly name = 'Conflict';
}

export function isConflict(error: unknown): boolean {
  return error instanceof Conflict || CONFLICTS.has((error as Failure | null)?.code);
}

/** Whether the connection failed, so that no more can be asked on it. */
export function isOfConnection(error: unknown): boolean {
  const { code, message } = (error ?? {}) as Failure;
  if (typeof code === 'string') return SYSTEM_ERROR.test(code) || code.startsWith('57P') || code === '25P03';
  return error instanceof Error && DRIVER_MESSAGE.test(String(message));
}

export function postgresError(thrown: unknown, where: string, isClosed: boolean): unknown {
  const error = firstFailure(thrown);
  if (error instanceof PinakesError) return error;
  const { code, message } = (error ?? {}) as Failure;
  const known = codeOf(code, String(message), isClosed);
  if (known === 'ARCHIVE_CLOSED') return new PinakesError(known, { where, cause: error });
  return known ? new PinakesError(known, { where, detail: String(message), cause: error }) : error;
}

/** Classes and codes of SQLSTATE. */
const STATES: readonly (readonly [start: string, code: ErrorCode])[] = [
  ['08', 'CATALOG_UNREACHABLE'], // connection exception
  ['25006', 'CATALOG_UNREACHABLE'], // read_only_sql_transaction: a standby
  ['25P03', 'CATALOG_UNREACHABLE'], // idle_in_transaction_session_timeout
  ['28', 'CATALOG_UNREACHABLE'], // invalid authorization
  ['3D', 'CATALOG_UNREACHABLE'], // the database does not exist
  ['42501', 'CATALOG_UNREACHABLE'], // insufficient_privilege
  ['53100', 'DISK_FULL'],
  ['53', 'CATALOG_UNREACHABLE'], // insufficient resources: too many connections, out of memory
  ['57', 'CATALOG_UNREACHABLE'], // operator intervention: shutdown, crash of another session
  ['58030', 'DEVICE_FAILED'],
  ['XX001', 'CATALOG_DAMAGED'],
  ['XX002', 'CATALOG_DAMAGED'],
];

/** Failures of the connection: system errors have a code, those of the driver only a message. */
const SYSTEM_ERROR = /^E[A-Z]+$/;
const DRIVER_MESSAGE =
  /^(?:Connection terminated|Client has encountered a connection error|timeout exceeded|Query read timeout|Client was closed|This socket has been ended)/i;
const CLOSED_MESSAGE = /after calling end on the pool|Client was closed|released to the pool/i;

function codeOf(code: unknown, message: string, isClosed: boolean): ErrorCode | undefined {
  if (isClosed && (CLOSED_MESSAGE.test(message) || DRIVER_MESSAGE.test(message))) return 'ARCHIVE_CLOSED';
  if (typeof code === 'string') {
    const state = STATES.find(([start]) => code.startsWith(start));
    if (state) return state[1];
    return SYSTEM_ERROR.test(code) ? 'CATALOG_UNREACHABLE' : undefined;
  }
  return DRIVER_MESSAGE.test(message) ? 'CATALOG_UNREACHABLE' : undefined;
}
