/** Creates previews of a campaign: copies of its e-mail without tracked links, and with an unsubscribe link that does nothing (CAMP-4). */
import type { RecordOf } from '../../../contract/contract.ts';
import { Club } from '../../../entities/clubs/club.ts';
import { MailSender } from '../../../entities/mail/mail-sender.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { AddressedDeps } from '../../deps.ts';
import { findBranding } from '../../branding/branding.ts';
import { languageOf } from '../../language/languages.ts';
import { wordingIn, type Wording } from '../../language/wording.ts';
import type { EmailContent } from '../../mail/content/email-content.ts';
import type { RenderedCopy } from '../../mail/content/email-thread.ts';
import { copiesInThread } from '../../mail/content/email-work.ts';
import { cacheCopies, cachedSeconds } from '../../mail/content/copy-cache.ts';
import { renderLine, type RecipientCopy } from '../../mail/content/render.ts';
import { emailProblems, reachedStudents } from './checks.ts';
import { contrasting, type Candidate } from './contrasts.policy.ts';
import { findImages, imageIdsOf, type LibraryImage } from './images.ts';
import { previewToken, readPreviewToken, type PreviewToken } from './preview-tokens.ts';
import { findCampaign, type CampaignRow } from '../records.ts';
import { isOpenClub } from '../../open-clubs.ts';

export interface PreviewDeps {
  db: Queries;
  storage: Pick<ObjectStore, 'signGet'>;
  /** The URL at which callers reach the API, without a slash at the end. */
  publicUrl: string;
}

export type PageDeps = PreviewDeps & Pick<AddressedDeps, 'vault'>;

/** The time for which the page of a preview and its images can be opened. */
const previewSeconds = 900;
/** A preview checks only the newest students of a large audience, because a person waits for it. */
const maxCandidates = 5_000;

/**
 * @param studentId the student whose data fill the copy; absent if the copy is for an unknown student
 * @throws DomainError not_found (no such campaign or student), campaign_has_problems
 */
export async function previewCampaign(
  deps: PageDeps,
  clubId: Id,
  campaignId: Id,
  studentId: Id | undefined,
  now: Date,
): Promise<RecordOf<'CampaignPreview'>> {
  const campaign = await findCampaign(deps.db, clubId, campaignId);
  const values = studentId === undefined ? {} : valuesFor(await studentOf(deps.db, clubId, studentId));
  const { htmlBytes, ...copy } = await previewOf(deps, campaign, values);
  return {
    ...copy,
    html_bytes: htmlBytes,
    ...pageOf(deps, { campaignId, ...(studentId !== undefined && { studentId }) }, now),
  };
}

/**
 * Returns copies of the e-mail for a few students of the audience, who differ most from one another.
 * @throws DomainError not_found, campaign_has_problems
 */
export async function listPreviews(
  deps: PageDeps,
  clubId: Id,
  campaignId: Id,
  now: Date,
): Promise<RecordOf<'CampaignPreviews'>> {
  const campaign = await findCampaign(deps.db, clubId, campaignId);
  const chosen = contrasting(await reachedStudents(deps.db, campaign, maxCandidates, now));
  const recipients = chosen.map(({ student }) => valuesFor(student));
  const { copies } = await makeCopies(deps, campaign, recipients, { ...forPreviews, mostBytes: 0 });
  return {
    previews: chosen.map(({ student, because }, index) => ({
      student_id: student.id,
      student_name: student.name,
      because,
      subject: copies[index]?.subject ?? '',
      html_bytes: copies[index]?.htmlBytes ?? 0,
      ...pageOf(deps, { campaignId, studentId: student.id }, now),
    })),
  };
}

/** @returns undefined if the campaign was deleted, or if its club is not open (ERS-5) */
async function findClubOf(db: Queries, { campaignId }: PreviewToken): Promise<Id | undefined> {
  const campaign = await db.one<{ clubId: Id }>(
    sql`SELECT club_id AS "clubId" FROM campaigns WHERE id = ${campaignId} AND ${isOpenClub(sql`club_id`)}`,
  );
  return campaign?.clubId;
}

