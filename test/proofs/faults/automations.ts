/**
 * `npm run prove -- faults automations`: 2,000 students pass twelve steps of an automation. Meanwhile the proof kills and restarts the
 * worker, the API, Temporal, Postgres and the mail server, one after another. At each kill Temporal also loses a third of its runs. Each effect must exist
 * once, and no student may get a mail twice.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../../../config.ts';
import { tagStudent } from '../../../domain/learning/engagement/tagging.ts';
import { createDataSource } from '../../../entities/data-source.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { Database } from '../../../platform/infra/postgres/database.ts';
import { createNotifier } from '../../../platform/infra/postgres/notifications.ts';
import { smtpConnections } from '../../../platform/infra/smtp/smtp.ts';
import { createVault } from '../../../platform/infra/keys/vault.ts';
import { publishLongWay, waitSpeed, type Tags } from './automations/scene.ts';
import { noteFacts, tallyEffects, type EffectTally } from './automations/tally.ts';
import { forgetfulEngine, type Forgetful } from './forgetting.ts';
import { caller, type OwnerCall } from './mail/caller.ts';
import { onMailGround, victimsWithMail, type MailGround, type VictimWithMail } from './mail/place.ts';
import { buildRecipients, type Recipients } from './mail/recipients.ts';
import { untilDone } from './patience.ts';
import { elapsedSeconds, progress } from './progress.ts';
import { between } from './ranges.ts';
import { countRescues, type Rescues } from './rescues.ts';
import { killInTurn } from './turns.ts';

const people = 2_000;
const steps = 12 * people;
const rounds = 3;
/** The proof kills after this number of steps, or after `flowingWithinMs`. It restarts the process after `deadForMs`. */
const stepsBetweenKills = { least: 600, most: 2_000 };
const flowingWithinMs = 60_000;
const deadForMs = { least: 0, most: 3_000 };
/** The pause between two students who enter. Students enter until the last third of the kills. */
const entersEveryMs = 120;
/**
 * Every tenth tag is added through the API, so that a kill of the API has an effect. The API allows a club only about one such change a
 * second.
 */
const apiEvery = 10;
/** Every second student gets the tag that ends the wait, some time after the wait began. */
const looksForWaitingEveryMs = 1_000;
const mailsPerMinute = 6_000;
/**
 * The owner pauses the automation after all students have entered: the number of pauses, their duration, and the time between two pauses.
 */
const [pauses, pausedForMs, pauseEveryMs] = [2, 3_000, 15_000];
/**
 * If nothing progresses for this time, the proof gives up. The time is enough for a waiting mail, three minutes of the sweeper, and one
 * more try.
 */
const silentForMs = 8 * 60_000;
const lookEveryMs = 1_000;
const looksALine = 10;

interface Scene extends MailGround {
  db: Database;
  club: Recipients;
  automationId: Id;
  tags: Tags;
  call: OwnerCall;
  engine: Forgetful;
  rescues: Rescues;
  stepsDone: number;
}

/** @returns the exit code */
export function automationFaults(interrupted: Promise<unknown>): Promise<number> {
  return onMailGround(interrupted, walkWhileKilling, {
    AUTOMATION_WAIT_SPEED: String(waitSpeed),
    MAIL_WARM_UP: 'off',
  });
}

