/**
 * An entry of the audit log: who did what, when, from where, and how it ended. It never has a token, a cookie, a
 * password, or the value of a parameter of a URL that may be one.
 */
import type { EpochMs } from '../../base/index.ts';
import type { Actor } from '../tokens/access.ts';

export const AUDIT_ACTIONS = [
  'add',
  'cancel',
  'command',
  'compact',
  'crawl',
  'delete',
  'export',
  'job',
  'rebuild',
  'serve',
  'sign-in',
  'sign-out',
  'takedown',
  'token',
  'verify',
  'volume',
] as const;

export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/**
 * `begun`: a job was accepted, whose end is another entry. `refused`: it was not allowed. `failed`: it was allowed, and
 * ended with an error.
 */
export const AUDIT_OUTCOMES = ['begun', 'done', 'refused', 'failed', 'cancelled'] as const;

export type AuditOutcome = (typeof AUDIT_OUTCOMES)[number];

export type AuditWho = Actor & { readonly role?: string };

export type AuditEntry = {
  readonly id: string;
  readonly time: EpochMs;
  readonly action: AuditAction;
  readonly who: AuditWho;
  /** The address of the client; absent on the command line and on Unix sockets. */
  readonly address?: string;
  /** The route of the API, or the command. */
  readonly route?: string;
  /** Collection, selection, ids, counts: what it was about. */
  readonly what?: Readonly<Record<string, unknown>>;
  readonly outcome: AuditOutcome;
  /** The code of the error. */
  readonly code?: string;
};

const DEPTH_MAX = 4;
const ITEMS_MAX = 20;
const FIELDS_MAX = 40;
const TEXT_MAX = 300;

const SECRET_NAME =
  /token|secret|passw|cookie|authori[sz]ation|credential|session|signature|api[-_]?key|private|^(?:auth|pwd|sig|sid|code|ticket|jwt)$/i;
/** Of a URL, `key` is one too. Elsewhere it is the key of a content. */
const SECRET_PARAMETER = /^key$/i;

/** A value for the log: bounded in size, and without secrets. */
export function auditable(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return withoutSecrets(value);
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return value;
  if (typeof value !== 'object' || depth === DEPTH_MAX) return undefined;
  if (Array.isArray(value)) {
    const items = value.slice(0, ITEMS_MAX).map((item) => auditable(item, depth + 1));
    return value.length > ITEMS_MAX ? [...items, `and ${value.length - ITEMS_MAX} more`] : items;
  }
  const fields = Object.entries(value).filter(([name, field]) => !SECRET_NAME.test(name) && field !== undefined);
  return Object.fromEntries(fields.slice(0, FIELDS_MAX).map(([name, field]) => [name, auditable(field, depth + 1)]));
}

/** What an entry is about; undefined when nothing is left of it. */
export function auditedFacts(facts: object): Readonly<Record<string, unknown>> | undefined {
  const kept = auditable(facts) as Record<string, unknown>;
  return Object.keys(kept).length === 0 ? undefined : kept;
}

/** A text without passwords in addresses and values of parameters that are named like secrets, and not too long. */
function withoutSecrets(text: string): string {
  const plain = text
    .replace(/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/?#@]*@/gi, '$1')
    .replace(/([?&;#])([^=&;#\s]+)=([^&;#\s]*)/g, (pair, mark: string, name: string) =>
      SECRET_NAME.test(name) || SECRET_PARAMETER.test(name) ? `${mark}${name}=...` : pair,
    )
    .replace(/\b(bearer|basic) +[\w+/=.~-]+/gi, '$1 ...')
    .replace(/\bpin_[\w-]+/g, 'pin_...');
  return plain.length > TEXT_MAX ? `${plain.slice(0, TEXT_MAX)}...` : plain;
}
