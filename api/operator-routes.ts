/**
 * Routes for operators, outside the contract: whether the process is alive, and may receive requests. Metrics have a separate port
 * (metrics-listener.ts).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from '../platform/infra/postgres/sql.ts';
import type { ApiDeps, Context, Middleware } from './middleware/context.ts';

/** `/healthz`: the process runs. `/readyz`: it can serve; 503 while it stops or Postgres is unreachable */
export function operatorRoutes({ deps, accepting }: ApiDeps): Middleware {
  const routes: Record<string, (context: Context) => Promise<void>> = {
    '/healthz': async (context) => {
      context.body = { status: 'ok' };
    },
    '/readyz': async (context) => {
      const ready = accepting() && (await answers(() => deps.db.rows(sql`SELECT 1`)));
      context.status = ready ? 200 : 503;
      context.body = { status: ready ? 'ready' : 'not_ready' };
    },
  };
  return async (context, next) => {
    const route = context.method === 'GET' ? routes[context.path] : undefined;
    if (!route) return next();
    context.state.route = context.path;
    return route(context);
  };
}

/** For Postgres. */
const answerMs = 2_000;

async function answers(question: () => Promise<unknown>): Promise<boolean> {
  try {
    return await Promise.race([question().then(() => true), sleep(answerMs, false)]);
  } catch {
    return false;
  }
}