async function walkWhileKilling(place: MailGround): Promise<number> {
  const { ground, log } = place;
  const config = readConfig(ground.env);
  const source = await createDataSource(config.database, 'club-faults').initialize();
  const db = new Database(
    source,
    createNotifier(source, () => {}),
  );
  await noteFacts(source);
  const club = await buildRecipients(source, people);
  const published = await publishLongWay({ db, vault: createVault(config.masterKey) }, club.clubId, mailsPerMinute);
  const scene: Scene = {
    ...place,
    ...published,
    db,
    club,
    call: caller(ground, club),
    engine: await forgetfulEngine(config.temporal, ['automationRun', 'automationGate']),
    rescues: countRescues(ground.urls.worker),
    stepsDone: 0,
  };
  const beganAt = elapsedSeconds();
  let isRunning = true;
  const entered = everybodyEnters(scene);
  const beside = Promise.all([
    entered,
    keepCounting(scene, () => isRunning),
    tagWhoWaits(scene, () => isRunning),
    entered.then(() => pauseAndResume(scene)),
  ]);
  const kills = await killInTurn({
    victims: victimsWithMail,
    rounds,
    deadForMs,
    beforeKill: () => untilFlowing(scene),
    kill: (victim) => killAndForget(scene, victim),
    startAgain: place.startAgain,
    standing: () => standing(scene),
  });
  progress('all processes run again; waiting for the last runs');
  await entered;
  await untilAllHaveEnded(scene);
  isRunning = false;
  await Promise.race([beside, sleep(2 * looksForWaitingEveryMs)]);
  scene.rescues.stop();
  await scene.rescues.beforeKill();
  const tally = await tallyEffects(source, { ...published, log });
  await Promise.all([scene.engine.close(), source.destroy()]);
  report(scene, kills, tally, elapsedSeconds() - beganAt);
  const { runs, finished, twice, missing, mails } = tally;
  const isRight = runs === people && finished === people && twice.length + missing.length + mails.untrue.length === 0;
  return isRight && mails.mailedTwice === 0 && mails.unknownMails.length <= kills.length * smtpConnections ? 0 : 1;
}

async function everybodyEnters(scene: Scene): Promise<void> {
  const { club, tags } = scene;
  await Promise.all(
    club.studentIds.map(async (studentId, place) => {
      await sleep(place * entersEveryMs);
      await putOn(scene, studentId, tags.start, place);
    }),
  );
  progress('all students have entered');
}

/** Adds the tag, and repeats the call until the API confirms the tag. A repeated call changes nothing. */
async function putOn({ db, club, call }: Scene, studentId: Id, tagId: Id, place: number): Promise<void> {
  if (place % apiEvery === 0) {
    const { status } = await call('PUT', `/students/${studentId}/tags/${tagId}`);
    if (status !== 204) throw new Error(`Adding a tag returned ${status}`);
    return;
  }
  await untilDone(() => tagStudent({ db }, { clubId: club.clubId, studentId, tagId }, new Date()));
}

async function keepCounting(scene: Scene, goesOn: () => boolean): Promise<void> {
  while (goesOn()) {
    const count = () =>
      scene.db.source.query<{ count: number }[]>(
        `SELECT count(*)::int AS count FROM automation_run_steps WHERE left_at IS NOT NULL`,
      );
    scene.stepsDone = (await untilDone(count))[0]?.count ?? 0;
    await sleep(lookEveryMs);
  }
}

async function tagWhoWaits(scene: Scene, goesOn: () => boolean): Promise<void> {
  const { db, club, tags } = scene;
  const places = new Map(club.studentIds.map((id, place) => [id, place]));
  const taggedStudents = new Set<Id>();
  while (goesOn()) {
    await sleep(looksForWaitingEveryMs);
    const waiting = await untilDone(() =>
      db.source.query<{ id: Id }[]>(
        `SELECT student_id AS id FROM automation_runs WHERE cursor = 'wait' AND waiting AND status = 'active'`,
      ),
    );
    const keen = waiting.filter(({ id }) => (places.get(id) ?? 0) % 2 === 0 && !taggedStudents.has(id));
    for (const { id } of keen) taggedStudents.add(id);
    await Promise.all(keen.map(({ id }, place) => putOn(scene, id, tags.keenTag, place)));
  }
}

/**
 * Waits until all students have entered, because no run may begin during a pause. Resuming starts the gate, which releases the paused runs.
 */
