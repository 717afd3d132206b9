/** The settings of the sign-in from the options of `serve`. */
import { readFile } from 'node:fs/promises';
import { badArgument, readingFile } from '../../base/index.ts';
import { isRole, ROLES, type RoleRule, type SignInOptions } from '../../server/index.ts';
import { SECRET_VARIABLE } from './sign-in-options.ts';

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
