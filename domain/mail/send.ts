/** The step of a transactional mail: claim, send, record (ENG-2). Sent at least once, because a person waits for it. */
import type { Database, Queries } from '../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../platform/infra/postgres/sql.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { CalendarEvent } from '../../platform/core/calendar.policy.ts';
import { mayStandInMail } from '../../platform/core/names.ts';
import type { Vault } from '../../platform/infra/vault.ts';
import { defineLease, runStep, type Claim } from '../../platform/engine/lease.ts';
import { Club } from '../../entities/clubs/club.ts';
import { AssignmentAttempt } from '../../entities/assignments/assignment-attempt.ts';
import { Mentorship } from '../../entities/mentorships/mentorship.ts';
import { MentorshipSession } from '../../entities/mentorships/mentorship-session.ts';
import type { StoredSessionStatus } from '../../entities/mentorships/values.ts';
import { Lesson } from '../../entities/learning/lesson.ts';
import { OneTimeToken } from '../../entities/identity/one-time-token.ts';
import { WebhookEndpoint } from '../../entities/webhooks/webhook-endpoint.ts';
import { TransactionalMail } from '../../entities/mail/transactional-mail.ts';
import { findBranding, noBranding, type Branding } from '../branding/branding.ts';
import { languageOf } from '../language/languages.ts';
import { wordingIn, type Wording } from '../language/wording.ts';
import { textToMail } from './one-time-tokens.ts';
import { takePlaceInDay } from './pace.ts';
import type { PlanName } from '../../entities/billing/values.ts';
import { waitAfterMailAttempt } from './schedule.policy.ts';
import type { MailTemplate } from '../../entities/mail/values.ts';
import { isOfClub, type OwnText } from './own-text.ts';
import { findOwnText } from './own-texts.ts';
import { renderMail, type RenderedMail } from './rendering.ts';
import { mailTemplates, type Template } from './templates.ts';

export interface OutgoingMail extends RenderedMail {
  to: string;
  /** The same for every attempt, so that mailbox providers fold a repetition. */
  messageKey: Id;
  /** Where answers go, if the club says so. */
  replyTo?: string;
  /** The entry for the reader's calendar that it carries. */
  calendar?: CalendarEvent;
}

/** What sends: resolves when the server has accepted the message, and rejects with an error that names a reply code. */
export type SendMail = (mail: OutgoingMail) => Promise<void>;

export interface MailDeps {
  db: Database;
  vault: Vault;
  sendMail: SendMail;
  links: {
    classroomUrl: string;
    dashboardUrl: string;
    /** Where callers reach the API, without a slash at the end. */
    publicUrl: string;
  };
  /** Mails that a club may send on its own account on its first day, its second day and so on (DEC-65). */
  warmUp: readonly number[];
  /** Called with the outcome of each attempt, for metrics and log. */
  onOutcome: (outcome: MailOutcome, error?: unknown) => void;
}

export type MailOutcome = 'sent' | 'failed' | 'canceled';

export type MailStep = { done: true; outcome: MailOutcome } | { done: false; at: number; attempt: number };

interface ClaimedMail extends Claim {
  attemptCount: number;
  template: MailTemplate;
  tokenId: Id | null;
  tokenKeyId: Buffer | null;
  tokenHash: Buffer | null;
  email: string | null;
  sealedAddress: Buffer | null;
  /** Only of a confirmed account: else a stranger who signed up with the address chose what its owner reads. */
  name: string | null;
  /** The person's own; null if they have chosen none. */
  language: string | null;
  clubName: string | null;
  clubLanguage: string | null;
  clubSlug: string | null;
  clubId: Id | null;
  clubCreatedAt: Date | null;
  plan: PlanName | null;
  placedOn: string | null;
  endpointId: Id | null;
  endpointUrl: string | null;
  submissionId: Id | null;
  lessonTitle: string | null;
  /** Of the session, each null where the session has another time than the one that the mail is about. */
  sessionId: Id | null;
  sessionStatus: StoredSessionStatus | null;
  /** Which time of the session the mail is about. */
  sessionSequence: number | null;
  startsAt: Date | null;
  endsAt: Date | null;
  /** When the session was to be before it moved to another mentor; null where the mail is about its present time. */
  formerStartsAt: Date | null;
  formerEndsAt: Date | null;
  cancelReason: string | null;
  rating: number | null;
  mentorshipTitle: string | null;
  timeZone: string | null;
  meetingUrl: string | null;
  mentorName: string | null;
  /** The name of the session's student; null once they are removed. */
  studentName: string | null;
  isMember: boolean;
  /** Whether the recipient is the session's mentor. */
  isMentor: boolean;
}

