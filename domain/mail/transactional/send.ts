/** The step of a transactional mail: claim, send, record (ENG-2). The mail is sent at least once, because a person waits for it. */
import type { Database, Queries } from '../../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { CalendarEvent } from '../../../platform/core/time/calendar.policy.ts';
import { mayStandInMail } from '../../../platform/core/text/names.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { defineLease, runStep, type Claim } from '../../../platform/engine/lease.ts';
import { Club } from '../../../entities/clubs/club.ts';
import { OneTimeToken } from '../../../entities/mail/one-time-token.ts';
import { TransactionalMail } from '../../../entities/mail/transactional-mail.ts';
import { findBranding, noBranding, type Branding } from '../../branding/branding.ts';
import { languageOf } from '../../language/languages.ts';
import { wordingIn } from '../../language/wording.ts';
import type { MailKind, MailRow, MailSubject } from '../kinds.ts';
import { textToMail } from '../codes/one-time-tokens.ts';
import { takeSlotOfDay } from '../bounds/pace.ts';
import type { PlanName } from '../../../entities/billing/values.ts';
import { waitAfterMailAttempt } from './schedule.policy.ts';
import type { MailTemplate } from '../../../entities/mail/values.ts';
import { isOfClub, type OwnText } from '../texts/own-text.ts';
import { findOwnText } from '../texts/own-texts.ts';
import { renderMail, type RenderedMail } from '../texts/rendering.ts';
import { mailTemplates, type Template } from '../texts/templates.ts';

export interface OutgoingMail extends RenderedMail {
  to: string;
  /** Every attempt uses this key, so that mailbox providers show a repeated mail only once. */
  messageKey: Id;
  /** The club's address for replies; absent if the club has no such address. */
  replyTo?: string;
  /** The attached entry for the reader's calendar. */
  calendar?: CalendarEvent;
}

/** Resolves when the server has accepted the message, and rejects with an error that names the reply code. */
export type SendMail = (mail: OutgoingMail) => Promise<void>;

export interface MailDeps {
  db: Database;
  vault: Vault;
  sendMail: SendMail;
  /** The function of a context that reads the rows of each kind of mail. */
  kinds: Readonly<Record<MailTemplate, MailKind>>;
  links: {
    classroomUrl: string;
    dashboardUrl: string;
    /** The API's public address, without a slash at the end. */
    publicUrl: string;
  };
  /** The limits of a club's own mails for its first day, second day and so on (DEC-65). */
  warmUp: readonly number[];
  /** Receives the outcome of each attempt, for metrics and log. */
  onOutcome: (outcome: MailOutcome, error?: unknown) => void;
}

export type MailOutcome = 'sent' | 'failed' | 'canceled';

export type MailStep = { done: true; outcome: MailOutcome } | { done: false; at: number; attempt: number };

interface ClaimedMail extends Claim, MailRow {
  attemptCount: number;
  template: MailTemplate;
  tokenId: Id | null;
  tokenKeyId: Buffer | null;
  tokenHash: Buffer | null;
  email: string | null;
  sealedAddress: Buffer | null;
  /** Null for an unconfirmed account, because a stranger may have chosen the name. */
  name: string | null;
  /** The language that the person chose; null if the person chose none. */
  language: string | null;
  clubName: string | null;
  clubLanguage: string | null;
  clubSlug: string | null;
  clubCreatedAt: Date | null;
  clubErasingAt: Date | null;
  plan: PlanName | null;
  placedOn: string | null;
}

/** Longer than the SMTP client's own time limit, so that a working sender never loses its lease. */
const lease = defineLease(TransactionalMail, { open: { status: 'pending' }, due: 'nextAttemptAt', seconds: 60 });

/** @param now Unix milliseconds */
export function sendTransactionalMail(deps: MailDeps, id: Id, now: number): Promise<MailStep> {
  return runStep({
    claim: () => lease.claim<ClaimedMail>(deps.db, id, now, withRecipient(new Date(now))),
    act: (claimed) => send(deps, claimed, now),
    state: () => readState(deps.db, id, now),
  });
}

