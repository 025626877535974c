/**
 * `npm run prove -- faults campaigns` sends 20,000 mails of one campaign. The proof kills and restarts the worker, the API, Temporal,
 * Postgres and the mail server, one after another. Meanwhile students unsubscribe, students are removed, and the owner pauses and resumes the
 * campaign. Each row must agree with the mail server, and no student may receive two mails.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { readConfig } from '../../../config.ts';
import { createDataSource } from '../../../entities/data-source.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { campaignConnections } from '../../../platform/infra/smtp/smtp-hand-over.ts';
import { createVault, type Vault } from '../../../platform/infra/keys/vault.ts';
import { caller, type OwnerCall } from './mail/caller.ts';
import { leaveByLink } from './mail/leaving.ts';
import { onMailGround, victimsWithMail, type MailGround, type VictimWithMail } from './mail/place.ts';
import { countedBy, checkMails, mailColumns, moreThanOnce, receivedIn, type MailRow } from './mail/received.ts';
import { buildRecipients, type Recipients } from './mail/recipients.ts';
import { elapsedSeconds, progress } from './progress.ts';
import { between } from './ranges.ts';
import { killInTurn } from './turns.ts';

const recipients = 20_000;
const rounds = 6;
/** The rate of mails. 100 mails a second are a usual limit of providers, and at this rate the sending lasts longer than all kills. */
const mailsPerMinute = 6_000;
/** The number of mails before a kill, and the time between a kill and the restart. */
const mailsBetweenKills = { least: 100, most: 1_100 };
const deadForMs = { least: 0, most: 3_000 };
/**
 * The time limit for these mails. Temporal starts the activities of a dead worker again after 10 s. After a failure of the mail server, a
 * campaign rests for 15 s.
 */
const flowingWithinMs = 45_000;
/** The pauses between two students who unsubscribe, between two removals, and between two pauses by the owner. */
const [leavesEveryMs, removedEveryMs, pausedEveryMs] = [400, 900, 7_000];
/**
 * The time limit for the last mails. A lease from before the last kill ends after 90 s. After a failed attempt, the next attempt waits up
 * to a minute and may fail too.
 */
const deadlineMs = 8 * 60_000;
const lookEveryMs = 1_000;

interface Scene extends MailGround {
  source: DataSource;
  vault: Vault;
  club: Recipients;
  campaignId: Id;
}

/** @returns the exit code */
export function campaignFaults(interrupted: Promise<unknown>): Promise<number> {
  return onMailGround(interrupted, mailWhileKilling);
}

async function mailWhileKilling(place: MailGround): Promise<number> {
  const { ground, log } = place;
  const config = readConfig(ground.env);
  const source = await createDataSource(config.database, 'club-faults').initialize();
  const club = await buildRecipients(source, recipients);
  const call = caller(ground, club);
  await call('PUT', '/mail/sender', {
    from_name: 'Harbour',
    postal_address: 'Quay 1',
    mails_per_minute: mailsPerMinute,
  });
  const campaignId = await newCampaign(call);
  const scene: Scene = { ...place, source, vault: createVault(config.masterKey), club, campaignId };
  await call('POST', `/campaigns/${campaignId}/schedule`, {});
  // A student who is removed before the recipients are fixed is no recipient.
  while ((await call('GET', `/campaigns/${campaignId}`)).data.status !== 'sending') await sleep(100);

  const beganAt = elapsedSeconds();
  let killing = true;
  const beside = meanwhile(scene, call, () => killing);
  const kills = await killInTurn({
    ...place,
    victims: victimsWithMail,
    rounds,
    deadForMs,
    beforeKill: () => untilFlowing(scene),
    standing: () => `${receivedIn(log).length} mails received`,
  });
  killing = false;
  const peopleCounts = await beside;
  progress('all processes run again; waiting for the last mails');
  await untilSent(scene, call);
  const tally = await tallyMails(scene);
  await source.destroy();
  report(scene, kills, peopleCounts, tally, elapsedSeconds() - beganAt);
  const { sentMails: sent, skippedMails: skipped, refusedMails: refused, unknownMails: unknown } = tally;
  const counted = sent.length + skipped.length + refused.length + unknown.length;
  const isRight =
    tally.recipients === recipients && counted === recipients && tally.mailedTwice === 0 && tally.untrue.length === 0;
  return isRight && unknown.length <= kills.length * campaignConnections ? 0 : 1;
}

async function tallyMails({ source, campaignId, log }: Scene) {
  const rows = await source.query<MailRow[]>(`SELECT ${mailColumns} FROM mails WHERE campaign_id = $1`, [campaignId]);
  const received = receivedIn(log);
  const checkedMails = checkMails(rows, received);
  const addressedTwice = moreThanOnce(countedBy(received, ({ to }) => to));
  return { ...checkedMails, recipients: rows.length, mailedTwice: Math.max(checkedMails.mailedTwice, addressedTwice) };
}

