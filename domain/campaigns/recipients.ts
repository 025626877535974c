/** Lists the outcome for each recipient of a campaign, and reads the statistics of all recipients (operation 6). */
import type { RecordOf } from '../../contract/contract.ts';
import { removedStudentName } from '../../entities/identity/student.ts';
import { Mail } from '../../entities/mail/mail.ts';
import type { TalliedList } from '../../entities/facts/values.ts';
import { skipReasons, type RecipientStatus } from '../../entities/mail/values.ts';
import type { Id } from '../../platform/core/ids.ts';
import { countEach, countListed } from '../../platform/infra/postgres/lists/counts.ts';
import { ascending } from '../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../platform/infra/postgres/lists/page.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { all, columns, raw, sql, type RowOf } from '../../platform/infra/postgres/sql.ts';
import { outcomeUnknown } from '../mail/sending/recipients.policy.ts';
import { findCampaign, type CampaignRow } from './records.ts';

const deliveryColumns = columns(Mail, [
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
type Row = RowOf<typeof deliveryColumns>;

const moments = {
  sent_at: 'sentAt',
  delivered_at: 'deliveredAt',
  bounced_at: 'bouncedAt',
  complained_at: 'complainedAt',
  opened_at: 'openedAt',
  clicked_at: 'clickedAt',
} as const;

/**
 * Lists recipients in the order in which they were frozen. Without a filter, no recipient is missing and none is on two pages. The list is
 * empty until the recipients are frozen.
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
  const { rows, total, next } = await listPage<Row>(db, filter, {
    columns: deliveryColumns,
    from: sql`FROM mails WHERE ${where}`,
    orderBy: [ascending('seq', 'bigint')],
    total: async () => countIn(db, campaign, status),
  });
  return { rows: rows.map(present), total, next };
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

/**
 * Counts the recipients with the given status. Tallies count `pending` and `sending` together, because `sending` changes too often. Few
 * rows are `sending` at a time, so a query counts these rows.
 */
async function countIn(db: Queries, campaign: CampaignRow, status: RecipientStatus | undefined): Promise<number> {
  const { id, clubId, recipients, finalStatistics } = campaign;
  if (status === undefined && finalStatistics === null) return recipients;
  if (status === undefined) {
    const lists = ['mails_open', ...Object.values(statusLists)] as const;
    const count = await countEach(db, clubId, { lists, subjectIds: [id] });
    return lists.reduce((sum, list) => sum + count({ list, subjectId: id, marked: false }), 0);
  }
  if (status !== 'pending' && status !== 'sending')
    return countListed(db, { list: `mails_${status}`, clubId, subjectId: id });
  const sending = await countSending(db, id);
  if (status === 'sending') return sending;
  const open = await countListed(db, { list: 'mails_open', clubId, subjectId: id });
  return Math.max(0, open - sending);
}

async function countSending(db: Queries, campaignId: Id): Promise<number> {
  const countRow = await db.one<{ mails: number }>(
    sql`SELECT count(*)::int AS mails FROM mails WHERE campaign_id = ${campaignId} AND status = 'sending'`,
  );
  return countRow?.mails ?? 0;
}

const statusLists = { sent: 'mails_sent', skipped: 'mails_skipped', failed: 'mails_failed' } as const;
const eventLists = {
  delivered: 'mails_delivered',
  bounced: 'mails_bounced',
  complained: 'mails_complained',
  opened: 'mails_opened',
  clicked: 'mails_clicked',
} as const;
const reasonLists = skipReasons.map((reason) => ({ reason, list: `mails_skipped_${reason}` as const }));

/**
 * Reads the statistics of a campaign from tallies, so that the cost does not grow with the number of recipients.
 * @throws DomainError not_found
 */
export async function readStatistics(db: Queries, clubId: Id, campaignId: Id): Promise<RecordOf<'CampaignStatistics'>> {
  const { recipients, finalStatistics } = await findCampaign(db, clubId, campaignId);
  if (finalStatistics !== null) return finalStatistics as RecordOf<'CampaignStatistics'>;
  const links = await db.rows<{ id: Id; url: string }>(
    sql`SELECT id, url FROM mail_links WHERE cause_id = ${campaignId} ORDER BY position`,
  );
  const count = await countEach(db, clubId, {
    lists: [
      'mails_open',
      'mails_links_clicked',
      ...Object.values({ ...statusLists, ...eventLists }),
      ...reasonLists.map(({ list }) => list),
    ],
    subjectIds: [campaignId, ...links.map(({ id }) => id)],
  });
  const of = (list: TalliedList, marked = false, subjectId = campaignId) => count({ list, subjectId, marked });
  const sending = Math.min(await countSending(db, campaignId), of('mails_open'));
  const countsOf = <Key extends string>(lists: Readonly<Record<Key, TalliedList>>) =>
    Object.fromEntries(Object.entries<TalliedList>(lists).map(([key, list]) => [key, of(list)])) as Record<Key, number>;
  return {
    recipients,
    pending: of('mails_open') - sending,
    sending,
    ...countsOf(statusLists),
    skip_reasons: Object.fromEntries(
      reasonLists.map(({ reason, list }) => [reason, of(list)] as const).filter(([, mails]) => mails > 0),
    ),
    ...countsOf(eventLists),
    machine_opened: of('mails_opened', true),
    machine_clicked: of('mails_clicked', true),
    links: links.map(({ id, url }) => ({
      url,
      clicked: of('mails_links_clicked', false, id),
      machine_clicked: of('mails_links_clicked', true, id),
    })),
  };
}

/**
 * Keeps only ids, times and statuses in the mail rows of a removed student. A mail that is being sent completes, but without an address in
 * its record. Clicks and bounces are deleted, and the counts still include them. An unknown outcome stays unknown, because the student may
 * have got the mail.
 */
export async function purgeStudentFromCampaigns(tx: Transaction, studentId: Id): Promise<void> {
  await tx.run(sql`UPDATE mails SET student_name = ${removedStudentName}, student_email = '', address_key = NULL,
      last_error = CASE WHEN last_error = ${outcomeUnknown} THEN last_error END,
      status = CASE status WHEN 'pending' THEN 'skipped' ELSE status END,
      skip_reason = CASE status WHEN 'pending' THEN 'student_removed' ELSE skip_reason END
    WHERE student_id = ${studentId}`);
  for (const events of [raw('mail_clicks'), raw('mail_soft_bounces')])
    await tx.run(sql`DELETE FROM ${events} WHERE mail_id IN (SELECT id FROM mails WHERE student_id = ${studentId})`);
}
