/**
 * Searches every place for bytes of what takedowns bar, by reading every file and hashing every record, and states the
 * result in the signed log. It trusts neither the catalog nor the lists of the volumes.
 *
 * `isGone` is said only when nothing was found and nothing was left unsearched: a missing volume, a file or a region
 * that cannot be read are each named.
 */
import { resolve } from 'node:path';
import { formatW3cDate, PinakesError } from '../../base/index.ts';
import type { Bar } from '../../catalog/index.ts';
import { DirectoryVolume, isRemoteUrl } from '../../volume/index.ts';
import { type ReadingRecord, readRecords, warcInputs } from '../../warc/index.ts';
import { CATALOG_DIRECTORY } from '../maintain/catalog-soundness.ts';
import type { MirrorSetting } from '../mirror/mirror-setting.ts';
import { isAddress, openTarget } from '../mirror/mirror-target.ts';
import type { OpenedArchive } from '../opened-archive.ts';
import type { FoundBytes, SearchedPlace, SearchStatement } from '../takedown/log-entry.ts';
import { BarredMatch } from './barred-match.ts';
import { directoryPlace, keptBesides, type SearchedFile, type SearchPlace, storePlace } from './search-place.ts';

/** So many findings and failures are listed in a statement. All findings are counted. */
const LISTED_MAX = 1000;
/** Files of the archive's directory without bytes of contents: what is derived from the segments, and the reserve. */
const DERIVED = [CATALOG_DIRECTORY, 'rankings', 'reserve', 'owner.json'];
const WARC_NAME = /\.(w?arc(\.gz|\.zst)?|wacz)(\.open|\.part)?$|\.part$/i;

export type SearchProgress = {
  readonly place: string;
  readonly file: string;
  /** Bytes of the files that were searched so far. */
  readonly bytes: number;
};

