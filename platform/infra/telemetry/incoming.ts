/**
 * Creates the spans of incoming requests. The usual package would compute URLs and addresses, and these must not leave the service. It
 * would also wrap each request and response. Both would slow down unsampled requests.
 */
import { Server, type IncomingMessage, type ServerResponse } from 'node:http';
import { Server as SecureServer } from 'node:https';
import {
  context,
  createContextKey,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Context,
  type Span,
} from '@opentelemetry/api';
import type { Trusts } from '../tracing.ts';
import { remote, unkeptRequest } from './tracer.ts';

/** These requests arrive every few seconds and carry no information. */
const untraced: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

type Emit = (this: Server, event: string, ...args: unknown[]) => boolean;

const ofRequest = createContextKey('club-learning request');

export interface Incoming {
  /** From now on. */
  attach(): void;
  /** @returns undefined for a request without a span */
  parentOf(
    request: Pick<IncomingMessage, 'url' | 'headers'> & { socket: { remoteAddress?: string | undefined } },
  ): Context | undefined;
  trust(trusts: Trusts): void;
}

/**
 * Accepts a traceparent only from a trusted peer; before `trust` from none.
 * @param keeps whether a request with this parent gets a span
 */
export function createIncoming(keeps: (parent: Context) => boolean): Incoming {
  let trusted: Trusts = () => false;
  const parentOf: Incoming['parentOf'] = ({ url, headers, socket }) => {
    if (untraced.has(pathOf(url))) return undefined;
    const origin = trusted(socket.remoteAddress) ? remote(headers['traceparent']) : undefined;
    const parent = origin ? trace.setSpanContext(ROOT_CONTEXT, origin) : ROOT_CONTEXT;
    return keeps(parent) ? parent : undefined;
  };
  return {
    parentOf,
    attach() {
      for (const { prototype } of [Server, SecureServer]) {
        const emit = prototype.emit as Emit;
        const traced: Emit = function (event, ...args) {
          if (event !== 'request') return emit.call(this, event, ...args);
          const [request, response] = args as [IncomingMessage, ServerResponse];
          const parent = parentOf(request);
          const within = parent ? begin(parent, request, response) : unkeptRequest;
          return context.with(within, () => emit.call(this, event, ...args));
        };
        prototype.emit = traced as Server['emit'];
      }
    },
    trust(trusts) {
      trusted = trusts;
    },
  };
}

function pathOf(url = ''): string {
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}

/** The span ends when the response closes, even if it is incomplete. */
function begin(parent: Context, { method = 'GET' }: IncomingMessage, response: ServerResponse): Context {
  const attributes = { 'http.request.method': method };
  const span = trace.getTracer('club-learning').startSpan(method, { kind: SpanKind.SERVER, attributes }, parent);
  response.once('close', () => {
    const { headersSent, statusCode } = response;
    if (headersSent) span.setAttribute('http.response.status_code', statusCode);
    else span.setAttribute('error.type', 'aborted'); // The caller disconnected before the status was sent.
    if (headersSent && statusCode >= 500) {
      span.setStatus({ code: SpanStatusCode.ERROR });
      span.setAttribute('error.type', String(statusCode));
    }
    span.end();
  });
  return trace.setSpan(parent, span).setValue(ofRequest, { span, method });
}

/** @param route the pattern of the path */
export function nameRequest(route: string): void {
  const request = context.active().getValue(ofRequest) as { span: Span; method: string } | undefined;
  request?.span.updateName(`${request.method} ${route}`).setAttribute('http.route', route);
}
