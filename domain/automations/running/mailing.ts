/**
 * The e-mail of a step: at most once a run and step. Its row is claimed in a commit of its own, immediately before it is handed
 * over, and recorded with the run's next step (CAMP-6, AUTO-13).
 */
import { Club } from '../../../entities/clubs/club.ts';
import { MailSender } from '../../../entities/mail/mail-sender.ts';
import type { RecipientStatus, SkipReason } from '../../../entities/mail/values.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { addressKeyOf } from '../../../platform/infra/address-keys.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { raw, sql } from '../../../platform/infra/postgres/sql.ts';
import type { HandedMessage, HandOver, SmtpHandOver } from '../../../platform/infra/smtp-hand-over.ts';
import type { Vault } from '../../../platform/infra/vault.ts';
import { returnAllowance, takeAllowance } from '../../mail/allowance.ts';
import { returnPlacesOfDay, takePlacesOfDay } from '../../mail/bulk-days.ts';
import { renderEmail } from '../../mail/content/render.ts';
import { feedbackSenderOf, fromOf } from '../../mail/domains/from.ts';
import { provenAt, settledAs } from '../../mail/evidence.ts';
import { identifyingHeaders, providerIdIn } from '../../mail/notices/mail-event.policy.ts';
import { dayOf, type WarmUps } from '../../mail/pace.policy.ts';
import { isMailable, outcomeOf, outcomeUnknown, type Outcome } from '../../mail/recipients.policy.ts';
import { trackedAddresses, type LinkedEmail } from '../../mail/tracking/addresses.ts';
import { wayOutToken } from '../../mail/way-out.ts';
import type { Step } from '../definition.policy.ts';
import type { Recipient, RunRow } from './moves.ts';

export interface MailingDeps {
  vault: Vault;
  smtp: Pick<SmtpHandOver, 'onConnectionWithin' | 'handOver'>;
  /** The platform's own address, from which clubs without a domain of their own write. */
  fromAddress: string;
  /** How many mails a new club, and a new domain, may send in a day. */
  warmUps: WarmUps;
  /** Where callers reach the API, without a slash at the end. */
  publicUrl: string;
  onMail: (status: Outcome['status']) => void;
}

/** Longer than the SMTP client's limit for a message (60 s), so that a living sender never loses its lease. */
const leaseSeconds = 90;

interface MailRow {
  id: Id;
  status: RecipientStatus;
  skipReason: SkipReason | null;
  lastError: string | null;
  nextAttemptAt: Date;
  leaseUntil: Date | null;
  leaseOver: boolean;
  createdAt: Date;
}

/** How the e-mail of a step stands. */
export type MailState =
  /** Settled: the run goes on, whatever became of it. */
  | { kind: 'settled'; outcome: string }
  /** It may be claimed now. */
  | { kind: 'due'; mailId: Id }
  | { kind: 'waits'; until: Date };

/** Writes the row of the step's e-mail, unless it is there, and looks whether it can go out. The caller holds the run. */
export async function prepareMail(
  tx: Transaction,
  { vault, fromAddress, warmUps }: MailingDeps,
  run: RunRow,
  stepId: string,
  to: Recipient,
  now: Date,
): Promise<MailState> {
  await tx.run(sql`INSERT INTO mails (id, club_id, run_id, step_id, student_id, student_name, student_email, next_attempt_at, created_at)
    VALUES (${newId()}, ${run.clubId}, ${run.id}, ${stepId}, ${run.studentId}, ${to.name}, ${to.email}, ${now}, ${now})
    ON CONFLICT (run_id, step_id) WHERE run_id IS NOT NULL DO NOTHING`);
  const mail = await findMail(tx, run, stepId);
  if (mail.status === 'sending') {
    if (!mail.leaseOver) return { kind: 'waits', until: mail.leaseUntil ?? now };
    // Claimed by a worker that is gone: it may have arrived, and something may have proved it.
    await tx.run(
      sql`UPDATE mails SET ${settledAs('failed', sql`${outcomeUnknown}::text`)}, lease_until = NULL WHERE id = ${mail.id}`,
    );
    return { kind: 'settled', outcome: wordOf(await findMail(tx, run, stepId)) };
  }
  if (mail.status !== 'pending') return { kind: 'settled', outcome: wordOf(mail) };
  if (mail.nextAttemptAt > now) return { kind: 'waits', until: mail.nextAttemptAt };
  const reason = await reasonToSkip(tx, vault, run.clubId, to);
  if (reason !== undefined) {
    await tx.run(sql`UPDATE mails SET status = 'skipped', skip_reason = ${reason} WHERE id = ${mail.id}`);
    return { kind: 'settled', outcome: reason };
  }
  const { granted, nextInMs } = await takeAllowance(tx, run.clubId, 1, now);
  if (granted === 0) return { kind: 'waits', until: turnOf(mail, nextInMs, now) };
  const { domainProvenAt } = await fromOf({ db: tx, vault }, run.clubId, fromAddress);
  if ((await takePlacesOfDay(tx, run.clubId, { wanted: 1, domainProvenAt, warmUps }, now)) === 0) {
    await returnAllowance(tx, run.clubId, 1);
    return { kind: 'waits', until: turnOf(mail, dayOf(now, 1).getTime() - now.getTime(), now) };
  }
  return { kind: 'due', mailId: mail.id };
}

