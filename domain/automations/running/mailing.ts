/**
 * Sends the e-mail of a step, at most once for each run and step. A separate transaction claims the row of the e-mail immediately before
 * the e-mail goes to the mail server. The transaction that moves the run to its next step records the outcome (CAMP-6, AUTO-13).
 */
import { Club } from '../../../entities/clubs/club.ts';
import { MailSender } from '../../../entities/mail/mail-sender.ts';
import type { RecipientStatus, SkipReason } from '../../../entities/mail/values.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { addressKeyOf } from '../../../platform/infra/keys/address-keys.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { raw, sql } from '../../../platform/infra/postgres/sql.ts';
import type { HandedMessage, HandOver, SmtpHandOver } from '../../../platform/infra/smtp/smtp-hand-over.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { returnAllowance, takeAllowance } from '../../mail/bounds/allowance.ts';
import { returnMailsOfDay, takeMailsOfDay } from '../../mail/bounds/bulk-days.ts';
import { renderEmail } from '../../mail/content/render.ts';
import { feedbackSenderOf, fromOf } from '../../mail/domains/from.ts';
import { provenAt, settledAs } from '../../mail/evidence.ts';
import { envelopeSenderOf, identifyingHeaders, type MailMarks } from '../../mail/notices/marks.policy.ts';
import { providerIdIn } from '../../mail/notices/mail-event.policy.ts';
import { dayOf, type WarmUps } from '../../mail/bounds/pace.policy.ts';
import { isMailable, outcomeOf, outcomeUnknown, type Outcome } from '../../mail/sending/recipients.policy.ts';
import { trackedAddresses, type LinkedEmail } from '../../mail/tracking/addresses.ts';
import { unsubscribeToken } from '../../mail/suppressions/unsubscribe-link.ts';
import type { Step } from '../versions/definition.policy.ts';
import type { Recipient, RunRow } from './moves.ts';

export interface MailingDeps {
  vault: Vault;
  smtp: Pick<SmtpHandOver, 'onConnectionWithin' | 'handOver'>;
  /** The platform's own address. Clubs without their own domain send from this address. */
  fromAddress: string;
  marks: MailMarks;
  /** The numbers of mails that a new club and a new mail domain may send in a day. */
  warmUps: WarmUps;
  /** The URL at which callers reach the API, without a slash at the end. */
  publicUrl: string;
  onMail: (status: Outcome['status']) => void;
}

/** Longer than the SMTP client's time limit for a message (60 s), so that a running sender never loses its lease. */
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

export type MailState =
  /** The e-mail is in a final state. The run continues after every outcome. */
  { kind: 'settled'; outcome: string } | { kind: 'due'; mailId: Id } | { kind: 'waits'; until: Date };

/**
 * Writes the row of the step's e-mail, if it is missing, and checks whether the e-mail can be sent. The caller holds the lock of the run.
 */
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
    // The worker died after the claim. The e-mail may have arrived, and a report may prove it.
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
  if (granted === 0) return { kind: 'waits', until: nextAttemptOf(mail, nextInMs, now) };
  const { domainProvenAt } = await fromOf({ db: tx, vault }, run.clubId, fromAddress);
  if ((await takeMailsOfDay(tx, run.clubId, { mails: 1, domainProvenAt, warmUps }, now)) === 0) {
    await returnAllowance(tx, run.clubId, 1);
    return { kind: 'waits', until: nextAttemptOf(mail, dayOf(now, 1).getTime() - now.getTime(), now) };
  }
  return { kind: 'due', mailId: mail.id };
}

/** Returns the reserved allowance of one e-mail that was due but was not claimed. */
export async function returnOneAllowance(tx: Queries, clubId: Id, now: Date): Promise<void> {
  await returnAllowance(tx, clubId, 1);
  await returnMailsOfDay(tx, clubId, 1, now);
}

/**
 * The maximum random pause before the next attempt. It spreads many e-mails that wait for a limit of the club or for a mail server that
 * hangs. The pause grows with the time that an e-mail has waited.
 */
const maxPauseMs = 600_000;

function nextAttemptOf({ createdAt }: MailRow, nextInMs: number, now: Date): Date {
  const waited = Math.max(0, now.getTime() - createdAt.getTime());
  return new Date(now.getTime() + Math.max(1_000, nextInMs) + Math.random() * Math.min(maxPauseMs, 2_000 + waited));
}

/** Defers a due e-mail for which no connection to the server was free. @returns the time at which the e-mail is due again */
export async function deferMail(tx: Transaction, run: RunRow, stepId: string, now: Date): Promise<Date> {
  await returnOneAllowance(tx, run.clubId, now);
  const mail = await findMail(tx, run, stepId);
  const until = nextAttemptOf(mail, 0, now);
  await tx.run(sql`UPDATE mails SET next_attempt_at = ${until} WHERE id = ${mail.id} AND status = 'pending'`);
  return until;
}

