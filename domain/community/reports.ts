/** Records students' reports of posts and comments, and lists the queue of open reports (COMM-14). */
import { CommunityReport } from '../../entities/community/community-report.ts';
import type { ReportOutcome } from '../../entities/community/values.ts';
import type { RecordOf } from '../../contract/contract.ts';
import { notFound } from '../../platform/core/errors.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { countListed } from '../../platform/infra/postgres/lists/counts.ts';
import { ascending } from '../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../platform/infra/postgres/lists/page.ts';
import { columns, sql, type RowOf, type Sql } from '../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../deps.ts';
import { RefusalToPerson } from '../language/refusal.ts';

export interface Reported {
  postId: Id;
  commentId?: Id;
}

/**
 * Records a report. The caller holds the lock of the student.
 * @returns the report as the student sees it
 * @throws DomainError already_reported
 */
export async function insertReport(
  tx: Transaction,
  { clubId, studentId }: { clubId: Id; studentId: Id },
  { postId, commentId }: Reported,
  reason: string | undefined,
  now: Date,
): Promise<RecordOf<'SentReport'>> {
  const id = newId();
  const created = await tx.rows(sql`
    INSERT INTO community_reports (id, club_id, student_id, target_id, post_id, comment_id, reason, created_at)
    VALUES (${id}, ${clubId}, ${studentId}, ${commentId ?? postId}, ${postId}, ${commentId ?? null}, ${reason ?? null}, ${now})
    ON CONFLICT (student_id, target_id) DO NOTHING RETURNING 1`);
  if (created.length === 0) throw new RefusalToPerson('already_reported', 'refusal.already_reported');
  return { id, ...(reason !== undefined && { reason }), created_at: now.toISOString() };
}

/** Settles open reports. @param which an SQL condition on `community_reports` that selects the reports to close */
export async function settleReports(tx: Transaction, which: Sql, outcome: ReportOutcome, now: Date): Promise<void> {
  await tx.run(
    sql`UPDATE community_reports SET settled_at = ${now}, outcome = ${outcome} WHERE ${which} AND settled_at IS NULL`,
  );
}

const reportColumns = columns(CommunityReport, ['id', 'commentId', 'reason', 'createdAt'], 'report').and<{
  publicId: string;
  spaceId: Id;
  title: string | null;
  body: string | null;
  hidden: boolean;
  reporterId: Id;
  reporterName: string;
}>(sql`post.public_id AS "publicId", post.space_id AS "spaceId", post.title,
  CASE WHEN comment.id IS NULL THEN post.body ELSE comment.body END AS body,
  (CASE WHEN comment.id IS NULL THEN post.hidden_at ELSE comment.hidden_at END) IS NOT NULL AS hidden,
  reporter.id AS "reporterId", reporter.name AS "reporterName"`);

const openReports = (clubId: Id) => sql`FROM community_reports report
  JOIN community_posts post ON post.id = report.post_id LEFT JOIN community_comments comment ON comment.id = report.comment_id
  JOIN students reporter ON reporter.id = report.student_id WHERE report.club_id = ${clubId} AND report.settled_at IS NULL`;

/** @returns a page of the open reports, the oldest first */
export async function listReports(
  db: Queries,
  clubId: Id,
  page: PageRequest,
): Promise<Page<RecordOf<'CommunityReport'>>> {
  const { rows, total, next } = await listPage(db, page, {
    columns: reportColumns,
    from: openReports(clubId),
    orderBy: [ascending('report.created_at', 'timestamptz'), ascending('report.id', 'uuid')],
    total: () => countListed(db, { list: 'reports_open', clubId }),
  });
  return { rows: rows.map(presentReport), total, next };
}

function presentReport(row: RowOf<typeof reportColumns>): RecordOf<'CommunityReport'> {
  return {
    id: row.id,
    post_public_id: row.publicId,
    space_id: row.spaceId,
    ...(row.commentId !== null && { comment_id: row.commentId }),
    ...(row.title !== null && { title: row.title }),
    ...(row.body !== null && { body: row.body }),
    hidden: row.hidden,
    student: { id: row.reporterId, name: row.reporterName },
    ...(row.reason !== null && { reason: row.reason }),
    created_at: row.createdAt.toISOString(),
  };
}

/** Closes a report without an action on the post or comment. A second call changes nothing. @throws DomainError not_found */
export async function dismissReport({ db }: DatabaseDeps, clubId: Id, reportId: Id, now: Date): Promise<void> {
  await db.transaction(async (tx) => {
    if (!(await tx.manager.exists(CommunityReport, { where: { id: reportId, clubId } }))) throw notFound('report');
    await settleReports(tx, sql`id = ${reportId}`, 'dismissed', now);
  });
}
