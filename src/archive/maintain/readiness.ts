/**
 * What of an archive does not answer at present: its catalog, or volumes. Each is asked for something small, and counts
 * as silent when it has not answered after ANSWER_MS_MAX.
 */
import { PinakesError } from '../../base/index.ts';
import { type AnyVolume, isPartVolume, LinkedVolume } from '../../volume/index.ts';
import type { OpenedArchive } from '../opened-archive.ts';

const ANSWER_MS_MAX = 3000;
/** Any object will do: the answer alone counts, and not whether the object exists. */
const ASKED_OBJECT = '_pinakes/owner';

export type SilentPart = {
  readonly part: 'catalog' | 'volume';
  /** The name of the volume. */
  readonly name?: string;
  readonly failure: PinakesError;
};

/** Empty when the archive can be used. A catalog that is being adopted after a failover counts as silent. */
export async function listSilentParts(archive: OpenedArchive): Promise<SilentPart[]> {
  const volumes = archive.volumes.settings().map(async ({ name }): Promise<SilentPart | undefined> => {
    const volume = archive.volumes.find(name);
    const failure = volume ? await silenceOf(volume) : archive.volumes.failureOf(name);
    return failure && { part: 'volume', name, failure };
  });
  const parts = await Promise.all([silenceOfCatalog(archive), ...volumes]);
  return parts.filter((part) => part !== undefined);
}

async function silenceOfCatalog({ catalog, directory }: OpenedArchive): Promise<SilentPart | undefined> {
  const failure = await silenceIn(`the catalog of ${directory}`, 'CATALOG_UNREACHABLE', async () => {
    const detail = 'it is being made from the segments and does not have all of them yet';
    if (await catalog.isAdopting()) throw new PinakesError('CATALOG_UNREACHABLE', { where: directory, detail });
  });
  return failure && { part: 'catalog', failure };
}

/** Why a volume does not answer. The files of a linked volume lie anywhere, so it is not asked. */
export async function silenceOf(volume: AnyVolume): Promise<PinakesError | undefined> {
  if (volume instanceof LinkedVolume) return undefined;
  return silenceIn(`volume ${volume.name}`, 'VOLUME_MISSING', async (signal) => {
    if (isPartVolume(volume)) await volume.stat([ASKED_OBJECT], { signal });
    else await volume.stat([ASKED_OBJECT]);
  });
}

/** Why a question failed, or had no answer in time. */
async function silenceIn(
  where: string,
  code: 'CATALOG_UNREACHABLE' | 'VOLUME_MISSING',
  ask: (signal: AbortSignal) => Promise<void>,
): Promise<PinakesError | undefined> {
  const signal = AbortSignal.timeout(ANSWER_MS_MAX);
  const late = Promise.withResolvers<'late'>();
  signal.addEventListener('abort', () => late.resolve('late'), { once: true });
  const asked = ask(signal).then(
    () => undefined,
    (error: unknown) => error,
  );
  const outcome = await Promise.race([asked, late.promise]);
  if (outcome === undefined) return undefined;
  if (outcome !== 'late' && !signal.aborted) {
    if (outcome instanceof PinakesError) return outcome;
    throw outcome;
  }
  return new PinakesError(code, { where, detail: `it has not answered for ${ANSWER_MS_MAX / 1000} s` });
}
