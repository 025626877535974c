/** Counts and reports the spans that the receiver refuses, because OpenTelemetry does not. */
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import { describeError } from '../describe-error.ts';
import type { LostSpans } from '../tracing.ts';

/** An unreachable receiver loses spans every few seconds; one line a minute is enough. */
const tellEveryMs = 60_000;

export interface Losses {
  /** @returns an exporter that passes spans on, and counts the failures */
  counting(exporter: SpanExporter): SpanExporter;
  /** @param tell gets the losses since the last report, at most once a minute */
  report(tell: (countLoss: LostSpans) => void): void;
}

/** @param now in milliseconds; never goes back */
export function createLosses(now: () => number = () => performance.now()): Losses {
  let tell: ((countLoss: LostSpans) => void) | undefined;
  let toldAt = -Infinity;
  let spans = 0;
  const countLoss = (count: number, error: unknown) => {
    spans += count;
    if (!tell || now() - toldAt < tellEveryMs) return;
    const { code, name } = describeError(error);
    tell({ spans, code: code ?? name });
    toldAt = now();
    spans = 0;
  };
  return {
    counting: (exporter) => ({
      export: (batch, callback) =>
        exporter.export(batch, (result) => {
          if (result.error) countLoss(batch.length, result.error);
          callback(result);
        }),
      shutdown: () => exporter.shutdown(),
      forceFlush: async () => exporter.forceFlush?.(),
    }),
    report(to) {
      tell = to;
    },
  };
}
