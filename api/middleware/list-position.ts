/** Opens the cursor of a list for the request's list, club, student and filters (CUR-1). */
import type { ContractOperation } from '../../contract/contract.ts';
import { DomainError } from '../../platform/core/errors.ts';
import { instantOf } from '../../platform/core/time/instants.ts';
import type { Vault } from '../../platform/infra/keys/vault.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { readNextSince } from '../../platform/infra/postgres/lists/changes.ts';
import {
  nextOfWalk,
  positionIn,
  type ChangeWalk,
  type ListContext,
} from '../../platform/infra/postgres/lists/cursor.ts';
import type { Caller } from '../operation.ts';

/** A request that the contract's checks have accepted. */
export interface CheckedRequest {
  params: Readonly<Record<string, string>>;
  query: Readonly<Record<string, unknown>>;
  /** `page` has a default, so this tells whether the caller wrote it. */
  namesPage: boolean;
  caller: Caller | undefined;
}

/** The query of a handler. */
export interface PositionedQuery {
  /** For a list with cursors, `cursor` is the place of the caller in the list, and `updated_since` is part of it. */
  query: Readonly<Record<string, unknown>>;
  /** The property that the answer to a request with `updated_since` gets (CUR-7). */
  added: { next_updated_since: string } | undefined;
}

/**
 * @throws DomainError malformed_request if the request has both `cursor` and `page`; invalid_cursor; invalid_request for an
 *   `updated_since` that does not exist
 */
export async function positioned(
  { db, vault }: { db: Queries; vault: Vault },
  { operationId, parameters }: ContractOperation,
  { params, query, namesPage, caller }: CheckedRequest,
): Promise<PositionedQuery> {
  const names = parameters.map(({ name }) => name);
  // A log has a cursor and no pages. It opens its own cursor.
  if (!names.includes('cursor') || !names.includes('page')) return { query, added: undefined };
  const { page, page_size: size, cursor, ...filters } = query as Query;
  if (cursor !== undefined && namesPage)
    throw new DomainError('malformed_request', 'A request has either cursor or page, not both.');
  const { clubId = '', ...ids } = params;
  const context = {
    list: operationId,
    clubId,
    ...(caller?.kind === 'student' && { studentId: caller.student.id }),
    filters: { ...ids, ...filters },
  };
  const { updated_since: since, ...others } = filters;
  const changes = since === undefined ? undefined : await changesSince({ db, vault }, context, { since, cursor });
  return {
    query: { ...others, page, page_size: size, cursor: positionIn(vault, context, cursor, changes) },
    added: changes && { next_updated_since: changes.next },
  };
}

/** The parts of a checked query that decide the place of the caller. */
interface Query {
  page?: number;
  page_size?: number;
  cursor?: string;
  updated_since?: string;
  [filter: string]: unknown;
}

/** @returns the walk that the cursor continues, or a new walk */
async function changesSince(
  { db, vault }: { db: Queries; vault: Vault },
  context: ListContext,
  { since, cursor }: { since: string; cursor: string | undefined },
): Promise<ChangeWalk> {
  const begin = instantOf(since, 'updated_since');
  const next = cursor === undefined ? (await readNextSince(db)).toISOString() : nextOfWalk(vault, context, cursor);
  return { since: begin, next };
}
