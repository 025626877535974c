/**
 * Announces deprecated operations and parameters in the headers of every answer, also of errors, and counts their requests (VER-6). The
 * headers are `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and `Link` with `rel="deprecation"`.
 */
import type { ContractOperation, Deprecation } from '../../contract/contract.ts';
import { deprecatedRequests } from '../metrics.ts';
import type { ApiDeps, Context, Middleware } from './context.ts';

/** @returns a middleware; an empty list if no part of the operation is deprecated */
export function announceDeprecation(
  { deps: { publicUrl } }: Pick<ApiDeps, 'deps'>,
  operation: ContractOperation,
): Middleware[] {
  const { operationId, deprecation, parameters } = operation;
  const ofParameters = parameters.flatMap((one) =>
    one.deprecation && one.in === 'query' ? [{ name: one.name, deprecation: one.deprecation }] : [],
  );
  if (!deprecation && ofParameters.length === 0) return [];
  return [
    async (context, next) => {
      // The operation goes with its parameters. So its own announcement comes before theirs.
      const announced = [
        ...(deprecation ? [deprecation] : []),
        ...ofParameters.filter(({ name }) => name in context.query).map((one) => one.deprecation),
      ];
      const [first] = announced;
      if (!first) return next();
      announce(context, first, `${publicUrl}/docs`);
      try {
        return await next();
      } finally {
        deprecatedRequests.inc({ operation: operationId, caller: context.state.caller?.kind ?? 'none' });
      }
    },
  ];
}

function announce(context: Context, { since, sunset, link }: Deprecation, reference: string): void {
  context.set('Deprecation', `@${startOf(since).getTime() / 1_000}`);
  context.set('Sunset', startOf(sunset).toUTCString());
  context.set('Link', `<${link ?? reference}>; rel="deprecation"; type="text/html"`);
}

/** @param day such as 2027-01-31 @returns its beginning in UTC */
const startOf = (day: string): Date => new Date(`${day}T00:00:00Z`);
