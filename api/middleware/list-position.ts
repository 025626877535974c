/** Opens the cursor of a list for the request's list, club, student and filters (CUR-1). */
import type { ContractOperation } from '../../contract/contract.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Vault } from '../../platform/infra/keys/vault.ts';
import { positionIn } from '../../platform/infra/postgres/lists/cursor.ts';
import type { Caller } from '../operation.ts';

/** A request that the contract's checks have accepted. */
export interface CheckedRequest {
  params: Readonly<Record<string, string>>;
  query: Readonly<Record<string, unknown>>;
  /** `page` has a default, so this tells whether the caller wrote it. */
  namesPage: boolean;
  caller: Caller | undefined;
}

/**
 * @returns the query; for a list with cursors, `cursor` is an opened position
 * @throws DomainError malformed_request if the request has both `cursor` and `page`; invalid_cursor
 */
export function positioned(
  vault: Vault,
  { operationId, parameters }: ContractOperation,
  { params, query, namesPage, caller }: CheckedRequest,
): Readonly<Record<string, unknown>> {
  const names = parameters.map(({ name }) => name);
  // A log has a cursor and no pages, and opens its own cursor.
  if (!names.includes('cursor') || !names.includes('page')) return query;
  const { page, page_size: size, cursor, ...filters } = query;
  if (cursor !== undefined && namesPage)
    throw new DomainError('malformed_request', 'A request has either cursor or page, not both.');
  const { clubId = '', ...ids } = params;
  const context = {
    list: operationId,
    clubId,
    ...(caller?.kind === 'student' && { studentId: caller.student.id }),
    filters: { ...ids, ...filters },
  };
  return { ...filters, page, page_size: size, cursor: positionIn(vault, context, cursor as string | undefined) };
}
