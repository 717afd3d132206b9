/** The route of the audit log. */
import { type Static, Type } from 'typebox';
import { formatW3cDate, parseAskedTime } from '../../base/index.ts';
import { AUDIT_ACTIONS, AUDIT_OUTCOMES, type AuditEntry } from '../audit/audit-entry.ts';
import { badRequest, invalidCursor } from '../http/problem.ts';
import { closed, limitOf, named, PageCursor, W3cDate } from '../schema.ts';
import type { ApiServices } from './api-services.ts';
import { type ApiRoute, route } from './route.ts';

const Action = Type.Enum([...AUDIT_ACTIONS], { title: 'AuditAction' });
const Outcome = Type.Enum([...AUDIT_OUTCOMES], {
  title: 'AuditOutcome',
  description: '`begun`: a job was accepted. Its end is an entry of its own.',
});

const AuditItem = named('AuditEntry', {
  id: Type.String(),
  time: W3cDate,
  action: Action,
  who: closed({
    kind: Type.Enum(['person', 'token', 'server', 'system', 'anonymous'], { title: 'ActorKind' }),
    name: Type.String({ description: 'The person, the token, or the user of the machine.' }),
    id: Type.Optional(Type.String({ description: 'How the sign-in service identifies the person.' })),
    role: Type.Optional(Type.String()),
  }),
  address: Type.Optional(Type.String({ description: 'Of the client.' })),
  route: Type.Optional(Type.String({ description: 'The route of the API, or the command.' })),
  what: Type.Optional(Type.Unknown({ description: 'Collection, selection, ids, counts. Never a secret.' })),
  outcome: Outcome,
  code: Type.Optional(Type.String({ description: 'Of the error.' })),
});

const NAME_LENGTH_MAX = 200;

export function auditRoutes({ auditor }: Pick<ApiServices, 'auditor'>): ApiRoute[] {
  return [
    route({
      method: 'GET',
      right: 'admin',
      path: '/api/audit',
      tag: 'people',
      summary: 'Who did what, newest first',
      query: closed({
        since: Type.Optional(Type.String({ description: 'A time, such as 2024, 20240301 or 2024-03-01T12:00:00Z.' })),
        until: Type.Optional(Type.String({ description: 'A time; a day or a year is meant as a whole.' })),
        who: Type.Optional(Type.String({ maxLength: NAME_LENGTH_MAX, description: 'A part of the name.' })),
        action: Type.Optional(Action),
        outcome: Type.Optional(Outcome),
        after: Type.Optional(PageCursor),
        limit: limitOf(500, 50),
      }),
      reply: {
        status: 200,
        schema: closed({ items: Type.Array(AuditItem), next: Type.Optional(Type.String()) }),
        description: 'A page of the log.',
      },
      handle: async ({ query: { since, until, limit = 50, ...query } }) => {
        const end = timeOf(until, 'end');
        const page = await auditor.log
          .read({ ...query, since: timeOf(since, 'start'), until: end === undefined ? undefined : end + 1, limit })
          .catch((error: unknown) => {
            throw error instanceof RangeError ? invalidCursor() : error;
          });
        return { items: page.entries.map(itemOf), ...(page.next !== undefined && { next: page.next }) };
      },
    }),
  ];
}

function timeOf(text: string | undefined, side: 'start' | 'end'): number | undefined {
  if (text === undefined || text === '') return undefined;
  const time = parseAskedTime(text, side);
  if (time !== undefined) return time;
  throw badRequest(`${text.slice(0, 100)} is not a time`, 'Write 2024, 20240301 or 2024-03-01T12:00:00Z.', 'query');
}

function itemOf({ time, ...entry }: AuditEntry): Static<typeof AuditItem> {
  return { ...entry, time: formatW3cDate(time) };
}
