/** What a draft still lacks, whom it would reach, and what its recipients would see (CAMP-8, CAMP-9). */
import type { RecordOf } from '../../contract/contract.ts';
import { Club } from '../../entities/clubs/club.ts';
import { MailSender } from '../../entities/mail/mail-sender.ts';
import { Media } from '../../entities/media/media.ts';
import type { ObjectStore } from '../../platform/infra/object-store.ts';
import { DomainError, notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../deps.ts';
import { meets, type Condition } from '../conditions/conditions.ts';
import { conditionProblems, knownIdsIn } from '../conditions/problems.ts';
import { compileEmail } from '../mail/content/compile.ts';
import type { EmailContent } from '../mail/content/email-content.ts';
import { contentProblems, type ContentProblem } from '../mail/content/problems.ts';
import { renderEmail } from '../mail/content/render.ts';
import { libraryImage, readyImages } from './images.ts';
import { findCampaign, type CampaignRow } from './records.ts';

type Problem = RecordOf<'CampaignProblem'>;

/** @returns everything that keeps the campaign from being scheduled, in the order of its fields @throws DomainError not_found */
export async function listProblems(db: Queries, clubId: Id, campaignId: Id): Promise<{ problems: Problem[] }> {
  return { problems: await problemsOf(db, await findCampaign(db, clubId, campaignId)) };
}

/** @returns the same for one that was read already */
export async function problemsOf(db: Queries, campaign: CampaignRow): Promise<Problem[]> {
  const { clubId, audience } = campaign;
  const sender = await db.manager.existsBy(MailSender, { clubId });
  return [
    ...(await emailProblems(db, campaign)),
    ...conditionProblems(audience, {
      path: '$.audience',
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

async function emailProblems(db: Queries, { clubId, content }: CampaignRow): Promise<ContentProblem[]> {
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

/** Counts whom the campaign would reach if it began now, in one statement. @throws DomainError not_found */
export async function countAudience(
  { db }: DatabaseDeps,
  clubId: Id,
  campaignId: Id,
  now: Date,
): Promise<RecordOf<'CampaignAudience'>> {
  const { audience } = await findCampaign(db, clubId, campaignId);
  const known = await knownIdsIn(db, clubId, [audience]);
  if (conditionProblems(audience, { path: '$.audience', known, mayBeEmpty: true }).length > 0)
    return { reached: 0, left_out: { unconfirmed: 0, suppressed: 0, unsubscribed: 0 } };
  const rows = await db.rows<{ because: keyof RecordOf<'CampaignAudience'>['left_out'] | null; students: number }>(sql`
    SELECT coalesce(audience.left_out, CASE WHEN suppression.reason IS NOT NULL THEN 'suppressed'
                                            WHEN suppression.left_campaigns_at IS NOT NULL THEN 'unsubscribed' END) AS because,
           count(*)::int AS students
      FROM (${audienceOf(clubId, audience, now)}) AS audience
      JOIN students student ON student.id = audience.student
      LEFT JOIN mail_suppressions suppression ON suppression.club_id = ${clubId} AND suppression.address_key = student.email_key
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

/**
 * @param studentId whose copy it is; absent for somebody of whom nothing is known
 * @throws DomainError not_found (campaign or student), campaign_has_problems
 */
export async function previewCampaign(
  { db, storage }: { db: Queries; storage: Pick<ObjectStore, 'signGet'> },
  clubId: Id,
  campaignId: Id,
  studentId: Id | undefined,
): Promise<RecordOf<'CampaignPreview'>> {
  const campaign = await findCampaign(db, clubId, campaignId);
  if ((await emailProblems(db, campaign)).length > 0) throw hasProblems();
  const club = await db.manager.findOneByOrFail(Club, { id: clubId });
  const sender = await db.manager.findOneBy(MailSender, { clubId });
  const compiled = await compileEmail(campaign.content as EmailContent, {
    clubName: sender?.fromName ?? club.name,
    postalAddress: sender?.postalAddress ?? '',
  });
  const images = await Promise.all(compiled.images.map((mediaId) => imageAddress({ db, storage }, clubId, mediaId)));
  const copy = renderEmail(compiled, {
    values: { club_name: club.name, ...(studentId === undefined ? {} : await valuesOf(db, clubId, studentId)) },
    linkUrl: (link) => compiled.links[link] ?? '',
    imageUrl: (image) => images[image] ?? '',
    unsubscribeUrl: '#',
  });
  return { ...copy, html_bytes: Buffer.byteLength(copy.html) };
}

/** The image as it is in the library, for as long as somebody looks at a preview. @throws DomainError campaign_has_problems, where it was removed meanwhile */
async function imageAddress(
  { db, storage }: { db: Queries; storage: Pick<ObjectStore, 'signGet'> },
  clubId: Id,
  mediaId: Id,
): Promise<string> {
  const media = await db.manager.findOneBy(Media, { id: mediaId, clubId, ...libraryImage });
  if (!media?.objectKey) throw hasProblems();
  return storage.signGet(media.objectKey, { disposition: 'inline', contentType: media.mime ?? '' }, previewSeconds);
}

const hasProblems = () =>
  new DomainError('campaign_has_problems', 'The e-mail has problems; they are listed under `problems`.');

const previewSeconds = 900;

/** What is known of a student; nothing where nobody confirmed the account (CAMP-4). */
async function valuesOf(db: Queries, clubId: Id, studentId: Id) {
  const student = await db.one<{ name: string; email: string; confirmed: boolean }>(
    sql`SELECT name, email, verified_at IS NOT NULL AS confirmed FROM students
         WHERE id = ${studentId} AND club_id = ${clubId} AND removed_at IS NULL`,
  );
  if (!student) throw notFound('student');
  if (!student.confirmed) return {};
  return {
    student_name: student.name,
    student_first_name: student.name.split(' ')[0] ?? '',
    student_email: student.email,
  };
}
