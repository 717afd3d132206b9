/**
 * What is measured of a server and of its archive: metrics always, traces when the environment names a place for them.
 * The packages for traces are loaded only then.
 */
import { Registry } from 'prom-client';
import { type CallObserver, failureOutcome } from '../../base/index.ts';
import { CallMetrics } from './call-metrics.ts';
import type { Traces, TracesOptions } from './span.ts';

export type TelemetryOptions = TracesOptions & {
  /** Milliseconds that never go back, with fractions. */
  readonly stopwatch: () => number;
};

export class Telemetry {
  readonly registry = new Registry();
  readonly traces: Traces | undefined;
  readonly #stopwatch: () => number;
  readonly #metrics = new CallMetrics(this.registry);

  constructor(stopwatch: () => number, traces?: Traces) {
    this.#stopwatch = stopwatch;
    this.traces = traces;
  }

  static async open(options: TelemetryOptions): Promise<Telemetry> {
    if (!sendsTraces(options.environment)) return new Telemetry(options.stopwatch);
    const { openTraces } = await import('./traces.ts');
    return new Telemetry(options.stopwatch, openTraces(options));
  }

  readonly observe: CallObserver = async (call, work, outcomeOf) => {
    const span = this.traces?.call(call);
    const begun = this.#stopwatch();
    let outcome = 'ok';
    try {
      const value = await (span ? span.inside(work) : work());
      if (outcomeOf) outcome = outcomeOf(value);
      return value;
    } catch (error) {
      outcome = failureOutcome(error);
      throw error;
    } finally {
      this.#metrics.record(call, outcome, (this.#stopwatch() - begun) / 1000);
      span?.end(outcome);
    }
  };

  async close(): Promise<void> {
    await this.traces?.close();
  }
}

/** Whether traces are wanted, by the variables that OpenTelemetry has for this. */
function sendsTraces(environment: TracesOptions['environment']): boolean {
  const { OTEL_SDK_DISABLED: isDisabled, OTEL_TRACES_EXPORTER: exporter } = environment;
  if (isDisabled?.toLowerCase() === 'true' || exporter === 'none') return false;
  return Boolean(environment.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || environment.OTEL_EXPORTER_OTLP_ENDPOINT);
}
