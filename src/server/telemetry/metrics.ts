/**
 * Metrics for Prometheus: requests by route and status, their duration, bytes sent, the archive, its ledger, jobs, the
 * process.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, type Registry } from 'prom-client';
import { type Archive, LEDGER_EVENTS, type LedgerEventKind } from '../../archive/index.ts';

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];

/** Requests are counted by these parts of the server. */
export type RouteName =
  | 'api'
  | 'auth'
  | 'cdx'
  | 'healthz'
  | 'metrics'
  | 'readyz'
  | 'refused'
  | 'replay'
  | 'segments'
  | 'ui'
  | 'web';

export class Metrics {
  readonly #registry: Registry;
  readonly #requests: Counter<'route' | 'status'>;
  readonly #seconds: Histogram<'route'>;
  readonly #bytes: Counter<'route'>;

  constructor(
    registry: Registry,
    archive: Archive,
    jobCounts: () => Promise<Readonly<Record<string, number>>>,
    version: string,
  ) {
    this.#registry = registry;
    const registers = [this.#registry];
    this.#requests = new Counter({
      name: 'pinakes_http_requests_total',
      help: 'Requests answered.',
      labelNames: ['route', 'status'],
      registers,
    });
    this.#seconds = new Histogram({
      name: 'pinakes_http_request_duration_seconds',
      help: 'From the head of a request to the end of its reply.',
      labelNames: ['route'],
      buckets: SECONDS,
      registers,
    });
    this.#bytes = new Counter({
      name: 'pinakes_http_sent_bytes_total',
      help: 'Bytes of replies, heads included.',
      labelNames: ['route'],
      registers,
    });
    new Gauge({ name: 'pinakes_build_info', help: 'The version.', labelNames: ['version'], registers }).set(
      { version },
      1,
    );
    this.#gaugesOf(archive, registers);
    new Gauge({
      name: 'pinakes_jobs',
      help: 'Jobs by state.',
      labelNames: ['state'],
      registers,
      async collect() {
        const counts = await jobCounts();
        this.reset();
        for (const [state, count] of Object.entries(counts)) this.set({ state }, count);
      },
    });
    for (const [kind, help] of Object.entries(LEDGER_EVENTS)) {
      new Counter({
        name: `pinakes_ledger_${kind.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}_total`,
        help,
        registers,
        collect() {
          this.reset();
          this.inc(archive.ledgerCounts[kind as LedgerEventKind]);
        },
      });
    }
    new Gauge({
      name: 'pinakes_leases_held',
      help: 'Leases that this process holds.',
      registers,
      collect() {
        const { takenLeases, endedLeases, lostLeases } = archive.ledgerCounts;
        this.set(takenLeases - endedLeases - lostLeases);
      },
    });
    collectDefaultMetrics({ register: this.#registry });
  }

  #gaugesOf(archive: Archive, registers: Registry[]): void {
    const gauge = (name: string, help: string, read: () => Promise<number>) =>
      new Gauge({
        name: `pinakes_archive_${name}`,
        help,
        registers,
        async collect() {
          this.set(await read());
        },
      });
    gauge('captures', 'Captures in the archive.', async () => (await archive.totals()).captures);
    gauge('revisits', 'Captures that are revisits.', async () => (await archive.totals()).revisits);
    gauge('blocks', 'Distinct contents.', async () => (await archive.totals()).blocks);
    gauge('payload_bytes', 'Payload bytes as captured.', async () => (await archive.totals()).payloadBytes);
    gauge('unique_payload_bytes', 'Payload bytes of distinct contents.', async () => {
      return (await archive.totals()).uniquePayloadBytes;
    });
    gauge('segment_bytes', 'Bytes of all segments.', async () => {
      return (await archive.segments()).reduce((sum, segment) => sum + segment.bytes, 0);
    });
    gauge('segments', 'Segments.', async () => (await archive.segments()).length);
  }

  count(route: RouteName, status: number, seconds: number, bytes: number): void {
    this.#requests.inc({ route, status: String(status) });
    this.#seconds.observe({ route }, seconds);
    this.#bytes.inc({ route }, bytes);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  /** Stops collecting metrics of the process. */
  close(): void {
    this.#registry.clear();
  }
}
