/** Records that a person or a machine opened a mail or followed its links (CAMP-13). */
import { Mail } from '../../../entities/mail/mail.ts';
import type { TalliedList } from '../../../entities/facts/values.ts';
import { notFound } from '../../../platform/core/errors.ts';
import { least } from '../../../platform/core/extremes.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { addToTallies } from '../../../platform/infra/postgres/lists/counts.ts';
import { columns, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import type { VaultDeps } from '../../deps.ts';
import { wakeRun } from '../../watches/watches.ts';
import { isOpenClub } from '../../open-clubs.ts';
import { sentByEvidence } from '../evidence.ts';
import { eventRetentionMs } from '../retention.policy.ts';
import { judgeClick, type KnownClick } from './clicks.policy.ts';
import { isMachine, type Visit } from './machines.policy.ts';
import { readLinkToken, readOpeningToken, type FollowedLink } from './tokens.ts';

/** A visit is recorded if the mail was handed over, its recipient is still a student, and the club tracks such visits. */
const isRecorded = (mailId: Id, trackings: readonly string[], now: Date) => sql`mails.id = ${mailId} AND mails.fence > 0
  AND mails.student_email <> '' AND (mails.sent_at IS NULL OR mails.sent_at > ${new Date(now.getTime() - eventRetentionMs)})
  AND ${isOpenClub(sql`mails.club_id`)}
  AND EXISTS (SELECT FROM mail_senders sender WHERE sender.club_id = mails.club_id AND sender.tracking = ANY(${trackings}))`;

/**
 * Records when a person first opened a mail, and when a machine first opened it.
 * @throws DomainError not_found, for an invalid token
 */
export async function recordOpening({ db, vault }: VaultDeps, token: string, visit: Visit, now: Date): Promise<void> {
  const mailId = readOpeningToken(vault, token);
  if (mailId === undefined) throw notFound('mail');
  const machine = isMachine(visit);
  const column = machine ? sql`machine_opened_at` : sql`opened_at`;
  await db.transaction(async (tx) => {
    await lockStudentOfRun(tx, mailId);
    const opened = await tx.one<{ runId: Id | null }>(sql`
      WITH opened AS (
        UPDATE mails SET ${column} = ${now}, ${sentByEvidence(sql`${now}::timestamptz`)}
         WHERE ${isRecorded(mailId, ['all'], now)} AND ${column} IS NULL
     RETURNING club_id, campaign_id, run_id),
      tallied AS (
        INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
        SELECT club_id, 'mails_opened', campaign_id, ${machine}, 1 FROM opened WHERE campaign_id IS NOT NULL)
      SELECT run_id AS "runId" FROM opened`);
    if (opened?.runId && !machine) await wakeRun(tx, opened.runId, now);
  });
}

/**
 * Records that a link was followed. @returns the target of the link @throws DomainError not_found, for an invalid token
 */
export async function followLink({ db, vault }: VaultDeps, token: string, visit: Visit, now: Date): Promise<string> {
  const followed = readLinkToken(vault, token);
  const link =
    followed &&
    (await db.one<{ url: string }>(
      sql`SELECT url FROM mail_links WHERE id = ${followed.linkId} AND ${isOpenClub(sql`club_id`)}`,
    ));
  if (!followed || !link) throw notFound('mail');
  await db.transaction((tx) => recordClick(tx, followed, isMachine(visit), now));
  return link.url;
}

/**
 * Locks the student. A visit changes the e-mail before it wakes the run, but a step of the run changes the run before the e-mail. Every
 * transaction that changes the e-mail and the run locks the student first, so these transactions cannot deadlock (ENG-6). An e-mail of a
 * campaign has no run, so no student is locked for it.
 */
async function lockStudentOfRun(tx: Transaction, mailId: Id): Promise<void> {
  await tx.run(sql`SELECT FROM students
    WHERE id = (SELECT student_id FROM mails WHERE id = ${mailId} AND run_id IS NOT NULL) FOR NO KEY UPDATE`);
}

const mailColumns = columns(Mail, ['id', 'clubId', 'campaignId', 'runId']);

async function recordClick(tx: Transaction, { linkId, mailId }: FollowedLink, byMachine: boolean, now: Date) {
  await lockStudentOfRun(tx, mailId);
  const mail = await tx.one<RowOf<typeof mailColumns>>(
    sql`SELECT ${mailColumns} FROM mails WHERE ${isRecorded(mailId, ['all', 'clicks'], now)} FOR NO KEY UPDATE`,
  );
  if (!mail) return;
  const known = (
    await tx.rows<{ linkId: Id; machine: boolean; at: Date; lastAt: Date }>(
      sql`SELECT link_id AS "linkId", machine, at, last_at AS "lastAt" FROM mail_clicks WHERE mail_id = ${mailId}`,
    )
  ).map((click) => ({ ...click, at: click.at.getTime(), lastAt: click.lastAt.getTime() }));
  const at = now.getTime();
  const { machine, turned } = judgeClick(known, { linkId, machine: byMachine, at });
  const written = [...turned.map((click) => ({ ...click, machine: true })), { linkId, machine, at, lastAt: at }];
  await writeClicks(tx, mailId, turned, written);
  // A condition of the run may depend on clicks. A condition that was true can become false: a click that counted as the click of a person
  // may now count as the click of a machine.
  if (mail.runId !== null) await wakeRun(tx, mail.runId, now);
  await countClicks(tx, mail, known, [...known.filter((click) => !turned.includes(click)), ...written]);
}

/**
 * Writes clicks. First deletes the recorded clicks of a person that now count as clicks of a machine. If a click is already recorded, only
 * its times change.
 */
async function writeClicks(
  tx: Transaction,
  mailId: Id,
  replaced: readonly KnownClick[],
  clicks: readonly KnownClick[],
) {
  if (replaced.length > 0)
    await tx.run(sql`DELETE FROM mail_clicks
      WHERE mail_id = ${mailId} AND NOT machine AND link_id = ANY(${replaced.map(({ linkId }) => linkId)})`);
  await tx.run(sql`INSERT INTO mail_clicks AS click (mail_id, link_id, machine, at, last_at)
    SELECT ${mailId}::uuid, written.* FROM unnest(${clicks.map(({ linkId }) => linkId)}::uuid[], ${clicks.map(({ machine }) => machine)}::boolean[],
      ${clicks.map(({ at }) => new Date(at))}::timestamptz[], ${clicks.map(({ lastAt }) => new Date(lastAt))}::timestamptz[]) AS written
    ON CONFLICT (mail_id, link_id, machine) DO UPDATE
       SET at = least(click.at, excluded.at), last_at = greatest(click.last_at, excluded.last_at)`);
}

/** Updates the click times of the mail, and the tallies, after the clicks of the mail have changed. */
async function countClicks(
  tx: Transaction,
  mail: RowOf<typeof mailColumns>,
  before: readonly KnownClick[],
  after: readonly KnownClick[],
): Promise<void> {
  const first = new Date(least(after.map(({ at }) => at)));
  await tx.run(sql`UPDATE mails SET clicked_at = ${firstOf(after, false)}, machine_clicked_at = ${firstOf(after, true)},
      ${sentByEvidence(sql`${first}::timestamptz`)} WHERE id = ${mail.id}`);
  if (mail.campaignId === null) return;
  const changes: Parameters<typeof addToTallies>[1][number][] = [];
  const count = (list: TalliedList, subjectId: Id, marked: boolean, records: number) =>
    changes.push({ clubId: mail.clubId, list, subjectId, marked, records });
  for (const machine of [false, true]) {
    const [oldLinks, newLinks] = [linksOf(before, machine), linksOf(after, machine)];
    for (const linkId of oldLinks) count('mails_links_clicked', linkId, machine, -1);
    for (const linkId of newLinks) count('mails_links_clicked', linkId, machine, 1);
    count('mails_clicked', mail.campaignId, machine, Math.sign(newLinks.size) - Math.sign(oldLinks.size));
  }
  await addToTallies(tx, changes);
}

const linksOf = (clicks: readonly KnownClick[], machine: boolean): Set<Id> =>
  new Set(clicks.filter((click) => click.machine === machine).map(({ linkId }) => linkId));

function firstOf(clicks: readonly KnownClick[], machine: boolean): Date | null {
  const times = clicks.filter((click) => click.machine === machine).map(({ at }) => at);
  return times.length === 0 ? null : new Date(least(times));
}
