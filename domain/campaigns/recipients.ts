/** What became of each recipient of a campaign, and of all of them together (operation 6). */
import type { RecordOf } from '../../contract/contract.ts';
import { Mail } from '../../entities/mail/mail.ts';
import type { RecipientStatus } from '../../entities/mail/values.ts';
import type { Id } from '../../platform/core/ids.ts';
import { countListed } from '../../platform/infra/postgres/lists/counts.ts';
import { listPage, type Page, type PageRequest } from '../../platform/infra/postgres/lists/page.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { all, columns, sql, type RowOf } from '../../platform/infra/postgres/sql.ts';
import { findCampaign, type CampaignRow } from './records.ts';

const listed = columns(Mail, [
  'id',
  'studentId',
  'studentName',
  'studentEmail',
  'status',
  'skipReason',
  'lastError',
  'sentAt',
  'deliveredAt',
  'bouncedAt',
  'complainedAt',
  'openedAt',
  'clickedAt',
]);
type Row = RowOf<typeof listed>;

const moments = {
  sent_at: 'sentAt',
  delivered_at: 'deliveredAt',
  bounced_at: 'bouncedAt',
  complained_at: 'complainedAt',
  opened_at: 'openedAt',
  clicked_at: 'clickedAt',
} as const;

/**
 * In the order in which they were frozen: unfiltered pages neither repeat nor miss anybody. Empty before that.
 * @throws DomainError not_found
 */
export async function listDeliveries(
  db: Queries,
  clubId: Id,
  campaignId: Id,
  filter: PageRequest & { status?: RecipientStatus },
): Promise<Page<RecordOf<'CampaignDelivery'>>> {
  const campaign = await findCampaign(db, clubId, campaignId);
  const { status } = filter;
  const where = all([sql`campaign_id = ${campaignId}`, status === undefined ? undefined : sql`status = ${status}`]);
  const { rows, total } = await listPage<Row>(db, filter, {
    columns: listed,
    from: sql`FROM mails WHERE ${where}`,
    orderBy: sql`seq`,
    total: async () => (status === undefined ? campaign.recipients : countIn(db, campaign, status)),
  });
  return { rows: rows.map(present), total };
}

function present(row: Row): RecordOf<'CampaignDelivery'> {
  return {
    id: row.id,
    student_id: row.studentId,
    student_name: row.studentName,
    student_email: row.studentEmail,
    status: row.status,
    ...(row.skipReason !== null && { skip_reason: row.skipReason }),
    ...(row.lastError !== null && { last_error: row.lastError }),
    ...Object.fromEntries(
      Object.entries(moments).flatMap(([name, column]) => {
        const at = row[column];
        return at === null ? [] : [[name, at.toISOString()]];
      }),
    ),
  };
}

/** Tallies count open ones together: what is being handed over changes too often, and there are never many. */
async function countIn(db: Queries, { id, clubId }: CampaignRow, status: RecipientStatus): Promise<number> {
  if (status !== 'pending' && status !== 'sending')
    return countListed(db, { list: `mails_${status}`, clubId, subjectId: id });
  const sending = await db.one<{ mails: number }>(
    sql`SELECT count(*)::int AS mails FROM mails WHERE campaign_id = ${id} AND status = 'sending'`,
  );
  if (status === 'sending') return sending?.mails ?? 0;
  const open = await countListed(db, { list: 'mails_open', clubId, subjectId: id });
  return Math.max(0, open - (sending?.mails ?? 0));
}

/** @throws DomainError not_found */
export async function readStatistics(db: Queries, clubId: Id, campaignId: Id): Promise<RecordOf<'CampaignStatistics'>> {
  const { recipients } = await findCampaign(db, clubId, campaignId);
  const counted = await db.one<Omit<RecordOf<'CampaignStatistics'>, 'recipients' | 'skip_reasons'>>(sql`
    SELECT count(*) FILTER (WHERE status = 'pending')::int AS pending, count(*) FILTER (WHERE status = 'sending')::int AS sending,
           count(*) FILTER (WHERE status = 'sent')::int AS sent, count(*) FILTER (WHERE status = 'skipped')::int AS skipped,
           count(*) FILTER (WHERE status = 'failed')::int AS failed, count(delivered_at)::int AS delivered, count(bounced_at)::int AS bounced,
           count(complained_at)::int AS complained, count(opened_at)::int AS opened, count(clicked_at)::int AS clicked
      FROM mails WHERE campaign_id = ${campaignId}`);
  const reasons = await db.rows<{
    reason: string;
    mails: number;
  }>(sql`SELECT skip_reason AS reason, count(*)::int AS mails
    FROM mails WHERE campaign_id = ${campaignId} AND status = 'skipped' GROUP BY skip_reason`);
  if (!counted) throw new Error('a count has no row');
  return {
    recipients,
    ...counted,
    skip_reasons: Object.fromEntries(reasons.map(({ reason, mails }) => [reason, mails])),
  };
}

/**
 * Leaves of a removed student's recipient rows ids, times and statuses alone. What is under way ends as it ends: its record
 * writes no address.
 */
export async function purgeStudentFromCampaigns(tx: Transaction, studentId: Id): Promise<void> {
  await tx.run(sql`UPDATE mails SET student_name = 'Removed student', student_email = '', address_key = NULL, last_error = NULL,
      status = CASE status WHEN 'pending' THEN 'skipped' ELSE status END,
      skip_reason = CASE status WHEN 'pending' THEN 'student_removed' ELSE skip_reason END
    WHERE student_id = ${studentId}`);
}
