/** What a draft still lacks, and whom it would reach (CAMP-8, CAMP-9). */
import type { RecordOf } from '../../contract/contract.ts';
import { MailSender } from '../../entities/mail/mail-sender.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../deps.ts';
import { meets, type Condition } from '../conditions/conditions.ts';
import { conditionProblems, knownIdsIn } from '../conditions/problems.ts';
import { contentProblems, type ContentProblem } from '../mail/content/problems.ts';
import { readyImages } from './images.ts';
import { findCampaign, type CampaignRow } from './records.ts';

type Problem = RecordOf<'CampaignProblem'>;

const audiencePath = '$.audience';

/** @returns everything that keeps the campaign from being scheduled, in the order of its fields @throws DomainError not_found */
export async function listProblems(
  db: Queries,
  clubId: Id,
  campaignId: Id,
  now: Date,
): Promise<{ problems: Problem[] }> {
  return { problems: await schedulingProblems(db, await findCampaign(db, clubId, campaignId), now) };
}

/** @returns the same for one that was read already */
export async function schedulingProblems(db: Queries, campaign: CampaignRow, now: Date): Promise<Problem[]> {
  const problems = await problemsOf(db, campaign);
  if (problems.some(({ path }) => path.startsWith(audiencePath))) return problems;
  const [reached] = await reachedStudents(db, campaign, 1, now);
  if (reached) return problems;
  const empty = {
    path: audiencePath,
    code: 'empty_audience',
    message: 'The campaign would reach nobody. `audience` counts who is left out, and why.',
  };
  const isBehind = ({ path }: Problem) => path === '$';
  return [...problems.filter((problem) => !isBehind(problem)), empty, ...problems.filter(isBehind)];
}

/** @returns what keeps it from beginning, too: an audience may have become empty meanwhile */
export async function problemsOf(db: Queries, campaign: CampaignRow): Promise<Problem[]> {
  const { clubId, audience } = campaign;
  const sender = await db.manager.existsBy(MailSender, { clubId });
  return [
    ...(await emailProblems(db, campaign)),
    ...conditionProblems(audience, {
      path: audiencePath,
      known: await knownIdsIn(db, clubId, [audience]),
      mayBeEmpty: true,
    }),
    ...(sender
      ? []
      : [
          {
            path: '$',
            code: 'missing_sender',
            message: 'The club has not said yet under which name and address it writes.',
          },
        ]),
  ];
}

/** @returns what is wrong with the e-mail alone */
export async function emailProblems(db: Queries, { clubId, content }: CampaignRow): Promise<ContentProblem[]> {
  const mediaIds = (content.blocks ?? []).flatMap(({ media_id: id }) => id ?? []);
  const images = new Set(await readyImages(db, clubId, mediaIds));
  return contentProblems(content, { path: '$.content', isImage: (mediaId) => images.has(mediaId) });
}

/**
 * Students of the audience, each with the first reason for which the campaign would leave them out.
 * @returns SQL with the columns `student` (id) and `left_out`
 */
export function audienceOf(clubId: Id, audience: Condition, now: Date): Sql {
  return sql`SELECT student.id AS student, CASE WHEN student.verified_at IS NULL AND student.opened_by = 'sign_up' THEN 'unconfirmed' END AS left_out
    FROM students student
   WHERE student.club_id = ${clubId} AND student.removed_at IS NULL AND ${meets(audience, { student: sql`student.id`, now })}`;
}

/**
 * Students of the audience whom nothing keeps from getting the e-mail.
 * @param most the newest so many
 */
export async function reachedStudents(
  db: Queries,
  campaign: CampaignRow,
  most: number,
  now: Date,
): Promise<{ id: Id; name: string; email: string; confirmed: boolean }[]> {
  if (await hasAudienceProblems(db, campaign)) return [];
  const { clubId, audience } = campaign;
  return db.rows(sql`
    SELECT student.id, student.name, student.email, student.verified_at IS NOT NULL AS confirmed
      FROM ${judgedAudience(clubId, audience, now)}
     WHERE audience.left_out IS NULL AND suppression.reason IS NULL AND suppression.left_campaigns_at IS NULL
     ORDER BY student.created_at DESC, student.id DESC LIMIT ${most}`);
}

async function hasAudienceProblems(db: Queries, { clubId, audience }: CampaignRow): Promise<boolean> {
  const known = await knownIdsIn(db, clubId, [audience]);
  return conditionProblems(audience, { path: audiencePath, known, mayBeEmpty: true }).length > 0;
}

/** @returns what stands behind FROM: `audience`, each `student` of it, and the `suppression` of the student's address */
const judgedAudience = (clubId: Id, audience: Condition, now: Date): Sql =>
  sql`(${audienceOf(clubId, audience, now)}) AS audience
      JOIN students student ON student.id = audience.student
      LEFT JOIN mail_suppressions suppression ON suppression.club_id = ${clubId} AND suppression.address_key = student.email_key`;

/** Counts whom the campaign would reach if it began now, in one statement. @throws DomainError not_found */
export async function countAudience(
  { db }: DatabaseDeps,
  clubId: Id,
  campaignId: Id,
  now: Date,
): Promise<RecordOf<'CampaignAudience'>> {
  const campaign = await findCampaign(db, clubId, campaignId);
  if (await hasAudienceProblems(db, campaign))
    return { reached: 0, left_out: { unconfirmed: 0, suppressed: 0, unsubscribed: 0 } };
  const rows = await db.rows<{ because: keyof RecordOf<'CampaignAudience'>['left_out'] | null; students: number }>(sql`
    SELECT coalesce(audience.left_out, CASE WHEN suppression.reason IS NOT NULL THEN 'suppressed'
                                            WHEN suppression.left_campaigns_at IS NOT NULL THEN 'unsubscribed' END) AS because,
           count(*)::int AS students
      FROM ${judgedAudience(clubId, campaign.audience, now)}
     GROUP BY because`);
  const countOf = (reason: (typeof rows)[number]['because']) =>
    rows.find(({ because }) => because === reason)?.students ?? 0;
  return {
    reached: countOf(null),
    left_out: {
      unconfirmed: countOf('unconfirmed'),
      suppressed: countOf('suppressed'),
      unsubscribed: countOf('unsubscribed'),
    },
  };
}
