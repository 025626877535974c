/** Lists the published versions of an automation, and compares two versions. */
import type { RecordOf } from '../../../contract/contract.ts';
import { AutomationVersion } from '../../../entities/automations/automation-version.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { descending } from '../../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { notFound } from '../../../platform/core/errors.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { differenceOf } from './difference.ts';
import {
  findAutomation,
  findVersion,
  presentVersion,
  summaryOf,
  versionColumns,
  versionSummaryColumns,
  type VersionRow,
} from '../records.ts';

/** @returns a page of the versions without their definitions, the latest first @throws DomainError not_found */
export async function listVersions(
  db: Queries,
  clubId: Id,
  automationId: Id,
  page: PageRequest,
): Promise<Page<RecordOf<'AutomationVersionSummary'>>> {
  const { versionCount } = await findAutomation(db, clubId, automationId);
  const { rows, total, next } = await listPage(db, page, {
    columns: versionSummaryColumns,
    from: sql`FROM automation_versions WHERE automation_id = ${automationId}`,
    orderBy: [descending('number', 'int')],
    total: versionCount,
  });
  return { rows: rows.map(summaryOf), total, next };
}

/** @throws DomainError not_found (no such automation or version) */
export async function readVersion(
  db: Queries,
  clubId: Id,
  automationId: Id,
  versionId: Id,
): Promise<RecordOf<'AutomationVersion'>> {
  await findAutomation(db, clubId, automationId);
  const version = await db.one<VersionRow>(
    sql`SELECT ${versionColumns} FROM automation_versions WHERE id = ${versionId} AND automation_id = ${automationId}`,
  );
  if (!version) throw notFound('version');
  return presentVersion(version);
}

/**
 * @param of the numbers of two versions; by default, the published version and the draft
 * @throws DomainError not_found (no such automation or version)
 */
export async function compareVersions(
  db: Queries,
  clubId: Id,
  automationId: Id,
  { from, to }: { from?: number; to?: number },
): Promise<RecordOf<'AutomationDifference'>> {
  const { draft, publishedId } = await findAutomation(db, clubId, automationId);
  const published = await db.manager.findOneBy(AutomationVersion, { id: publishedId ?? automationId });
  const before = await findVersion(db, automationId, from ?? published?.number ?? 0);
  const after = to === undefined ? draft : (await findVersion(db, automationId, to)).definition;
  return differenceOf(before.definition, after);
}