/**
 * Returns the content of the page behind a preview's URL.
 * @throws DomainError not_found (the token is from another service or expired, or its campaign or student was deleted),
 *   campaign_has_problems
 */
export async function showPreview(deps: PageDeps, token: string, now: Date): Promise<RecordOf<'CampaignPreviewPage'>> {
  const preview = readPreviewToken(deps.vault, token, now);
  const clubId = preview && (await findClubOf(deps.db, preview));
  if (!preview || clubId === undefined) throw notFound('preview');
  const campaign = await findCampaign(deps.db, clubId, preview.campaignId);
  const student = preview.studentId === undefined ? undefined : await studentOf(deps.db, clubId, preview.studentId);
  const { htmlBytes: _, ...copy } = await previewOf(deps, campaign, student ? valuesFor(student) : {});
  return {
    campaign_name: campaign.name,
    ...(student && { student_name: student.name }),
    ...copy,
    language: languageOf((await deps.db.manager.findOneByOrFail(Club, { id: clubId })).language),
    expires_at: preview.expiresAt.toISOString(),
  };
}

function pageOf(
  { vault, publicUrl }: PageDeps,
  copy: Omit<PreviewToken, 'expiresAt'>,
  now: Date,
): { page_url: string; page_expires_at: string } {
  const expiresAt = new Date(Math.ceil(now.getTime() / 1_000 + previewSeconds) * 1_000);
  const token = previewToken(vault, { ...copy, expiresAt });
  return { page_url: `${publicUrl}/mail/previews/${token}`, page_expires_at: expiresAt.toISOString() };
}

interface Copy {
  subject: string;
  /** The preheader, which the HTML also contains. Absent if the e-mail has no preheader. */
  preheader?: string;
  html: string;
  text: string;
}

/** The maximum size of HTML and text together, in bytes. Mailboxes already cut off much shorter e-mails. */
const maxCopyBytes = 900_000;

/**
 * Creates a copy with the original links, without a working unsubscribe link, and with the pictures of the real mail.
 * @param imageSeconds the time for which the images can be opened
 * @throws DomainError campaign_has_problems, busy
 */
export async function copyOf(
  deps: PreviewDeps,
  campaign: CampaignRow,
  values: RecipientCopy['values'],
  imageSeconds: number,
): Promise<Copy> {
  const { copies, clubName, wording } = await makeCopies(deps, campaign, [values], {
    make: copiesInThread,
    imageSeconds,
    mostBytes: Number.POSITIVE_INFINITY,
  });
  return whole(campaign, copies[0], { club_name: clubName, ...values }, wording);
}

/** @returns the size in bytes of the HTML in the copy for an unknown student @throws DomainError campaign_has_problems, busy */
export async function htmlBytesOf(deps: PreviewDeps, campaign: CampaignRow): Promise<number> {
  const { copies } = await makeCopies(deps, campaign, [{}], { ...forPreviews, mostBytes: 0 });
  return copies[0]?.htmlBytes ?? 0;
}

const forPreviews = { make: cacheCopies(), imageSeconds: previewSeconds + cachedSeconds, mostBytes: maxCopyBytes };

/** @throws DomainError campaign_has_problems, busy */
async function previewOf(
  deps: PreviewDeps,
  campaign: CampaignRow,
  values: RecipientCopy['values'],
): Promise<Copy & { htmlBytes: number }> {
  const { copies, clubName, wording } = await makeCopies(deps, campaign, [values], forPreviews);
  const [copy] = copies;
  return { ...whole(campaign, copy, { club_name: clubName, ...values }, wording), htmlBytes: copy?.htmlBytes ?? 0 };
}

