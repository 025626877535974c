/** Sends test copies of a campaign's e-mail to members of the club (CAMP-43). */
import type { RecordOf } from '../../../contract/contract.ts';
import { TestMail } from '../../../entities/campaigns/test-mail.ts';
import { Club } from '../../../entities/clubs/club.ts';
import { MailSender } from '../../../entities/mail/mail-sender.ts';
import type { MailStatus } from '../../../entities/mail/values.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { defineLease, runStep, type Claim } from '../../../platform/engine/lease.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { newestFirst } from '../../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { columns, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import type { HandOver } from '../../../platform/infra/smtp/smtp-hand-over.ts';
import { requireFeature } from '../../billing/allowances.ts';
import type { DatabaseDeps } from '../../deps.ts';
import { languageOf } from '../../language/languages.ts';
import { wordingIn } from '../../language/wording.ts';
import { fromOf } from '../../mail/domains/from.ts';
import { outcomeUnknown } from '../../mail/sending/recipients.policy.ts';
import { emailProblems } from './checks.ts';
import { copyOf, valuesFor } from './preview.ts';
import { findCampaign } from '../records.ts';
import type { SendingDeps } from '../sending.ts';

type Record = RecordOf<'TestMail'>;

/**
 * Requests a test copy of the campaign's e-mail. A run then sends this copy.
 * @param administratorId a confirmed member of the club
 * @throws DomainError not_found (no such campaign or member), feature_not_in_plan, campaign_has_problems
 */
export async function requestTestMail(
  { db }: DatabaseDeps,
  clubId: Id,
  campaignId: Id,
  administratorId: Id,
  now: Date,
): Promise<Record> {
  await emailProblems(db, await findCampaign(db, clubId, campaignId)); // fills a cache, so that the check in the transaction is fast
  return db.transaction(async (tx) => {
    const campaign = await findCampaign(tx, clubId, campaignId, 'FOR SHARE');
    const member =
      await tx.one(sql`SELECT FROM memberships membership JOIN administrators administrator ON administrator.id = membership.administrator_id
       WHERE membership.club_id = ${clubId} AND administrator.id = ${administratorId} AND administrator.verified_at IS NOT NULL`);
    if (!member) throw notFound('member');
    await requireFeature(tx, clubId, 'campaigns');
    if ((await emailProblems(tx, campaign)).count > 0)
      throw new DomainError('campaign_has_problems', 'The e-mail has problems. `problems` lists them.');
    const id = newId();
    await tx.manager.insert(TestMail, { id, clubId, campaignId, administratorId, nextAttemptAt: now, createdAt: now });
    await wake(tx, 'testMail', [{ id, clubId, campaignId }], now);
    return present(await tx.manager.findOneByOrFail(TestMail, { id }));
  });
}

const testMailColumns = columns(TestMail, ['id', 'administratorId', 'status', 'lastError', 'createdAt', 'sentAt']);
type Row = RowOf<typeof testMailColumns>;

/** @returns a page of the test mails of the last 30 days, newest first @throws DomainError not_found */
export async function listTestMails(
  db: Queries,
  clubId: Id,
  campaignId: Id,
  filter: PageRequest,
): Promise<Page<Record>> {
  await findCampaign(db, clubId, campaignId);
  const { rows, total, next } = await listPage<Row>(db, filter, {
    columns: testMailColumns,
    from: sql`FROM test_mails WHERE campaign_id = ${campaignId}`,
    orderBy: newestFirst(),
  });
  return { rows: rows.map(present), total, next };
}

function present({ id, administratorId, status, lastError, createdAt, sentAt }: Row): Record {
  return {
    id,
    administrator_id: administratorId,
    status,
    ...(lastError !== null && { last_error: lastError }),
    created_at: createdAt.toISOString(),
    ...(sentAt !== null && { sent_at: sentAt.toISOString() }),
  };
}

export type TestMailStep = { done: true; outcome: MailStatus } | { done: false; at: number; attempt: number };

export type TestMailDeps = SendingDeps & { images: { storage: Pick<ObjectStore, 'signGet'> } };

interface Claimed extends Claim {
  clubId: Id;
  campaignId: Id;
  attemptCount: number;
  /** The name of the recipient. Null if this administrator is not a member any more. */
  name: string | null;
  email: string | null;
  language: string | null;
}

/** The lease lasts longer than one sending: the SMTP client's wait for a connection, and its time limit for a message (60 s). */
const lease = defineLease(TestMail, {
  open: { status: 'pending' },
  due: 'nextAttemptAt',
  seconds: 120,
  counts: 'attemptCount',
});

