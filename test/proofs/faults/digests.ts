/**
 * `npm run prove -- faults digests` sends the daily mail of three clubs with 6,600 members. The proof kills and restarts the API, Postgres,
 * the mail server, Temporal and the worker, some of them between the steps of a mail. Meanwhile members unsubscribe. No member
 * may get two mails, and each member who stays must get one.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../../../config.ts';
import { beginDigests } from '../../../domain/community/digests/beginning.ts';
import { createDataSource } from '../../../entities/data-source.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { wake } from '../../../platform/engine/wakes.ts';
import { Database } from '../../../platform/infra/postgres/database.ts';
import { createNotifier } from '../../../platform/infra/postgres/notifications.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { campaignConnections } from '../../../platform/infra/smtp/smtp-hand-over.ts';
import { createVault, type Vault } from '../../../platform/infra/keys/vault.ts';
import { buildReaders, readersOf } from './digests/scene.ts';
import { tallyDigests, type DigestMailRow, type DigestTally } from './digests/tally.ts';
import { leaveByLink } from './mail/leaving.ts';
import { onMailGround, victimsWithMail, type MailGround, type VictimWithMail } from './mail/place.ts';
import { mailColumns, receivedIn } from './mail/received.ts';
import type { Recipients } from './mail/recipients.ts';
import { untilDone } from './patience.ts';
import { elapsedSeconds, progress } from './progress.ts';
import { between } from './ranges.ts';
import { killAtStep } from './steps.ts';
import { killInTurn } from './turns.ts';

const clubCount = 3;
/** More than two pages. */
const membersOfClub = 2_200;
/** The rate of mails. It is so low that the sending outlasts all kills. */
const mailsPerMinute = 750;
const rounds = 2;
/** The number of mails before a kill, the time limit for these mails, and the time between a kill and the restart. */
const mailsBetweenKills = { least: 20, most: 200 };
const flowingWithinMs = 30_000;
const deadForMs = { least: 0, most: 3_000 };
const failpoints = ['mail_claimed', 'mail_handed_over', 'mail_recorded'] as const;
type Failpoint = (typeof failpoints)[number];
const victims = [...victimsWithMail, ...failpoints] as const;
const leavesEveryMs = 1_000;
/**
 * The time limit for the last mails. A lease from before the last kill ends after 90 s. After a failed attempt, the next attempt waits up
 * to a minute and may fail too.
 */
const deadlineMs = 8 * 60_000;
const lookEveryMs = 1_000;
const looksALine = 10;

interface Scene extends MailGround {
  db: Database;
  vault: Vault;
  clubs: readonly Recipients[];
  /** Members who asked to unsubscribe from the daily mail, even if the API did not confirm the request. */
  unsubscribed: Set<Id>;
}

/** @returns the exit code */
export function digestFaults(interrupted: Promise<unknown>): Promise<number> {
  return onMailGround(interrupted, mailWhileKilling, { WORKER_TASK_QUEUES: 'campaigns,upkeep', MAIL_WARM_UP: 'off' });
}

async function mailWhileKilling(place: MailGround): Promise<number> {
  const { ground, log } = place;
  const config = readConfig(ground.env);
  const source = await createDataSource(config.database, 'club-faults').initialize();
  const db = new Database(
    source,
    createNotifier(source, () => {}),
  );
  const clubs = await buildReaders(db, { clubs: clubCount, members: membersOfClub, mailsPerMinute });
  const scene: Scene = { ...place, db, vault: createVault(config.masterKey), clubs, unsubscribed: new Set() };
  const beganAt = elapsedSeconds();
  // The proof begins the digests, because the schedule begins them only every 15 minutes. Two concurrent calls must create only one digest
  // for each club and date.
  await Promise.all([beginDigests(db, new Date()), beginDigests(db, new Date())]);
  let killing = true;
  const beside = membersLeave(scene, () => killing);
  let missed = 0;
  const isFailpoint = (victim: string): victim is Failpoint => failpoints.some((name) => name === victim);
  const kills = await killInTurn({
    victims,
    rounds,
    deadForMs,
    beforeKill: () => untilFlowing(log),
    async kill(victim) {
      if (!isFailpoint(victim)) return place.kill(victim);
      missed += (await killAtStep(ground, victim)) ? 0 : 1;
    },
    startAgain: (victim) => place.startAgain(isFailpoint(victim) ? 'worker' : (victim satisfies VictimWithMail)),
    standing: () => `${receivedIn(log).length} mails received`,
  });
  killing = false;
  await beside;
  progress('all processes run again; waiting for the last mails');
  await untilEnded(scene);
  const rows = await source.query<DigestMailRow[]>(`SELECT ${mailColumns}, student_id AS "studentId" FROM mails`);
  const tally = tallyDigests(readersOf(clubs), scene.unsubscribed, rows, receivedIn(log));
  await source.destroy();
  print(
    `${kills.length} kills in ${(elapsedSeconds() - beganAt).toFixed(0)} s, ${missed} of them not at their step; processes that ended by themselves: ${ground.endedByItself}`,
  );
  return report(scene, tally, kills.length * campaignConnections);
}

