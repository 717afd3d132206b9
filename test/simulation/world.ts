/**
 * What the processes of a schedule share: one catalog, one bucket, PUTs that are still in flight, the last commits, the
 * time, and the book of what clients were promised. A world can be copied, so that the setup of a scenario runs once.
 */
import { createHash, hash } from 'node:crypto';
import { assert, type EpochMs, equal, type IdSource, seededIds, seededRandom } from '../../src/base/index.ts';
import { MemoryCatalog, type SavedCatalog } from '../../src/catalog/index.ts';
import { type MemoryBucket, MemoryDisk } from '../../src/volume/index.ts';
import { Book } from './book.ts';
import { stateDigest } from './state-digest.ts';
import type { Without } from './without.ts';

export const VOLUME = 'main';
const START: EpochMs = Date.UTC(2026, 0, 2);
/** A catalog goes back by at most so many commits, unless a scenario says otherwise. */
export const COMMITS_BACK_MAX = 3;

/** A PUT without an answer that has not arrived yet. */
export type LatePut = { readonly name: string; readonly bytes: Uint8Array };

/** The state before a commit. */
type Remembered = { readonly before: SavedCatalog; readonly isDurable: boolean; readonly state: () => string };

export type WorldOptions = {
  /** By how many commits the catalog can go back. Default: 0. */
  readonly commitsBackMax?: number;
  readonly without?: Without;
};

export class World {
  readonly catalog: MemoryCatalog;
  /** The catalog and one on PostgreSQL beside it (postgres-twin.ts). */
  twin: MemoryCatalog | undefined;
  readonly bucket: MemoryBucket;
  readonly disk: MemoryDisk;
  readonly book: Book;
  readonly without: Without;
  /** Whether operations may fail now. */
  hasFaults = false;
  now: EpochMs;
  late: LatePut[];
  history: Remembered[] = [];
  incarnation: number;
  /** How often the catalog went back, and whether it was lost. */
  setbacks = 0;
  isLost = false;
  /** Who alone reaches the catalog, while it is lost and made again; an empty name is nobody. Undefined: everybody. */
  onlyFor: string | undefined;
  /** Whether the catalog is in the process that owns it, so that its answers are never lost. */
  isEmbedded = false;
  readonly #commitsBackMax: number;
  /** The bytes of every name that anything was put under (P2). */
  readonly named: Map<string, Uint8Array>;
  readonly #idSources = new Map<string, number>();
  /** Rules that were broken at the moment of an operation. */
  readonly breaches: string[] = [];

  constructor({ commitsBackMax = 0, without = {} }: WorldOptions = {}, copied?: World) {
    this.without = without;
    this.now = copied?.now ?? START;
    const options = { clock: () => this.now, ...(copied && { state: copied.catalog.save() }) };
    this.catalog = new MemoryCatalog(options);
    this.bucket = new Map(copied?.bucket);
    this.disk = copyOfDisk(copied?.disk);
    this.book = new Book(copied?.book);
    this.incarnation = copied?.incarnation ?? 1;
    this.isEmbedded = copied?.isEmbedded ?? false;
    this.#commitsBackMax = commitsBackMax;
    this.named = new Map(copied?.named);
    this.late = [...(copied?.late ?? [])];
  }

  /** Record ids that are the same in every schedule, for the same process. */
  ids(process: string): IdSource {
    const used = this.#idSources.get(process) ?? 0;
    this.#idSources.set(process, used + 1);
    return seededIds(seededRandom(Number.parseInt(hash('sha1', `${process} ${used}`).slice(0, 8), 16)));
  }

  /** Called before a change of the catalog. Returns what to call when the change was made. */
  beforeChange(): (isDurable: boolean) => void {
    if (this.#commitsBackMax === 0) return () => {};
    const before = this.catalog.save();
    let digest: string | undefined;
    return (isDurable) => {
      this.history.push({ before, isDurable, state: () => (digest ??= `${stateDigest(before)} ${isDurable}`) });
      if (this.history.length > this.#commitsBackMax) this.history.shift();
    };
  }

  /** Whether the last n commits can be lost. A durable commit of an embedded catalog cannot, nor any before it. */
  canGoBack(commits: number, isEmbedded: boolean): boolean {
    if (this.history.length < commits || this.onlyFor !== undefined) return false;
    return !(isEmbedded && this.history.slice(-commits).some(({ isDurable }) => isDurable));
  }

  /** The catalog loses its last commits. */
  goBack(commits: number): void {
    const [first] = this.history.splice(-commits);
    assert(first, 'there are commits to lose');
    this.catalog.restore(first.before);
    for (const name of this.catalog.livingLeases()) this.catalog.expireLease(name);
    this.setbacks++;
  }

  /** The catalog is gone with its machine. Nobody reaches one before a rebuild begins, with an empty one. */
  loseCatalog(): void {
    this.catalog.restore(new MemoryCatalog({ clock: () => this.now }).save());
    this.history = [];
    this.isLost = true;
    this.onlyFor = '';
  }

  /** Every client that keeps the contract puts the same bytes under a name for good. */
  checkName(name: string, bytes: Uint8Array): void {
    if (this.without.names) return;
    const known = this.named.get(name);
    if (!known) this.named.set(name, bytes);
    else if (!equal(known, bytes)) this.breaches.push(`P2 other bytes are put under the name ${name}`);
  }

  /** Equal for catalogs with the same contents. */
  catalogState(): string {
    return stateDigest(this.catalog.save());
  }

  /** Equal for worlds that go on in the same way while processes are in the same state. */
  state(): string {
    const { setbacks, isLost, incarnation, history } = this;
    return `${this.fingerprint()} ${setbacks} ${isLost} ${incarnation} ${history.map(({ state }) => state())}`;
  }

  /** Equal for worlds that go on in the same way, when all processes have stopped. */
  fingerprint(): string {
    const { catalog, bucket, disk, book, late, now, named, hasFaults } = this;
    const state = createHash('sha1').update(stateDigest([catalog.save(), book.rows(), now, hasFaults, this.onlyFor]));
    for (const [name, bytes] of [...bucket, ...named, ...late.map((put) => [put.name, put.bytes] as const)])
      state.update(`${name} ${bytes.length} `).update(bytes);
    for (const [name, { buffer, ...object }] of disk.objects)
      state.update(`${name} ${JSON.stringify(object)} `).update(buffer.subarray(0, object.bytes));
    return state.digest('base64');
  }

  land(put: LatePut): void {
    this.late.splice(this.late.indexOf(put), 1);
    this.bucket.set(put.name, put.bytes);
  }
}

function copyOfDisk(disk: MemoryDisk | undefined): MemoryDisk {
  const copy = new MemoryDisk();
  for (const [name, object] of disk?.objects ?? [])
    copy.objects.set(name, { ...object, buffer: object.buffer.slice() });
  return copy;
}