async function newCampaign(call: OwnerCall): Promise<Id> {
  const blocks = [
    { kind: 'heading', text: 'Ahoy {{student_first_name|there}}' },
    { kind: 'text', text: 'The **spring** regatta begins. [Look](https://example.com/regatta).' },
    { kind: 'button', text: 'Join', url: 'https://example.com/join' },
  ];
  const { status, data } = await call('POST', '/campaigns', {
    name: 'Regatta',
    content: { subject: 'Regatta', blocks },
  });
  if (status !== 201) throw new Error(`Creating a campaign returned ${status}`);
  return data.id;
}

interface PeopleCounts {
  unsubscribes: number;
  removed: number;
  pauses: number;
}

async function meanwhile(scene: Scene, call: OwnerCall, goesOn: () => boolean): Promise<PeopleCounts> {
  const { vault, club, campaignId, ground } = scene;
  const counts: PeopleCounts = { unsubscribes: 0, removed: 0, pauses: 0 };
  const anyStudent = () => club.studentIds[Math.floor(Math.random() * club.studentIds.length)] ?? '';
  const each = async (everyMs: number, act: () => Promise<boolean>, name: keyof PeopleCounts) => {
    while (goesOn()) {
      await sleep(everyMs);
      if (await act()) counts[name] += 1;
    }
  };
  const leaves = () => leaveByLink(ground, vault, club.clubId, { kind: 'campaigns', studentId: anyStudent() });
  const pauses = async () => {
    const { status } = await call('POST', `/campaigns/${campaignId}/pause`);
    await sleep(500);
    await call('POST', `/campaigns/${campaignId}/resume`);
    return status === 200;
  };
  await Promise.all([
    each(leavesEveryMs, leaves, 'unsubscribes'),
    each(removedEveryMs, async () => (await call('DELETE', `/students/${anyStudent()}`)).status === 204, 'removed'),
    each(pausedEveryMs, pauses, 'pauses'),
  ]);
  return counts;
}

/** Stops waiting at the time limit, so that the next kill always happens. */
async function untilFlowing({ log }: Scene): Promise<void> {
  const before = receivedIn(log).length;
  const enough = before + between(mailsBetweenKills);
  const deadline = performance.now() + flowingWithinMs;
  while (receivedIn(log).length < enough && performance.now() < deadline) await sleep(250);
}

/** Shortens waits of attempts to a minute at most, because this proof is about kills. Other tests cover the schedule. */
async function untilSent({ source, campaignId, log }: Scene, call: OwnerCall): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  for (let looks = 1; performance.now() < deadline; looks++) {
    const { data } = await call('GET', `/campaigns/${campaignId}`);
    if (data.status === 'sent') return;
    if (data.status === 'paused') await call('POST', `/campaigns/${campaignId}/resume`);
    const far = await source.query<[unknown[], number]>(
      `UPDATE mails SET next_attempt_at = now() WHERE campaign_id = $1 AND status = 'pending' AND next_attempt_at > now() + interval '1 minute'`,
      [campaignId],
    );
    if (far[1] > 0) await call('POST', `/campaigns/${campaignId}/pause`);
    if (looks % 10 === 0) progress(`${data.status}: ${receivedIn(log).length} mails received`);
    await sleep(lookEveryMs);
  }
  progress('the time is over');
}

function report(
  { ground }: Scene,
  kills: readonly VictimWithMail[],
  counts: PeopleCounts,
  tally: Awaited<ReturnType<typeof tallyMails>>,
  seconds: number,
): void {
  const print = (line: string) => process.stdout.write(`${line}\n`);
  print(
    `${kills.length} kills in ${seconds.toFixed(0)} s; processes that ended by themselves: ${ground.endedByItself}`,
  );
  print(`meanwhile ${counts.unsubscribes} students left, ${counts.removed} were removed, ${counts.pauses} pauses`);
  print(
    `of the mails with an unknown outcome, ${tally.unknownArrived} arrived; at most ${kills.length * campaignConnections} may be unknown`,
  );
  for (const line of tally.untrue.slice(0, 20)) print(`untrue: ${line}`);
  print(
    `recipients ${tally.recipients}, mailed once ${tally.sentMails.length}, skipped ${tally.skippedMails.length}, refused ${tally.refusedMails.length}, ` +
      `unknown ${tally.unknownMails.length} (each marked failed), mailed twice ${tally.mailedTwice}, rows untrue ${tally.untrue.length}`,
  );
}
