/** How long calls take that leave the process or wait for others: commits, requests to buckets, statements. */
import { Histogram, type Registry } from 'prom-client';
import type { ObservedCall } from '../../base/index.ts';

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export class CallMetrics {
  readonly #commits: Histogram<'outcome'>;
  readonly #requests: Histogram<'volume' | 'operation' | 'outcome'>;
  readonly #statements: Histogram<'statement' | 'outcome'>;
  readonly #waits: Histogram<'pool' | 'outcome'>;

  constructor(registry: Registry) {
    const histogram = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
      new Histogram<Label>({ name, help, labelNames, buckets: SECONDS, registers: [registry] });
    this.#commits = histogram('pinakes_ledger_commit_duration_seconds', 'Commits, by what became of them.', [
      'outcome',
    ]);
    this.#requests = histogram(
      'pinakes_s3_request_duration_seconds',
      'Requests to the server of a bucket, each try on its own, up to the head of the answer.',
      ['volume', 'operation', 'outcome'],
    );
    this.#statements = histogram(
      'pinakes_postgresql_statement_duration_seconds',
      'Statements in PostgreSQL, by their first word.',
      ['statement', 'outcome'],
    );
    this.#waits = histogram(
      'pinakes_postgresql_connection_wait_seconds',
      'How long statements waited for a connection to PostgreSQL.',
      ['pool', 'outcome'],
    );
  }

  record({ system, name, target = '' }: ObservedCall, outcome: string, seconds: number): void {
    switch (system) {
      case 'ledger':
        this.#commits.observe({ outcome }, seconds);
        return;
      case 's3':
        this.#requests.observe({ volume: target, operation: name, outcome }, seconds);
        return;
      case 'postgresql':
        if (name === 'connect') this.#waits.observe({ pool: target, outcome }, seconds);
        else this.#statements.observe({ statement: name, outcome }, seconds);
        return;
    }
  }
}