async function findMail(tx: Queries, run: RunRow, stepId: string): Promise<MailRow> {
  const mail = await tx.one<MailRow>(sql`SELECT id, status, skip_reason AS "skipReason", last_error AS "lastError",
      next_attempt_at AS "nextAttemptAt", lease_until AS "leaseUntil", lease_until IS NULL OR lease_until < clock_timestamp() AS "leaseOver",
      created_at AS "createdAt"
    FROM mails WHERE run_id = ${run.id} AND step_id = ${stepId} FOR NO KEY UPDATE`);
  if (!mail) throw new Error(`Step ${stepId} of run ${run.id} has no e-mail`);
  return mail;
}

/** @returns the outcome for the list of steps that the run took: `sent`, the reason for skipping, `outcome_unknown` or `refused` */
function wordOf({ status, skipReason, lastError }: Pick<MailRow, 'status' | 'skipReason' | 'lastError'>): string {
  if (status === 'skipped') return skipReason ?? 'skipped';
  if (status === 'failed') return lastError === outcomeUnknown ? outcomeUnknown : 'refused';
  return status;
}

/** @returns the reason why the student gets no e-mail; undefined if the student may get an e-mail */
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

/** Claims the e-mail if it is still due and its address is not suppressed. The caller has locked and checked the student and the run. */
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
 * Records the outcome of the e-mail, without the server's answer if the student was removed. An e-mail that the server accepted counts as
 * sent even after the end of the lease.
 * @returns the outcome with which the run continues
 */
export async function recordMail(
  tx: Transaction,
  { id, fence, attempt }: ClaimedMail,
  answer: HandOver,
  now: Date,
): Promise<Outcome> {
  const outcome = outcomeOf(answer, attempt);
  const isClaimed = sql`id = ${id} AND fence = ${fence}`;
  if (outcome.status === 'sent') {
    const providerId = (answer.kind === 'accepted' && providerIdIn(answer.reply)) || null;
    await tx.run(sql`UPDATE mails SET status = 'sent', sent_at = least(${now}, ${provenAt}), provider_id = ${providerId}, last_error = NULL, lease_until = NULL
      WHERE ${isClaimed} AND status IN ('sending', 'pending', 'failed')`);
    return outcome;
  }
  const again =
    outcome.status === 'pending' ? sql`next_attempt_at = ${new Date(now.getTime() + outcome.waitMs)},` : raw('');
  // An unknown outcome stays unknown even if the student was removed, because the student may have got the e-mail.
  const error =
    outcome.lastError === outcomeUnknown
      ? sql`${outcome.lastError}::text`
      : sql`CASE WHEN student_email = '' THEN NULL ELSE ${outcome.lastError}::text END`;
  const updated = await tx.one<{ status: RecipientStatus }>(
    sql`UPDATE mails SET ${settledAs(outcome.status, error)}, ${again} lease_until = NULL WHERE ${isClaimed} AND status = 'sending' RETURNING status`,
  );
  return updated?.status === 'sent' ? { status: 'sent' } : outcome;
}

export const wordOfOutcome = (outcome: Outcome): string => {
  if (outcome.status !== 'failed') return outcome.status;
  return outcome.lastError === outcomeUnknown ? outcomeUnknown : 'refused';
};

/** @returns the message to one student */
export async function messageOf(
  db: Queries,
  { vault, fromAddress, marks, publicUrl }: MailingDeps,
  run: RunRow,
  { step, mailId, to }: { step: Step; mailId: Id; to: Recipient },
): Promise<HandedMessage> {
  const { clubId, automationId, studentId } = run;
  const { id: stepId, email: { reply_to: own } = {} } = step as { id: string; email?: { reply_to?: string } };
  const club = await db.manager.findOneByOrFail(Club, { id: clubId });
  const sender = await db.manager.findOneByOrFail(MailSender, { clubId });
  const version = await db.one<{ compiled: LinkedEmail | null }>(
    sql`SELECT compiled->${stepId}::text AS compiled FROM automation_versions WHERE id = ${run.versionId}`,
  );
  const compiled = version?.compiled;
  if (!compiled) throw new Error(`Version ${run.versionId} of run ${run.id} has no compiled e-mail for step ${stepId}`);
  const replyTo = own ?? sender.replyTo;
  const leave = `${publicUrl}/v1/clubs/${clubId}/classroom/mail/unsubscribe/${unsubscribeToken(vault, { kind: 'automations', studentId })}`;
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
    envelopeFrom: envelopeSenderOf(mailId, marks, fromAddress),
    from: { name: sender.fromName, address: from.address },
    ...(from.signWith !== undefined && { signWith: from.signWith }),
    to: to.email,
    ...(replyTo !== null && { replyTo }),
    // Each attempt has the same Message-ID, so that a mailbox can recognize a repetition.
    messageId: `<${mailId}@${domain}>`,
    headers: {
      'List-Id': `<automations.${clubId}.${domain}>`,
      'List-Unsubscribe': `<${leave}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      'Feedback-ID': `${automationId}:${clubId}:automation:${feedbackSenderOf(fromAddress)}`,
      ...identifyingHeaders(mailId, marks),
      Precedence: 'bulk',
    },
  };
}
