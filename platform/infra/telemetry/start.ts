/** Starts OpenTelemetry before the traced modules are loaded, so it imports only a few modules. */
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { register, supportsSyncHooks } from 'import-in-the-middle/register-hooks.mjs';
import { trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { KoaInstrumentation } from '@opentelemetry/instrumentation-koa';
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg';
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici';
import { defaultResource, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { SimpleSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace';
import { StartProblem } from '../../core/start-problem.ts';
import { build } from '../build.ts';
import { useTracer, type Tracer } from '../tracing.ts';
import { readVariables, type Environment } from '../variables.ts';
import { allowListed } from './allow-list.ts';
import { createIncoming, nameRequest } from './incoming.ts';
import { createLosses } from './losses.ts';
import { samplerOf, type RequestSampler } from './sampler.ts';
import { telemetryVariables } from './settings.ts';
import { createTracer } from './tracer.ts';

/** In milliseconds. An unreachable receiver must not delay a stop. */
const lastSpansMs = 3_000;

/** No span is active: there is no trace, or it is not sampled. Instrumentations must then do no work. */
const isOutside = (): boolean => trace.getActiveSpan() === undefined;

/** These packages are wrapped for tracing when they are loaded. */
const wrapped = ['koa', 'pg', 'pg-pool'];

/**
 * @param env if it has a mistake, nothing is traced, and the configuration reports it
 * @param name used unless `OTEL_SERVICE_NAME` is set
 * @throws StartProblem if Node is too old for tracing
 */
export function startTelemetry(env: Environment, name: string): void {
  const problems: string[] = [];
  const settings = readVariables(telemetryVariables, env, problems);
  if (problems.length > 0 || env['OTEL_SDK_DISABLED'] === 'true') return;
  if (!supportsSyncHooks())
    throw new StartProblem(
      `Node ${process.version} cannot trace: use 24.11.1 or later, or unset OTEL_EXPORTER_OTLP_ENDPOINT.`,
    );
  hookPackages();
  const headers = settings.headers?.reveal();
  const exporter = new OTLPTraceExporter(headers === undefined ? {} : { headers: pairsOf(headers) });
  useTracer(traceWith({ traceExporter: allowListed(exporter) }, settings.serviceName ?? name, samplerOf(settings)));
}

/**
 * Hooks the packages that are loaded from now on. Without this hook, Koa would silently not be traced, because we import it as an ES
 * module.
 */
export function hookPackages(): void {
  register({ include: [...wrapped] });
}

/**
 * Traces with this exporter; tests pass an exporter in memory.
 * @param exported in batches or one by one
 */
export function traceWith(
  exported: { traceExporter: SpanExporter } | { oneByOne: SpanExporter },
  serviceName: string,
  sampler: RequestSampler,
): Tracer {
  const incoming = createIncoming(sampler.keepsRequest);
  const losses = createLosses();
  const resource = resourceFromAttributes({
    'service.name': serviceName,
    ...(build && { 'service.version': build.version, 'club.build': build.buildId }),
  });
  const sdk = new NodeSDK({
    sampler,
    resource: defaultResource().merge(resource),
    resourceDetectors: [envDetector], // reads only OTEL_RESOURCE_ATTRIBUTES, because the other detectors reveal users and command lines
    metricReaders: [], // OpenTelemetry exports no metrics and no logs, because Prometheus gets the metrics, and logs are lines of output.
    logRecordProcessors: [],
    textMapPropagator: null, // Requests to webhook receivers, the model, the payment processor and S3 contain no trace ids.
    instrumentations: [
      new HttpInstrumentation({
        disableIncomingRequestInstrumentation: true,
        ignoreOutgoingRequestHook: isOutside,
      }),
      ...(sampler.isShare ? [] : [new KoaInstrumentation()]), // Spans of Koa layers cost as much as all other spans together (ADR 42).
      new PgInstrumentation({ requireParentSpan: true, ignoreConnectSpans: true }),
      new UndiciInstrumentation({ ignoreRequestHook: isOutside }),
    ],
    ...('oneByOne' in exported
      ? { spanProcessors: [new SimpleSpanProcessor({ exporter: losses.counting(exported.oneByOne) })] }
      : { traceExporter: losses.counting(exported.traceExporter) }),
  });
  sdk.start();
  wrapHttp();
  incoming.attach();
  return {
    ...createTracer(),
    nameRequest,
    trust: incoming.trust,
    reportLosses: losses.report,
    async stop() {
      const stopped = sdk.shutdown().catch(() => undefined);
      await Promise.race([stopped, new Promise((resolve) => setTimeout(resolve, lastSpansMs).unref())]);
    },
  };
}

/** The modules are wrapped when CommonJS loads them. Every importer then gets the wrapped modules. */
function wrapHttp(): void {
  const require = createRequire(import.meta.url);
  for (const name of ['http', 'https']) require(name);
  syncBuiltinESMExports();
}

/** The text is such as `api-key=secret,tenant=club`, with percent-encoded values. */
function pairsOf(text: string): Record<string, string> {
  const pairs = text.split(',').map((pair) => {
    const [key = '', ...value] = pair.split('=');
    return [key.trim(), decoded(value.join('=').trim())] as const;
  });
  return Object.fromEntries(pairs);
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value; // not percent-encoded
  }
}
