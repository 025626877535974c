/** Says which rights the caller of a stream must keep while it is open (LSN-5). */
import type { ContractOperation } from '../../contract/contract.ts';
import { anyScope } from '../../contract/rules/scopes.ts';
import { ipOf } from '../middleware/client-ip.ts';
import type { ApiDeps, Context } from '../middleware/context.ts';
import { clubNamedBy } from '../middleware/session.ts';
import type { StreamAccess } from '../open-streams.ts';
import { unknownClient } from '../rate-limits/client-ip.policy.ts';

export function accessOf(
  context: Context,
  { roles, scope }: ContractOperation,
  { trustedProxies }: ApiDeps['settings'],
): StreamAccess {
  const ip = ipOf(context, trustedProxies);
  return {
    clubId: clubNamedBy(context),
    roles,
    scope: scope === anyScope ? undefined : scope, // no stream is open to every key
    ip: ip === unknownClient ? null : ip,
  };
}
