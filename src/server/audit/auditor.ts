/** Writes what requests do to the audit log. */
import type { IncomingMessage } from 'node:http';
import type { Clock, IdSource } from '../../base/index.ts';
import type { ClientAddress } from '../http/client-address.ts';
import type { Access } from '../tokens/access.ts';
import { type AuditEntry, type AuditWho, auditedFacts } from './audit-entry.ts';
import type { AuditLog } from './audit-log.ts';

export type Audited = Pick<AuditEntry, 'action' | 'outcome' | 'route' | 'code'> & {
  /** Secrets are left out of it. */
  readonly what?: object | undefined;
};

export class Auditor {
  readonly log: AuditLog;
  readonly #clock: Clock;
  readonly #newId: IdSource;
  readonly #addresses: ClientAddress;

  constructor(log: AuditLog, { clock, newId, addresses }: AuditorOptions) {
    this.log = log;
    this.#clock = clock;
    this.#newId = newId;
    this.#addresses = addresses;
  }

  /** Adds an entry. It is durable when this returns. Without a request, the server itself did it. */
  async add(who: AuditWho, { what, ...audited }: Audited, request?: IncomingMessage): Promise<void> {
    const address = request && this.#addresses.of(request);
    const facts = what && auditedFacts(what);
    const { action, outcome, route, code } = audited;
    await this.log.append({
      id: this.#newId().replace(/^<urn:uuid:|>$/g, ''),
      time: this.#clock(),
      action,
      who,
      ...(address !== undefined && { address }),
      ...(route !== undefined && { route }),
      ...(facts && { what: facts }),
      outcome,
      ...(code !== undefined && { code }),
    });
  }
}

export type AuditorOptions = {
  readonly clock: Clock;
  readonly newId: IdSource;
  readonly addresses: ClientAddress;
};

export function whoOf(access: Access): AuditWho {
  return { ...access.actor, ...(access.person && { role: access.person.role }) };
}