export type SearchOptions = {
  /** Who asks, for the log. */
  readonly by: string;
  /** Directories elsewhere that may have the bytes too, such as those of exports. */
  readonly also?: readonly string[] | undefined;
  readonly onProgress?: ((progress: SearchProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
};

/** Searches for what these takedowns bar. The result is not yet in the log. */
export async function searchBarred(
  archive: OpenedArchive,
  takedowns: readonly number[],
  bars: readonly Bar[],
  options: SearchOptions,
): Promise<SearchStatement> {
  const begun = formatW3cDate(archive.clock());
  const unsearched: { what: string; why: string }[] = [];
  const search = new BarredSearch(new BarredMatch(bars), options, unsearched);
  for (const place of await placesOf(archive, options.also ?? [], unsearched)) await search.search(place);
  const { places, findings, found } = search;
  const contents = bars.filter(({ kind }) => kind === 'content').length;
  return {
    kind: 'search',
    takedowns,
    contents,
    urls: bars.length - contents,
    begun,
    places,
    found,
    findings,
    unsearched: unsearched.slice(0, LISTED_MAX),
    isGone: found === 0 && unsearched.length === 0,
  };
}

async function placesOf(
  archive: OpenedArchive,
  also: readonly string[],
  unsearched: { what: string; why: string }[],
): Promise<SearchPlace[]> {
  const { volumes, stores } = archive;
  const directory = resolve(archive.directory);
  const places: SearchPlace[] = [];
  const apart = DERIVED.map((name) => resolve(directory, name));
  for (const { name } of volumes.settings()) {
    const failure = volumes.failureOf(name);
    if (failure) {
      unsearched.push({ what: `volume ${name}`, why: failure.message });
      continue;
    }
    const volume = volumes.get(name);
    if (volume instanceof DirectoryVolume) {
      apart.push(resolve(volume.directory));
      places.push(directoryPlace(`volume ${name}`, volume.directory));
      continue;
    }
    const linked = volumes.linked(name);
    places.push(storePlace(`volume ${name}`, stores.get(name), keptBesides(volume), linked !== undefined));
    for (const line of linked?.damagedLines ?? [])
      unsearched.push({ what: `volume ${name}`, why: `line ${line} of the list of its files cannot be read` });
  }
  const isApart = (path: string) => apart.includes(path) || /\.sqlite(-wal|-shm)?$/.test(path);
  places.push(directoryPlace('directory of the archive', directory, isApart));
  places.push(...(await mirrorPlaces(archive, unsearched)));
  for (const path of also) places.push(directoryPlace(path, resolve(path)));
  return places;
}

/** A mirror in a directory is walked like a volume. */
async function mirrorPlaces(
  { connector, openRemote }: OpenedArchive,
  unsearched: { what: string; why: string }[],
): Promise<SearchPlace[]> {
  const places: SearchPlace[] = [];
  for (const setting of connector.mirrors ?? []) {
    const name = `mirror ${setting.name}`;
    try {
      // Without its mark, an empty mount point would be searched in place of the mirror.
      await (await openTarget(setting, false, openRemote))[Symbol.asyncDispose]();
      if (!isAddress(setting.target)) places.push(directoryPlace(name, resolve(setting.target)));
      else places.push(remoteMirror(name, setting, openRemote));
    } catch (error) {
      if (!(error instanceof PinakesError)) throw error;
      unsearched.push({ what: name, why: error.message });
    }
  }
  return places;
}

function remoteMirror(name: string, setting: MirrorSetting, openRemote: OpenedArchive['openRemote']): SearchPlace {
  async function* files() {
    await using target = await openTarget(setting, false, openRemote);
    yield* storePlace(name, target.store, keptBesides(target.volume)).files();
  }
  return { name, files };
}

class BarredSearch {
  readonly places: SearchedPlace[] = [];
  readonly findings: FoundBytes[] = [];
  found = 0;
  readonly #match: BarredMatch;
  readonly #options: SearchOptions;
  readonly #unsearched: { what: string; why: string }[];
  #bytes = 0;

  constructor(match: BarredMatch, options: SearchOptions, unsearched: { what: string; why: string }[]) {
    this.#match = match;
    this.#options = options;
    this.#unsearched = unsearched;
  }

  async search(searched: SearchPlace): Promise<void> {
    const { name: place, files } = searched;
    const { signal, onProgress } = this.#options;
    const counts = { place, files: 0, bytes: 0, records: 0 };
    try {
      for await (const file of files()) {
        signal?.throwIfAborted();
        onProgress?.({ place, file: file.name, bytes: this.#bytes });
        const records = await this.#searchFile(searched, file);
        counts.files++;
        counts.bytes += file.bytes;
        counts.records += records;
        this.#bytes += file.bytes;
      }
    } catch (error) {
      this.#leaveOut(place, error);
    }
    this.places.push(counts);
  }

  /** The number of records. */
  async #searchFile({ name: place, isLinked }: SearchPlace, file: SearchedFile): Promise<number> {
    let records = 0;
    const unread: string[] = [];
    const onUnreadable = ({ offset, message }: { offset: number; message: string }) => {
      if (unread.length < LISTED_MAX) unread.push(`at ${offset}: ${message}`);
    };
    try {
      for await (const record of recordsOf(file, { onUnreadable, signal: this.#options.signal })) {
        records++;
        const { found, isSure } = await this.#match.ofRecord(record);
        if (found) this.#note({ place, file: file.name, ...found });
        else if (!isSure) unread.push(`at ${record.head.offset}: a damaged record that does not declare its content`);
      }
      if (records === 0) {
        const found = await this.#match.ofFile(file.open());
        if (found) this.#note({ place, file: file.name, ...found });
      }
      // Damage in a file that is not a WARC file is what such a file looks like.
      if (records > 0 || (WARC_NAME.test(file.name) && file.bytes > 0))
        for (const why of unread) this.#unsearched.push({ what: `${place}: ${file.name}`, why });
    } catch (error) {
      if (isLinked || !isGone(error)) this.#leaveOut(`${place}: ${file.name}`, error);
    }
    return records;
  }

  #note(found: FoundBytes): void {
    this.found++;
    if (this.findings.length < LISTED_MAX) this.findings.push(found);
  }

  #leaveOut(what: string, error: unknown): void {
    if (!(error instanceof PinakesError)) throw error;
    this.#unsearched.push({ what, why: error.message });
  }
}

type Reading = {
  readonly onUnreadable: (finding: { offset: number; message: string }) => void;
  readonly signal: AbortSignal | undefined;
};

/** All records of a file, and of the files in it when it is a package. */
async function* recordsOf(file: SearchedFile, { onUnreadable, signal }: Reading): AsyncGenerator<ReadingRecord> {
  if (file.path === undefined) {
    yield* readRecords(file.open(), { name: file.name, onUnreadable, signal });
    return;
  }
  for await (const input of warcInputs(file.path, () => {})) yield* input.read({ onUnreadable, signal });
}

/** The file was removed since its folder was listed. A server that does not give a file may have it all the same. */
function isGone(error: unknown): boolean {
  if (error instanceof PinakesError && isRemoteUrl(error.where ?? '')) return false;
  return error instanceof PinakesError && (error.code === 'FILE_MISSING' || error.code === 'OBJECT_MISSING');
}
