/**
 * Traces of requests, sent by OpenTelemetry's protocol over HTTP: a span for the request, and one for each commit,
 * request to a bucket and statement of a database that it waits for. Spans have no URLs, no addresses and no names of
 * people: what somebody read is nobody else's business.
 *
 * Calls outside of a request, such as those of a job that runs for days, have no spans; metrics count them too.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage } from 'node:http';
import {
  type Context,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  hostDetector,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
  serviceNameEnvDetector,
} from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { ObservedCall } from '../../base/index.ts';
import type { RequestSpan, Span, Traces, TracesOptions } from './span.ts';

const CLOSE_MS_MAX = 5000;
/** Outcomes of calls that are answers, and not failures. */
const ANSWERS: ReadonlySet<string> = new Set([
  'ok',
  'committed',
  'stale',
  'known',
  'barred',
  'moved',
  'aborted',
  '404',
  '412',
  '416',
]);

type Scope = { readonly context: Context; isOpen: boolean };

export function openTraces({ environment, version, onFailure }: TracesOptions): Traces {
  reportFailures(onFailure);
  const detectors = [
    hostDetector,
    serviceInstanceIdDetector,
    resourceAttributesEnvDetector,
    serviceNameEnvDetector,
  ] as const;
  const own = resourceFromAttributes({ 'service.name': 'pinakes', 'service.version': version });
  const provider = new TracerProvider({
    sampler: samplerOf(environment),
    resource: defaultResource()
      .merge(own)
      .merge(detectResources({ detectors: [...detectors] })),
    // The exporter reads the variables that begin with OTEL_EXPORTER_OTLP.
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
  });
  return new RequestTraces(provider.getTracer('pinakes', version), provider);
}

class RequestTraces implements Traces {
  readonly #tracer: Tracer;
  readonly #provider: TracerProvider;
  readonly #scopes = new AsyncLocalStorage<Scope>();
  readonly #requests = new WeakMap<IncomingMessage, Scope>();

  constructor(tracer: Tracer, provider: TracerProvider) {
    this.#tracer = tracer;
    this.#provider = provider;
  }

  request(request: IncomingMessage): RequestSpan {
    const { method = 'GET', headers } = request;
    const attributes = { 'http.request.method': method, 'url.scheme': 'http' };
    const parent = remoteParent(headers.traceparent);
    const span = this.#tracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, parent);
    const scope: Scope = { context: trace.setSpan(parent, span), isOpen: true };
    this.#requests.set(request, scope);
    return {
      inside: (work) => this.#scopes.run(scope, work),
      end: ({ route, status }) => {
        scope.isOpen = false;
        span.updateName(`${method} ${route}`);
        span.setAttributes({ 'http.route': route, 'http.response.status_code': status });
        if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      },
    };
  }

  resume<T>(request: IncomingMessage, work: () => T): T {
    const scope = this.#requests.get(request);
    return scope ? this.#scopes.run(scope, work) : work();
  }

  call({ system, name, target }: ObservedCall): Span | undefined {
    const parent = this.#scopes.getStore();
    if (!parent?.isOpen) return undefined;
    const attributes = {
      ...(system === 'postgresql' && { 'db.system.name': system, 'db.operation.name': name }),
      ...(target !== undefined && { 'pinakes.target': target }),
    };
    const kind = system === 'ledger' ? SpanKind.INTERNAL : SpanKind.CLIENT;
    const span = this.#tracer.startSpan(`${system} ${name}`, { kind, attributes }, parent.context);
    const scope: Scope = { context: trace.setSpan(parent.context, span), isOpen: true };
    return {
      inside: (work) => this.#scopes.run(scope, work),
      end: (outcome) => {
        scope.isOpen = false;
        span.setAttribute('pinakes.outcome', outcome);
        if (!ANSWERS.has(outcome)) span.setStatus({ code: SpanStatusCode.ERROR, message: outcome });
        span.end();
      },
    };
  }

  async close(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, CLOSE_MS_MAX);
    });
    await Promise.race([this.#provider.shutdown().catch(() => {}), late]);
    clearTimeout(timer);
    diag.disable();
  }
}

/** The span of the client that sent the request (W3C Trace Context, section 3.2). */
function remoteParent(field: string | string[] | undefined): Context {
  const [, version, traceId, spanId, flags] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/.exec(String(field ?? '')) ?? [];
  if (!traceId || !spanId || version === 'ff') return ROOT_CONTEXT;
  const parent = { traceId, spanId, traceFlags: Number.parseInt(flags!, 16) & 1, isRemote: true };
  return trace.setSpanContext(ROOT_CONTEXT, parent);
}

/** The sampler that OTEL_TRACES_SAMPLER names. */
function samplerOf(environment: TracesOptions['environment']): Sampler {
  const { OTEL_TRACES_SAMPLER: name = 'parentbased_always_on', OTEL_TRACES_SAMPLER_ARG: argument } = environment;
  const root = rootSampler(name.replace(/^parentbased_/, ''), Number(argument ?? 1));
  return name.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}

function rootSampler(name: string, ratio: number): Sampler {
  if (name === 'always_off') return new AlwaysOffSampler();
  if (name === 'traceidratio') return new TraceIdRatioBasedSampler(ratio);
  return new AlwaysOnSampler();
}

/** Reports each failure of OpenTelemetry once: an address that does not answer must not fill the log. */
function reportFailures(onFailure: (sentence: string) => void): void {
  const told = new Set<string>();
  const report = (text: string) => {
    const sentence = /"message":"([^"]*)"/.exec(text)?.[1] ?? text.split('\n', 1)[0]!.slice(0, 200);
    if (told.has(sentence) || told.size >= 20) return;
    told.add(sentence);
    onFailure(`traces are not sent: ${sentence}`);
  };
  const ignore = () => {};
  diag.setLogger({ error: report, warn: report, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.WARN);
}
