/**
 * The catalog as one process sees it: every call passes a gate, and an answer may be lost. The contents are those of
 * the world's catalog at the moment of the call. A view is one instant, so reading from it passes no more gates.
 */
import { type EpochMs, PinakesError } from '../../src/base/index.ts';
import type {
  Bar,
  Block,
  BlockKey,
  Capture,
  CaptureQuestion,
  CaptureRange,
  Catalog,
  CatalogView,
  CommitGroup,
  CommitOutcome,
  DeadRecord,
  FileDamage,
  Lease,
  LeaseRow,
  Mark,
  NewSegment,
  Segment,
  SurplusRecord,
  Totals,
} from '../../src/catalog/index.ts';
import type { UrlKey } from '../../src/url/index.ts';
import type { Process } from './scheduler.ts';
import { isRecheck, weakened } from './without.ts';
import type { World } from './world.ts';

const ANSWER_FAULTS = ['done, answer lost', 'not done, answer lost'] as const;

export class SimulatedCatalog implements Catalog {
  readonly refusal = undefined;
  readonly isShared = true;
  readonly #world: World;
  readonly #process: Process;

  constructor(world: World, process: Process) {
    this.#world = world;
    this.#process = process;
  }

  get batches(): number {
    return this.#inner.batches;
  }

  async commit(group: CommitGroup): Promise<CommitOutcome> {
    await this.#process.pass(() => `commits ${describeGroup(group)}`);
    if (this.#world.without.recheck && isRecheck(group)) return { kind: 'committed', lost: [], freed: 0 };
    return this.#changing(
      async () => this.#inner.commit(await this.#weakened(group)),
      ({ kind }) => kind === 'committed',
      isDurable(group),
      describeOutcome,
    );
  }