const claimedColumns = columns(
  TransactionalMail,
  [
    'id',
    'fence',
    'attemptCount',
    'template',
    'sealedAddress',
    'placedOn',
    'clubId',
    'studentId',
    'administratorId',
    'endpointId',
    'reviewId',
    'sessionId',
    'sessionSequence',
    'formerStartsAt',
    'formerEndsAt',
    'device',
    'network',
    'createdAt',
  ],
  'claimed',
)
  .and(columns(OneTimeToken, { tokenId: 'id', tokenKeyId: 'keyId', tokenHash: 'tokenHash' }, 'token'))
  .and(
    columns(
      Club,
      {
        clubName: 'name',
        clubSlug: 'slug',
        clubLanguage: 'language',
        clubCreatedAt: 'createdAt',
        clubErasingAt: 'erasingAt',
      },
      'club',
    ),
  );

const withRecipient = (now: Date) => sql`
     SELECT ${claimedColumns},
            coalesce(student.email, administrator.email, invitation.email) AS email,
            CASE WHEN coalesce(student.verified_at, administrator.verified_at) IS NOT NULL
                 THEN coalesce(student.name, administrator.name) END AS name,
            coalesce(student.language, administrator.language) AS language, coalesce(plan.plan, club.opening_plan) AS plan
       FROM claimed
       LEFT JOIN one_time_tokens token ON token.id = claimed.token_id AND token.expires_at > ${now}
       LEFT JOIN students student ON student.id = claimed.student_id
       LEFT JOIN administrators administrator ON administrator.id = claimed.administrator_id
       LEFT JOIN invitations invitation ON invitation.id = claimed.invitation_id
       LEFT JOIN clubs club ON club.id = claimed.club_id
       LEFT JOIN club_plans plan ON plan.club_id = club.id`;

async function send(deps: MailDeps, claimed: ClaimedMail, now: number): Promise<void> {
  const mail = await prepare(deps, claimed, new Date(now));
  if (!mail) {
    deps.onOutcome('canceled');
    return record(deps.db, claimed, 'canceled', now);
  }
  if (!(await hasSlot(deps, claimed, now))) return undefined;
  try {
    await deps.sendMail(mail);
  } catch (error) {
    deps.onOutcome('failed', error);
    return record(deps.db, claimed, 'failed', now);
  }
  deps.onOutcome('sent');
  return record(deps.db, claimed, 'sent', now);
}

/** @returns false if the mail must wait for another day; the function has then recorded that day in the mail's row */
async function hasSlot(deps: MailDeps, claimed: ClaimedMail, now: number): Promise<boolean> {
  const { clubId, clubCreatedAt, plan, placedOn, template } = claimed;
  if (!('paced' in mailTemplates[template]) || placedOn !== null) return true;
  if (clubId === null || clubCreatedAt === null || plan === null) return true;
  return takeSlotOfDay(deps.db, { ...claimed, clubId, clubCreatedAt, plan }, deps.warmUp, new Date(now));
}

/** @returns undefined if the mail has no token, or if it no longer exists */
async function tokenOf({ db, vault }: MailDeps, claimed: ClaimedMail): Promise<string | undefined> {
  const { purpose }: Template = mailTemplates[claimed.template];
  const { tokenId: id, tokenKeyId: keyId, tokenHash } = claimed;
  return purpose === undefined || id === null ? undefined : textToMail(db, vault, purpose, { id, keyId, tokenHash });
}

const wordingOf = ({ language, clubLanguage }: ClaimedMail) => wordingIn(languageOf(language, clubLanguage));

/** The club's branding, and the text that the club has written for this mail. The text is undefined if the club has not written one. */
interface Style {
  branding: Branding;
  own: OwnText | undefined;
}

interface MailParts extends Style {
  to: string;
  claimed: ClaimedMail;
  subject: MailSubject;
  token: string | undefined;
}

async function styleOf({ db, links }: MailDeps, claimed: ClaimedMail): Promise<Style> {
  const { clubId, template } = claimed;
  if (clubId === null) return { branding: noBranding, own: undefined };
  const branding = await findBranding(db, links.publicUrl, clubId);
  if (!isOfClub(template)) return { branding, own: undefined };
  return { branding, own: await findOwnText(db, { clubId, template, language: wordingOf(claimed).language }) };
}

