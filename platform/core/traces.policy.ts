/** Passes a trace between processes: in a row of facts or wakes, in a header of a run, or in a request. */

export const traceHeader = 'club-trace';

/** A span in W3C form, and its time in Unix milliseconds. */
export interface Cause {
  traceparent: string;
  at: number;
}

/** A step that begins later than this after its cause starts a new trace, with a link. A trace of months would be useless. */
export const longestTraceMs = 10 * 60_000;

/** @param now Unix milliseconds */
export function isLate({ at }: Cause, now: number): boolean {
  return now - at > longestTraceMs;
}

const form = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

export interface RemoteSpan {
  traceId: string;
  spanId: string;
  isSampled: boolean;
}

/** Reads W3C Trace Context, version 00. @returns undefined for any other text */
export function spanOf(traceparent: unknown): RemoteSpan | undefined {
  const [, traceId, spanId, flags] = form.exec(typeof traceparent === 'string' ? traceparent : '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

export function traceparentOf({ traceId, spanId, isSampled }: RemoteSpan): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}

/** @param value untrusted */
export function causeOf(value: unknown): Cause | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { traceparent, at } = value as Partial<Record<keyof Cause, unknown>>;
  if (spanOf(traceparent) === undefined || typeof at !== 'number') return undefined;
  return { traceparent: traceparent as string, at };
}
