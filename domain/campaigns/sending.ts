/**
 * Sends one page of a campaign's mails. One transaction claims a mail immediately before the mail is given to the mail server. Another
 * transaction records the outcome. If a mail may have arrived, the service sends it again only if the club requests it (CAMP-6, CAMP-9).
 */
import type { Campaign } from '../../entities/campaigns/campaign.ts';
import { MailSender } from '../../entities/mail/mail-sender.ts';
import type { Mail } from '../../entities/mail/mail.ts';
import { Club } from '../../entities/clubs/club.ts';
import type { Id } from '../../platform/core/ids.ts';
import { addressKeyOf } from '../../platform/infra/keys/address-keys.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import { prepared } from '../../platform/infra/postgres/prepared.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import type { HandedMessage, HandOver } from '../../platform/infra/smtp/smtp-hand-over.ts';
import type { Vault } from '../../platform/infra/keys/vault.ts';
import { meets, type Condition } from '../conditions/conditions.ts';
import { settledAs } from '../mail/evidence.ts';
import { renderEmail } from '../mail/content/render.ts';
import { feedbackSenderOf, type From } from '../mail/domains/from.ts';
import {
  handOverPage,
  mailLeaseSeconds,
  recorderOfAccepted,
  type ClaimOf,
  type HandOverDeps,
  type SentPage,
} from '../mail/sending/hand-over.ts';
import type { WarmUps } from '../mail/bounds/pace.policy.ts';
import { envelopeSenderOf, identifyingHeaders, type MailMarks } from '../mail/notices/marks.policy.ts';
import { isMailable, outcomeOf, outcomeUnknown, type Outcome } from '../mail/sending/recipients.policy.ts';
import { trackedAddresses, type LinkedEmail } from '../mail/tracking/addresses.ts';
import { unsubscribeToken } from '../mail/suppressions/unsubscribe-link.ts';
import type { ImageDeps } from './drafts/images.ts';
import { findCampaign } from './records.ts';
import { pause } from './states.ts';

export interface SendingDeps extends HandOverDeps {
  db: Database;
  vault: Vault;
  images: Omit<ImageDeps, 'db' | 'vault'>;
  /** The platform's own address. Clubs without a verified domain send from it, and bounces go to it. */
  fromAddress: string;
  marks: MailMarks;
  /** The numbers of mails that a new club and a new mail domain may send in a day. */
  warmUps: WarmUps;
  /** The URL at which callers reach the API, without a slash at the end. */
  publicUrl: string;
  onOutcome: (status: Outcome['status']) => void;
}

/** After this many refusals in a row the campaign pauses. */
const refusalsBeforePause = 20;

interface Claimed extends Pick<Mail, 'id' | 'studentId' | 'fence' | 'attemptCount'> {
  name: string;
  email: string;
  confirmed: boolean;
}

/**
 * A candidate for the claim. `fence` and `attemptCount` may be absent if it was not claimed. The address is absent if the student was
 * removed.
 */
type ClaimRow =
  | (Claimed & { status: 'sending'; goesOn: boolean })
  | (Omit<Claimed, 'email' | 'fence' | 'attemptCount'> & {
      status: Exclude<Mail['status'], 'sending'> | null;
      goesOn: boolean;
      email: string | null;
      fence: number | null;
      attemptCount: number | null;
    });

interface Candidate {
  id: Id;
  email: string | null;
}

interface Scene {
  campaign: Campaign;
  compiled: LinkedEmail;
  clubName: string;
  sender: MailSender;
  from: From;
  /** Refusals of the mail server in a row. */
  refusals: number;
  recordSent: ReturnType<typeof recorderOfAccepted>;
}

/** Sends up to `most` due mails, on all connections to the mail server at the same time, for some seconds. */
export async function sendPage(
  deps: SendingDeps,
  campaign: Campaign,
  from: From,
  most: number,
  now: Date,
): Promise<SentPage> {
  const { db } = deps;
  await leaveOutIneligible(deps, campaign, most, now);
  const waiting = await db.rows<Candidate>(sql`SELECT mail.id, student.email
    FROM mails mail JOIN students student ON student.id = mail.student_id
   WHERE mail.campaign_id = ${campaign.id} AND mail.status = 'pending' AND mail.next_attempt_at <= ${now}
   ORDER BY mail.next_attempt_at, mail.seq LIMIT ${most}`);
  const scene: Scene = {
    campaign,
    compiled: campaign.compiled as LinkedEmail,
    clubName: (await db.manager.findOneByOrFail(Club, { id: campaign.clubId })).name,
    sender: await db.manager.findOneByOrFail(MailSender, { clubId: campaign.clubId }),
    from,
    refusals: campaign.refusals,
    recordSent: recorderOfAccepted(db, now),
  };
  return handOverPage<Candidate, Claimed>(deps, {
    waiting,
    claim: (candidates) => claimAll(deps, candidates, now),
    compose: (claimed) => messageTo(deps, scene, claimed),
    record: (claimed, answer) => record(deps, scene, claimed, answer, now),
  });
}

