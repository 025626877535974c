/**
 * The service's own interface for tracing (ADR 42). Unless `telemetry.ts` has found an endpoint, these functions only run the given work.
 * This file never loads OpenTelemetry.
 */
import type { Cause } from '../core/traces.policy.ts';

/** Attributes are ids, codes, names of this program and numbers. `telemetry/allow-list.ts` drops all others. */
export type SpanAttributes = Readonly<Record<string, string | number | undefined>>;

export interface SpanOptions {
  /** A step within the process if absent. */
  kind?: 'producer' | 'consumer';
  /** The active span if absent. If the span begins too long after its cause (`isLate`), it begins another trace, with a link. */
  cause?: Cause | undefined;
  /** Traceparents of further causes. */
  links?: readonly string[];
  attributes?: SpanAttributes;
}

/** The code is an HTTP status, or the code of a system call. */
export interface LostSpans {
  spans: number;
  code: string;
}

export type Trusts = (remoteAddress: string | undefined) => boolean;

export interface Tracer {
  /** @returns undefined if no span is active, or it has ended */
  current(): string | undefined;
  /** @returns undefined if no trace is active, or it is not sampled */
  traceId(): string | undefined;
  /** An error marks the span as failed, by its code. */
  inSpan<T>(name: string, options: SpanOptions, work: () => Promise<T>): Promise<T>;
  /** Its work continues. */
  fail(error: unknown): void;
  /** The route is a path pattern. */
  nameRequest(route: string): void;
  /** From now on. */
  trust(trusts: Trusts): void;
  /** Calls `tell` once a minute at most. */
  reportLosses(tell: (loss: LostSpans) => void): void;
  /** Stops within a few seconds. */
  stop(): Promise<void>;
}

let tracer: Tracer | undefined;

/** @param used undefined switches tracing off, as tests do */
export function useTracer(used: Tracer | undefined): void {
  tracer = used;
}

export const isTracing = (): boolean => tracer !== undefined;

/** @returns the traceparent for facts, wakes and starts of workflows; undefined while tracing is off, or if no span is active */
export const traceparent = (): string | undefined => tracer?.current();

/** @returns the id for the log, if the trace is sampled */
export const traceId = (): string | undefined => tracer?.traceId();

export function inSpan<T>(name: string, options: SpanOptions, work: () => Promise<T>): Promise<T> {
  return tracer ? tracer.inSpan(name, options, work) : work();
}

export const failSpan = (error: unknown): void => tracer?.fail(error);

export const nameRequest = (route: string): void => tracer?.nameRequest(route);

export const trustPeers = (trusts: Trusts): void => tracer?.trust(trusts);

export const reportLostSpans = (tell: (loss: LostSpans) => void): void => tracer?.reportLosses(tell);

export async function stopTracing(): Promise<void> {
  await tracer?.stop();
}
