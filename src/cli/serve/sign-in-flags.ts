/** The options of `serve` that say how people sign in. */
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { badArgument, readingFile } from '../../base/index.ts';
import { isRole, ROLES, type RoleRule, type SignInOptions } from '../../server/index.ts';
import { appendValue } from '../command.ts';

const SECRET_VARIABLE = 'PINAKES_OIDC_CLIENT_SECRET';
const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

export type SignInFlags = {
  readonly oidcIssuer?: string;
  readonly oidcClientId?: string;
  readonly oidcClientSecretFile?: string;
  readonly oidcScope?: string;
  readonly oidcGroupsClaim?: string;
  readonly sessionIdle?: string;
  readonly sessionMax?: string;
  readonly userHeader?: string;
  readonly groupsHeader?: string;
  readonly proxySecretFile?: string;
  readonly signOutUrl?: string;
  readonly role?: readonly string[];
  readonly person?: readonly string[];
};

export function withSignInFlags(command: Command): Command {
  return command
    .option('--oidc-issuer <url>', 'let people sign in at this OpenID Connect provider')
    .option('--oidc-client-id <id>', 'the id of this server at the provider')
    .option('--oidc-client-secret-file <file>', `a file with the secret of the client (default: ${SECRET_VARIABLE})`)
    .option('--oidc-scope <scopes>', 'what the provider is asked for (default: "openid profile email")')
    .option('--oidc-groups-claim <name>', 'the claim with the groups of a person (default: groups)')
    .option('--session-idle <time>', 'sign people out who do nothing for this long: 30m, 2h (default: 2h)')
    .option('--session-max <time>', 'sign people out this long after they signed in (default: 12h)')
    .option('--user-header <name>', 'a proxy signs people in, and names them in this header field')
    .option('--groups-header <name>', 'the header field in which the proxy names their groups, with commas between')
    .option('--proxy-secret-file <file>', 'a file with the secret that the proxy sends in X-Pinakes-Proxy-Secret')
    .option('--sign-out-url <url>', 'where the proxy signs people out')
    .option(
      '--role <role=group>',
      `give a role (${ROLES.join(', ')}) to a group, or to all with *; repeatable`,
      appendValue,
    )
    .option('--person <role=name>', 'give a role to one person; repeatable', appendValue);
}

export async function signInOf(flags: SignInFlags): Promise<SignInOptions | undefined> {
  const { oidcIssuer, oidcClientId, userHeader } = flags;
  const roles = [...(flags.role ?? []).map((text) => ruleOf(text, '--role')), ...(flags.person ?? []).map(personRule)];
  if (oidcIssuer !== undefined && userHeader !== undefined)
    throw badArgument(`--user-header ${userHeader}`, 'people sign in at a provider or at a proxy, not at both');
  if (userHeader !== undefined) {
    const { groupsHeader, signOutUrl, proxySecretFile } = flags;
    const secret = proxySecretFile === undefined ? undefined : await secretIn(proxySecretFile);
    return {
      kind: 'proxy',
      userHeader,
      groupsHeader,
      secret,
      signOutUrl: addressOf(signOutUrl, '--sign-out-url'),
      roles,
    };
  }
  if (oidcIssuer === undefined) {
    refuseLeftover(flags);
    return undefined;
  }
  if (oidcClientId === undefined) throw badArgument('--oidc-issuer', 'the provider also needs --oidc-client-id');
  return {
    kind: 'oidc',
    issuer: addressOf(oidcIssuer, '--oidc-issuer')!,
    clientId: oidcClientId,
    clientSecret: await clientSecretOf(flags),
    scope: flags.oidcScope,
    groupsClaim: flags.oidcGroupsClaim,
    idleMs: timeOf(flags.sessionIdle, '--session-idle'),
    longestMs: timeOf(flags.sessionMax, '--session-max'),
    roles,
  };
}

/** An option that only a sign-in uses shows that the operator expects one. */
function refuseLeftover(flags: SignInFlags): void {
  const names = ['oidcClientId', 'groupsHeader', 'proxySecretFile', 'role', 'person'] as const;
  const name = names.find((one) => flags[one] !== undefined);
  if (name === undefined) return;
  const option = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  throw badArgument(option, 'nobody can sign in without --oidc-issuer or --user-header');
}

function ruleOf(text: string, option: string): RoleRule {
  const at = text.indexOf('=');
  const role = text.slice(0, Math.max(0, at));
  const group = text.slice(at + 1);
  if (!isRole(role) || group === '')
    throw badArgument(`${option} ${text}`, `it is like ${option} curator=editors; the roles are ${ROLES.join(', ')}`);
  return { role, group };
}

function personRule(text: string): RoleRule {
  const { role, ...rule } = ruleOf(text, '--person') as RoleRule & { readonly group: string };
  return { role, person: rule.group };
}

/** The secret is never an argument, since every user of the machine can list those. */
async function clientSecretOf({ oidcClientSecretFile }: SignInFlags): Promise<string | undefined> {
  if (oidcClientSecretFile !== undefined) return secretIn(oidcClientSecretFile);
  const secret = process.env[SECRET_VARIABLE];
  return secret === undefined || secret === '' ? undefined : secret;
}

async function secretIn(path: string): Promise<string> {
  return (await readingFile(path, () => readFile(path, 'utf8'))).trim();
}

function addressOf(text: string | undefined, option: string): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) throw badArgument(text, `${option} needs an address like https://host/`);
  return text;
}

function timeOf(text: string | undefined, option: string): number | undefined {
  if (text === undefined) return undefined;
  const [, count, unit] = /^([1-9]\d{0,4})([mhd])$/.exec(text) ?? [];
  if (unit === undefined) throw badArgument(`${option} ${text}`, 'a time is like 30m, 2h or 1d');
  return Number(count) * UNITS_MS[unit]!;
}