/**
 * Skips recipients of the page who have left the audience. Students who joined the audience after the recipients were fixed do not get the
 * mail.
 */
async function leaveOutIneligible({ db }: SendingDeps, campaign: Campaign, most: number, now: Date): Promise<void> {
  await db.run(sql`UPDATE mails SET status = 'skipped', skip_reason = 'no_longer_eligible'
    WHERE status = 'pending' AND id IN (
      SELECT mail.id FROM mails mail
       WHERE mail.campaign_id = ${campaign.id} AND mail.status = 'pending' AND mail.next_attempt_at <= ${now}
       ORDER BY mail.next_attempt_at, mail.seq LIMIT ${most})
      AND NOT ${meets(campaign.audience as Condition, { student: sql`mails.student_id`, now })}`);
}

/**
 * Claims one mail for each idle connection, if the campaign, the student and the address still permit the mail. One statement has read the
 * candidates, so no two candidates have the same address. The claim statement first locks the candidates by id, and only then checks all
 * other
 * conditions. Just after the recipients were fixed, Postgres's statistics do not know the pending mails yet. If the statement checked the
 * conditions first,
 * Postgres could choose a plan that reads all pending mails for each claim.
 */
async function claimAll(
  { db, vault }: SendingDeps,
  candidates: readonly Candidate[],
  now: Date,
): Promise<readonly ClaimOf<Claimed>[]> {
  const ids = candidates.map(({ id }) => id);
  const keys = candidates.map(({ email }) => (email === null ? null : addressKeyOf(vault, email)));
  const emails = candidates.map(({ email }) => email);
  const mailable = candidates.map(({ email }) => email !== null && isMailable(email));
  const rows = await claimMails(db.source, { ids, emails, keys, now, mailable });
  const claims = new Map(rows.map((row) => [row.id, row]));
  return candidates.map(({ id }) => {
    const row = claims.get(id);
    if (row === undefined) return 'passed';
    if (!row.goesOn) return 'stopped';
    return row.status === 'sending' ? row : 'passed';
  });
}

const claimMails = prepared<
  ClaimRow,
  {
    ids: readonly Id[];
    emails: readonly (string | null)[];
    keys: readonly (Buffer | null)[];
    now: Date;
    mailable: readonly boolean[];
  }
>(
  'claim_mails',
  (value) => `WITH given AS (
      SELECT * FROM unnest(${value.ids}::uuid[], ${value.emails}::text[], ${value.keys}::bytea[], ${value.mailable}::boolean[]) AS given (id, email, key, mailable)),
    locked AS MATERIALIZED (SELECT * FROM mails WHERE id = ANY(${value.ids}::uuid[]) FOR NO KEY UPDATE SKIP LOCKED),
    wanted AS (
      SELECT mail.id, given.key, mail.student_id, student.name, student.email, student.verified_at IS NOT NULL AS confirmed, campaign.status = 'sending' AS goes_on,
             CASE WHEN student.removed_at IS NOT NULL THEN 'student_removed'
                  WHEN suppression.reason = 'bounce' THEN 'bounced'
                  WHEN suppression.reason = 'complaint' THEN 'complained'
                  WHEN suppression.reason IS NOT NULL THEN 'suppressed'
                  WHEN suppression.left_campaigns_at IS NOT NULL THEN 'unsubscribed'
                  WHEN NOT given.mailable THEN 'invalid_email'
                  WHEN EXISTS (SELECT FROM mails other WHERE other.campaign_id = mail.campaign_id AND other.address_key = given.key AND other.id <> mail.id)
                  THEN 'no_longer_eligible' END AS skip_reason
        FROM given JOIN locked mail ON mail.id = given.id
        JOIN students student ON student.id = mail.student_id
        JOIN campaigns campaign ON campaign.id = mail.campaign_id
        LEFT JOIN mail_suppressions suppression ON suppression.club_id = mail.club_id AND suppression.address_key = given.key
       WHERE mail.status = 'pending' AND mail.next_attempt_at <= ${value.now}
         AND student.email IS NOT DISTINCT FROM given.email),
    claimed AS (
      UPDATE mails SET status = CASE WHEN wanted.skip_reason IS NULL THEN 'sending' ELSE 'skipped' END, skip_reason = wanted.skip_reason,
             fence = fence + 1, attempt_count = attempt_count + 1, address_key = CASE WHEN wanted.skip_reason IS NULL THEN wanted.key ELSE address_key END,
             student_email = coalesce(wanted.email, student_email),
             lease_until = CASE WHEN wanted.skip_reason IS NULL THEN clock_timestamp() + make_interval(secs => ${mailLeaseSeconds}) END
        FROM wanted WHERE mails.id = wanted.id AND wanted.goes_on
   RETURNING mails.id, mails.fence, mails.attempt_count, mails.status)
    SELECT wanted.id, wanted.student_id AS "studentId", claimed.fence, claimed.attempt_count AS "attemptCount", claimed.status, wanted.name, wanted.email, wanted.confirmed,
           wanted.goes_on AS "goesOn"
      FROM wanted LEFT JOIN claimed ON claimed.id = wanted.id`,
);

