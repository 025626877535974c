/** The audit log, for owners and admins. */
import { Binary } from '../../../contract/contract.ts';
import * as entries from '../../../domain/audit/entries.ts';
import type { Operation } from '../../operation.ts';
import { page } from '../answers.ts';

export const listAuditLog: Operation<'listAuditLog'> = async ({ params, query, db }) =>
  page(await entries.listEntries(db, params.clubId, query));

export const exportAuditLog: Operation<'exportAuditLog'> = async ({ params, query, db }) =>
  new Binary('text/csv', await entries.exportEntries(db, params.clubId, query), 'audit-log.csv');