/**
 * The waits after attempts 1 and 2, in milliseconds. They are short, because a person waits. After the last attempt the mail is `failed`.
 */
const waitsMs = [10_000, 60_000] as const;
/** Images of test mails are not published, so their URLs are signed. S3 allows at most this time. */
const imageSeconds = 7 * 86_400;

/**
 * The step of the workflow `test-mail/<id>`. If a worker dies after it has sent the mail, the mail is sent again.
 * @param now Unix milliseconds
 */
export function sendTestMail(deps: TestMailDeps, id: Id, now: number): Promise<TestMailStep> {
  const select = sql`SELECT claimed.id, claimed.fence, claimed.club_id AS "clubId", claimed.campaign_id AS "campaignId", claimed.attempt_count AS "attemptCount",
           administrator.name, administrator.email, administrator.language
      FROM claimed
      LEFT JOIN memberships membership ON membership.club_id = claimed.club_id AND membership.administrator_id = claimed.administrator_id
      LEFT JOIN administrators administrator ON administrator.id = membership.administrator_id AND administrator.verified_at IS NOT NULL`;
  return runStep({
    claim: () => lease.claim<Claimed>(deps.db, id, now, select),
    act: async (claimed) =>
      lease.record(deps.db, claimed, changesBy(await send(deps, claimed), claimed, new Date(now))),
    state: () => readState(deps.db, id, now),
  });
}

type Answer = HandOver | { kind: 'canceled'; reply: string };

async function send(deps: TestMailDeps, { id, clubId, campaignId, name, email, language }: Claimed): Promise<Answer> {
  if (name === null || email === null) return { kind: 'canceled', reply: 'no_member' };
  const { db, smtp, fromAddress, images, publicUrl } = deps;
  const campaign = await findCampaign(db, clubId, campaignId);
  let copy: Awaited<ReturnType<typeof copyOf>>;
  try {
    copy = await copyOf({ db, publicUrl, storage: images.storage }, campaign, valuesFor({ name, email }), imageSeconds);
  } catch (error) {
    // The e-mail may have got problems since the request. Then the test mail is canceled. If the process is only busy, the step is
    // repeated.
    if (error instanceof DomainError && error.code !== 'busy') return { kind: 'canceled', reply: error.code };
    throw error;
  }
  const sender = await db.manager.findOneBy(MailSender, { clubId });
  const from = await fromOf(deps, clubId, fromAddress);
  const { name: clubName, language: clubLanguage } = await db.manager.findOneByOrFail(Club, { id: clubId });
  const wording = wordingIn(languageOf(language, clubLanguage));
  const replyTo = campaign.content.reply_to ?? sender?.replyTo;
  const message = {
    subject: wording.say('test_mail.subject', { subject: copy.subject }),
    html: copy.html,
    text: copy.text,
    envelopeFrom: fromAddress,
    from: { name: sender?.fromName ?? clubName, address: from.address },
    ...(from.signWith !== undefined && { signWith: from.signWith }),
    to: email,
    ...(typeof replyTo === 'string' && { replyTo }),
    messageId: `<${id}@${fromAddress.slice(fromAddress.indexOf('@') + 1)}>`,
    headers: {},
  };
  return smtp.onConnection(() => smtp.handOver(message));
}

function changesBy(answer: Answer, { attemptCount }: Claimed, now: Date): Partial<TestMail> {
  if (answer.kind === 'accepted') return { status: 'sent', sentAt: now, lastError: null };
  if (answer.kind === 'canceled') return { status: 'canceled', lastError: answer.reply };
  if (answer.kind === 'unknown') return { status: 'failed', lastError: outcomeUnknown };
  const wait = waitsMs[attemptCount - 1];
  if (wait === undefined || (answer.kind === 'refused' && answer.permanent))
    return { status: 'failed', lastError: answer.reply };
  return { nextAttemptAt: new Date(now.getTime() + wait), lastError: answer.reply };
}

async function readState(db: Queries, id: Id, now: number): Promise<TestMailStep> {
  const row = await db.one<{ status: MailStatus; attemptCount: number; at: Date }>(
    sql`SELECT ${columns(TestMail, ['status', 'attemptCount'])}, greatest(next_attempt_at, lease_until) AS at
          FROM test_mails WHERE id = ${id}`,
  );
  if (row?.status === 'pending')
    return { done: false, at: Math.max(row.at.getTime(), now), attempt: row.attemptCount + 1 };
  return { done: true, outcome: row?.status ?? 'canceled' };
}