function messageTo(
  { vault, fromAddress, marks, publicUrl }: SendingDeps,
  { campaign, compiled, clubName, sender, from }: Scene,
  to: Claimed,
): HandedMessage {
  const leave = `${publicUrl}/v1/clubs/${campaign.clubId}/classroom/mail/unsubscribe/${unsubscribeToken(vault, { kind: 'campaigns', studentId: to.studentId })}`;
  const domain = fromAddress.slice(fromAddress.indexOf('@') + 1);
  const { reply_to: ownReplyTo } = campaign.content as { reply_to?: string };
  const replyTo = ownReplyTo ?? sender.replyTo;
  return {
    ...renderEmail(compiled, {
      values: {
        club_name: clubName,
        ...(to.confirmed && {
          student_name: to.name,
          student_first_name: to.name.split(' ')[0] ?? '',
          student_email: to.email,
        }),
      },
      ...trackedAddresses({ vault, publicUrl }, compiled, to.id, sender.tracking),
      imageUrl: (image) => compiled.images[image] ?? '',
      unsubscribeUrl: leave,
    }),
    envelopeFrom: envelopeSenderOf(to.id, marks, fromAddress),
    from: { name: sender.fromName, address: from.address },
    ...(from.signWith !== undefined && { signWith: from.signWith }),
    to: to.email,
    ...(replyTo !== null && { replyTo }),
    // Each attempt has the same Message-ID, so that a mailbox can recognize a repetition.
    messageId: `<${to.id}@${domain}>`,
    headers: {
      'List-Id': `<campaigns.${campaign.clubId}.${domain}>`,
      'List-Unsubscribe': `<${leave}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      'Feedback-ID': `${campaign.id}:${campaign.clubId}:campaign:${feedbackSenderOf(fromAddress)}`,
      ...identifyingHeaders(to.id, marks),
      Precedence: 'bulk',
    },
  };
}

/** Records the outcome of a mail, without the address if the student was removed. @returns whether the campaign continues */
async function record(
  { db, onOutcome }: SendingDeps,
  scene: Scene,
  claimed: Claimed,
  answer: HandOver,
  now: Date,
): Promise<boolean> {
  const { campaign } = scene;
  const { id, fence, attemptCount } = claimed;
  const outcome = outcomeOf(answer, attemptCount);
  const mine = sql`id = ${id} AND fence = ${fence}`;
  // The server's answer may contain the address, so it is not written for a removed student.
  const error = (text: string) =>
    text === outcomeUnknown ? sql`${text}::text` : sql`CASE WHEN student_email <> '' THEN ${text}::text END`;
  if (outcome.status === 'sent') await scene.recordSent(claimed, answer);
  else if (outcome.status === 'failed')
    await db.run(sql`UPDATE mails SET lease_until = NULL, ${settledAs('failed', error(outcome.lastError))}
      WHERE ${mine} AND status = 'sending'`);
  else {
    const again = new Date(now.getTime() + outcome.waitMs);
    await db.transaction(async (tx) => {
      // The lock on the campaign keeps a simultaneous cancellation from missing the mail that becomes pending again here.
      const current = await findCampaign(tx, campaign.clubId, campaign.id, 'FOR SHARE');
      const status = current.status === 'canceled' ? 'skipped' : 'pending';
      await tx.run(sql`UPDATE mails SET lease_until = NULL, next_attempt_at = ${again}, ${settledAs(status, error(outcome.lastError))}
        WHERE ${mine} AND status = 'sending'`);
    });
  }
  onOutcome(outcome.status);
  if (answer.kind === 'accepted') return scene.refusals === 0 || countRefusals(db, scene, 0, now);
  return answer.kind === 'refused' ? countRefusals(db, scene, 1, now) : true;
}

/**
 * Counts how many mails the server has refused in a row. Too many refusals pause the campaign. A success sets the count to 0.
 * @returns whether the campaign continues
 */
async function countRefusals(db: Database, scene: Scene, more: 0 | 1, now: Date): Promise<boolean> {
  const { campaign } = scene;
  const countRow = await db.one<{ refusals: number }>(sql`UPDATE campaigns
      SET refusals = CASE WHEN ${more}::int = 0 THEN 0 ELSE refusals + 1 END WHERE id = ${campaign.id} RETURNING refusals`);
  scene.refusals = countRow?.refusals ?? 0;
  if (scene.refusals < refusalsBeforePause) return true;
  await db.transaction(async (tx) => {
    const current = await findCampaign(tx, campaign.clubId, campaign.id, 'FOR NO KEY UPDATE');
    if (current.status === 'sending') await pause(tx, current, 'provider', now);
  });
  return false;
}
