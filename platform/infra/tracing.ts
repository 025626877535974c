/**
 * The tracing interface of the service (ADR 42). Tracing is off unless `telemetry.ts` has found an endpoint. While tracing is off, the
 * functions in this file only run the given work. This file never loads OpenTelemetry.
 */
import type { Cause } from '../core/traces.policy.ts';

/**
 * The attributes of a span: ids, codes, names of this program and numbers. Attributes that `telemetry/allow-list.ts` does not list are
 * dropped.
 */
export type SpanAttributes = Readonly<Record<string, string | number | undefined>>;

export interface SpanOptions {
  /** The kind of the span, as in OpenTelemetry. If absent, the span is a step within the process. */
  kind?: 'producer' | 'consumer';
  /**
   * The cause of the span. If absent, the active span is the cause. If the span begins too long after its cause (`isLate`), it begins
   * another trace, with a link to the cause.
   */
  cause?: Cause | undefined;
  /** The traceparents of further causes of the span. */
  links?: readonly string[];
  attributes?: SpanAttributes;
}

/** The number of spans that the receiver refused, and the code of the last error: an HTTP status, or the code of a system call. */
export interface LostSpans {
  spans: number;
  code: string;
}

/** Whether the peer of a connection is one of our proxies. */
export type Trusts = (remoteAddress: string | undefined) => boolean;

export interface Tracer {
  /** @returns the traceparent of the active span; undefined if there is none, or it has ended */
  current(): string | undefined;
  /**
   * @returns the id of the active trace. Undefined if no trace is active. Also undefined if the trace is not sampled, because a search
   * would not find it
   */
  traceId(): string | undefined;
  /** Runs the work in a new active span. An error marks the span as failed, only by its code. */
  inSpan<T>(name: string, options: SpanOptions, work: () => Promise<T>): Promise<T>;
  /** Marks the active span as failed, although its work continues. */
  fail(error: unknown): void;
  /** Names the request's span by its route, which is a path pattern. */
  nameRequest(route: string): void;
  /** Accepts traceparents of these peers from now on. */
  trust(trusts: Trusts): void;
  /** Reports losses to this function from now on, once a minute at most. */
  reportLosses(tell: (loss: LostSpans) => void): void;
  /** Sends the remaining spans, within a few seconds. */
  stop(): Promise<void>;
}

let tracer: Tracer | undefined;

/** @param used the tracer to use; undefined switches tracing off, as tests do */
export function useTracer(used: Tracer | undefined): void {
  tracer = used;
}

export const isTracing = (): boolean => tracer !== undefined;

/**
 * @returns the traceparent that is stored in facts and wakes, and sent with starts of workflows. Undefined while tracing is off, or if no
 * span is active
 */
export const traceparent = (): string | undefined => tracer?.current();

/** @returns the id of the active trace, if it is sampled, for the log */
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
