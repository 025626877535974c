/**
 * The step of the workflow `space-digest/<club>/<date>`. It selects the recipients from a page of members, and sends their mails (COMM-17,
 * COMM-18).
 */
import { SpaceDigest } from '../../../entities/community/space-digest.ts';
import { MailSender } from '../../../entities/mail/mail-sender.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { hasFeature } from '../../billing/allowances.ts';
import { endExpiredLeases } from '../../mail/sending/leases.ts';
import { sendWithinBounds } from '../../mail/sending/within-bounds.ts';
import { digestRules } from './digests.policy.ts';
import { studentsWithNews } from './news.ts';
import { sendDigestPage, type DigestDeps } from './sending.ts';

/** The event for which the digest waits. `page` means that the digest does not wait, because more work is due. */
type Awaited = 'rate' | 'day' | 'retries' | 'server' | 'under_way' | 'page';

export type DigestStep =
  | { done: true; outcome: 'sent' | 'date_over' | 'not_wanted' | 'gone' }
  | {
      done: false;
      at?: number;
      waitingFor: Awaited;
      page: number;
      pages: number;
      settled: number;
      recipients: number;
    };

/** Longer than a restart of the mail server. */
const unreachedRestMs = 15_000;
/** The pause after the mail server has refused several mails in a row. An operator must solve the cause. */
const refusedRestMs = 15 * 60_000;

/** @param digestId `<club>/<date>` @param now Unix milliseconds */
export async function stepDigest(deps: DigestDeps, digestId: string, now: number): Promise<DigestStep> {
  const { db } = deps;
  const at = new Date(now);
  const digest = await db.manager.findOneBy(SpaceDigest, { id: digestId });
  if (!digest) return { done: true, outcome: 'gone' };
  const leased = await endExpiredLeases(deps.db, sql`digest_id = ${digestId}`);
  if (digest.endedAt !== null) return { done: true, outcome: 'sent' };
  if (at >= digest.endsAt) return endEarly(deps, digest, 'date_over', { leased, now: at });
  if (!(await isWanted(deps, digest.clubId))) return endEarly(deps, digest, 'not_wanted', { leased, now: at });
  const due = await dueOf(deps, digestId, at);
  if (due > 0) return send(deps, digest, { due, leased, now: at });
  if (digest.allPaged) return finishOrWait(deps, digest, { leased, now: at });
  await pageMembers(deps, digest, at);
  return rest(deps, digest, 'page', { until: at });
}

/** Whether the club's plan still includes the community, and the club has a mail sender. */
async function isWanted({ db }: DigestDeps, clubId: Id): Promise<boolean> {
  return (await hasFeature(db, clubId, 'community')) && (await db.manager.exists(MailSender, { where: { clubId } }));
}

/** The count stops at the size of a page. */
async function dueOf({ db }: DigestDeps, digestId: string, now: Date): Promise<number> {
  const countRow = await db.one<{ due: number }>(sql`SELECT count(*)::int AS due FROM (
    SELECT FROM mails WHERE digest_id = ${digestId} AND status = 'pending' AND next_attempt_at <= ${now} LIMIT ${digestRules.pageSize}) AS page`);
  return countRow?.due ?? 0;
}

interface Moment {
  /** When the first lease of a mail ends. The step runs again then at the latest, so that this mail does not stay open. */
  leased: Date | undefined;
  now: Date;
}

async function send(
  deps: DigestDeps,
  digest: SpaceDigest,
  { due, leased, now }: Moment & { due: number },
): Promise<DigestStep> {
  let isRefusing = false;
  const page = await sendWithinBounds(deps, digest.clubId, due, now, async (from, most) => {
    const digestPage = await sendDigestPage(deps, digest, from, most, now);
    ({ isRefusing } = digestPage);
    return digestPage;
  });
  if ('until' in page) return rest(deps, digest, page.waitingFor, { until: page.until, leased });
  if (!page.isUnreached && !isRefusing) return rest(deps, digest, 'page', { until: now });
  const restMs = isRefusing ? refusedRestMs : unreachedRestMs;
  return rest(deps, digest, 'server', { until: new Date(now.getTime() + restMs) });
}

/**
 * Reads the next page of members in one transaction, and writes one row for each member with new posts. If another transaction has already
 * read the page, nothing changes.
 */