async function membersLeave({ ground, vault, clubs, unsubscribed: left }: Scene, goesOn: () => boolean): Promise<void> {
  for (let leaves = 0; goesOn(); leaves++) {
    await sleep(leavesEveryMs);
    const club = clubs[leaves % clubs.length];
    const studentId = club?.studentIds[Math.floor(Math.random() * club.studentIds.length)];
    if (!club || studentId === undefined) continue;
    left.add(studentId);
    await leaveByLink(ground, vault, club.clubId, { kind: 'digests', studentId });
  }
}

/** Stops waiting at the time limit, so that the next kill always happens. */
async function untilFlowing(log: string): Promise<void> {
  const enough = receivedIn(log).length + between(mailsBetweenKills);
  const deadline = performance.now() + flowingWithinMs;
  while (receivedIn(log).length < enough && performance.now() < deadline) await sleep(250);
}

/** Shortens waits of attempts to 20 s at most, because this proof is about kills. Other tests cover the schedule. */
async function untilEnded({ db, log }: Scene): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  for (let looks = 1; performance.now() < deadline; looks++) {
    const now = new Date();
    const open = await db.rows<{ id: Id; clubId: Id }>(
      sql`SELECT id, club_id AS "clubId" FROM space_digests WHERE ended_at IS NULL`,
    );
    if (open.length === 0) return;
    if (looks % looksALine === 0)
      progress(`${open.length} digests under way, ${receivedIn(log).length} mails received`);
    await untilDone(() =>
      db.transaction(async (tx) => {
        const far = await tx.run(sql`UPDATE mails SET next_attempt_at = ${now}
          WHERE status = 'pending' AND next_attempt_at > ${new Date(now.getTime() + 20_000)}`);
        if (far > 0) await wake(tx, 'spaceDigest', open, now);
      }),
    );
    await sleep(lookEveryMs);
  }
  progress('the time is over');
}

/** @returns the exit code */
function report(
  { unsubscribed: left, clubs }: Scene,
  { mails, twice, missing }: DigestTally,
  mayBeUnknown: number,
): number {
  const {
    sentMails: sent,
    skippedMails: skipped,
    refusedMails: refused,
    unknownMails: unknown,
    unknownArrived,
    untrue,
  } = mails;
  for (const [name, lines] of Object.entries({ missing, untrue }))
    for (const line of lines.slice(0, 20)) print(`${name}: ${line}`);
  print(
    `${left.size} members asked to leave, ${skipped.length} mails were skipped; of the mails with an unknown outcome, ${unknownArrived} arrived; at most ${mayBeUnknown} may be unknown`,
  );
  print(
    `members ${readersOf(clubs).length}, mailed once ${sent.length}, refused ${refused.length}, unknown ${unknown.length} (each marked failed), ` +
      `missing ${missing.length}, twice ${twice}, rows untrue ${untrue.length}`,
  );
  const isRight = missing.length === 0 && twice === 0 && untrue.length === 0 && unknown.length <= mayBeUnknown;
  return isRight && sent.length > 0 ? 0 : 1;
}

const print = (line: string) => process.stdout.write(`${line}\n`);
