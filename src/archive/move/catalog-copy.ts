/**
 * Moves an archive from its directory into a cluster: its catalog is copied from LevelDB into a PostgreSQL database,
 * and its buckets are handed over. The steps, in order:
 *
 * 1. A note `catalog-copy` with the id of the new archive is written into the catalog. So the copy has it too.
 * 2. Everything is copied in one transaction, and compared.
 * 3. An incarnation above all former ones begins in the database. Settings and snapshots are written there.
 * 4. `archive.yaml` is replaced. Until then the archive is the one in the directory, afterwards the one in the cluster.
 * 5. The first opening in the cluster takes the buckets over, removes the former catalog, and then the note.
 *
 * While the database has the note, no other machine joins. So when the archive is still in its directory, nobody has
 * used a copy with its own note, and the next try clears it.
 */
import { rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { PinakesError } from '../../base/index.ts';
import { type CopyableCatalog, copyCatalog, openPostgresCatalog, removeLevelCatalog } from '../../catalog/index.ts';
import { beginIncarnation, refusalOf } from '../../ledger/index.ts';
import { addressFor, parseCatalogAddress } from '../cluster/catalog-address.ts';
import { COPY_NOTE, copyIn, putFirstSettings, readSettings, underLease } from '../cluster/settings.ts';
import { type Connector, writeConnector } from '../connector.ts';
import { CATALOG_DIRECTORY } from '../maintain/catalog-soundness.ts';
import { sealOpenSegments } from '../maintain/volume-admin.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import { VolumeOwner } from '../segment/volume-owner.ts';
import { snapshotNotes } from '../stream/named-snapshots.ts';

export type CatalogCopyOptions = {
  readonly dryRun?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called with the number of rows of a table, or of all tables, that were copied or compared so far. */
  readonly onProgress?: ((what: string, rows: number) => void) | undefined;
};

export type CatalogCopyReport = {
  /** The address of the database without a password. */
  readonly shown: string;
  readonly captures: number;
  readonly contents: number;
  readonly segments: number;
  readonly bytes: number;
  /** What stands in the way. Empty unless nothing was done. */
  readonly obstacles: readonly string[];
};

/** Afterwards this process can change the archive no more: it is closed, and opened again in the cluster. */
export function copyToCluster(
  archive: OpenedArchive,
  address: string,
  { dryRun = false, signal, onProgress }: CatalogCopyOptions = {},
): Promise<CatalogCopyReport> {
  const { catalog: from, directory } = archive;
  const { shown } = parseCatalogAddress(address);
  // As every later opening finds it: a password that only this command has would not be there then.
  const { url, schema } = addressFor(shown, process.env);
  return archive.exclusive(async () => {
    const obstacles = await obstaclesOf(archive);
    if (!dryRun && obstacles.length > 0) throw refused(obstacles.join('; '));
    if (!dryRun) await sealOpenSegments(archive, () => true);
    const { captures, blocks: contents } = await from.totals();
    const rows = await from.segments();
    const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
    const report = { shown, captures, contents, segments: rows.length, bytes, obstacles };
    const to = await openPostgresCatalog({ url, schema });
    try {
      const own = await copyIn(from);
      const [settings, left] = [await readSettings(to, shown), await copyIn(to)];
      const isOwn = left !== undefined && left === own;
      const held = `${shown} has ${settings ? `the archive ${settings.connector.name}` : 'the copy of another archive'}`;
      if (!isOwn && (settings || left !== undefined)) {
        if (dryRun) return { ...report, obstacles: [...obstacles, held] };
        throw new PinakesError('ARCHIVE_EXISTS', { where: shown, detail: `${held}; name another schema` });
      }
      if (dryRun) return report;
      if (!isCopyable(from)) throw refused('the catalog cannot be copied');
      const open = rows.find(({ state }) => state !== 'sealed');
      if (open) throw refused(`the segment ${open.name} cannot be sealed`);
      const id = own ?? archive.newId().replace(/^<urn:uuid:|>$/g, '');
      refusalOf(await archive.commitGroup({ putNotes: { [COPY_NOTE]: id }, durable: true }));
      if (isOwn) await underLease(to, archive.newId, () => to.clear({}));
      await copyCatalog(from, to, {
        signal,
        onProgress: (table, count) => onProgress?.(table, count),
        onCompared: (count) => onProgress?.('compared', count),
      });
      const { stores, newId } = archive;
      await beginIncarnation({ catalog: to, stores }, `${hostname()}, process ${process.pid}, copying`);
      const connector = settingsFor(archive, id);
      const notes = await snapshotNotes(archive.snapshots.all(), stores);
      await putFirstSettings({ catalog: to, stores, newId, where: shown }, connector, notes);
      onProgress?.('settings', 1);
      signal?.throwIfAborted();
      await writeConnector(directory, { ...connector, catalog: shown });
      archive.retire(new PinakesError('ARCHIVE_CLOSED', { where: directory, detail: 'it is in the cluster now' }));
      return report;
    } finally {
      await to.close();
    }
  });
}

/** Completes a copy when the archive is opened in the cluster for the first time, with its buckets taken over. */
export async function endCatalogCopy(archive: OpenedArchive): Promise<void> {
  const { catalog, directory, volumes, connector, newId } = archive;
  const id = await copyIn(catalog);
  if (id === undefined || id !== connector.id) return;
  const [missing] = volumes.failures();
  // A bucket that is away still belongs to the former archive.
  if (missing) throw missing;
  await VolumeOwner.forget(directory);
  await removeLevelCatalog(join(directory, CATALOG_DIRECTORY));
  await rm(join(directory, CATALOG_DIRECTORY), { recursive: true, force: true });
  await underLease(catalog, newId, async ({ lease }) => {
    refusalOf(await catalog.commit({ lease, removeNotes: [COPY_NOTE], durable: true }));
  });
}

/** What a machine of a cluster could not work with. */
async function obstaclesOf({ volumes, connector, snapshots, segmentRegistry }: OpenedArchive): Promise<string[]> {
  const obstacles = connector.volumes.flatMap(({ name, kind, path, writable }) => {
    if (kind === 'linked')
      return [`the volume ${name} has files that were added in place: add them without --in-place`];
    if (kind === 's3') return [];
    if (writable)
      return [
        `the volume ${name} is a directory, which belongs to one machine: add a bucket with \`pinakes volume add\`, then run \`pinakes volume migrate\`, or \`pinakes volume set ${name} read-only\``,
      ];
    if (!isAbsolute(path)) return [`the volume ${name} is in the directory of the archive: migrate it to a bucket`];
    return [];
  });
  if (!connector.volumes.some(({ kind, writable }) => kind === 's3' && writable))
    obstacles.push('there is no bucket to write to: add one with `pinakes volume add`');
  for (const { message } of volumes.failures()) obstacles.push(message);
  if (snapshots.damage) obstacles.push(snapshots.damage.message);
  if (segmentRegistry.unread.size > 0) obstacles.push('there are segments that could not be read: `pinakes verify`');
  return obstacles;
}

/** The settings as all machines use them. */
function settingsFor({ connector, directory }: OpenedArchive, id: string): Connector {
  const { mirrors } = connector;
  const absolute = (target: string) => (target.startsWith('s3://') ? target : resolve(directory, target));
  const moved = mirrors?.map((mirror) => ({ ...mirror, target: absolute(mirror.target) }));
  return { ...connector, id, ...(moved && { mirrors: moved }) };
}

function isCopyable(catalog: object): catalog is CopyableCatalog {
  return 'contents' in catalog && 'fill' in catalog;
}

function refused(detail: string): PinakesError {
  return new PinakesError('BAD_ARGUMENT', { where: 'catalog copy', detail });
}
