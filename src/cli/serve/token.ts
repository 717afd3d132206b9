/** `pinakes token`: makes, lists and revokes the named tokens of an archive, also while a server serves it. */
import { randomBytes } from 'node:crypto';
import { withDatabase } from '../../archive/index.ts';
import { badArgument, formatW3cDate, PinakesError } from '../../base/index.ts';
import { hashOfToken, type NamedToken, openTokens, RIGHTS, type Right, type TokenStore } from '../../server/index.ts';
import { enterCommand } from '../audited-command.ts';
import type { CommandContext } from '../command.ts';
import { EXIT_FINE } from '../outcome.ts';
import { formatBytes } from '../terminal.ts';

type Options = { readonly archive: string; readonly json?: boolean };

export type TokenAddOptions = Options & {
  readonly rights: string;
  readonly collections?: string;
  readonly expires?: string;
  readonly quota?: string;
};

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;
const SECRET_BYTES = 32;
const DAY_MS = 86_400_000;
const LIFE_UNITS: Readonly<Record<string, number>> = { h: DAY_MS / 24, d: DAY_MS, w: 7 * DAY_MS, y: 365 * DAY_MS };
const SIZE_UNITS: Readonly<Record<string, number>> = { '': 1, K: 1e3, M: 1e6, G: 1e9, T: 1e12 };

export async function tokenAdd(context: CommandContext, name: string, options: TokenAddOptions): Promise<number> {
  const { terminal, clock } = context;
  if (!NAME.test(name)) throw badArgument(name, 'a name has up to 100 letters, digits, dots, dashes and underscores');
  const secret = `pin_${randomBytes(SECRET_BYTES).toString('base64url')}`;
  const created = clock();
  const token: NamedToken = {
    name,
    hash: hashOfToken(secret),
    rights: rightsOf(options.rights),
    ...(options.collections !== undefined && { collections: collectionsOf(options.collections) }),
    created,
    ...(options.expires !== undefined && { expires: created + lifeOf(options.expires) }),
    ...(options.quota !== undefined && { quotaBytes: sizeOf(options.quota) }),
  };
  const { rights, collections } = token;
  await withTokens(context, options, async (tokens, enter) => {
    await tokens.add(token);
    await enter('token add', { name, rights, collections });
  });
  if (options.json) {
    await terminal.json({ ...itemOf(token, 0), token: secret });
    return EXIT_FINE;
  }
  await terminal.line(secret);
  terminal.say(`This is the only time that the token is shown. Keep it where only ${name} can read it.`);
  return EXIT_FINE;
}

export async function tokenLs(context: CommandContext, options: Options): Promise<number> {
  const { terminal, clock } = context;
  const listed = await withTokens(context, options, async (store) => {
    const all = await store.list();
    return Promise.all(all.map(async (token) => ({ token, used: await store.usedBytes(token) })));
  });
  if (listed.length === 0) terminal.say('There is none; `pinakes token add NAME --rights read,add` adds one.');
  for (const { token, used } of listed) {
    if (options.json) {
      await terminal.json(itemOf(token, used));
      continue;
    }
    const { name, rights, collections, expires, quotaBytes } = token;
    const parts = [
      name,
      rights.join(','),
      collections ? `only ${collections.join(', ')}` : 'all collections',
      quotaBytes === undefined ? `${formatBytes(used)} stored` : `${formatBytes(used)} of ${formatBytes(quotaBytes)}`,
      ...(expires === undefined ? [] : [`${expires <= clock() ? 'expired' : 'until'} ${formatW3cDate(expires)}`]),
    ];
    await terminal.line(parts.join('  '));
  }
  return EXIT_FINE;
}

export async function tokenRevoke(
  context: CommandContext,
  name: string,
  options: Options & { readonly dryRun?: boolean },
): Promise<number> {
  const { terminal } = context;
  await withTokens(context, options, async (tokens, enter) => {
    if (options.dryRun) {
      if (!(await tokens.list()).some((token) => token.name === name))
        throw new PinakesError('TOKEN_UNKNOWN', { where: name });
      return;
    }
    await tokens.revoke(name);
    await enter('token revoke', { name });
  });
  if (options.json) await terminal.json({ name, revoked: !options.dryRun });
  else await terminal.line(options.dryRun ? `${name} would be revoked` : `${name} is revoked`);
  return EXIT_FINE;
}

type Enter = (purpose: string, what: object) => Promise<void>;

/** Calls `work` with the tokens of the archive, and with a function that enters a change into the audit log. */
function withTokens<Value>(
  context: CommandContext,
  { archive: directory }: Options,
  work: (tokens: TokenStore, enter: Enter) => Promise<Value>,
): Promise<Value> {
  return withDatabase(directory, async (database) => {
    const tokens = await openTokens(directory, database);
    const enter: Enter = (purpose, what) =>
      enterCommand(context, { directory, database }, { action: 'token', purpose, what, outcome: 'done' });
    return work(tokens, enter).finally(() => tokens.close());
  });
}

function itemOf({ name, rights, collections, created, expires, quotaBytes }: NamedToken, usedBytes: number): object {
  return {
    name,
    rights,
    ...(collections && { collections }),
    created: formatW3cDate(created),
    ...(expires !== undefined && { expires: formatW3cDate(expires) }),
    ...(quotaBytes !== undefined && { quotaBytes }),
    usedBytes,
  };
}

function rightsOf(text: string): Right[] {
  const rights = partsOf(text);
  for (const right of rights)
    if (!RIGHTS.some((known) => known === right)) throw badArgument(`--rights ${text}`, RIGHTS.join(', '));
  if (rights.length === 0) throw badArgument('--rights', RIGHTS.join(', '));
  return RIGHTS.filter((right) => rights.includes(right));
}

function collectionsOf(text: string): string[] {
  const names = partsOf(text);
  if (names.length === 0 || !names.every((name) => NAME.test(name)))
    throw badArgument(`--collections ${text}`, 'names of collections with commas between them');
  return names;
}

function partsOf(text: string): string[] {
  const parts = text.split(',').map((part) => part.trim());
  return [...new Set(parts.filter((part) => part !== ''))];
}

function lifeOf(text: string): number {
  const [, count, unit] = /^([1-9]\d{0,5})([hdwy])$/.exec(text) ?? [];
  if (unit === undefined) throw badArgument(`--expires ${text}`, 'a time such as 12h, 90d, 8w or 1y');
  return Number(count) * LIFE_UNITS[unit]!;
}

function sizeOf(text: string): number {
  const [, count, unit] = /^(\d{1,12})([KMGT]?)B?$/i.exec(text) ?? [];
  if (count === undefined) throw badArgument(`--quota ${text}`, 'a size such as 500MB or 100GB');
  return Number(count) * SIZE_UNITS[unit!.toUpperCase()]!;
}
