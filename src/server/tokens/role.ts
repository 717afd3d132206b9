/**
 * The roles of people, and who has which. A role stands for rights of tokens:
 *
 * ```
 *   reader           read
 *   curator          read, add, crawl, delete
 *   administrator    everything
 * ```
 * The groups that the sign-in service names, or the person, decide. The highest role wins. A person without a role is
 * refused.
 */
import type { Right } from './right.ts';

/** From the lowest to the highest. */
export const ROLES = ['reader', 'curator', 'administrator'] as const;

export type Role = (typeof ROLES)[number];

const RIGHTS_OF_ROLE: Readonly<Record<Role, readonly Right[]>> = {
  reader: ['read'],
  curator: ['read', 'add', 'crawl', 'delete'],
  administrator: ['admin'],
};

/** Someone whom a sign-in service or a proxy names. */
export type Person = {
  /** For people to read: a user name or a mail address. */
  readonly name: string;
  /** Names that the service vouches for. They identify the person, and never change hands. */
  readonly ids: readonly string[];
  readonly groups: readonly string[];
};

/** `group: '*'` is everybody who can sign in. */
export type RoleRule = { readonly role: Role } & ({ readonly group: string } | { readonly person: string });

export function isRole(text: unknown): text is Role {
  return ROLES.some((role) => role === text);
}

export function rightsOf(role: Role): readonly Right[] {
  return RIGHTS_OF_ROLE[role];
}

/** The highest role that the rules give to a person; undefined for none. */
export function roleOf(rules: readonly RoleRule[], { ids, groups }: Person): Role | undefined {
  return ROLES.findLast((role) =>
    rules.some((rule) => {
      if (rule.role !== role) return false;
      return 'person' in rule ? ids.includes(rule.person) : rule.group === '*' || groups.includes(rule.group);
    }),
  );
}