async function makeCopies(
  { db, storage, publicUrl }: PreviewDeps,
  campaign: CampaignRow,
  recipients: readonly RecipientCopy['values'][],
  { make, imageSeconds, mostBytes }: { make: typeof copiesInThread; imageSeconds: number; mostBytes: number },
): Promise<{ copies: readonly RenderedCopy[]; clubName: string; wording: Wording }> {
  const { clubId } = campaign;
  if ((await emailProblems(db, campaign)).count > 0) throw hasProblems();
  const club = await db.manager.findOneByOrFail(Club, { id: clubId });
  const sender = await db.manager.findOneBy(MailSender, { clubId });
  const content = campaign.content as EmailContent;
  const mediaIds = imageIdsOf(content);
  const images = await findImages(db, clubId, mediaIds);
  if (images.size < mediaIds.length) throw hasProblems(); // an image was removed after the e-mail was checked
  const addresses = await Promise.all(
    [...images].map(async ([id, image]) => [id, await addressOf(storage, image, imageSeconds)] as const),
  );
  const widths = [...images].flatMap(([id, { picture, width }]) => {
    const shownWidth = picture?.width ?? width;
    return shownWidth === null ? [] : [[id, shownWidth] as const];
  });
  const copies = await make(clubId, {
    content,
    letterhead: {
      clubName: sender?.fromName ?? club.name,
      postalAddress: sender?.postalAddress ?? '',
      language: club.language,
      branding: await findBranding(db, publicUrl, clubId),
    },
    imageUrls: Object.fromEntries(addresses),
    imageWidths: Object.fromEntries(widths),
    recipients: recipients.map((values) => ({ club_name: club.name, ...values })),
    unsubscribeUrl: noWayOut,
    mostBytes,
  });
  if (!copies) throw tooLarge();
  return { copies, clubName: club.name, wording: wordingIn(languageOf(club.language)) };
}

/** @throws DomainError campaign_has_problems if the copy is too large for an answer of the API */
function whole(
  { content: { preheader } }: CampaignRow,
  copy: RenderedCopy | undefined,
  values: RecipientCopy['values'],
  wording: Wording,
): Copy {
  if (!copy?.body) throw tooLarge();
  return {
    subject: copy.subject,
    ...copy.body,
    ...(preheader !== undefined && { preheader: renderLine(preheader, values, wording) }),
  };
}

/** The URL of the unsubscribe link in a preview. An author cannot write this URL, so it always stands for the unsubscribe link. */
export const noWayOut = '#';

/**
 * Signs the URL of the picture that the real mail would show. For an older image without such a picture, the URL leads to the original
 * image in the library.
 */
function addressOf(
  storage: PreviewDeps['storage'],
  { objectKey, mime, picture }: LibraryImage,
  seconds: number,
): Promise<string> {
  const file = picture ?? { objectKey, mime };
  return storage.signGet(file.objectKey, { disposition: 'inline', contentType: file.mime }, seconds);
}

const tooLarge = () =>
  new DomainError(
    'campaign_has_problems',
    `The e-mail is too large for a preview. HTML and text may have at most ${maxCopyBytes} bytes. Shorten its texts.`,
  );

const hasProblems = () => new DomainError('campaign_has_problems', 'The e-mail has problems. `problems` lists them.');

/** @throws DomainError not_found */
async function studentOf(db: Queries, clubId: Id, studentId: Id): Promise<Candidate> {
  const student = await db.one<Candidate>(
    sql`SELECT id, name, email, verified_at IS NOT NULL AS confirmed FROM students
         WHERE id = ${studentId} AND club_id = ${clubId} AND removed_at IS NULL`,
  );
  if (!student) throw notFound('student');
  return student;
}

/** The values of the variables about a student. Empty if the account was never confirmed (CAMP-4). */
export const valuesFor = ({
  name,
  email,
  confirmed = true,
}: Pick<Candidate, 'name' | 'email'> & Partial<Candidate>): RecipientCopy['values'] =>
  confirmed ? { student_name: name, student_first_name: name.split(' ')[0] ?? '', student_email: email } : {};
