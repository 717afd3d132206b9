/**
 * The address of the catalog of a cluster: `postgresql://host:port/database?schema=name`. The schema is `pinakes`
 * unless one is named; archives in one database have different schemas. A password is never written down: PGPASSWORD,
 * a `~/.pgpass` file or PINAKES_CATALOG has it.
 */
import { PinakesError } from '../../base/index.ts';

export type CatalogAddress = {
  /** For the driver, perhaps with a password. */
  readonly url: string;
  readonly schema: string;
  /** For the connector and for messages: without a password. */
  readonly shown: string;
};

const DEFAULT_SCHEMA = 'pinakes';
const ADDRESS_VARIABLE = 'PINAKES_CATALOG';

export function parseCatalogAddress(text: string): CatalogAddress {
  const address = URL.parse(text);
  if (!address || !/^postgres(ql)?:$/.test(address.protocol)) {
    const detail =
      'the address of a catalog is like postgresql://host/database or postgresql://host/database?schema=name';
    throw new PinakesError('BAD_ARGUMENT', { where: withoutPassword(text), detail });
  }
  const schema = address.searchParams.get('schema') ?? DEFAULT_SCHEMA;
  address.searchParams.delete('schema');
  const url = address.href;
  address.password = '';
  if (schema !== DEFAULT_SCHEMA) address.searchParams.set('schema', schema);
  return { url, schema, shown: address.href };
}

/** The address of the environment, when it is of the same database as that of the connector: it may have a password. */
export function addressFor(connectorAddress: string, environment: NodeJS.ProcessEnv): CatalogAddress {
  const own = parseCatalogAddress(connectorAddress);
  const text = environment[ADDRESS_VARIABLE];
  const given = text ? parseCatalogAddress(text) : undefined;
  return given && isSameDatabase(given, own) ? given : own;
}

function isSameDatabase(one: CatalogAddress, other: CatalogAddress): boolean {
  const [a, b] = [new URL(one.url), new URL(other.url)];
  return a.host === b.host && a.pathname === b.pathname && one.schema === other.schema;
}

export function hasPassword(text: string): boolean {
  return (URL.parse(text)?.password ?? '') !== '';
}

function withoutPassword(text: string): string {
  return text.replace(/\/\/([^/:@]*):[^@/]*@/, '//$1@');
}
