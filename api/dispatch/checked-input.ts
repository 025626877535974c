/** Checks the parameters, the query and the body of a request against the contract, before its handler runs. */
import { keyHeader, type Checked } from '../../contract/contract.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Vault } from '../../platform/infra/keys/vault.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import type { BoundOperation, Context } from '../middleware/context.ts';
import { positioned, type PositionedQuery } from '../middleware/list-position.ts';
import { readKey } from '../middleware/repetitions.ts';

/** The input of a request in the form of the contract. */
export interface CheckedInput {
  /** The `Idempotency-Key`; undefined without the header, and for operations that do not take it. */
  key: string | undefined;
  /** The path parameters. The id of the club is in lower case. */
  params: Readonly<Record<string, string>>;
  query: PositionedQuery['query'];
  added: PositionedQuery['added'];
  /** Undefined without a body, and for operations that read it late. */
  body: unknown;
}

/** @throws DomainError malformed_request, invalid_request, invalid_cursor */
export async function checkInput(
  deps: { db: Queries; vault: Vault },
  { operation, validators }: BoundOperation,
  context: Context,
): Promise<CheckedInput> {
  const { params, query } = context as Context & { params: Record<string, string> };
  const { body } = context.request as Context['request'] & { body: unknown };
  const key = operation.idempotency && readKey(context.req.headersDistinct[keyHeader.toLowerCase()]);
  const checkedParams = {
    ...accepted(validators.params(params)),
    ...(params['clubId'] && { clubId: params['clubId'].toLowerCase() }),
  };
  const { query: checkedQuery, added } = await positioned(deps, operation, {
    params: checkedParams,
    query: accepted(validators.query(query)),
    namesPage: query['page'] !== undefined,
    caller: context.state.caller,
  });
  const checkedBody = operation.readsBodyLate ? undefined : accepted(validators.body(body));
  return { key, params: checkedParams, query: checkedQuery, added, body: checkedBody };
}

/** @throws DomainError malformed_request (400) or invalid_request (422), which name the field */
export function accepted<T>(checked: Checked<T>): T {
  if ('value' in checked) return checked.value;
  const { kind, message } = checked.problem;
  throw new DomainError(kind === 'malformed' ? 'malformed_request' : 'invalid_request', message);
}
