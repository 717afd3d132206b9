/** Routes for people: who is signed in, how to sign in, and tickets for archived pages. */
import { type Static, Type } from 'typebox';
import { REPLAY_ENTRY } from '../people/replay-entry.ts';
import type { SignInOptions } from '../people/sign-in-options.ts';
import { closed, named } from '../schema.ts';
import { RIGHTS } from '../tokens/right.ts';
import { ROLES } from '../tokens/role.ts';
import type { ApiServices } from './api-services.ts';
import { type ApiRoute, route } from './route.ts';

const TAG = 'people';

const SessionItem = named('Session', {
  kind: Type.Enum(['person', 'token', 'server', 'anonymous'], {
    title: 'SessionKind',
    description: 'Who asks: a person who is signed in, a named token, the token of the server, or nobody known.',
  }),
  name: Type.Optional(Type.String({ description: 'Of the person or the token.' })),
  role: Type.Optional(Type.Enum([...ROLES], { title: 'Role' })),
  rights: Type.Array(Type.Enum([...RIGHTS], { title: 'Right' }), { description: 'What the sender may do.' }),
  isPrivate: Type.Boolean({ description: 'Whether reading needs a sign-in or a token too.' }),
  signIn: Type.Optional(
    closed(
      {
        kind: Type.Enum(['oidc', 'proxy']),
        provider: Type.Optional(Type.String({ description: 'The host of the sign-in service.' })),
        signOutUrl: Type.Optional(Type.String({ description: 'Where a proxy signs people out.' })),
      },
      'How people sign in; absent when they do not.',
    ),
  ),
});

const ReplayTicket = named('ReplayTicket', {
  path: Type.Optional(
    Type.String({
      description:
        'Of the replay origin. With `&to=/web/...` it lets this browser show archived pages. Valid once, for a minute. Absent where everybody may read.',
    }),
  ),
});

export type PeopleFacts = { readonly isPrivate: boolean; readonly signIn: SignInOptions | undefined };

type Services = Pick<ApiServices, 'people' | 'provider'>;

export function sessionRoutes({ people, provider }: Services, { isPrivate, signIn }: PeopleFacts): ApiRoute[] {
  return [
    route({
      method: 'GET',
      right: 'self',
      path: '/api/session',
      tag: TAG,
      summary: 'Who asks, what they may do, and how to sign in',
      reply: { status: 200, schema: SessionItem, description: 'The sender of the request.' },
      handle: async ({ access }) => {
        const { kind, name } = access.actor;
        return {
          kind,
          ...(name !== '' && { name }),
          ...(access.person && { role: access.person.role }),
          rights: RIGHTS.filter((right) => access.may(right)),
          isPrivate,
          ...(signIn && { signIn: signInItem(signIn, provider?.name) }),
        } as Static<typeof SessionItem>;
      },
    }),
    route({
      method: 'POST',
      right: 'read',
      path: '/api/session/replay',
      tag: TAG,
      summary: 'Let this browser show archived pages of a private server',
      description:
        'Archived pages have an origin of their own, which never gets the token or the cookie of the web page.',
      body: closed({}),
      reply: { status: 200, schema: ReplayTicket, description: 'The way in.' },
      handle: async ({ access }) => {
        if (!isPrivate || access.isAnonymous || signIn?.kind === 'proxy') return {};
        return { path: `${REPLAY_ENTRY}?ticket=${await people.replayTicket(access)}` };
      },
    }),
  ];
}

function signInItem(
  signIn: SignInOptions,
  provider: string | undefined,
): NonNullable<Static<typeof SessionItem>['signIn']> {
  if (signIn.kind === 'oidc') return { kind: 'oidc', ...(provider !== undefined && { provider }) };
  return { kind: 'proxy', ...(signIn.signOutUrl !== undefined && { signOutUrl: signIn.signOutUrl }) };
}