/** Longer than the SMTP client's own time limit, so that a living sender never loses its lease. */
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
    'sessionSequence',
    'formerStartsAt',
    'formerEndsAt',
  ],
  'claimed',
)
  .and(columns(OneTimeToken, { tokenId: 'id', tokenKeyId: 'keyId', tokenHash: 'tokenHash' }, 'token'))
  .and(
    columns(
      Club,
      { clubId: 'id', clubName: 'name', clubSlug: 'slug', clubLanguage: 'language', clubCreatedAt: 'createdAt' },
      'club',
    ),
  )
  .and(columns(WebhookEndpoint, { endpointId: 'id', endpointUrl: 'url' }, 'endpoint'))
  .and(columns(AssignmentAttempt, ['submissionId'], 'attempt'))
  .and(columns(Lesson, { lessonTitle: 'title' }, 'lesson'))
  .and(
    columns(
      MentorshipSession,
      {
        sessionId: 'id',
        sessionStatus: 'status',
        startsAt: 'startsAt',
        endsAt: 'endsAt',
        cancelReason: 'cancelReason',
        rating: 'rating',
      },
      'session',
    ),
  )
  .and(columns(Mentorship, { mentorshipTitle: 'title', timeZone: 'timeZone', meetingUrl: 'meetingUrl' }, 'mentorship'));

const withRecipient = (now: Date) => sql`
     SELECT ${claimedColumns},
            coalesce(student.email, administrator.email, invitation.email) AS email,
            CASE WHEN coalesce(student.verified_at, administrator.verified_at) IS NOT NULL
                 THEN coalesce(student.name, administrator.name) END AS name,
            coalesce(student.language, administrator.language) AS language, coalesce(plan.plan, club.opening_plan) AS plan,
            mentor.name AS "mentorName", attendee.name AS "studentName",
            EXISTS (SELECT FROM memberships WHERE club_id = session.club_id AND administrator_id = administrator.id) AS "isMember",
            coalesce(session.mentor_id = administrator.id, false) AS "isMentor"
       FROM claimed
       LEFT JOIN one_time_tokens token ON token.id = claimed.token_id AND token.expires_at > ${now}
       LEFT JOIN students student ON student.id = claimed.student_id
       LEFT JOIN administrators administrator ON administrator.id = claimed.administrator_id
       LEFT JOIN invitations invitation ON invitation.id = claimed.invitation_id
       LEFT JOIN clubs club ON club.id = claimed.club_id
       LEFT JOIN club_plans plan ON plan.club_id = club.id
       LEFT JOIN webhook_endpoints endpoint ON endpoint.id = claimed.endpoint_id AND endpoint.deleted_at IS NULL
       LEFT JOIN assignment_reviews review ON review.id = claimed.review_id
       LEFT JOIN assignment_attempts attempt ON attempt.id = review.attempt_id
       LEFT JOIN assignment_submissions submission ON submission.id = attempt.submission_id
       LEFT JOIN assignments assignment ON assignment.id = submission.assignment_id
       LEFT JOIN lessons lesson ON lesson.id = assignment.lesson_id
       LEFT JOIN mentorship_sessions session ON session.id = claimed.session_id
            AND (session.sequence = claimed.session_sequence OR claimed.former_starts_at IS NOT NULL)
       LEFT JOIN mentorships mentorship ON mentorship.id = session.mentorship_id
       LEFT JOIN administrators mentor ON mentor.id = session.mentor_id
       LEFT JOIN students attendee ON attendee.id = session.student_id AND attendee.removed_at IS NULL`;

