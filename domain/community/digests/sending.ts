/**
 * Sends one page of a digest's mails. Each mail is claimed immediately before it is given to the mail server. Its content is chosen when it
 * is claimed (COMM-18). The service never repeats a mail that may have arrived (CAMP-6).
 */
import { Club } from '../../../entities/clubs/club.ts';
import type { SpaceDigest } from '../../../entities/community/space-digest.ts';
import { MailSender } from '../../../entities/mail/mail-sender.ts';
import type { Mail } from '../../../entities/mail/mail.ts';
import type { SkipReason } from '../../../entities/mail/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { mayStandInMail } from '../../../platform/core/text/names.ts';
import { addressKeyOf } from '../../../platform/infra/keys/address-keys.ts';
import type { Database, Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { HandedMessage, HandOver } from '../../../platform/infra/smtp/smtp-hand-over.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { feedbackSenderOf, type From } from '../../mail/domains/from.ts';
import { settledAs } from '../../mail/evidence.ts';
import {
  handOverPage,
  mailLeaseSeconds,
  recorderOfAccepted,
  type ClaimOf,
  type HandOverDeps,
  type SentPage,
} from '../../mail/sending/hand-over.ts';
import { envelopeSenderOf, identifyingHeaders, type MailMarks } from '../../mail/notices/marks.policy.ts';
import type { WarmUps } from '../../mail/bounds/pace.policy.ts';
import { isMailable, outcomeOf, outcomeUnknown, type Outcome } from '../../mail/sending/recipients.policy.ts';
import { unsubscribeToken } from '../../mail/suppressions/unsubscribe-link.ts';
import { findBranding, type Branding } from '../../branding/branding.ts';
import { languageOf } from '../../language/languages.ts';
import { prepareLayout, type Layout } from './layout.ts';
import { newsOf, type News } from './news.ts';

export interface DigestDeps extends HandOverDeps {
  db: Database;
  vault: Vault;
  /** The platform's own address. Clubs without a verified domain send from it, and bounces go to it. */
  fromAddress: string;
  marks: MailMarks;
  /** The numbers of mails that a new club and a new mail domain may send in a day. */
  warmUps: WarmUps;
  /** The URL at which callers reach the API, without a slash at the end. */
  publicUrl: string;
  /** The URL of the classrooms. `{slug}` stands for the club's slug. */
  classroomUrl: string;
  onOutcome: (status: Outcome['status']) => void;
}

/** After this many refusals in a row the digest pauses. */
const refusalsBeforeRest = 20;

interface Candidate {
  id: Id;
  email: string | null;
}

interface Claimed extends Pick<Mail, 'id' | 'studentId' | 'fence' | 'attemptCount'> {
  email: string;
  /** Null if the student has chosen none. */
  language: string | null;
  news: News;
}

interface Scene {
  digest: SpaceDigest;
  club: Club;
  sender: MailSender;
  from: From;
  branding: Branding;
  layout: Layout;
  recordSent: ReturnType<typeof recorderOfAccepted>;
  /** Refusals of the mail server in a row. */
  refusals: number;
}

interface DigestPage extends SentPage {
  /** Whether the mail server has refused too many mails in a row. */
  isRefusing: boolean;
}

/** Sends up to `most` due mails, on all connections to the mail server at the same time, for some seconds. */
export async function sendDigestPage(
  deps: DigestDeps,
  digest: SpaceDigest,
  from: From,
  most: number,
  now: Date,
): Promise<DigestPage> {
  const { db } = deps;
  const waiting = await db.rows<Candidate>(sql`SELECT mail.id, student.email
    FROM mails mail JOIN students student ON student.id = mail.student_id
   WHERE mail.digest_id = ${digest.id} AND mail.status = 'pending' AND mail.next_attempt_at <= ${now}
   ORDER BY mail.next_attempt_at, mail.seq LIMIT ${most}`);
  const scene: Scene = {
    digest,
    club: await db.manager.findOneByOrFail(Club, { id: digest.clubId }),
    sender: await db.manager.findOneByOrFail(MailSender, { clubId: digest.clubId }),
    from,
    branding: await findBranding(db, deps.publicUrl, digest.clubId),
    layout: await prepareLayout(),
    recordSent: recorderOfAccepted(db, now),
    refusals: 0,
  };
  const page = await handOverPage<Candidate, Claimed>(deps, {
    waiting,
    claim: (candidates) => claimAll(deps, digest, candidates, now),
    compose: (claimed) => messageTo(deps, scene, claimed),
    record: (claimed, answer) => record(deps, scene, claimed, answer, now),
  });
  return { ...page, isRefusing: scene.refusals >= refusalsBeforeRest };
}

interface Locked extends Pick<Mail, 'id' | 'studentId'> {
  name: string;
  email: string | null;
  key: Buffer | null;
  skipReason: SkipReason | null;
}

/**
 * Claims one mail for each idle connection and chooses its content in the same transaction. The mail contains the posts that the student
 * may read now. A mail without content is skipped. A mail to an unconfirmed address is skipped too, because the mail would show posts that
 * only members may read.
 */
async function claimAll(
  deps: DigestDeps,
  digest: SpaceDigest,
  candidates: readonly Candidate[],
  now: Date,
): Promise<readonly ClaimOf<Claimed>[]> {
  const claims = await deps.db.transaction(async (tx) => {
    const locked = await lock(tx, deps.vault, candidates, now);
    const eligibleStudentIds = locked.filter(({ skipReason }) => skipReason === null).map(({ studentId }) => studentId);
    const news = await newsOf(tx, digest, eligibleStudentIds, now);
    return claim(tx, locked, news);
  });
  return candidates.map(({ id }) => claims.get(id) ?? 'passed');
}

/** Locks the mails that may be sent now, in the order of their ids. The statement leaves out mails that another transaction has locked. */
async function lock(
  tx: Transaction,
  vault: Vault,
  candidates: readonly Candidate[],
  now: Date,
): Promise<readonly Locked[]> {
  const ids = candidates.map(({ id }) => id);
  const emails = candidates.map(({ email }) => email);
  const keys = emails.map((email) => (email === null ? null : addressKeyOf(vault, email)));
  const mailable = emails.map((email) => email !== null && isMailable(email));
  return tx.rows<Locked>(sql`
    WITH given AS (
      SELECT * FROM unnest(${ids}::uuid[], ${emails}::text[], ${keys}::bytea[], ${mailable}::boolean[]) AS given (id, email, key, mailable)),
    locked AS MATERIALIZED (SELECT * FROM mails WHERE id = ANY(${ids}::uuid[]) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)
    SELECT mail.id, mail.student_id AS "studentId", student.name, student.email, given.key,
           CASE WHEN student.removed_at IS NOT NULL THEN 'student_removed'
                WHEN suppression.reason = 'bounce' THEN 'bounced'
                WHEN suppression.reason = 'complaint' THEN 'complained'
                WHEN suppression.reason IS NOT NULL THEN 'suppressed'
                WHEN suppression.left_digests_at IS NOT NULL THEN 'unsubscribed'
                WHEN NOT given.mailable THEN 'invalid_email'
                WHEN student.verified_at IS NULL THEN 'no_longer_eligible' END AS "skipReason"
      FROM given JOIN locked mail ON mail.id = given.id
      JOIN students student ON student.id = mail.student_id
      LEFT JOIN mail_suppressions suppression ON suppression.club_id = mail.club_id AND suppression.address_key = given.key
     WHERE mail.status = 'pending' AND mail.next_attempt_at <= ${now} AND student.email IS NOT DISTINCT FROM given.email
       AND EXISTS (SELECT FROM space_digests digest WHERE digest.id = mail.digest_id AND digest.ended_at IS NULL)`);
}

/** @returns the claimed mails by id */
async function claim(
  tx: Transaction,
  locked: readonly Locked[],
  news: ReadonlyMap<Id, News>,
): Promise<ReadonlyMap<Id, Claimed>> {
  if (locked.length === 0) return new Map();
  const judged = locked.map((mail) => {
    const skipReason = mail.skipReason ?? (news.has(mail.studentId) ? null : 'no_longer_eligible');
    return { ...mail, skipReason };
  });
  const rows = await tx.rows<Omit<Claimed, 'news'> & Pick<Mail, 'status'>>(sql`
    UPDATE mails SET status = CASE WHEN judged.reason IS NULL THEN 'sending' ELSE 'skipped' END, skip_reason = judged.reason,
           fence = fence + 1, attempt_count = attempt_count + 1, student_name = judged.name,
           student_email = coalesce(judged.email, student_email),
           address_key = CASE WHEN judged.reason IS NULL THEN judged.key ELSE address_key END,
           lease_until = CASE WHEN judged.reason IS NULL THEN clock_timestamp() + make_interval(secs => ${mailLeaseSeconds}) END
      FROM unnest(${judged.map(({ id }) => id)}::uuid[], ${judged.map(({ skipReason }) => skipReason)}::text[], ${judged.map(({ name }) => name)}::text[],
                  ${judged.map(({ email }) => email)}::text[], ${judged.map(({ key }) => key)}::bytea[]) AS judged (id, reason, name, email, key)
     WHERE mails.id = judged.id
    RETURNING mails.id, (SELECT language FROM students WHERE id = mails.student_id) AS language, mails.student_id AS "studentId", mails.fence, mails.attempt_count AS "attemptCount", mails.student_email AS email, mails.status`);
  const claims = rows.flatMap(({ status, ...row }) => {
    const ownNews = status === 'sending' ? news.get(row.studentId) : undefined;
    return ownNews === undefined ? [] : [{ ...row, news: ownNews }];
  });
  return new Map(claims.map((one) => [one.id, one]));
}

function messageTo(
  { vault, fromAddress, marks, publicUrl, classroomUrl }: DigestDeps,
  { digest, club, sender, from, layout, branding }: Scene,
  { id, studentId, email, language, news }: Claimed,
): HandedMessage {
  const leave = `${publicUrl}/v1/clubs/${club.id}/classroom/mail/unsubscribe/${unsubscribeToken(vault, { kind: 'digests', studentId })}`;
  const domain = fromAddress.slice(fromAddress.indexOf('@') + 1);
  return {
    ...layout({
      news,
      clubName: mayStandInMail(club.name) ? club.name : club.slug,
      letterhead: {
        clubName: sender.fromName,
        postalAddress: sender.postalAddress,
        language: languageOf(language, club.language),
        branding,
      },
      classroom: classroomUrl.replace('{slug}', club.slug),
      timeZone: club.timeZone,
      unsubscribeUrl: leave,
    }),
    envelopeFrom: envelopeSenderOf(id, marks, fromAddress),
    from: { name: sender.fromName, address: from.address },
    ...(from.signWith !== undefined && { signWith: from.signWith }),
    to: email,
    ...(sender.replyTo !== null && { replyTo: sender.replyTo }),
    // Each attempt has the same Message-ID, so that a mailbox can recognize a repetition.
    messageId: `<${id}@${domain}>`,
    headers: {
      'List-Id': `<digests.${club.id}.${domain}>`,
      'List-Unsubscribe': `<${leave}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      'Feedback-ID': `${digest.date}:${club.id}:digest:${feedbackSenderOf(fromAddress)}`,
      ...identifyingHeaders(id, marks),
      Precedence: 'bulk',
    },
  };
}

/** Records the outcome of a mail, without the address if the student was removed. @returns whether the sending of the page continues */
async function record(
  { db, onOutcome }: DigestDeps,
  scene: Scene,
  claimed: Claimed,
  answer: HandOver,
  now: Date,
): Promise<boolean> {
  const { id, fence, attemptCount } = claimed;
  const outcome = outcomeOf(answer, attemptCount);
  if (outcome.status === 'sent') await scene.recordSent(claimed, answer);
  else {
    const again = outcome.status === 'pending' ? new Date(now.getTime() + outcome.waitMs) : null;
    // The server's answer may contain the address, so it is not written for a removed student.
    const error =
      outcome.lastError === outcomeUnknown
        ? sql`${outcome.lastError}::text`
        : sql`CASE WHEN student_email <> '' THEN ${outcome.lastError}::text END`;
    await db.run(sql`UPDATE mails SET lease_until = NULL, next_attempt_at = coalesce(${again}::timestamptz, next_attempt_at),
        ${settledAs(outcome.status, error)}
      WHERE id = ${id} AND fence = ${fence} AND status = 'sending'`);
  }
  onOutcome(outcome.status);
  if (answer.kind === 'accepted') scene.refusals = 0;
  if (answer.kind === 'refused') scene.refusals += 1;
  return scene.refusals < refusalsBeforeRest;
}
