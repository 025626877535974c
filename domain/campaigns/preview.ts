/** What recipients of a campaign would see: copies of its e-mail that are not the real ones (CAMP-4). */
import type { RecordOf } from '../../contract/contract.ts';
import { Campaign } from '../../entities/campaigns/campaign.ts';
import { Club } from '../../entities/clubs/club.ts';
import { MailSender } from '../../entities/mail/mail-sender.ts';
import { DomainError, notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { ObjectStore } from '../../platform/infra/object-store.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { AddressedDeps } from '../deps.ts';
import { findBranding } from '../branding/branding.ts';
import { languageOf } from '../language/languages.ts';
import { wordingIn, type Wording } from '../language/wording.ts';
import type { EmailContent } from '../mail/content/email-content.ts';
import type { RenderedCopy } from '../mail/content/email-thread.ts';
import { copiesInThread } from '../mail/content/email-work.ts';
import { keepCopies, keptSeconds } from '../mail/content/kept.ts';
import { renderLine, type RecipientCopy } from '../mail/content/render.ts';
import { emailProblems, reachedStudents } from './checks.ts';
import { contrasting, type Candidate } from './contrasts.policy.ts';
import { findImages, imageIdsOf, type LibraryImage } from './images.ts';
import { previewToken, readPreviewToken, type PreviewToken } from './preview-tokens.ts';
import { findCampaign, type CampaignRow } from './records.ts';

export interface PreviewDeps {
  db: Queries;
  storage: Pick<ObjectStore, 'signGet'>;
  /** Where callers reach the API, without a slash at the end. */
  publicUrl: string;
}

export type PageDeps = PreviewDeps & Pick<AddressedDeps, 'vault'>;

/** A preview's page and its images can be seen for so long. */
const previewSeconds = 900;
/** Of a large audience so many are looked at, the newest: whoever looks at previews waits. */
const mostCandidates = 5_000;

/**
 * @param studentId whose copy it is; absent for somebody of whom nothing is known
 * @throws DomainError not_found (campaign or student), campaign_has_problems
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
 * Copies of students of the audience who differ much from one another.
 * @throws DomainError not_found, campaign_has_problems
 */
export async function listPreviews(
  deps: PageDeps,
  clubId: Id,
  campaignId: Id,
  now: Date,
): Promise<RecordOf<'CampaignPreviews'>> {
  const campaign = await findCampaign(deps.db, clubId, campaignId);
  const chosen = contrasting(await reachedStudents(deps.db, campaign, mostCandidates, now));
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

/**
 * What the page behind a preview's address shows.
 * @throws DomainError not_found (a token that is not ours, whose time is over, or whose campaign or student is gone),
 *   campaign_has_problems
 */
export async function showPreview(deps: PageDeps, token: string, now: Date): Promise<RecordOf<'CampaignPreviewPage'>> {
  const seen = readPreviewToken(deps.vault, token, now);
  const clubId =
    seen &&
    (await deps.db.manager.findOne(Campaign, { select: { clubId: true }, where: { id: seen.campaignId } }))?.clubId;
  if (!seen || clubId === undefined) throw notFound('preview');
  const campaign = await findCampaign(deps.db, clubId, seen.campaignId);
  const student = seen.studentId === undefined ? undefined : await studentOf(deps.db, clubId, seen.studentId);
  const { htmlBytes: _, ...copy } = await previewOf(deps, campaign, student ? valuesFor(student) : {});
  return {
    campaign_name: campaign.name,
    ...(student && { student_name: student.name }),
    ...copy,
    language: languageOf((await deps.db.manager.findOneByOrFail(Club, { id: clubId })).language),
    expires_at: seen.expiresAt.toISOString(),
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
  /** Absent where the e-mail has none; it stands in the HTML, too. */
  preheader?: string;
  html: string;
  text: string;
}

/** HTML and text of a copy that an answer carries; mailboxes cut e-mails that are far shorter. */
const mostCopyBytes = 900_000;

/**
 * A copy whose links lead where they lead, whose way out is none, and whose images are the pictures that are sent.
 * @param values what is known of the one who gets it
 * @param imageSeconds for how long the images can be seen
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

/** @returns the bytes of HTML of the copy of somebody of whom nothing is known @throws DomainError campaign_has_problems, busy */
export async function htmlBytesOf(deps: PreviewDeps, campaign: CampaignRow): Promise<number> {
  const { copies } = await makeCopies(deps, campaign, [{}], { ...forPreviews, mostBytes: 0 });
  return copies[0]?.htmlBytes ?? 0;
}

const forPreviews = { make: keepCopies(), imageSeconds: previewSeconds + keptSeconds, mostBytes: mostCopyBytes };

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
  known: readonly RecipientCopy['values'][],
  { make, imageSeconds, mostBytes }: { make: typeof copiesInThread; imageSeconds: number; mostBytes: number },
): Promise<{ copies: readonly RenderedCopy[]; clubName: string; wording: Wording }> {
  const { clubId } = campaign;
  if ((await emailProblems(db, campaign)).count > 0) throw hasProblems();
  const club = await db.manager.findOneByOrFail(Club, { id: clubId });
  const sender = await db.manager.findOneBy(MailSender, { clubId });
  const content = campaign.content as EmailContent;
  const mediaIds = imageIdsOf(content);
  const images = await findImages(db, clubId, mediaIds);
  if (images.size < mediaIds.length) throw hasProblems(); // removed since the check
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
    recipients: known.map((values) => ({ club_name: club.name, ...values })),
    unsubscribeUrl: noWayOut,
    mostBytes,
  });
  if (!copies) throw tooLarge();
  return { copies, clubName: club.name, wording: wordingIn(languageOf(club.language)) };
}

/** @throws DomainError campaign_has_problems if the copy is larger than an answer may be */
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

/** The way out of a copy that is none. No link of an author is this one. */
export const noWayOut = '#';

/** The picture that is sent; of an image from before that is not processed yet, the image as it is in the library. */
function addressOf(
  storage: PreviewDeps['storage'],
  { objectKey, mime, picture }: LibraryImage,
  seconds: number,
): Promise<string> {
  const shown = picture ?? { objectKey, mime };
  return storage.signGet(shown.objectKey, { disposition: 'inline', contentType: shown.mime }, seconds);
}

const tooLarge = () =>
  new DomainError(
    'campaign_has_problems',
    `The e-mail is too large for a preview: HTML and text have at most ${mostCopyBytes} bytes. Shorten its texts.`,
  );

const hasProblems = () =>
  new DomainError('campaign_has_problems', 'The e-mail has problems; they are listed under `problems`.');

/** @throws DomainError not_found */
async function studentOf(db: Queries, clubId: Id, studentId: Id): Promise<Candidate> {
  const student = await db.one<Candidate>(
    sql`SELECT id, name, email, verified_at IS NOT NULL AS confirmed FROM students
         WHERE id = ${studentId} AND club_id = ${clubId} AND removed_at IS NULL`,
  );
  if (!student) throw notFound('student');
  return student;
}

/** The variables about a person; none where nobody confirmed the account (CAMP-4). */
export const valuesFor = ({
  name,
  email,
  confirmed = true,
}: Pick<Candidate, 'name' | 'email'> & Partial<Candidate>): RecipientCopy['values'] =>
  confirmed ? { student_name: name, student_first_name: name.split(' ')[0] ?? '', student_email: email } : {};