/** @returns the mail; undefined if the token, the recipient, the club or the rows of the mail no longer exist */
async function prepare(deps: MailDeps, claimed: ClaimedMail, now: Date): Promise<OutgoingMail | undefined> {
  const rule: Template = mailTemplates[claimed.template];
  const to = addressOf(deps, claimed);
  if (to === null || claimed.clubErasingAt !== null) return undefined;
  const token = await tokenOf(deps, claimed);
  if (rule.purpose !== undefined && token === undefined) return undefined;
  const subject = await deps.kinds[claimed.template](deps.db, claimed, now);
  if (!subject) return undefined;
  return compose(deps, { to, claimed, subject, token, ...(await styleOf(deps, claimed)) }, now);
}

function compose(
  { links }: MailDeps,
  { to, claimed, subject, token = '', branding, own }: MailParts,
  now: Date,
): OutgoingMail {
  const rule: Template = mailTemplates[claimed.template];
  const { endpointUrl = '', lessonTitle = '', session, signIn, erasure, calendar } = subject;
  const base =
    rule.site === 'classroom' ? links.classroomUrl.replace('{slug}', claimed.clubSlug ?? '') : links.dashboardUrl;
  const wording = wordingOf(claimed);
  const rendered = renderMail(
    claimed.template,
    {
      // Checks the person's name again when the mail is sent. The name may come from a sales platform or an import file, or may be older
      // than the rule about names (DEC-64).
      name: mailable(claimed.name),
      clubName: mailable(claimed.clubName) || (claimed.clubSlug ?? ''),
      link: base + rule.path.replace('{token}', token).replace('{id}', subject.id ?? ''),
      code: token,
      endpointUrl,
      lessonTitle: mailable(lessonTitle),
      ...(signIn && { signIn }),
      ...(erasure && { erasure }),
      ...(session && {
        session: {
          ...session,
          title: mailable(session.title),
          withWhom: mailable(session.withWhom),
          reason: mailable(session.reason),
        },
      }),
    },
    wording,
    { branding, own },
  );
  const { replyTo } = branding;
  return {
    ...rendered,
    to,
    messageKey: claimed.id,
    ...(replyTo !== null && { replyTo }),
    ...(calendar && {
      calendar: { ...calendar, summary: mailable(calendar.summary) || wording.say('calendar.session'), stamp: now },
    }),
  };
}

/**
 * Checks words that a member of the club chose. Replaces them by an empty text if they contain a web address or invisible characters
 * (DEC-64).
 */
const mailable = (words: string | null) => (words !== null && mayStandInMail(words) ? words : '');

/** @returns the recipient; null if the person was removed */
function addressOf({ vault }: MailDeps, { id, template, email, sealedAddress }: ClaimedMail): string | null {
  const rule: Template = mailTemplates[template];
  if (!rule.toFormerAddress && !rule.toGivenAddress) return email;
  return sealedAddress && vault.open(sealedAddress, id);
}

async function record(db: Queries, claimed: ClaimedMail, outcome: MailOutcome, now: number): Promise<void> {
  const attemptCount = claimed.attemptCount + 1;
  const wait = outcome === 'failed' ? waitAfterMailAttempt(attemptCount) : undefined;
  await lease.record(db, claimed, {
    attemptCount,
    status: wait === undefined ? outcome : 'pending',
    nextAttemptAt: new Date(now + (wait ?? 0)),
    sentAt: outcome === 'sent' ? new Date(now) : null,
    ...(wait === undefined && { sealedAddress: null, device: null, network: null }),
  });
}

async function readState(db: Queries, id: Id, now: number): Promise<MailStep> {
  const row = await db.one<{ status: string; attemptCount: number; at: Date }>(
    sql`SELECT ${columns(TransactionalMail, ['status', 'attemptCount'])}, greatest(next_attempt_at, lease_until) AS at
          FROM transactional_mails WHERE id = ${id}`,
  );
  if (row?.status === 'pending')
    return { done: false, at: Math.max(row.at.getTime(), now), attempt: row.attemptCount + 1 };
  if (row?.status === 'sent' || row?.status === 'failed') return { done: true, outcome: row.status };
  return { done: true, outcome: 'canceled' };
}
