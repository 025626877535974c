/** Starts OpenTelemetry. It comes before everything that it traces is loaded, and therefore imports little. */
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

/** How long the last spans may take, in milliseconds: a receiver that is away must not hold a stop. */
const lastSpansMs = 3_000;

/** Outside of spans, and in a trace that is not kept, instrumentations are to compute nothing. */
const isOutside = (): boolean => trace.getActiveSpan() === undefined;

/** What is wrapped as it is loaded. All else is left alone: the service's own modules, too. */
const wrapped = ['koa', 'pg', 'pg-pool'];

/**
 * Traces this process from now on.
 * @param env With a mistake in it nothing is traced: the configuration reports the mistake.
 * @param name of the process, unless `OTEL_SERVICE_NAME` is set
 * @throws StartProblem where Node is too old for it
 */
export function startTelemetry(env: Environment, name: string): void {
  const problems: string[] = [];
  const settings = readVariables(telemetryVariables, env, problems);
  if (problems.length > 0 || env['OTEL_SDK_DISABLED'] === 'true') return;
  if (!supportsSyncHooks())
    throw new StartProblem(
      `Node ${process.version} cannot trace: take 24.11.1 or later, or unset OTEL_EXPORTER_OTLP_ENDPOINT.`,
    );
  hookPackages();
  const given = settings.headers?.reveal();
  const exporter = new OTLPTraceExporter(given === undefined ? {} : { headers: pairsOf(given) });
  useTracer(traceWith({ traceExporter: allowListed(exporter) }, settings.serviceName ?? name, samplerOf(settings)));
}

/** Packages that are loaded from now on can be traced: without it, Koa silently is not, because we import it as a module. */
export function hookPackages(): void {
  register({ include: [...wrapped] });
}

/**
 * Switches all of it on, whatever receives the spans: tests have a receiver in memory.
 * @param exported the receiver of spans, in batches or one by one
 * @returns what makes spans, and ends it
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
    resourceDetectors: [envDetector], // OTEL_RESOURCE_ATTRIBUTES; the others tell of users and command lines
    metricReaders: [], // metrics are Prometheus's, and logs are lines
    logRecordProcessors: [],
    textMapPropagator: null, // receivers, the model, the payment processor and S3 learn nothing of our traces
    instrumentations: [
      new HttpInstrumentation({
        disableIncomingRequestInstrumentation: true,
        ignoreOutgoingRequestHook: isOutside,
      }),
      ...(sampler.isShare ? [] : [new KoaInstrumentation()]), // layers cost as much as all else together (ADR 42)
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

/** Node's own modules are wrapped as CommonJS loads them. Modules that import them, before or later, get what is wrapped. */
function wrapHttp(): void {
  const require = createRequire(import.meta.url);
  for (const name of ['http', 'https']) require(name);
  syncBuiltinESMExports();
}

/** `api-key=secret,tenant=club`, percent-encoded, as the standard variable has it. */
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
    return value; // with a sign that stands for itself
  }
}
