/** Spans that their receiver does not take: counted and told, because OpenTelemetry goes on in silence. */
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import { describeError } from '../describe-error.ts';
import type { LostSpans } from '../tracing.ts';

/** A receiver that is away loses spans every few seconds: one line says enough. In milliseconds. */
const tellEveryMs = 60_000;

export interface Losses {
  /** @returns an exporter that hands on, and counts what failed */
  counting(exporter: SpanExporter): SpanExporter;
  /** @param tell gets what was lost since the last time, once a minute at most, and with the loss that comes then */
  report(tell: (lost: LostSpans) => void): void;
}

/** @param now milliseconds that never go back */
export function createLosses(now: () => number = () => performance.now()): Losses {
  let tell: ((lost: LostSpans) => void) | undefined;
  let toldAt = -Infinity;
  let spans = 0;
  const lost = (count: number, error: unknown) => {
    spans += count;
    if (!tell || now() - toldAt < tellEveryMs) return;
    const { code, name } = describeError(error);
    tell({ spans, code: code ?? name });
    toldAt = now();
    spans = 0;
  };
  return {
    counting: (exporter) => ({
      export: (batch, done) =>
        exporter.export(batch, (result) => {
          if (result.error) lost(batch.length, result.error);
          done(result);
        }),
      shutdown: () => exporter.shutdown(),
      forceFlush: async () => exporter.forceFlush?.(),
    }),
    report(to) {
      tell = to;
    },
  };
}