/** Puts back what a mail took that is due and was not claimed. */
export async function giveBackPlace(tx: Queries, clubId: Id, now: Date): Promise<void> {
  await returnAllowance(tx, clubId, 1);
  await returnPlacesOfDay(tx, clubId, 1, now);
}

/** A crowd that waits for the rate or the day of its club, or for a mail server that hangs, must not ask all at once: whoever has waited for long asks less often. */
const longestTurnMs = 600_000;

function turnOf({ createdAt }: MailRow, nextInMs: number, now: Date): Date {
  const waited = Math.max(0, now.getTime() - createdAt.getTime());
  return new Date(now.getTime() + Math.max(1_000, nextInMs) + Math.random() * Math.min(longestTurnMs, 2_000 + waited));
}

/** Puts an e-mail off that is due and found no connection to the server. @returns when it is due again */
export async function putMailOff(tx: Transaction, run: RunRow, stepId: string, now: Date): Promise<Date> {
  await giveBackPlace(tx, run.clubId, now);
  const mail = await findMail(tx, run, stepId);
  const until = turnOf(mail, 0, now);
  await tx.run(sql`UPDATE mails SET next_attempt_at = ${until} WHERE id = ${mail.id} AND status = 'pending'`);
  return until;
}

async function findMail(tx: Queries, run: RunRow, stepId: string): Promise<MailRow> {
  const mail = await tx.one<MailRow>(sql`SELECT id, status, skip_reason AS "skipReason", last_error AS "lastError",
      next_attempt_at AS "nextAttemptAt", lease_until AS "leaseUntil", lease_until IS NULL OR lease_until < clock_timestamp() AS "leaseOver",
      created_at AS "createdAt"
    FROM mails WHERE run_id = ${run.id} AND step_id = ${stepId} FOR NO KEY UPDATE`);
  if (!mail) throw new Error('The e-mail of a step has a row');
  return mail;
}

/** @returns the outcome for the path: `sent`, why it was skipped, `outcome_unknown` or `refused` */
function wordOf({ status, skipReason, lastError }: Pick<MailRow, 'status' | 'skipReason' | 'lastError'>): string {
  if (status === 'skipped') return skipReason ?? 'skipped';
  if (status === 'failed') return lastError === outcomeUnknown ? outcomeUnknown : 'refused';
  return status;
}

/** @returns why nobody writes to the student; undefined where somebody may */
export async function reasonToSkip(
  db: Queries,
  vault: Vault,
  clubId: Id,
  to: Recipient,
): Promise<SkipReason | undefined> {
  if (to.pending) return 'no_longer_eligible';
  const suppression = await db.one<{ reason: string | null; left: boolean }>(sql`
    SELECT reason, left_automations_at IS NOT NULL AS left FROM mail_suppressions
     WHERE club_id = ${clubId} AND address_key = ${addressKeyOf(vault, to.email)}`);
  const byReason: Readonly<Record<string, SkipReason>> = { bounce: 'bounced', complaint: 'complained' };
  if (suppression && suppression.reason !== null) return byReason[suppression.reason] ?? 'suppressed';
  if (suppression?.left) return 'unsubscribed';
  return isMailable(to.email) ? undefined : 'invalid_email';
}

/** A claimed e-mail. */
export interface ClaimedMail {
  id: Id;
  fence: number;
  attempt: number;
}

/** Claims it, if nobody else has and the address was not suppressed meanwhile. The caller holds student and run, and has looked at both. */
export async function claimMail(
  tx: Transaction,
  vault: Vault,
  mailId: Id,
  to: Recipient,
  now: Date,
): Promise<ClaimedMail | undefined> {
  const key = addressKeyOf(vault, to.email);
  return tx.one<ClaimedMail>(sql`
    UPDATE mails SET status = 'sending', fence = fence + 1, attempt_count = attempt_count + 1, student_name = ${to.name},
           student_email = ${to.email}, address_key = ${key},
           lease_until = clock_timestamp() + make_interval(secs => ${leaseSeconds})
     WHERE id = ${mailId} AND status = 'pending' AND next_attempt_at <= ${now}
       AND NOT EXISTS (SELECT FROM mail_suppressions suppression WHERE suppression.club_id = mails.club_id AND suppression.address_key = ${key}
                         AND (suppression.reason IS NOT NULL OR suppression.left_automations_at IS NOT NULL))
 RETURNING id, fence, attempt_count AS attempt`);
}

