/** Charges the request to its limit (LIM-1 to LIM-11), after the session and before the body (DEC-6). */
import { admit, admitChange, type Call } from '../rate-limits/admission.ts';
import { clientIp } from '../rate-limits/client-ip.policy.ts';
import type { ApiDeps, Context, Middleware } from './context.ts';

export function chargeRateLimit({ limiter, settings }: ApiDeps): Middleware {
  return async (context, next) => {
    const { caller, refusal, now } = context.state;
    const forwarded = context.get('x-forwarded-for') || undefined;
    const call: Call = {
      method: context.method,
      path: context.path,
      ip: clientIp(context.req.socket.remoteAddress, forwarded, settings.trustedProxies),
      caller: caller && {
        kind: caller.kind,
        id: caller.kind === 'student' ? caller.student.id : caller.administratorId,
      },
      clubId: (context as Context & { params?: Record<string, string> }).params?.['clubId'],
      refused: refusal !== undefined,
    };
    await admit(limiter, call, now.getTime());
    context.state.chargeChange = () => admitChange(limiter, call, now.getTime());
    return next();
  };
}
