/** What recipients of a campaign would see: copies of its e-mail that are not the real ones (CAMP-4). */
import type { RecordOf } from '../../contract/contract.ts';
import { Club } from '../../entities/clubs/club.ts';
import { MailSender } from '../../entities/mail/mail-sender.ts';
import { Media } from '../../entities/media/media.ts';
import { DomainError, notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { ObjectStore } from '../../platform/infra/object-store.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { compileEmail } from '../mail/content/compile.ts';
import type { EmailContent } from '../mail/content/email-content.ts';
import { renderEmail, type RecipientCopy } from '../mail/content/render.ts';
import { emailProblems } from './checks.ts';
import { libraryImage } from './images.ts';
import { findCampaign, type CampaignRow } from './records.ts';

export interface PreviewDeps {
  db: Queries;
  storage: Pick<ObjectStore, 'signGet'>;
}

/** Images of a preview can be seen for so long. */
const previewSeconds = 900;

/**
 * @param studentId whose copy it is; absent for somebody of whom nothing is known
 * @throws DomainError not_found (campaign or student), campaign_has_problems
 */
export async function previewCampaign(
  deps: PreviewDeps,
  clubId: Id,
  campaignId: Id,
  studentId: Id | undefined,
): Promise<RecordOf<'CampaignPreview'>> {
  const campaign = await findCampaign(deps.db, clubId, campaignId);
  const values = studentId === undefined ? {} : await valuesOf(deps.db, clubId, studentId);
  const copy = await copyOf(deps, campaign, values, previewSeconds);
  return { ...copy, html_bytes: Buffer.byteLength(copy.html) };
}

/**
 * A copy whose links lead where they lead, whose way out is none, and whose images are those of the library.
 * @param values what is known of the one who gets it
 * @param imageSeconds for how long the images can be seen
 * @throws DomainError campaign_has_problems
 */
export async function copyOf(
  { db, storage }: PreviewDeps,
  campaign: CampaignRow,
  values: RecipientCopy['values'],
  imageSeconds: number,
): Promise<{ subject: string; html: string; text: string }> {
  const { clubId } = campaign;
  if ((await emailProblems(db, campaign)).length > 0) throw hasProblems();
  const club = await db.manager.findOneByOrFail(Club, { id: clubId });
  const sender = await db.manager.findOneBy(MailSender, { clubId });
  const compiled = await compileEmail(campaign.content as EmailContent, {
    clubName: sender?.fromName ?? club.name,
    postalAddress: sender?.postalAddress ?? '',
  });
  const images = await Promise.all(
    compiled.images.map((mediaId) => imageAddress({ db, storage }, clubId, mediaId, imageSeconds)),
  );
  return renderEmail(compiled, {
    values: { club_name: club.name, ...values },
    linkUrl: (link) => compiled.links[link] ?? '',
    imageUrl: (image) => images[image] ?? '',
    unsubscribeUrl: '#',
  });
}

/** The image as it is in the library. @throws DomainError campaign_has_problems, where it was removed since the check */
async function imageAddress({ db, storage }: PreviewDeps, clubId: Id, mediaId: Id, seconds: number): Promise<string> {
  const media = await db.manager.findOneBy(Media, { id: mediaId, clubId, ...libraryImage });
  if (!media?.objectKey) throw hasProblems();
  return storage.signGet(media.objectKey, { disposition: 'inline', contentType: media.mime ?? '' }, seconds);
}

const hasProblems = () =>
  new DomainError('campaign_has_problems', 'The e-mail has problems; they are listed under `problems`.');

/** What is known of a student; nothing where nobody confirmed the account (CAMP-4). */
async function valuesOf(db: Queries, clubId: Id, studentId: Id): Promise<RecipientCopy['values']> {
  const student = await db.one<{ name: string; email: string; confirmed: boolean }>(
    sql`SELECT name, email, verified_at IS NOT NULL AS confirmed FROM students
         WHERE id = ${studentId} AND club_id = ${clubId} AND removed_at IS NULL`,
  );
  if (!student) throw notFound('student');
  return student.confirmed ? valuesFor(student) : {};
}

/** The variables about a person. */
export const valuesFor = ({ name, email }: { name: string; email: string }): RecipientCopy['values'] => ({
  student_name: name,
  student_first_name: name.split(' ')[0] ?? '',
  student_email: email,
});
