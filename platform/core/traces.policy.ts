/**
 * Passes the identity of a trace between processes. The identity is stored in a row of facts or wakes, in a header of a run, or in a
 * request.
 */

/** The name of the header in which runs, signals and activities carry a {@link Cause}. */
export const traceHeader = 'club-trace';

/** The cause of a step: a span in W3C form, and its time in Unix milliseconds. */
export interface Cause {
  traceparent: string;
  at: number;
}

/**
 * A step that begins later than this time after its cause starts its own trace, with a link to the cause. A run can wait for months, and a
 * trace that is months long is useless.
 */
export const longestTraceMs = 10 * 60_000;

/** @param now Unix milliseconds */
export function isLate({ at }: Cause, now: number): boolean {
  return now - at > longestTraceMs;
}

const form = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

/** A span of another process. */
export interface RemoteSpan {
  traceId: string;
  spanId: string;
  isSampled: boolean;
}

/** @returns the span of a traceparent (W3C Trace Context, version 00); undefined for any other text */
export function spanOf(traceparent: unknown): RemoteSpan | undefined {
  const [, traceId, spanId, flags] = form.exec(typeof traceparent === 'string' ? traceparent : '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** @returns the traceparent of a span */
export function traceparentOf({ traceId, spanId, isSampled }: RemoteSpan): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}

/** @param value an untrusted value of a header or a row @returns the cause; undefined if the value is not a cause */
export function causeOf(value: unknown): Cause | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { traceparent, at } = value as Partial<Record<keyof Cause, unknown>>;
  if (spanOf(traceparent) === undefined || typeof at !== 'number') return undefined;
  return { traceparent: traceparent as string, at };
}