async function pageMembers({ db }: DigestDeps, digest: SpaceDigest, now: Date): Promise<void> {
  const { id, clubId, pagedTo, pages } = digest;
  await db.transaction(async (tx) => {
    const current = await tx.one(sql`SELECT 1 FROM space_digests
      WHERE id = ${id} AND ended_at IS NULL AND pages = ${pages} FOR NO KEY UPDATE`);
    if (!current) return;
    const members = await nextMembers(tx, clubId, pagedTo);
    const students = members.length === 0 ? [] : await studentsWithNews(tx, digest, members, now);
    // Waits for removals of students that run now. They do not see the new mails, so they would not erase the student's name and address in
    // them.
    const insertedMails = await tx.rows(sql`
      WITH student AS MATERIALIZED (
        SELECT id, name, email FROM students
         WHERE id = ANY(${students}::uuid[]) AND removed_at IS NULL AND verified_at IS NOT NULL AND email IS NOT NULL
         ORDER BY id FOR KEY SHARE)
      INSERT INTO mails (id, club_id, digest_id, student_id, student_name, student_email, next_attempt_at, created_at)
      SELECT gen_random_uuid(), ${clubId}, ${id}, student.id, student.name, student.email, ${now}, ${now}
        FROM student ORDER BY student.id
      ON CONFLICT (digest_id, student_id) WHERE digest_id IS NOT NULL DO NOTHING RETURNING 1`);
    const last = members.length === digestRules.pageSize ? members.at(-1) : undefined;
    await tx.run(sql`UPDATE space_digests
       SET pages = pages + 1, recipients = recipients + ${insertedMails.length}, paged_to = coalesce(${last ?? null}::uuid, paged_to),
           all_paged = ${last === undefined} WHERE id = ${id}`);
  });
}

/** Reads in the order of the ids, like the partial index. */
async function nextMembers(tx: Transaction, clubId: Id, after: Id | null): Promise<Id[]> {
  const from = after === null ? sql`` : sql`AND student_id > ${after}`;
  const members = await tx.rows<{ id: Id }>(sql`SELECT DISTINCT student_id AS id FROM community_memberships
    WHERE club_id = ${clubId} AND digest ${from} ORDER BY student_id LIMIT ${digestRules.pageSize}`);
  return members.map(({ id }) => id);
}

/** Skips every waiting mail. Mails that are being sent complete normally. */
async function endEarly(
  deps: DigestDeps,
  digest: SpaceDigest,
  outcome: 'date_over' | 'not_wanted',
  { leased, now }: Moment,
): Promise<DigestStep> {
  await deps.db.run(
    sql`UPDATE mails SET status = 'skipped', skip_reason = 'canceled' WHERE digest_id = ${digest.id} AND status = 'pending'`,
  );
  if (leased !== undefined) return rest(deps, digest, 'under_way', { until: leased });
  return (await end(deps, digest, now)) ? { done: true, outcome } : rest(deps, digest, 'page', { until: now });
}

/** Runs when nothing is due: ends the digest, or waits for the next attempt or for the end of a lease. */
async function finishOrWait(deps: DigestDeps, digest: SpaceDigest, { leased, now }: Moment): Promise<DigestStep> {
  const nextPending = await deps.db.one<{ next: Date | null }>(
    sql`SELECT min(next_attempt_at) AS next FROM mails WHERE digest_id = ${digest.id} AND status = 'pending'`,
  );
  if (nextPending?.next) return rest(deps, digest, 'retries', { until: nextPending.next, leased });
  if (leased) return rest(deps, digest, 'under_way', { until: leased });
  return (await end(deps, digest, now)) ? { done: true, outcome: 'sent' } : rest(deps, digest, 'page', { until: now });
}

/** @returns false if the digest cannot end yet, because a mail still has no outcome */
async function end({ db }: DigestDeps, { id }: SpaceDigest, now: Date): Promise<boolean> {
  const ended = await db.run(sql`UPDATE space_digests SET ended_at = ${now}, looks_at = NULL
    WHERE id = ${id} AND ended_at IS NULL
      AND NOT EXISTS (SELECT FROM mails WHERE digest_id = ${id} AND status IN ('pending', 'sending'))`);
  return ended === 1;
}

/** Records in the digest's row when the next step is due, so that the sweeper finds the digest if its run is lost. */
async function rest(
  { db }: DigestDeps,
  { id, members, endsAt }: SpaceDigest,
  waitingFor: Awaited,
  { until, leased = until }: { until: Date; leased?: Date | undefined },
): Promise<DigestStep> {
  // After its date, a digest only waits for the mails that are being sent.
  const nextLook = waitingFor === 'under_way' || until < endsAt ? until : endsAt;
  const at = leased < nextLook ? leased : nextLook;
  const row = await db.one<Pick<SpaceDigest, 'pages' | 'recipients'> & { open: number }>(sql`
    UPDATE space_digests SET looks_at = ${at} WHERE id = ${id} AND ended_at IS NULL RETURNING pages, recipients,
      (SELECT count(*)::int FROM mails WHERE digest_id = ${id} AND status IN ('pending', 'sending')) AS open`);
  const { pages = 0, recipients = 0, open = 0 } = row ?? {};
  return {
    done: false,
    ...(waitingFor !== 'page' && { at: at.getTime() }),
    waitingFor,
    page: pages,
    pages: Math.max(pages, Math.ceil(members / digestRules.pageSize)),
    settled: recipients - open,
    recipients,
  };
}
