/** Charges the request to its rate limit (LIM-1 to LIM-11). The session was checked before, and the body is read afterwards (DEC-6). */
import type { OperationId } from '../../contract/contract.ts';
import { readUnsubscribeToken } from '../../domain/mail/suppressions/unsubscribe-link.ts';
import {
  admit,
  admitChange,
  admitErasureProof,
  admitPreview,
  type BudgetState,
  type Call,
} from '../rate-limits/admission.ts';
import { idOf } from '../operation.ts';
import { ipOf } from './client-ip.ts';
import type { ApiDeps, Context, Middleware } from './context.ts';

/**
 * The token of an unsubscribe link names a student, and each student has a separate counter. So a mailbox provider can unsubscribe many
 * students.
 */
const withWayOut = /\/classroom\/mail\/(?:un|re)subscribe\/([\w-]+)$/;

export function chargeRateLimit({ limiter, settings, deps: { vault } }: ApiDeps): Middleware {
  return async (context, next) => {
    const { caller, refusal, now } = context.state;
    const [, token] = withWayOut.exec(context.path) ?? [];
    const { params = {} } = context as Context & { params?: Record<string, string> };
    const call: Call = {
      method: context.method,
      path: context.path,
      ip: ipOf(context, settings.trustedProxies),
      caller: caller && {
        kind: caller.kind,
        id: idOf(caller),
      },
      studentOfToken: token === undefined ? undefined : readUnsubscribeToken(vault, token)?.studentId,
      clubId: params['clubId'],
      studentId: params['studentId'],
      refused: refusal !== undefined,
    };
    await admit(limiter, call, now.getTime(), (state) => showBudget(context, state));
    context.state.chargeChange = () => admitChange(limiter, call, now.getTime());
    return next();
  };
}

/** Shows programs the remaining writes, in the form of the IETF draft on rate limit headers (KEY-5). */
function showBudget(context: Context, state: BudgetState): void {
  const { counter, limit, windowSeconds, remaining, resetSeconds } = state;
  context.set('RateLimit-Policy', `"${counter}";q=${limit};w=${windowSeconds}`);
  context.set('RateLimit', `"${counter}";r=${remaining};t=${resetSeconds}`);
}

/** These reads need no session and are expensive to draw. */
const chargedReads: Readonly<Record<string, typeof admitPreview>> = {
  showCampaignPreview: admitPreview,
  getErasureProof: admitErasureProof,
} satisfies Partial<Record<OperationId, typeof admitPreview>>;

/** @returns a middleware that charges the address of the caller; none for other reads */
export function chargeRead({ limiter, settings }: ApiDeps, operationId: string): Middleware[] {
  const admitRead = chargedReads[operationId];
  if (!admitRead) return [];
  return [
    async (context, next) => {
      await admitRead(limiter, ipOf(context, settings.trustedProxies), context.state.now.getTime());
      return next();
    },
  ];
}
