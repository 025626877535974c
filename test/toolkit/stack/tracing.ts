/**
 * Turns on tracing in this process, and keeps the spans in memory. It records only spans of the service itself, and no spans of
 * instrumented packages.
 */
import { context, logs, propagation, SpanStatusCode, trace } from '@opentelemetry/api';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { InMemorySpanExporter, SimpleSpanProcessor, type ReadableSpan } from '@opentelemetry/sdk-trace';
import { allowListed } from '../../../platform/infra/telemetry/allow-list.ts';
import { samplerOf } from '../../../platform/infra/telemetry/sampler.ts';
import { createTracer } from '../../../platform/infra/telemetry/tracer.ts';
import { useTracer, type Tracer } from '../../../platform/infra/tracing.ts';

export interface ExportedSpan {
  name: string;
  traceId: string;
  spanId: string;
  parent: string | undefined;
  links: string[];
  failed: boolean;
  attributes: ReadableSpan['attributes'];
}

/**
 * Turns tracing on during the tests of a `describe`. Call this function in the `describe`.
 * @param now the current time in Unix milliseconds
 * @param reportLosses a function that gets a callback for lost spans. In these tests no span is lost
 * @returns a function that returns the spans which have ended since the beginning of the current test
 */
export function useTracing(
  now?: () => number,
  reportLosses: Tracer['reportLosses'] = () => undefined,
): () => ExportedSpan[] {
  const memory = new InMemorySpanExporter();
  let sdk: NodeSDK | undefined;
  before('switch tracing on', () => {
    sdk = new NodeSDK({
      sampler: samplerOf({ sampler: 'parentbased_always_on', samplerShare: '1' }),
      spanProcessors: [new SimpleSpanProcessor({ exporter: allowListed(memory) })],
      metricReaders: [],
      logRecordProcessors: [],
      resourceDetectors: [],
      instrumentations: [],
    });
    sdk.start();
    useTracer({ ...createTracer(now), nameRequest() {}, trust() {}, reportLosses, stop: async () => {} });
  });
  beforeEach('forget the spans of the test before', () => memory.reset());
  after('switch tracing off', async () => {
    useTracer(undefined);
    await sdk?.shutdown();
    for (const api of [trace, context, propagation, logs]) api.disable();
  });
  return () => memory.getFinishedSpans().map(exportedSpan);
}

export const exportedSpan = (span: ReadableSpan): ExportedSpan => ({
  name: span.name,
  traceId: span.spanContext().traceId,
  spanId: span.spanContext().spanId,
  parent: span.parentSpanContext?.spanId,
  links: span.links.map((link) => link.context.spanId),
  failed: span.status.code === SpanStatusCode.ERROR,
  attributes: span.attributes,
});