  async listSegment(segment: NewSegment, lease?: Lease): Promise<Segment | undefined> {
    await this.#process.pass(() => `lists the segment ${segment.name}`);
    return this.#changing(
      () => this.#inner.listSegment(segment, lease),
      (row) => row !== undefined,
      false,
      (row) => (row ? `listed as ${row.number}` : 'refused'),
    );
  }

  async collectionNumber(name: string): Promise<number> {
    await this.#process.pass(() => `asks for the number of the collection ${name}`);
    const changed = this.#world.beforeChange();
    const before = this.#inner.batches;
    const number = await this.#inner.collectionNumber(name);
    if (this.#inner.batches !== before) changed(false);
    return number;
  }

  async takeLease(name: string, holder: string, lifeMs?: number): Promise<Lease | undefined> {
    await this.#process.pass(() => `takes the lease ${name}`);
    return this.#changing(
      () => this.#inner.takeLease(name, holder, lifeMs),
      (lease) => lease !== undefined,
      true,
      (lease) => (lease ? `epoch ${lease.epoch}` : 'refused'),
    );
  }

  async renewLease(lease: Lease, lifeMs: number): Promise<boolean> {
    await this.#process.pass(() => `renews the lease ${lease.name}`);
    return this.#changing(
      () => this.#inner.renewLease(lease, lifeMs),
      () => false,
      false,
      (isHeld) => (isHeld ? 'renewed' : 'lost'),
    );
  }

  async endLease(lease: Lease): Promise<void> {
    await this.#process.pass(() => `ends the lease ${lease.name}`);
    return this.#inner.endLease(lease);
  }

  async beginIncarnation(incarnation: number): Promise<void> {
    await this.#process.pass(() => `begins the incarnation ${incarnation}`);
    const changed = this.#world.beforeChange();
    await this.#inner.beginIncarnation(incarnation);
    this.#world.incarnation = Math.max(this.#world.incarnation, incarnation);
    this.#world.onlyFor = undefined;
    changed(true);
  }

  async beginEmpty(incarnation: number, notes: Readonly<Record<string, string>>): Promise<boolean> {
    await this.#process.pass(() => `empties the catalog and begins the incarnation ${incarnation}`);
    const changed = this.#world.beforeChange();
    const isDone = await this.#inner.beginEmpty(incarnation, notes);
    this.#world.incarnation = Math.max(this.#world.incarnation, isDone ? incarnation : 0);
    changed(isDone);
    return isDone;
  }

  async endAdoption(lease: Lease): Promise<boolean> {
    await this.#process.pass(() => 'ends the adoption');
    const changed = this.#world.beforeChange();
    const isEnded = await this.#inner.endAdoption(lease);
    if (isEnded) changed(true);
    return isEnded;
  }

  leases = (): Promise<LeaseRow[]> => this.#asking('the leases', () => this.#inner.leases());
  incarnation = (): Promise<number> => this.#asking('the incarnation', () => this.#inner.incarnation());
  isAdopting = (): Promise<boolean> => this.#asking('whether it is being adopted', () => this.#isAdopting());
  view = (): Promise<CatalogView & AsyncDisposable> => this.#asking('a view', () => this.#inner.view());
  longView = (): Promise<CatalogView & AsyncDisposable> => this.#asking('a view', () => this.#inner.longView());
  bytes = (): Promise<number> => this.#asking('its size', () => this.#inner.bytes());
  segments = (): Promise<Segment[]> => this.#asking('the segments', () => this.#inner.segments());
  totals = (): Promise<Totals> => this.#asking('the totals', () => this.#inner.totals());
  bars = (): Promise<Bar[]> => this.#asking('the bars', () => this.#inner.bars());

  findBlocks(digests: readonly Uint8Array[]): Promise<Block[][]> {
    return this.#asking('which contents are held', () => this.#inner.findBlocks(digests));
  }

  getBlocks(keys: readonly BlockKey[]): Promise<(Block | undefined)[]> {
    return this.#asking('contents', () => this.#inner.getBlocks(keys));
  }

  countReferences(keys: readonly BlockKey[]): Promise<number[]> {
    return this.#asking('references to contents', () => this.#inner.countReferences(keys));
  }

  findAliases(declared: readonly Uint8Array[]): Promise<BlockKey[][]> {
    return this.#asking('aliases', () => this.#inner.findAliases(declared));
  }

  findCaptures(questions: readonly CaptureQuestion[]): Promise<(readonly Capture[])[]> {
    return this.#asking('captures', () => this.#inner.findCaptures(questions));
  }

  capturesOf(urlKey: UrlKey): Promise<readonly Capture[] | undefined> {
    return this.#asking('the captures of a key', () => this.#inner.capturesOf(urlKey));
  }

  nearest(urlKey: UrlKey, time: EpochMs, side?: 'either' | 'notAfter'): Promise<Capture | undefined> {
    return this.#asking('the nearest capture', () => this.#inner.nearest(urlKey, time, side));
  }

  notes(prefix?: string): Promise<Record<string, string>> {
    return this.#asking('notes', () => this.#inner.notes(prefix));
  }

  segment(number: number): Promise<Segment | undefined> {
    return this.#asking(`segment ${number}`, () => this.#inner.segment(number));
  }

  segmentByName(name: string): Promise<Segment | undefined> {
    return this.#asking(`the segment ${name}`, () => this.#inner.segmentByName(name));
  }

  findDeleted(marks: readonly Mark[]): Promise<boolean[]> {
    return this.#asking('what was deleted', () => this.#inner.findDeleted(marks));
  }

  findBarred(captures: readonly Pick<Capture, 'urlKey' | 'block'>[]): Promise<boolean[]> {
    return this.#asking('what is barred', () => this.#inner.findBarred(captures));
  }

  deadRecords(segment: number): Promise<DeadRecord[]> {
    return this.#asking(`the dead records of segment ${segment}`, () => this.#inner.deadRecords(segment));
  }

  surplusRecords(segment: number): Promise<SurplusRecord[]> {
    return this.#asking(`the surplus records of segment ${segment}`, () => this.#inner.surplusRecords(segment));
  }

  captures(range: CaptureRange, pageSize?: number): AsyncGenerator<Capture[]> {
    return this.#paging('captures', () => this.#inner.captures(range, pageSize));
  }

  blocks(pageSize?: number): AsyncGenerator<Block[]> {
    return this.#paging('all contents', () => this.#inner.blocks(pageSize));
  }

  notePages(prefix: string): AsyncGenerator<[name: string, text: string][]> {
    return this.#paging('notes', () => this.#inner.notePages(prefix));
  }

  check(): AsyncGenerator<FileDamage> {
    return this.#inner.check();
  }

  async clear(notes?: Readonly<Record<string, string>>): Promise<void> {
    await this.#process.pass(() => 'empties the catalog');
    const changed = this.#world.beforeChange();
    await this.#inner.clear(notes);
    changed(true);
  }

  async close(): Promise<void> {}

  get #inner(): World['catalog'] {
    const { onlyFor, catalog } = this.#world;
    if (onlyFor !== undefined && onlyFor !== this.#process.name) throw unreachable('it is lost');
    return this.#world.twin ?? catalog;
  }

  async #isAdopting(): Promise<boolean> {
    // Without the gate, only those that adopt know of it.
    if (this.#world.without.gate && !/^(A\d?|Z|the .*)$/.test(this.#process.name)) return false;
    return this.#inner.isAdopting();
  }

  async #weakened(group: CommitGroup): Promise<CommitGroup> {
    const { without, catalog } = this.#world;
    return Object.keys(without).length > 0 ? weakened(group, without, catalog) : group;
  }

  async #asking<Answer>(what: string, ask: () => Promise<Answer>): Promise<Answer> {
    await this.#process.pass(() => `asks for ${what}`);
    return ask();
  }

  async *#paging<Page>(what: string, ask: () => AsyncIterable<Page>): AsyncGenerator<Page> {
    await this.#process.pass(() => `asks for ${what}`);
    yield* ask();
  }

  /** The gate is open. The change and its answer are one step. */
  async #changing<Answer>(
    change: () => Promise<Answer>,
    isChanged: (answer: Answer) => boolean,
    durable: boolean,
    describe: (answer: Answer) => string,
  ): Promise<Answer> {
    const { hasFaults, isEmbedded } = this.#world;
    const fault = hasFaults && !isEmbedded ? this.#process.fault(ANSWER_FAULTS) : undefined;
    if (fault === 'not done, answer lost') throw answerLost(this.#process, fault);
    const changed = this.#world.beforeChange();
    const answer = await change();
    if (isChanged(answer)) changed(durable);
    this.#process.note(() => `-> ${describe(answer)}`);
    if (fault) throw answerLost(this.#process, fault);
    return answer;
  }
}

function answerLost(process: Process, detail: string): PinakesError {
  process.note(() => `-> ${detail}`);
  return unreachable(detail);
}

function unreachable(detail: string): PinakesError {
  return new PinakesError('CATALOG_UNREACHABLE', { where: 'the simulated catalog', detail });
}

/** Whether an embedded catalog makes the group durable before it answers (R2). */
function isDurable({ durable, deletions = [], bars = [], moves = [], holderMoves = [], segments = [] }: CommitGroup) {
  if (durable || deletions.length + bars.length + moves.length + holderMoves.length > 0) return true;
  return segments.some(({ to }) => !to || to.state === 'sealing' || to.state === 'sealed');
}

/** The parts of a group with their lengths, for a trace. */
function describeGroup(group: CommitGroup): string {
  const parts: string[] = [];
  for (const { number, from, to } of group.segments ?? [])
    parts.push(
      `segment ${number} ${from.state} ${from.bytes} -> ${to ? `${to.state ?? ''} ${to.bytes ?? ''}` : 'gone'}`,
    );
  for (const { capture } of group.captures ?? []) parts.push(`capture ${capture.url} (${capture.kind})`);
  for (const { capture } of group.deletions ?? []) parts.push(`deletion of ${capture.url}`);
  for (const name of [
    'blocks',
    'referents',
    'bars',
    'moves',
    'holderMoves',
    'removeCaptures',
    'dead',
    'sweep',
  ] as const)
    if (group[name]?.length) parts.push(`${group[name].length} ${name}`);
  return parts.join(', ') || 'nothing';
}

function describeOutcome(outcome: CommitOutcome): string {
  if (outcome.kind === 'fenced') return `fenced (${outcome.why})`;
  if (outcome.kind === 'committed' && outcome.lost.length > 0) return `committed, ${outcome.lost.length} contents lost`;
  return outcome.kind;
}
