/** Implements the spans of `tracing.ts` with OpenTelemetry. */
import {
  context,
  createContextKey,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Link,
  type Span,
  type SpanContext,
} from '@opentelemetry/api';
import { RandomIdGenerator } from '@opentelemetry/sdk-trace';
import { isLate, spanOf, traceparentOf } from '../../core/traces.policy.ts';
import type { SpanOptions, Tracer } from '../tracing.ts';

/**
 * The traceparent of an unsampled trace, or `true` if it has no ids. There is no span, so instrumentations do no work, which would be most
 * of the cost of unsampled traces.
 */
const unkept = createContextKey('club-learning unkept trace');

export const unkeptRequest = ROOT_CONTEXT.setValue(unkept, true);

const kinds = { producer: SpanKind.PRODUCER, consumer: SpanKind.CONSUMER } as const;

/** @param now Unix milliseconds */
export function createTracer(
  now: () => number = Date.now,
): Omit<Tracer, 'nameRequest' | 'trust' | 'reportLosses' | 'stop'> {
  const tracer = trace.getTracer('club-learning');
  const ids = new RandomIdGenerator();
  const here = (): unknown => {
    const active = context.active();
    const span = trace.getSpan(active);
    if (span === undefined) return active.getValue(unkept);
    // Work after the end of its span does not belong to the trace.
    return span.isRecording() ? written(span.spanContext()) : undefined;
  };
  return {
    current() {
      const known = here();
      // The request is not sampled, so its work must not be sampled either.
      return known === true
        ? traceparentOf({ traceId: ids.generateTraceId(), spanId: ids.generateSpanId(), isSampled: false })
        : (known as string | undefined);
    },
    traceId() {
      const span = spanOf(here());
      return span?.isSampled ? span.traceId : undefined;
    },
    inSpan(name, options, work) {
      const active = context.active();
      if (options.cause === undefined && active.getValue(unkept) !== undefined) return work();
      const { parent, links } = placeOf(options, now());
      const { kind, attributes = {} } = options;
      const span = tracer.startSpan(
        name,
        { kind: kind ? kinds[kind] : SpanKind.INTERNAL, attributes: { ...attributes }, links },
        parent,
      );
      if (!span.isRecording())
        return context.with(trace.deleteSpan(active).setValue(unkept, written(span.spanContext())), work);
      return context.with(trace.setSpan(parent, span).deleteValue(unkept), async () => {
        try {
          return await work();
        } catch (error) {
          markFailed(span, error);
          throw error;
        } finally {
          span.end();
        }
      });
    },
    fail(error) {
      const span = trace.getActiveSpan();
      if (span) markFailed(span, error);
    },
  };
}

const written = ({ traceId, spanId, traceFlags }: SpanContext): string =>
  traceparentOf({ traceId, spanId, isSampled: (traceFlags & TraceFlags.SAMPLED) !== 0 });

/** The parent is the active span or the cause. If the cause is too old, the span begins a new trace with a link. */
function placeOf({ cause, links = [] }: SpanOptions, now: number) {
  const active = context.active();
  const linked = links.flatMap(linkTo);
  const origin = cause && remote(cause.traceparent);
  if (!cause || !origin) return { parent: active, links: linked };
  if (isLate(cause, now)) return { parent: ROOT_CONTEXT, links: [{ context: origin }, ...linked] };
  return { parent: trace.setSpanContext(active, origin), links: linked };
}

function linkTo(traceparent: string): Link[] {
  const found = remote(traceparent);
  return found ? [{ context: found }] : [];
}

/** @returns undefined if the text is not a traceparent */
export function remote(traceparent: unknown): SpanContext | undefined {
  const span = spanOf(traceparent);
  if (span === undefined) return undefined;
  const { traceId, spanId, isSampled } = span;
  return { traceId, spanId, traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE, isRemote: true };
}

/** Leaves out the error's message, because it can quote a row or a request. */
function markFailed(span: Span, error: unknown): void {
  const { code, type, name } = (error instanceof Error ? error : {}) as Partial<Record<string, unknown>>;
  span.setStatus({ code: SpanStatusCode.ERROR });
  // An activity's failure has the code of its cause as `type` (ENG-12).
  span.setAttribute('error.type', [code, type, name].find((one) => typeof one === 'string') ?? 'unknown');
}