async function send(deps: MailDeps, claimed: ClaimedMail, now: number): Promise<void> {
  const mail = compose(
    deps,
    claimed,
    { token: await tokenOf(deps, claimed), ...(await styleOf(deps, claimed)) },
    new Date(now),
  );
  if (!mail) {
    deps.onOutcome('canceled');
    return record(deps.db, claimed, 'canceled', now);
  }
  if (!(await hasPlace(deps, claimed, now))) return undefined;
  try {
    await deps.sendMail(mail);
  } catch (error) {
    deps.onOutcome('failed', error);
    return record(deps.db, claimed, 'failed', now);
  }
  deps.onOutcome('sent');
  return record(deps.db, claimed, 'sent', now);
}

/** @returns false if the mail waits for another day, which is recorded */
async function hasPlace(deps: MailDeps, claimed: ClaimedMail, now: number): Promise<boolean> {
  const { clubId, clubCreatedAt, plan, placedOn, template } = claimed;
  if (!('paced' in mailTemplates[template]) || placedOn !== null) return true;
  if (clubId === null || clubCreatedAt === null || plan === null) return true;
  return takePlaceInDay(deps.db, { ...claimed, clubId, clubCreatedAt, plan }, deps.warmUp, new Date(now));
}

/** @returns what the mail says of its token; undefined for a mail without one, or whose token is gone */
async function tokenOf({ db, vault }: MailDeps, claimed: ClaimedMail): Promise<string | undefined> {
  const { purpose }: Template = mailTemplates[claimed.template];
  const { tokenId: id, tokenKeyId: keyId, tokenHash } = claimed;
  return purpose === undefined || id === null ? undefined : textToMail(db, vault, purpose, { id, keyId, tokenHash });
}

const wordingOf = ({ language, clubLanguage }: ClaimedMail) => wordingIn(languageOf(language, clubLanguage));

interface Composing {
  token: string | undefined;
  branding: Branding;
  own: OwnText | undefined;
}

/** @returns how the club's mails look, and its own text of this one, if it has any */
async function styleOf({ db, links }: MailDeps, claimed: ClaimedMail): Promise<Omit<Composing, 'token'>> {
  const { clubId, template } = claimed;
  if (clubId === null) return { branding: noBranding, own: undefined };
  const branding = await findBranding(db, links.publicUrl, clubId);
  if (!isOfClub(template)) return { branding, own: undefined };
  return { branding, own: await findOwnText(db, { clubId, template, language: wordingOf(claimed).language }) };
}

