/** Charges the request to its rate limit (LIM-1 to LIM-11), after the session check and before the body is read (DEC-6). */
import { readUnsubscribeToken } from '../../domain/mail/suppressions/unsubscribe-link.ts';
import { admit, admitChange, admitPreview, type Call } from '../rate-limits/admission.ts';
import { ipOf } from './client-ip.ts';
import type { ApiDeps, Context, Middleware } from './context.ts';

/**
 * The path of an unsubscribe link, whose token names a student. Each student has a separate counter. So a mailbox provider can unsubscribe
 * many students without reaching the limit of one caller.
 */
const withWayOut = /\/classroom\/mail\/(?:un|re)subscribe\/([\w-]+)$/;

export function chargeRateLimit({ limiter, settings, deps: { vault } }: ApiDeps): Middleware {
  return async (context, next) => {
    const { caller, refusal, now } = context.state;
    const [, token] = withWayOut.exec(context.path) ?? [];
    const call: Call = {
      method: context.method,
      path: context.path,
      ip: ipOf(context, settings.trustedProxies),
      caller: caller && {
        kind: caller.kind,
        id: caller.kind === 'student' ? caller.student.id : caller.administratorId,
      },
      studentOfToken: token === undefined ? undefined : readUnsubscribeToken(vault, token)?.studentId,
      clubId: (context as Context & { params?: Record<string, string> }).params?.['clubId'],
      refused: refusal !== undefined,
    };
    await admit(limiter, call, now.getTime());
    context.state.chargeChange = () => admitChange(limiter, call, now.getTime());
    return next();
  };
}

/** Charges a request for the page of a preview. The request is a read, but it needs no session, and the page is expensive to render. */
export function chargePreview({ limiter, settings }: ApiDeps): Middleware {
  return async (context, next) => {
    await admitPreview(limiter, ipOf(context, settings.trustedProxies), context.state.now.getTime());
    return next();
  };
}
