/**
 * The settings of an archive in a cluster: volumes, policies, mirrors. All machines share them, so they are in the
 * database, and in every writable volume, from which they can be read when the database is lost.
 *
 * ```
 *   note    settings                      {"number":n,"settings":{...}}, as in archive.yaml; each change adds 1
 *   object  _pinakes/settings/<n>.json    the same
 * ```
 * A change is made under a lease, and refused when another machine has made one since the settings were read.
 */
import { hostname } from 'node:os';
import { type IdSource, PinakesError, utf8 } from '../../base/index.ts';
import type { Catalog } from '../../catalog/index.ts';
import { HeldLease, LEASE_LIFE_MS, refusalOf, type SegmentStores } from '../../ledger/index.ts';
import { type Connector, connectorOf, settingsOf } from '../connector.ts';

const SETTINGS_NOTE = 'settings';
const SETTINGS_LEASE = 'settings';
/** The id of an archive whose catalog is being copied here (move/catalog-copy.ts). No machine joins meanwhile. */
export const COPY_NOTE = 'catalog-copy';
const FOLDER = '_pinakes/settings/';

export type ClusterSettings = { readonly number: number; readonly connector: Connector };

/** The settings in the database; undefined before the archive was created there. */
export async function readSettings(
  catalog: Pick<Catalog, 'notes'>,
  where: string,
): Promise<ClusterSettings | undefined> {
  const text = (await catalog.notes(SETTINGS_NOTE))[SETTINGS_NOTE];
  if (text === undefined) return undefined;
  const bad = (detail: string, cause?: unknown) => new PinakesError('CONNECTOR_INVALID', { where, detail, cause });
  const { number, settings } = JSON.parse(text) as { number: number; settings: unknown };
  return { number, connector: connectorOf(settings, bad) };
}

/** The archive whose catalog is being copied into this one, or from it. */
export async function copyIn(catalog: Pick<Catalog, 'notes'>): Promise<string | undefined> {
  return (await catalog.notes(COPY_NOTE))[COPY_NOTE];
}

/** The note with the settings, for a rebuild, which empties the catalog. */
export function settingsNotes(catalog: Pick<Catalog, 'notes'>): Promise<Record<string, string>> {
  return catalog.notes(SETTINGS_NOTE);
}

/** The settings that the database has. Creates them if there are none. */
export async function settingsOrNew(
  catalog: Catalog,
  where: string,
  fresh: Connector,
  newId: IdSource,
): Promise<ClusterSettings> {
  if ((await copyIn(catalog)) !== undefined) {
    const detail = 'a catalog is being copied into it; run `pinakes catalog copy` again if that was interrupted';
    throw new PinakesError('ARCHIVE_BUSY', { where, detail });
  }
  const known = await readSettings(catalog, where);
  if (known) return known;
  return underLease(catalog, newId, async (held) => {
    const meanwhile = await readSettings(catalog, where);
    if (meanwhile) return meanwhile;
    const settings = { number: 1, connector: fresh };
    await put(catalog, held, settings);
    return settings;
  });
}

export type SettingsChange = {
  readonly catalog: Catalog;
  readonly stores: Pick<SegmentStores, 'writable'>;
  readonly newId: IdSource;
  readonly where: string;
};

/** Replaces the settings. ARCHIVE_BUSY: another machine has changed them since `from`. */
export async function changeSettings(
  { catalog, stores, newId, where }: SettingsChange,
  from: ClusterSettings,
  connector: Connector,
): Promise<ClusterSettings> {
  return underLease(catalog, newId, async (held) => {
    const now = await readSettings(catalog, where);
    if (now?.number !== from.number)
      throw new PinakesError('ARCHIVE_BUSY', { where, detail: 'another machine has just changed the settings' });
    const changed = { number: from.number + 1, connector };
    await put(catalog, held, changed);
    await writeCopies(stores, changed);
    return changed;
  });
}

/** The first settings of an archive that was copied into the database, with other notes. */
export async function putFirstSettings(
  { catalog, stores, newId, where }: SettingsChange,
  connector: Connector,
  notes: Readonly<Record<string, string>>,
): Promise<void> {
  let highest = 0;
  for (const store of stores.writable())
    for await (const page of store.list(FOLDER))
      for (const { name } of page) highest = Math.max(highest, Number.parseInt(name.slice(FOLDER.length), 10) || 0);
  const settings = { number: highest + 1, connector };
  await underLease(catalog, newId, async (held) => {
    if (await readSettings(catalog, where)) throw new PinakesError('ARCHIVE_EXISTS', { where });
    await put(catalog, held, settings, notes);
  });
  await writeCopies(stores, settings);
}

async function writeCopies(stores: SettingsChange['stores'], settings: ClusterSettings): Promise<void> {
  const bytes = utf8(`${textOf(settings)}\n`);
  for (const store of stores.writable())
    if (store.hasParts) await store.writeObject(`${FOLDER}${settings.number}.json`, bytes);
}

async function put(
  catalog: Catalog,
  { lease }: HeldLease,
  settings: ClusterSettings,
  notes: Readonly<Record<string, string>> = {},
): Promise<void> {
  refusalOf(await catalog.commit({ lease, putNotes: { ...notes, [SETTINGS_NOTE]: textOf(settings) }, durable: true }));
}

function textOf({ number, connector }: ClusterSettings): string {
  return JSON.stringify({ number, settings: settingsOf(connector) });
}

export async function underLease<Answer>(
  catalog: Catalog,
  newId: IdSource,
  work: (held: HeldLease) => Promise<Answer>,
): Promise<Answer> {
  const holder = `${hostname()}, ${newId()}`;
  const held = await HeldLease.take(catalog, SETTINGS_LEASE, holder, { lifeMs: LEASE_LIFE_MS });
  if (!held) throw new PinakesError('ARCHIVE_BUSY', { detail: 'another machine is changing the settings' });
  try {
    return await work(held);
  } finally {
    await held.end();
  }
}