/**
 * Writes what became of it; a server's words stay out of a removed student's row. An acceptance is believed after the lease was over, too.
 * @returns what the run does then
 */
export async function recordMail(
  tx: Transaction,
  { id, fence, attempt }: ClaimedMail,
  answer: HandOver,
  now: Date,
): Promise<Outcome> {
  const outcome = outcomeOf(answer, attempt);
  const claimed = sql`id = ${id} AND fence = ${fence}`;
  if (outcome.status === 'sent') {
    const providerId = (answer.kind === 'accepted' && providerIdIn(answer.reply)) || null;
    await tx.run(sql`UPDATE mails SET status = 'sent', sent_at = least(${now}, ${provenAt}), provider_id = ${providerId}, last_error = NULL, lease_until = NULL
      WHERE ${claimed} AND status IN ('sending', 'pending', 'failed')`);
    return outcome;
  }
  const again =
    outcome.status === 'pending' ? sql`next_attempt_at = ${new Date(now.getTime() + outcome.waitMs)},` : raw('');
  // Our own word that nobody knows stays: the mail may have arrived, and must not count as refused.
  const error =
    outcome.lastError === outcomeUnknown
      ? sql`${outcome.lastError}::text`
      : sql`CASE WHEN student_email = '' THEN NULL ELSE ${outcome.lastError}::text END`;
  const recorded = await tx.one<{ status: RecipientStatus }>(
    sql`UPDATE mails SET ${settledAs(outcome.status, error)}, ${again} lease_until = NULL WHERE ${claimed} AND status = 'sending' RETURNING status`,
  );
  return recorded?.status === 'sent' ? { status: 'sent' } : outcome;
}

/** @returns the outcome for the path */
export const wordOfOutcome = (outcome: Outcome): string => {
  if (outcome.status !== 'failed') return outcome.status;
  return outcome.lastError === outcomeUnknown ? outcomeUnknown : 'refused';
};

/** @returns the message to one student, as the version's e-mail says */
export async function messageOf(
  db: Queries,
  { vault, fromAddress, publicUrl }: MailingDeps,
  run: RunRow,
  { step, mailId, to }: { step: Step; mailId: Id; to: Recipient },
): Promise<HandedMessage> {
  const { clubId, automationId, studentId } = run;
  const { id: stepId, email: { reply_to: own } = {} } = step as { id: string; email?: { reply_to?: string } };
  const club = await db.manager.findOneByOrFail(Club, { id: clubId });
  const sender = await db.manager.findOneByOrFail(MailSender, { clubId });
  const found = await db.one<{ compiled: LinkedEmail }>(
    sql`SELECT compiled->${stepId}::text AS compiled FROM automation_versions WHERE id = ${run.versionId}`,
  );
  if (!found) throw new Error('A run has a version');
  const { compiled } = found;
  const replyTo = own ?? sender.replyTo;
  const leave = `${publicUrl}/v1/clubs/${clubId}/classroom/mail/unsubscribe/${wayOutToken(vault, { kind: 'automations', studentId })}`;
  const from = await fromOf({ db, vault }, clubId, fromAddress);
  const domain = fromAddress.slice(fromAddress.indexOf('@') + 1);
  return {
    ...renderEmail(compiled, {
      values: {
        club_name: club.name,
        ...(to.confirmed && {
          student_name: to.name,
          student_first_name: to.name.split(' ')[0] ?? '',
          student_email: to.email,
        }),
      },
      imageUrl: (image) => compiled.images[image] ?? '',
      unsubscribeUrl: leave,
      ...trackedAddresses({ vault, publicUrl }, compiled, mailId, sender.tracking),
    }),
    envelopeFrom: fromAddress,
    from: { name: sender.fromName, address: from.address },
    ...(from.signWith !== undefined && { signWith: from.signWith }),
    to: to.email,
    ...(replyTo !== null && { replyTo }),
    // The same for every attempt, so that a mailbox can tell a repetition.
    messageId: `<${mailId}@${domain}>`,
    headers: {
      'List-Id': `<automations.${clubId}.${domain}>`,
      'List-Unsubscribe': `<${leave}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      'Feedback-ID': `${automationId}:${clubId}:automation:${feedbackSenderOf(fromAddress)}`,
      ...identifyingHeaders(mailId),
      Precedence: 'bulk',
    },
  };
}