async function pauseAndResume({ db, call, automationId }: Scene): Promise<void> {
  const entered = () => db.source.query<{ count: number }[]>(`SELECT count(*)::int AS count FROM automation_runs`);
  while (((await untilDone(entered))[0]?.count ?? 0) < people) await sleep(lookEveryMs);
  for (let times = 0; times < pauses; times++) {
    await call('POST', `/workflows/${automationId}/pause`);
    await sleep(pausedForMs);
    await call('POST', `/workflows/${automationId}/resume`);
    progress('the runs were paused and resumed');
    await sleep(pauseEveryMs);
  }
}

async function killAndForget({ kill, rescues, engine }: Scene, victim: VictimWithMail): Promise<void> {
  if (victim === 'worker') await rescues.beforeKill();
  await kill(victim);
  // Temporal also loses runs that were active at the kill.
  if (victim !== 'Temporal') progress(`Temporal forgets ${await engine.forgetThird()} runs`);
}

/** Stops waiting at the time limit, so that the next kill always happens. */
async function untilFlowing(scene: Scene): Promise<void> {
  const enough = Math.min(steps, scene.stepsDone + between(stepsBetweenKills));
  const deadline = performance.now() + flowingWithinMs;
  while (scene.stepsDone < enough && performance.now() < deadline) await sleep(250);
}

/** Shortens waits of mails to a minute at most, because this proof is about kills. Other tests cover the schedule. */
async function untilAllHaveEnded(scene: Scene): Promise<void> {
  const { db, rescues } = scene;
  let last = { steps: -1, at: performance.now() };
  for (let looks = 0; performance.now() < last.at + silentForMs; looks++) {
    if (scene.stepsDone !== last.steps) last = { steps: scene.stepsDone, at: performance.now() };
    const [remaining] = await untilDone(() =>
      db.source.query<{ facts: number; runs: number }[]>(
        `SELECT (SELECT count(*)::int FROM facts) AS facts, (SELECT count(*)::int FROM automation_runs WHERE status = 'active') AS runs`,
      ),
    );
    if (remaining && remaining.facts + remaining.runs === 0) return;
    if (looks % looksALine === 0)
      progress(`${standing(scene)}; ${remaining?.runs} runs under way, ${rescues.total} rescued so far`);
    await db.source.query(
      `WITH far AS (UPDATE mails SET next_attempt_at = now() WHERE status = 'pending' AND next_attempt_at > now() + interval '1 minute' RETURNING run_id)
       UPDATE automation_runs SET looks_at = now() - interval '2 minutes' FROM far WHERE id = far.run_id AND status = 'active'`,
    );
    await sleep(lookEveryMs);
  }
  progress('nothing happens any more');
}

const standing = ({ stepsDone }: Scene) => `${stepsDone} of ${steps} steps taken`;

function report(
  { ground, engine, rescues }: Scene,
  kills: readonly VictimWithMail[],
  { runs, finished, twice, missing, mails }: EffectTally,
  seconds: number,
): void {
  const print = (line: string) => process.stdout.write(`${line}\n`);
  print(
    `${kills.length} kills in ${seconds.toFixed(0)} s; processes that ended by themselves: ${ground.endedByItself}`,
  );
  print(`${engine.forgotten} runs forgotten, ${rescues.total} rescued; ${pauses} pauses`);
  print(
    `mails sent ${mails.sentMails.length}, refused ${mails.refusedMails.length}; of the mails with an unknown outcome, ${mails.unknownArrived} arrived; ` +
      `at most ${kills.length * smtpConnections} may be unknown`,
  );
  for (const line of mails.untrue.slice(0, 20)) print(`untrue: ${line}`);
  for (const line of twice.slice(0, 20)) print(`twice: ${line}`);
  for (const line of missing.slice(0, 20)) print(`missing: ${line}`);
  print(
    `runs ${runs}, finished ${finished}, effects twice ${twice.length}, effects missing ${missing.length}, ` +
      `mailed twice ${mails.mailedTwice}, mails unknown ${mails.unknownMails.length} (each marked)`,
  );
}
