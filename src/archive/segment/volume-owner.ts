/**
 * The owner object of a volume of immutable objects, in an archive whose catalog is embedded. The lock of the catalog
 * keeps other processes of the same archive away, but not an archive on another machine that names the same bucket. So
 * one archive at a time owns the volume:
 *
 * ```
 *   _pinakes/owner          in the volume: {"archive","number","host","directory","since"}
 *   owned-volumes.json      beside the connector: {"archive","numbers":{"<volume>":n},"taking":["<volume>"]}
 * ```
 * - Each opening takes the next number, which never goes back. It is in the attempts of parts (P2), and in the names
 *   under which an owner seals what others left open (R3).
 * - The object is replaced conditionally, before anything of the volume is listed. A former owner that is still running
 *   reads the object after each PUT and before it answers. So what it has acknowledged was there when its successor
 *   listed the volume, and what it puts later is acknowledged to no client.
 * - It also reads the object after it has listed or read the volume, and before it seals, notes or removes anything by
 *   what it found. An owner that found anything of a successor there finds the successor in the object too.
 * - An archive whose own number is behind that of the object was restored from a copy, or another one has taken the
 *   volume over. Its catalog does not know what the other owner wrote, so it is refused. `pinakes volume take` takes
 *   the volume over and makes the catalog again. Until that is done the volume is noted as being taken, and refused.
 * - A restored copy from within the same opening is not noticed here. Healing notices that objects are missing.
 */
