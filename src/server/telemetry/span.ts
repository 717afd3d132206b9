/** What the server asks of traces, whatever makes them. */
import type { IncomingMessage } from 'node:http';
import type { ObservedCall } from '../../base/index.ts';

/** A part of a trace. */
export type Span = {
  /** Runs work whose calls are parts of this one. */
  inside<T>(work: () => T): T;
  end(outcome: string): void;
};

export type RequestSpan = {
  inside<T>(work: () => T): T;
  end(facts: { readonly route: string; readonly status: number }): void;
};

export type Traces = {
  request(request: IncomingMessage): RequestSpan;
  /** Runs work for a request in its span. The events of a body do not keep it. */
  resume<T>(request: IncomingMessage, work: () => T): T;
  /** Undefined: the call is not part of a request. */
  call(call: ObservedCall): Span | undefined;
  /** Sends what has not been sent, for a few seconds at most. */
  close(): Promise<void>;
};

export type TracesOptions = {
  readonly version: string;
  /** The variables of OpenTelemetry; others are ignored. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Called with a sentence when traces cannot be sent, once for each reason. */
  readonly onFailure: (sentence: string) => void;
};
