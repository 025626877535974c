/** Presents automations as records of the API, and finds an automation (OP-9). */
import type { RecordOf } from '../../contract/contract.ts';
import { Automation } from '../../entities/automations/automation.ts';
import { AutomationVersion } from '../../entities/automations/automation-version.ts';
import { DomainError, notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { columns, raw, sql, type RowOf } from '../../platform/infra/postgres/sql.ts';
import type { Definition } from './versions/definition.policy.ts';
import { countRuns } from './tallies.ts';

export const summaryColumns = columns(Automation, [
  'id',
  'clubId',
  'name',
  'status',
  'publishedId',
  'createdAt',
  'updatedAt',
]);

const automationColumns = columns(Automation, [
  'id',
  'clubId',
  'name',
  'status',
  'draft',
  'revision',
  'publishedId',
  'versionCount',
  'triggerKind',
  'createdAt',
  'updatedAt',
]);

export interface AutomationRow extends Omit<RowOf<typeof automationColumns>, 'draft'> {
  /** The draft may be incomplete, or may come from a later release of this service. */
  draft: Definition;
}

export const versionSummaryColumns = columns(AutomationVersion, ['id', 'number', 'triggerKind', 'publishedAt']);

export const versionColumns = columns(AutomationVersion, [
  'id',
  'automationId',
  'number',
  'language',
  'triggerKind',
  'definition',
  'publishedAt',
]);

export interface VersionRow extends Omit<RowOf<typeof versionColumns>, 'definition'> {
  definition: Definition;
}

/** An automation's record with its revision. A request that changes the automation must name this revision (AUTO-8). */
export interface Revised {
  record: RecordOf<'Automation'>;
  revision: number;
}

/** @throws DomainError not_found (also for an automation of another club) */
export async function findAutomation(
  db: Queries,
  clubId: Id,
  automationId: Id,
  lock: '' | 'FOR SHARE' | 'FOR NO KEY UPDATE' = '',
): Promise<AutomationRow> {
  const automation = await db.one<AutomationRow>(
    sql`SELECT ${automationColumns} FROM automations WHERE id = ${automationId} AND club_id = ${clubId} ${raw(lock)}`,
  );
  if (!automation) throw notFound('automation');
  return automation;
}

/** @throws DomainError draft_changed if the caller has not seen the current revision; malformed_request if the header is missing */
export function requireRevision({ revision }: AutomationRow, ifMatch: string): void {
  if (ifMatch === '')
    throw new DomainError('malformed_request', 'The header If-Match is missing. Send the ETag of the draft.');
  const revisions = ifMatch.split(',').map((one) => one.trim());
  if (!revisions.includes('*') && !revisions.includes(etagOf(revision)))
    throw new DomainError('draft_changed', 'The draft has changed since it was read. Read it again.');
}

/** The `ETag` of a draft. */
export const etagOf = (revision: number): string => `"${revision}"`;

/** @throws DomainError not_found */
export async function readAutomation(db: Queries, clubId: Id, automationId: Id): Promise<Revised> {
  const row = await findAutomation(db, clubId, automationId);
  const [summary] = await presentSummaries(db, [row]);
  if (!summary) throw notFound('automation');
  const version = await db.one<VersionRow>(
    sql`SELECT ${versionColumns} FROM automation_versions WHERE id = ${row.publishedId}`,
  );
  const { published, ...own } = summary;
  const record = {
    ...own,
    draft: row.draft as RecordOf<'AutomationDefinition'>,
    ...(published && version && { published: presentVersion(version) }),
  };
  return { record, revision: row.revision };
}

/** @returns the records of these rows in order, without definitions, because a page of definitions could have 50 MB */
export async function presentSummaries(
  db: Queries,
  rows: readonly RowOf<typeof summaryColumns>[],
): Promise<RecordOf<'AutomationSummary'>[]> {
  const published = rows.flatMap(({ publishedId }) => publishedId ?? []);
  const versions = await db.rows<RowOf<typeof versionSummaryColumns>>(
    sql`SELECT ${versionSummaryColumns} FROM automation_versions WHERE id = ANY(${published})`,
  );
  const byId = new Map(versions.map((version) => [version.id, version]));
  const counts = await countRuns(db, rows);
  return rows.map((row) => {
    const version = byId.get(row.publishedId ?? '');
    const { active = 0, total = 0 } = counts.get(row.id) ?? {};
    return {
      id: row.id,
      name: row.name,
      status: row.status,
      active_runs: active,
      total_runs: total,
      created_at: row.createdAt.toISOString(),
      updated_at: row.updatedAt.toISOString(),
      ...(version && { published: summaryOf(version) }),
    };
  });
}

export function summaryOf(version: RowOf<typeof versionSummaryColumns>): RecordOf<'AutomationVersionSummary'> {
  return {
    id: version.id,
    number: version.number,
    trigger_kind: version.triggerKind,
    published_at: version.publishedAt.toISOString(),
  };
}

export function presentVersion(version: VersionRow): RecordOf<'AutomationVersion'> {
  return { ...summaryOf(version), definition: version.definition as RecordOf<'AutomationDefinition'> };
}

/** @throws DomainError not_found if the automation has no such version */
export async function findVersion(db: Queries, automationId: Id, number: number): Promise<VersionRow> {
  const version = await db.one<VersionRow>(
    sql`SELECT ${versionColumns} FROM automation_versions WHERE automation_id = ${automationId} AND number = ${number}`,
  );
  if (!version) throw notFound('version');
  return version;
}
