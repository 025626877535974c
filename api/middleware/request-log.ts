/** Gives every request an id, a time and a log line. The line has the route's pattern, and never the path or query. */
import { randomUUID } from 'node:crypto';
import { traceId } from '../../platform/infra/tracing.ts';
import { requestDuration } from '../metrics.ts';
import type { ApiDeps, Middleware } from './context.ts';

/** A caller's own id connects its logs with ours. Any other id could break a log line, and is replaced. */
const usableId = /^[A-Za-z0-9._-]{8,64}$/;

export function requestLog({ log, clock }: ApiDeps): Middleware {
  const logged: Middleware = async (context, next) => {
    const callerId = context.get('x-request-id');
    const requestId = usableId.test(callerId) ? callerId : randomUUID();
    const started = performance.now();
    context.state.requestId = requestId;
    context.state.now = clock();
    context.set('X-Request-Id', requestId);
    try {
      await next();
    } finally {
      const seconds = (performance.now() - started) / 1_000;
      const route = context.state.route ?? 'none';
      requestDuration.observe({ method: context.method, route, status: String(context.status) }, seconds);
      log.info(
        {
          request_id: requestId,
          method: context.method,
          route,
          status: context.status,
          duration_ms: Math.round(seconds * 1_000),
          trace: traceId(),
        },
        'request',
      );
    }
  };
  return logged;
}
