/**
 * Spans, as the rest of the service makes them (ADR 42). Tracing is off unless `telemetry.ts` has found an endpoint: then no function
 * here does anything but the work that it is given. Nothing here loads OpenTelemetry.
 */
import type { Cause } from '../core/traces.policy.ts';

/** Ids, codes, names of our own and numbers. A name that `telemetry/allow-list.ts` does not have goes nowhere. */
export type SpanAttributes = Readonly<Record<string, string | number | undefined>>;

export interface SpanOptions {
  /** As OpenTelemetry has them; a step within the process if absent. */
  kind?: 'producer' | 'consumer';
  /** What it goes on from; the active span if absent. Too late for its trace (`isLate`), it begins another with a link. */
  cause?: Cause | undefined;
  /** Traceparents of further spans that it goes on from. */
  links?: readonly string[];
  attributes?: SpanAttributes;
}

/** Spans that their receiver did not take, and the code of the last error: a status of HTTP, or that of a system call. */
export interface LostSpans {
  spans: number;
  code: string;
}

/** Says whether the peer of a connection is a proxy of our own. */
export type Trusts = (remoteAddress: string | undefined) => boolean;

export interface Tracer {
  /** @returns the traceparent of the active span; undefined where none is, or it has ended */
  current(): string | undefined;
  /** @returns the id of the active trace; undefined where none is, or it is not kept: nobody would find it */
  traceId(): string | undefined;
  /** Runs the work as a span, which is the active one meanwhile. An error makes it a failed one, by its code alone. */
  inSpan<T>(name: string, options: SpanOptions, work: () => Promise<T>): Promise<T>;
  /** The active span has failed, although its work goes on. */
  fail(error: unknown): void;
  /** The span of the request gets its route, which is a pattern. */
  nameRequest(route: string): void;
  /** From now on a traceparent counts that comes from these. */
  trust(trusts: Trusts): void;
  /** From now on losses are told here, once a minute at most. */
  reportLosses(tell: (lost: LostSpans) => void): void;
  /** Sends what is left, for some seconds at most. */
  stop(): Promise<void>;
}

let tracer: Tracer | undefined;

/** @param used undefined switches tracing off, as tests do */
export function useTracer(used: Tracer | undefined): void {
  tracer = used;
}

export const isTracing = (): boolean => tracer !== undefined;

/** @returns what goes with facts, wakes and starts; undefined while tracing is off, or nothing is traced here */
export const traceparent = (): string | undefined => tracer?.current();

/** @returns the id of the active trace, if it is kept, for the log */
export const traceId = (): string | undefined => tracer?.traceId();

export function inSpan<T>(name: string, options: SpanOptions, work: () => Promise<T>): Promise<T> {
  return tracer ? tracer.inSpan(name, options, work) : work();
}

export const failSpan = (error: unknown): void => tracer?.fail(error);

export const nameRequest = (route: string): void => tracer?.nameRequest(route);

export const trustPeers = (trusts: Trusts): void => tracer?.trust(trusts);

export const reportLostSpans = (tell: (lost: LostSpans) => void): void => tracer?.reportLosses(tell);

export async function stopTracing(): Promise<void> {
  await tracer?.stop();
}
