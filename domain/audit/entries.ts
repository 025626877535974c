/** Writes, lists, exports and removes the entries of the audit log (AUD-1 to AUD-4). */
import type { RecordOf } from '../../contract/contract.ts';
import { AuditEntry } from '../../entities/audit/audit-entry.ts';
import type { AuditActor, AuditedRecord } from '../../entities/audit/values.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { newestFirst, orderBy } from '../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../platform/infra/postgres/lists/page.ts';
import { all, columns, sql, type RowOf, type Sql } from '../../platform/infra/postgres/sql.ts';
import { auditRules } from './audit.policy.ts';

export interface Audited {
  clubId: Id;
  actor: { kind: AuditActor; id: Id };
  operation: string;
  records: readonly AuditedRecord[];
  fields: readonly string[];
  requestId: string;
  network: string;
}

/** Adds an entry. The entry of a change is written in the transaction of the change. */
export async function recordEntry(db: Queries, entry: Audited, now: Date): Promise<void> {
  const { actor, records, fields, ...rest } = entry;
  await db.manager.insert(AuditEntry, {
    ...rest,
    id: newId(),
    createdAt: now,
    actorKind: actor.kind,
    actorId: actor.id,
    records: [...records],
    fields: [...fields],
  });
}

export interface AuditFilter {
  actor_id?: Id;
  operation?: string;
  /** The id or public id of a record that the entries name. */
  record_id?: string;
  /** The entries at this time or later. */
  since?: string;
  /** The entries before this time. */
  until?: string;
}

const entryColumns = columns(
  AuditEntry,
  ['id', 'createdAt', 'actorKind', 'actorId', 'operation', 'records', 'fields', 'requestId', 'network'],
  'entry',
);
type EntryRow = RowOf<typeof entryColumns>;

const byTime = newestFirst('entry');

/** @returns a page of the club's entries, newest first */
export async function listEntries(
  db: Queries,
  clubId: Id,
  filter: AuditFilter & PageRequest,
): Promise<Page<RecordOf<'AuditEntry'>>> {
  const { rows, total, next } = await listPage(db, filter, {
    columns: entryColumns,
    from: listed(clubId, filter),
    orderBy: byTime,
  });
  return { rows: rows.map(present), total, next };
}

/** @returns the newest entries as CSV (RFC 4180), at most 10,000, with a header line */
export async function exportEntries(db: Queries, clubId: Id, filter: AuditFilter): Promise<Buffer> {
  const rows = await db.rows<EntryRow>(
    sql`SELECT ${entryColumns} ${listed(clubId, filter)} ORDER BY ${orderBy(byTime)} LIMIT ${auditRules.perExport}`,
  );
  return Buffer.from([csvHeader, ...rows.map(csvLine)].map((line) => `${line}\r\n`).join(''));
}

const entriesPerBatch = 1_000;

/** Deletes a batch of entries that are older than 400 days, also by the clock of Postgres. */
export async function removeOldEntries(
  db: Queries,
  now: Date,
): Promise<{ rows: { auditEntries: number }; more: boolean }> {
  const seconds = auditRules.retentionMs / 1_000;
  const removed = await db.run(sql`DELETE FROM audit_entries WHERE id IN (
    SELECT id FROM audit_entries
     WHERE created_at < least(${now}::timestamptz, clock_timestamp()) - make_interval(secs => ${seconds})
     ORDER BY created_at LIMIT ${entriesPerBatch} FOR UPDATE SKIP LOCKED)`);
  return { rows: { auditEntries: removed }, more: removed >= entriesPerBatch };
}

function listed(clubId: Id, { actor_id: actorId, operation, record_id: recordId, since, until }: AuditFilter): Sql {
  const named = recordId === undefined ? undefined : JSON.stringify([{ id: recordId }]);
  return sql`FROM audit_entries entry WHERE ${all([
    sql`entry.club_id = ${clubId}`,
    actorId === undefined ? undefined : sql`entry.actor_id = ${actorId}`,
    operation === undefined ? undefined : sql`entry.operation = ${operation}`,
    named === undefined ? undefined : sql`entry.records @> ${named}::jsonb`,
    since === undefined ? undefined : sql`entry.created_at >= ${new Date(since)}`,
    until === undefined ? undefined : sql`entry.created_at < ${new Date(until)}`,
  ])}`;
}

function present(row: EntryRow): RecordOf<'AuditEntry'> {
  return {
    id: row.id,
    created_at: row.createdAt.toISOString(),
    actor: { kind: row.actorKind, id: row.actorId },
    operation: row.operation,
    records: row.records,
    fields: row.fields,
    request_id: row.requestId,
    network: row.network,
  };
}

const csvHeader = 'created_at,actor_kind,actor_id,operation,records,fields,request_id,network';

/** No value can contain a comma, a quote or a line break: values are times, ids, names of the contract and networks. */
function csvLine({ createdAt, actorKind, actorId, operation, records, fields, requestId, network }: EntryRow): string {
  const namedRecords = records.map(({ kind, id }) => `${kind}:${id}`).join(' ');
  return [
    createdAt.toISOString(),
    actorKind,
    actorId,
    operation,
    namedRecords,
    fields.join(' '),
    requestId,
    network,
  ].join(',');
}
