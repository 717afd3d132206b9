/** Damages pages of every kind and reads them. There must be no exception and no hang. */
import { seededRandom } from '../../src/base/index.ts';
import { linksOfHeaders, linksOfManifest, linksOfScript, readPage, readSitemap } from '../../src/page/index.ts';
import type { Failure } from './campaign.ts';
import { damage } from './mutation.ts';
import { PAGE_URL, type PageInput, pageInputs } from './page-input.ts';

/** Longer than the time limit of the document readers themselves. */
const READING_MS_MAX = 60_000;
const FAILURES_MAX = 5;
/** PDF documents are read on a separate thread, which takes a hundred times as long. */
const PDF_RUNS = 100;

export type PageCampaign = { readonly runs: number; readonly failures: readonly Failure[]; readonly bytes: number };

export async function runPageCampaign(seed: number, runs: number): Promise<PageCampaign> {
  const inputs = pageInputs();
  const ordinary = inputs.filter(({ name }) => name !== 'pdf');
  const failures: Failure[] = [];
  let bytes = 0;
  let run = 0;
  for (; run < runs && failures.length < FAILURES_MAX; run++) {
    const random = seededRandom(seed + run);
    const chosen = (seed + run) % PDF_RUNS === 0 ? inputs : ordinary;
    const base = chosen === inputs ? inputs.at(-1)! : chosen[Math.floor(random() * chosen.length)]!;
    const damages = damage(base, random, inputs);
    const damaged = damages.at(-1)?.bytes ?? base.bytes;
    bytes += damaged.length;
    const fault = await faultOf({ ...base, bytes: damaged });
    const described = damages.map(({ kind, from, to, put }) => `${kind}: [${from}, ${to}) became ${put} bytes`);
    if (fault) failures.push({ seed: seed + run, input: base.name, damages: described, fault, bytes: damaged });
  }
  return { runs: run, failures, bytes };
}

/** Reads a page with every reader that may get such a page. Returns a description of the first fault. */
export async function faultOf({ bytes, mime }: PageInput): Promise<string | undefined> {
  const started = performance.now();
  try {
    await readPage({ bytes, mime, url: PAGE_URL, contentType: mime });
    readSitemap(bytes, PAGE_URL);
    linksOfManifest(bytes, PAGE_URL);
    linksOfScript(bytes, PAGE_URL);
    linksOfHeaders([['Link', bytes.subarray(0, 4096).toString('latin1')]], PAGE_URL);
  } catch (error) {
    return String((error as Error).stack ?? error);
  }
  const tookMs = performance.now() - started;
  return tookMs > READING_MS_MAX ? `reading took ${Math.round(tookMs)} ms` : undefined;
}