/** @returns the mail, or undefined when there is nothing to send any more: the token is spent or gone, or the person is */
function compose(
  deps: MailDeps,
  claimed: ClaimedMail,
  { token, branding, own }: Composing,
  now: Date,
): OutgoingMail | undefined {
  const rule: Template = mailTemplates[claimed.template];
  const to = addressOf(deps, claimed);
  if (to === null || (rule.purpose !== undefined && token === undefined)) return undefined;
  if (rule.aboutEndpoint && claimed.endpointId === null) return undefined;
  if (rule.aboutReview && claimed.submissionId === null) return undefined;
  const session = sessionOf(claimed);
  if (rule.aboutSession && !isWanted(rule.aboutSession, session, now)) return undefined;
  if (rule.toMentor && !claimed.isMember) return undefined;

  const base =
    rule.site === 'classroom'
      ? deps.links.classroomUrl.replace('{slug}', claimed.clubSlug ?? '')
      : deps.links.dashboardUrl;
  const wording = wordingOf(claimed);
  const rendered = renderMail(
    claimed.template,
    {
      // A name from before the rule, or from a platform or a file (DEC-64).
      name: mailable(claimed.name),
      clubName: mailable(claimed.clubName) || (claimed.clubSlug ?? ''),
      link:
        base +
        rule.path
          .replace('{token}', token ?? '')
          .replace('{endpoint}', claimed.endpointId ?? '')
          .replace('{submission}', claimed.submissionId ?? '')
          .replace('{session}', session?.id ?? ''),
      code: token ?? '',
      endpointUrl: claimed.endpointUrl ?? '',
      lessonTitle: mailable(claimed.lessonTitle),
      ...(session && {
        session: {
          title: mailable(claimed.mentorshipTitle),
          startsAt: session.startsAt,
          timeZone: session.timeZone,
          withWhom: mailable(rule.toMentor ? claimed.studentName : claimed.mentorName),
          reason: mailable(claimed.cancelReason),
        },
      }),
    },
    wording,
    { branding, own },
  );
  const calendar = rule.calendar && session && entryOf(rule.calendar, session, { claimed, wording }, now);
  const { replyTo } = branding;
  return {
    ...rendered,
    to,
    messageKey: claimed.id,
    ...(replyTo !== null && { replyTo }),
    ...(calendar && { calendar }),
  };
}

/** Words that members chose are left out if they hold a web address or characters that nobody sees (DEC-64). */
const mailable = (words: string | null) => (words !== null && mayStandInMail(words) ? words : '');

/** The session at the time that the mail is about; undefined where it has another time by now, unless the mail says so, or the mail is about none. */
interface SessionOfMail {
  id: Id;
  status: StoredSessionStatus;
  sequence: number;
  startsAt: Date;
  endsAt: Date;
  rating: number | null;
  timeZone: string;
  /** Whether the mail goes to who is its mentor now. */
  isOfRecipient: boolean;
}

function sessionOf(claimed: ClaimedMail): SessionOfMail | undefined {
  const { sessionId: id, sessionStatus: status, sessionSequence: sequence, timeZone } = claimed;
  const startsAt = claimed.formerStartsAt ?? claimed.startsAt;
  const endsAt = claimed.formerEndsAt ?? claimed.endsAt;
  if (id === null || status === null || sequence === null) return undefined;
  if (startsAt === null || endsAt === null || timeZone === null) return undefined;
  return { id, status, sequence, startsAt, endsAt, rating: claimed.rating, timeZone, isOfRecipient: claimed.isMentor };
}

/** Decided when the mail is claimed, so that nothing reminds of a session that was moved or canceled (MENT-11). */
function isWanted(
  wanted: NonNullable<Template['aboutSession']>,
  session: SessionOfMail | undefined,
  now: Date,
): boolean {
  if (!session) return false;
  if (wanted === 'moved away') return !session.isOfRecipient && session.endsAt > now;
  if (wanted === 'canceled') return session.status === 'canceled';
  if (session.status !== 'booked') return false;
  return wanted === 'to come' ? session.startsAt > now : session.rating === null;
}

function entryOf(
  method: CalendarEvent['method'],
  { id, sequence, startsAt, endsAt }: SessionOfMail,
  { claimed: { mentorshipTitle, meetingUrl }, wording }: { claimed: ClaimedMail; wording: Wording },
  now: Date,
): CalendarEvent {
  const summary = mailable(mentorshipTitle) || wording.say('calendar.session');
  const location = method === 'REQUEST' && meetingUrl !== null ? { location: meetingUrl } : {};
  return { method, id, sequence, startsAt, endsAt, summary, ...location, stamp: now };
}

/** @returns null once the person was removed */
function addressOf({ vault }: MailDeps, { id, template, email, sealedAddress }: ClaimedMail): string | null {
  if (!('toFormerAddress' in mailTemplates[template])) return email;
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
    ...(wait === undefined && { sealedAddress: null }),
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