import { readFile, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import {
  type Clock,
  fileError,
  formatW3cDate,
  fromUtf8,
  type IdSource,
  PinakesError,
  replaceFile,
  utf8,
} from '../../base/index.ts';
import type { ConditionalVolume } from '../../volume/index.ts';

const OWNER_NAME = '_pinakes/owner';
const NUMBERS_NAME = 'owned-volumes.json';

type OwnerObject = {
  readonly archive: string;
  readonly number: number;
  readonly host: string;
  readonly directory: string;
  readonly since: string;
};

/** What the archive knows of its own ownerships. */
type OwnNumbers = {
  readonly archive: string;
  readonly numbers: Readonly<Record<string, number>>;
  /** Volumes that are being taken over. The catalog was not made again since. */
  readonly taking?: readonly string[];
};

export type TakeOptions = {
  readonly directory: string;
  readonly clock: Clock;
  readonly newId: IdSource;
  /** Whether the volume is taken from another archive. */
  readonly takesOver?: boolean | undefined;
};

export class VolumeOwner {
  readonly number: number;
  readonly #volume: ConditionalVolume;
  readonly #archive: string;
  #lost: PinakesError | undefined;

  private constructor(volume: ConditionalVolume, archive: string, number: number) {
    this.#volume = volume;
    this.#archive = archive;
    this.number = number;
  }

  /** Makes this opening of the archive the owner of the volume. */
  static async take(volume: ConditionalVolume, options: TakeOptions): Promise<VolumeOwner> {
    const { directory, clock, newId, takesOver = false } = options;
    const own = (await readNumbers(directory)) ?? { archive: newId(), numbers: {} };
    const ownNumber = own.numbers[volume.name] ?? 0;
    const found = await volume.readTagged(OWNER_NAME);
    const owner = found && parseOwner(found.bytes, volume.name);
    const isBeingTaken = own.taking?.includes(volume.name) ?? false;
    if (owner && !takesOver && (owner.archive !== own.archive || owner.number > ownNumber || isBeingTaken))
      throw takenBy(volume.name, owner);
    const number = Math.max(owner?.number ?? 0, ownNumber) + 1;
    // The number is noted before it is used: after a crash, the next opening takes a higher one.
    const taking = takesOver ? { taking: [...new Set([...(own.taking ?? []), volume.name])] } : {};
    await writeNumbers(directory, { ...own, numbers: { ...own.numbers, [volume.name]: number }, ...taking });
    const object: OwnerObject = {
      archive: own.archive,
      number,
      host: hostname(),
      directory,
      since: formatW3cDate(clock()),
    };
    const bytes = utf8(`${JSON.stringify(object)}\n`);
    if (found) await volume.putIfTag(OWNER_NAME, found.tag, bytes);
    else await volume.putIfAbsent(OWNER_NAME, bytes);
    const taken = new VolumeOwner(volume, own.archive, number);
    if (!(await taken.#isOwner())) {
      const detail = 'another archive has just taken it';
      throw new PinakesError('VOLUME_TAKEN', { where: `volume ${volume.name}`, detail });
    }
    return taken;
  }

  /** The volumes that were taken over, if the catalog was not made again since. */
  static async beingTaken(directory: string): Promise<readonly string[]> {
    return (await readNumbers(directory))?.taking ?? [];
  }

  /** Notes that the catalog was made again after volumes were taken over. */
  static async endTaking(directory: string): Promise<void> {
    const own = await readNumbers(directory);
    if (own?.taking) await writeNumbers(directory, { archive: own.archive, numbers: own.numbers });
  }

  /** The id under which the archive of this directory owned volumes before it was moved into a cluster. */
  static async formerArchive(directory: string): Promise<string | undefined> {
    return (await readNumbers(directory))?.archive;
  }

  /** Called when the archive of the cluster owns all volumes. */
  static async forget(directory: string): Promise<void> {
    await rm(join(directory, NUMBERS_NAME), { force: true });
  }

  /** Throws when it is known that another process has taken the volume. */
  assertNotLost(): void {
    if (this.#lost) throw this.#lost;
  }

  /** Throws when another process has taken the volume. What was put since may or may not be counted by its owner. */
  async assertOwned(): Promise<void> {
    this.assertNotLost();
    if (await this.#isOwner()) return;
    const found = await this.#volume.readTagged(OWNER_NAME);
    const owner = found && parseOwner(found.bytes, this.#volume.name);
    const missing = new PinakesError('VOLUME_TAKEN', {
      where: `volume ${this.#volume.name}`,
      detail: 'its owner object is gone',
    });
    this.#lost = owner ? takenBy(this.#volume.name, owner) : missing;
    throw this.#lost;
  }

  async #isOwner(): Promise<boolean> {
    const found = await this.#volume.readTagged(OWNER_NAME);
    const owner = found && parseOwner(found.bytes, this.#volume.name);
    return owner?.archive === this.#archive && owner.number === this.number;
  }
}

export type JoinOptions = {
  readonly clock: Clock;
  /** Whether the volume is taken from another archive. */
  readonly takesOver?: boolean | undefined;
  /** The archive that the one of the cluster was before. It hands its volumes over. */
  readonly former?: string | undefined;
};

/**
 * Makes an archive in a cluster the owner of a volume, for all its machines, or checks that it is. Their leases keep
 * the machines apart, so the number stays the same until another archive takes the volume.
 */
export async function joinOwners(
  volume: ConditionalVolume,
  archive: string,
  { clock, takesOver = false, former }: JoinOptions,
): Promise<void> {
  const found = await volume.readTagged(OWNER_NAME);
  const owner = found && parseOwner(found.bytes, volume.name);
  if (owner?.archive === archive) return;
  if (owner && !takesOver && owner.archive !== former) throw takenBy(volume.name, owner);
  const object: OwnerObject = {
    archive,
    number: (owner?.number ?? 0) + 1,
    host: 'several machines',
    directory: `cluster ${archive}`,
    since: formatW3cDate(clock()),
  };
  const bytes = utf8(`${JSON.stringify(object)}\n`);
  if (found) await volume.putIfTag(OWNER_NAME, found.tag, bytes);
  else await volume.putIfAbsent(OWNER_NAME, bytes);
  const now = await volume.readTagged(OWNER_NAME);
  const taken = now && parseOwner(now.bytes, volume.name);
  if (taken?.archive !== archive) throw takenBy(volume.name, taken ?? object);
}

function takenBy(volume: string, { host, directory, since }: OwnerObject): PinakesError {
  const detail =
    `the archive ${directory} on ${host} writes to it since ${since}; when that one is stopped for good, ` +
    `run \`pinakes volume take ${volume}\`, or add the volume with --take`;
  return new PinakesError('VOLUME_TAKEN', { where: `volume ${volume}`, detail });
}

function parseOwner(bytes: Uint8Array, volume: string): OwnerObject {
  try {
    const value = JSON.parse(fromUtf8(bytes)) as OwnerObject;
    if (typeof value.archive === 'string' && Number.isSafeInteger(value.number) && value.number > 0) return value;
  } catch {}
  const detail = `${OWNER_NAME} cannot be read`;
  throw new PinakesError('VOLUME_TAKEN', { where: `volume ${volume}`, detail });
}

async function readNumbers(directory: string): Promise<OwnNumbers | undefined> {
  const path = join(directory, NUMBERS_NAME);
  try {
    const value = JSON.parse(await readFile(path, 'utf8')) as OwnNumbers;
    return typeof value.archive === 'string' && typeof value.numbers === 'object' ? value : undefined;
  } catch (error) {
    // A file that cannot be parsed is made anew: the volume is then refused until it is taken over.
    if (error instanceof SyntaxError || (error as { code?: unknown }).code === 'ENOENT') return undefined;
    throw fileError(error, path, 'reading');
  }
}

async function writeNumbers(directory: string, numbers: OwnNumbers): Promise<void> {
  const path = join(directory, NUMBERS_NAME);
  await replaceFile(path, `${JSON.stringify(numbers)}\n`).catch((cause: unknown) => {
    throw fileError(cause, path, 'writing');
  });
}
