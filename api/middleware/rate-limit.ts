/** Charges the request, after session and club were judged and before its body is read (specification: Limits). */
import { admit } from '../../domain/limits/admission.ts';
import type { ApiPlatform, Context, Middleware } from './context.ts';

export function chargeRateLimit({ limiter }: ApiPlatform): Middleware {
  return async (context, next) => {
    const { caller, refusal, ip, now } = context.state;
    await admit(
      limiter,
      {
        method: context.method,
        path: context.path,
        ip,
        caller: caller && {
          kind: caller.kind,
          id: caller.kind === 'student' ? caller.student.id : caller.administratorId,
        },
        clubId: (context as Context & { params?: Record<string, string> }).params?.['clubId'],
        refused: refusal !== undefined,
      },
      now.getTime(),
    );
    return next();
  };
}
