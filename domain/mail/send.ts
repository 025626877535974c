/** The step of a transactional mail: claim, send, record (ENG-2). Sent at least once, because a person waits for it. */
import type { DataSource } from 'typeorm';
import type { Id } from '../../platform/core/ids.ts';
import type { Vault } from '../../platform/infra/vault.ts';
import { tokenText } from './one-time-tokens.ts';
import { waitAfterMailAttempt } from './schedule.policy.ts';
import type { MailTemplate } from '../../entities/mail/values.ts';
import { mailTemplates, renderMail, type RenderedMail } from './templates.ts';

/** Longer than the SMTP client's own time limit, so that a living sender never loses its lease. */
const leaseSeconds = 60;

export interface OutgoingMail extends RenderedMail {
  to: string;
  /** The same for every attempt, so that mailbox providers fold a repetition. */
  messageKey: Id;
}

/** What sends: resolves when the server has accepted the message, and rejects with an error that names a reply code. */
export type SendMail = (mail: OutgoingMail) => Promise<void>;

export interface MailPlatform {
  source: DataSource;
  vault: Vault;
  sendMail: SendMail;
  links: { classroomUrl: string; dashboardUrl: string };
  /** Told how each attempt ended, for metrics and log. */
  onOutcome: (outcome: MailOutcome, error?: unknown) => void;
}

export type MailOutcome = 'sent' | 'failed' | 'canceled';

export type MailStep = { done: true; outcome: MailOutcome } | { done: false; at: number; attempt: number };

interface ClaimedMail {
  fence: number;
  attemptCount: number;
  template: MailTemplate;
  tokenId: Id | null;
  email: string | null;
  /** Only of a confirmed account: else whoever signed up with the address chose what its owner would read. */
  name: string | null;
  clubName: string | null;
  clubSlug: string | null;
  endpointId: Id | null;
  endpointUrl: string | null;
}

/** @param now Unix milliseconds */
export async function sendTransactionalMail(platform: MailPlatform, id: Id, now: number): Promise<MailStep> {
  const claimed = await claim(platform.source, id, now);
  if (!claimed) return lookAt(platform.source, id, now);

  const mail = compose(platform, id, claimed);
  if (!mail) {
    platform.onOutcome('canceled');
    return record(platform.source, id, claimed, 'canceled', now);
  }
  try {
    await platform.sendMail(mail);
  } catch (error) {
    platform.onOutcome('failed', error);
    return record(platform.source, id, claimed, 'failed', now);
  }
  platform.onOutcome('sent');
  return record(platform.source, id, claimed, 'sent', now);
}

async function claim(source: DataSource, id: Id, now: number): Promise<ClaimedMail | undefined> {
  const rows = await source.query<ClaimedMail[]>(
    `WITH claimed AS (
       UPDATE transactional_mails
          SET fence = fence + 1, lease_until = clock_timestamp() + make_interval(secs => $3)
        WHERE id = $1 AND status = 'pending' AND next_attempt_at <= $2
          AND (lease_until IS NULL OR lease_until < clock_timestamp())
    RETURNING *)
     SELECT claimed.fence, claimed.attempt_count AS "attemptCount", claimed.template, token.id AS "tokenId",
            coalesce(student.email, administrator.email, invitation.email) AS email,
            CASE WHEN coalesce(student.verified_at, administrator.verified_at) IS NOT NULL
                 THEN coalesce(student.name, administrator.name) END AS name, club.name AS "clubName", club.slug AS "clubSlug",
            endpoint.id AS "endpointId", endpoint.url AS "endpointUrl"
       FROM claimed
       LEFT JOIN one_time_tokens token ON token.id = claimed.token_id AND token.expires_at > $2
       LEFT JOIN students student ON student.id = claimed.student_id
       LEFT JOIN administrators administrator ON administrator.id = claimed.administrator_id
       LEFT JOIN invitations invitation ON invitation.id = claimed.invitation_id
       LEFT JOIN clubs club ON club.id = claimed.club_id
       LEFT JOIN webhook_endpoints endpoint ON endpoint.id = claimed.endpoint_id AND endpoint.deleted_at IS NULL`,
    [id, new Date(now), leaseSeconds],
  );
  return rows[0];
}

/** @returns the mail, or undefined when there is nothing to send any more: the token is spent or gone, or the person is */
function compose(platform: MailPlatform, id: Id, claimed: ClaimedMail): OutgoingMail | undefined {
  const rule = mailTemplates[claimed.template];
  const token =
    'purpose' in rule && claimed.tokenId !== null
      ? tokenText(platform.vault, rule.purpose, claimed.tokenId)
      : undefined;
  if (claimed.email === null || ('purpose' in rule && token === undefined)) return undefined;
  if ('aboutEndpoint' in rule && claimed.endpointId === null) return undefined;

  const base =
    rule.site === 'classroom'
      ? platform.links.classroomUrl.replace('{slug}', claimed.clubSlug ?? '')
      : platform.links.dashboardUrl;
  const rendered = renderMail(claimed.template, {
    name: claimed.name ?? '',
    clubName: claimed.clubName ?? '',
    link: base + rule.path.replace('{token}', token ?? '').replace('{endpoint}', claimed.endpointId ?? ''),
    code: token ?? '',
    endpointUrl: claimed.endpointUrl ?? '',
  });
  return { ...rendered, to: claimed.email, messageKey: id };
}

async function record(
  source: DataSource,
  id: Id,
  claimed: ClaimedMail,
  outcome: MailOutcome,
  now: number,
): Promise<MailStep> {
  const attempts = claimed.attemptCount + 1;
  const wait = outcome === 'failed' ? waitAfterMailAttempt(attempts) : undefined;
  const status = wait === undefined ? outcome : 'pending';
  await source.query(
    `UPDATE transactional_mails
        SET lease_until = NULL, attempt_count = $3, status = $4, next_attempt_at = $5, sent_at = $6
      WHERE id = $1 AND fence = $2 AND status = 'pending'`,
    [id, claimed.fence, attempts, status, new Date(now + (wait ?? 0)), outcome === 'sent' ? new Date(now) : null],
  );
  return lookAt(source, id, now);
}

/** What the row says now: whoever acted on it, and whether or not it was us. */
async function lookAt(source: DataSource, id: Id, now: number): Promise<MailStep> {
  const [row] = await source.query<{ status: string; attemptCount: number; at: Date }[]>(
    `SELECT status, attempt_count AS "attemptCount", greatest(next_attempt_at, lease_until) AS at
       FROM transactional_mails WHERE id = $1`,
    [id],
  );
  if (row?.status === 'pending')
    return { done: false, at: Math.max(row.at.getTime(), now), attempt: row.attemptCount + 1 };
  if (row?.status === 'sent' || row?.status === 'failed') return { done: true, outcome: row.status };
  return { done: true, outcome: 'canceled' };
}
