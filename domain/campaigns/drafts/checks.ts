/** Finds the problems of a draft, and counts the students whom the campaign would reach (CAMP-8, CAMP-9). */
import type { RecordOf } from '../../../contract/contract.ts';
import { MailSender } from '../../../entities/mail/mail-sender.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../../deps.ts';
import { meets, type Condition } from '../../conditions/conditions.ts';
import { conditionProblems, knownIdsIn } from '../../conditions/problems.ts';
import { judgeEmails } from '../../mail/content/email-work.ts';
import { firstOf, type ContentProblem, type FoundProblems } from '../../mail/content/problems.ts';
import { findImages, imageIdsOf, judgedImages } from './images.ts';
import { findCampaign, type CampaignRow } from '../records.ts';

type Problem = RecordOf<'CampaignProblem'>;

const audiencePath = '$.audience';
const contentPath = '$.content';

/**
 * @returns the first problems that prevent scheduling, in the order of the campaign's fields, and the number of all problems
 * @throws DomainError not_found, busy
 */
export async function listProblems(
  db: Queries,
  clubId: Id,
  campaignId: Id,
  now: Date,
): Promise<FoundProblems<Problem>> {
  return schedulingProblems(db, await findCampaign(db, clubId, campaignId), now);
}

/** Does the same as `listProblems`, for a campaign that the caller has already read. */
export async function schedulingProblems(
  db: Queries,
  campaign: CampaignRow,
  now: Date,
): Promise<FoundProblems<Problem>> {
  const problems = await findProblems(db, campaign);
  if (problems.ofAudience.length > 0) return allOf(problems);
  const [reached] = await reachedStudents(db, campaign, 1, now);
  if (reached) return allOf(problems);
  const empty = {
    path: audiencePath,
    code: 'empty_audience',
    message: 'The campaign would reach no student. `audience` shows how many students are left out, and why.',
  };
  return allOf({ ...problems, ofAudience: [empty] });
}

/** @returns whether a problem prevents the start of the campaign. An empty audience does not prevent the start */
export async function hasProblems(db: Queries, campaign: CampaignRow): Promise<boolean> {
  return allOf(await findProblems(db, campaign)).count > 0;
}

/** The problems of a campaign, grouped by the part that has the problem. The groups are in the order in which they are listed. */
interface CampaignProblems {
  ofEmail: FoundProblems<ContentProblem>;
  ofAudience: readonly Problem[];
  ofClub: readonly Problem[];
}

async function findProblems(db: Queries, campaign: CampaignRow): Promise<CampaignProblems> {
  const { clubId, audience } = campaign;
  const sender = await db.manager.existsBy(MailSender, { clubId });
  const existingIds = await knownIdsIn(db, clubId, [audience]);
  const missingSender = {
    path: '$',
    code: 'missing_sender',
    message: 'The club has no sender: set the name and the address of its e-mails first.',
  };
  return {
    ofEmail: await emailProblems(db, campaign),
    ofAudience: conditionProblems(audience, { path: audiencePath, known: existingIds, mayBeEmpty: true }),
    ofClub: sender ? [] : [missingSender],
  };
}

function allOf({ ofEmail, ofAudience, ofClub }: CampaignProblems): FoundProblems<Problem> {
  const { problems } = firstOf<Problem>([...ofEmail.problems, ...ofAudience, ...ofClub]);
  return { problems, count: ofEmail.count + ofAudience.length + ofClub.length };
}

/** @throws DomainError busy */
export async function emailProblems(
  db: Queries,
  { clubId, content }: CampaignRow,
): Promise<FoundProblems<ContentProblem>> {
  const images = judgedImages(await findImages(db, clubId, imageIdsOf(content)));
  const [result] = await judgeEmails(clubId, [{ content, path: contentPath, ...images }]);
  return result ?? { problems: [], count: 0 };
}

/**
 * Selects the students of the audience, with the reason if the campaign leaves a student out.
 * @returns SQL with the columns `student` (an id) and `left_out` (the reason, or null if the student gets the e-mail)
 */
export function audienceOf(clubId: Id, audience: Condition, now: Date): Sql {
  return sql`SELECT student.id AS student, CASE WHEN student.verified_at IS NULL AND student.opened_by = 'sign_up' THEN 'unconfirmed' END AS left_out
    FROM students student
   WHERE student.club_id = ${clubId} AND student.removed_at IS NULL AND ${meets(audience, { student: sql`student.id`, now })}`;
}

/**
 * Finds the students of the audience who would get the e-mail.
 * @param most the maximum number of students. The newest students are chosen
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
      FROM ${audienceWithStudents(clubId, audience, now)}
     WHERE audience.left_out IS NULL AND suppression.reason IS NULL AND suppression.left_campaigns_at IS NULL
     ORDER BY student.created_at DESC, student.id DESC LIMIT ${most}`);
}

async function hasAudienceProblems(db: Queries, { clubId, audience }: CampaignRow): Promise<boolean> {
  const existingIds = await knownIdsIn(db, clubId, [audience]);
  return conditionProblems(audience, { path: audiencePath, known: existingIds, mayBeEmpty: true }).length > 0;
}

/** The rows of the `audience`, each joined with its `student` and with the `suppression` of the student's address. */
const audienceWithStudents = (clubId: Id, audience: Condition, now: Date): Sql =>
  sql`(${audienceOf(clubId, audience, now)}) AS audience
      JOIN students student ON student.id = audience.student
      LEFT JOIN mail_suppressions suppression ON suppression.club_id = ${clubId} AND suppression.address_key = student.email_key`;

/** Counts the students whom the campaign would reach if it began now, in one statement. @throws DomainError not_found */
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
      FROM ${audienceWithStudents(clubId, campaign.audience, now)}
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
