/** What a trace is known by where it goes on: in a row of facts or wakes, in a header of a run, in a request. */

/** The header of runs, signals and activities that has a {@link Cause}. */
export const traceHeader = 'club-trace';

/** What a step goes on from: a span, as W3C writes one, and when it was, in Unix milliseconds. */
export interface Cause {
  traceparent: string;
  at: number;
}

/** A step that comes later than this begins a trace of its own with a link: runs wait for months, and nobody reads such a trace. */
export const longestTraceMs = 10 * 60_000;

/** @param now Unix milliseconds */
export function isLate({ at }: Cause, now: number): boolean {
  return now - at > longestTraceMs;
}

const form = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

/** A span of somewhere else. */
export interface RemoteSpan {
  traceId: string;
  spanId: string;
  isSampled: boolean;
}

/** @returns what a traceparent says (W3C Trace Context, version 00); undefined for anything else */
export function spanOf(traceparent: unknown): RemoteSpan | undefined {
  const [, traceId, spanId, flags] = form.exec(typeof traceparent === 'string' ? traceparent : '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** @returns the traceparent of a span */
export function traceparentOf({ traceId, spanId, isSampled }: RemoteSpan): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}

/** @param value from a header or a row, whoever has written it @returns undefined where it is none */
export function causeOf(value: unknown): Cause | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { traceparent, at } = value as Partial<Record<keyof Cause, unknown>>;
  if (spanOf(traceparent) === undefined || typeof at !== 'number') return undefined;
  return { traceparent: traceparent as string, at };
}
