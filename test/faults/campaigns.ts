/**
 * `npm run faults -- campaigns`: 20,000 mails of one campaign, while the worker, the API, Temporal, Postgres and the mail server are
 * killed and started again in turn, students leave, are removed, and the campaign is paused and resumed. Each row must say what the
 * mail server received, and nobody may receive two.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { readConfig } from '../../config.ts';
import { startChild, type Child } from '../../dev/children.ts';
import { fixedPorts } from '../../dev/ports.ts';
import { projectDirectory, scriptArguments } from '../../dev/project.ts';
import { untilPortAnswers } from '../../dev/readiness.ts';
import { wayOutToken } from '../../domain/mail/way-out.ts';
import { createDataSource } from '../../entities/data-source.ts';
import type { Id } from '../../platform/core/ids.ts';
import { campaignConnections } from '../../platform/infra/smtp-hand-over.ts';
import { createVault, type Vault } from '../../platform/infra/vault.ts';
import { buildRecipients, type Recipients } from './campaigns/recipients.ts';
import { receivedIn, tallyMails, type MailTally } from './campaigns/tally.ts';
import { elapsedSeconds, progress } from './progress.ts';
import { onGround, victims as programs, type Ground } from './victims.ts';

const recipients = 20_000;
const rounds = 6;
const victims = [...programs, 'mail server'] as const;
type Victim = (typeof victims)[number];
/** 100 a second, a rate of many providers: the mails last for all the kills. */
const mailsPerMinute = 6_000;
/** How many mails go out before a kill, or how long it waits for them, and how long what was killed stays dead. */
const mailsBetweenKills = { least: 100, most: 1_100 };
const deadForMs = { least: 0, most: 3_000 };
/** A worker's mails flow again once Temporal misses its heartbeats, after 10 s; a mail server rests for 15 s. */
const flowingWithinMs = 45_000;
/** Pauses of those who leave, are removed, and of who pauses. */
const [leavesEveryMs, removedEveryMs, pausedEveryMs] = [400, 900, 7_000];
/** Leases of the last kill end after 90 s, an attempt's wait of a minute, and its round once more. */
const deadlineMs = 8 * 60_000;
const lookEveryMs = 1_000;

interface Scene {
  ground: Ground;
  source: DataSource;
  vault: Vault;
  club: Recipients;
  campaignId: Id;
  mailServer: { kill(): Promise<void>; start(): Promise<void> };
  log: string;
}

/** @returns the exit code: 0 when every row is true, nobody has two, and no more are unknown than kills explain */
export async function campaignFaults(interrupted: Promise<unknown>): Promise<number> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'club-learning-mails-'));
  try {
    return (await onGround(interrupted, (ground) => mailWhileKilling(ground, directory))) ?? 130;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function mailWhileKilling(ground: Ground, directory: string): Promise<number> {
  const config = readConfig(ground.env);
  const source = await createDataSource(config.database, 'club-faults').initialize();
  const log = path.join(directory, 'received.jsonl');
  const mailServer = mailServerIn(ground, directory, log);
  await mailServer.start();
  const club = await buildRecipients(source, recipients);
  const call = caller(ground, club);
  await call('PUT', '/mail/sender', {
    from_name: 'Harbour',
    postal_address: 'Quay 1',
    mails_per_minute: mailsPerMinute,
  });
  const campaignId = await newCampaign(call);
  const scene: Scene = { ground, source, vault: createVault(config.masterKey), club, campaignId, mailServer, log };
  await call('POST', `/campaigns/${campaignId}/schedule`, {});
  // Whoever is removed before the freeze is no recipient.
  while ((await call('GET', `/campaigns/${campaignId}`)).data.status !== 'sending') await sleep(100);

  const beganAt = elapsedSeconds();
  let killing = true;
  const beside = meanwhile(scene, call, () => killing);
  const kills = await killInTurn(scene);
  killing = false;
  const done = await beside;
  progress('everything is up again; waiting for the last mails');
  await untilSent(scene, call);
  const tally = await tallyMails(source, campaignId, log);
  await mailServer.kill();
  await source.destroy();
  report(ground, kills, done, tally, elapsedSeconds() - beganAt);
  const counted = tally.mailedOnce + tally.skipped + tally.refused + tally.unknown;
  const isRight =
    tally.recipients === recipients && counted === recipients && tally.mailedTwice === 0 && tally.untrue.length === 0;
  return isRight && tally.unknown <= kills.length * campaignConnections ? 0 : 1;
}

/** Kept at one port and one log, however often it is killed. */
function mailServerIn(ground: Ground, directory: string, log: string): Scene['mailServer'] {
  const port = Number(ground.env[fixedPorts.smtp.variable]);
  let running: Child | undefined;
  return {
    async kill() {
      if (running?.pid !== undefined) process.kill(running.pid, 'SIGKILL');
      await running?.exited;
    },
    async start() {
      running = startChild({
        name: 'the mail server',
        command: process.execPath,
        args: scriptArguments('test/faults/campaigns/mail-server.ts'),
        env: { ...ground.env, MAIL_LOG: log },
        cwd: projectDirectory,
        logFile: path.join(directory, 'mail-server.log'),
      });
      await untilPortAnswers(port, { timeoutMs: 60_000, child: running });
    },
  };
}

type Call = (
  method: string,
  path: string,
  body?: object,
) => Promise<{ status: number; data: { id: Id; status: string } }>;

/** Calls the API as the owner of the club, again and again while it is away. */
function caller({ urls }: Ground, { clubId, ownerToken }: Recipients): Call {
  return async (method, at, body) => {
    for (;;) {
      try {
        const answer = await fetch(`${urls.API}/v1/clubs/${clubId}${at}`, {
          method,
          headers: { Authorization: `Bearer ${ownerToken}`, 'Content-Type': 'application/json' },
          ...(body && { body: JSON.stringify(body) }),
          signal: AbortSignal.timeout(10_000),
        });
        const text = await answer.text();
        if (answer.status < 500 && answer.status !== 429) {
          const { data } = (text === '' ? {} : JSON.parse(text)) as { data?: { id: Id; status: string } };
          return { status: answer.status, data: data ?? { id: '', status: '' } };
        }
      } catch {
        // It, or Postgres behind it, is dead.
      }
      await sleep(100);
    }
  };
}

async function newCampaign(call: Call): Promise<Id> {
  const blocks = [
    { kind: 'heading', text: 'Ahoy {{student_first_name|there}}' },
    { kind: 'text', text: 'The **spring** regatta begins. [Look](https://example.com/regatta).' },
    { kind: 'button', text: 'Join', url: 'https://example.com/join' },
  ];
  const { status, data } = await call('POST', '/campaigns', {
    name: 'Regatta',
    content: { subject: 'Regatta', blocks },
  });
  if (status !== 201) throw new Error(`A campaign was not made: ${status}`);
  return data.id;
}

/** What people do meanwhile. */
interface Done {
  left: number;
  removed: number;
  pauses: number;
}

/** Students leave by the link of their mail and are removed, some before their mail and some after; the owner pauses and resumes. */
async function meanwhile(scene: Scene, call: Call, goesOn: () => boolean): Promise<Done> {
  const { vault, club, campaignId, ground } = scene;
  const done: Done = { left: 0, removed: 0, pauses: 0 };
  const anybody = () => club.studentIds[Math.floor(Math.random() * club.studentIds.length)] ?? '';
  const each = async (everyMs: number, act: () => Promise<boolean>, name: keyof Done) => {
    while (goesOn()) {
      await sleep(everyMs);
      if (await act()) done[name] += 1;
    }
  };
  const leaves = async () => {
    const token = wayOutToken(vault, { kind: 'campaigns', studentId: anybody() });
    const body = new URLSearchParams({ 'List-Unsubscribe': 'One-Click' });
    const url = `${ground.urls.API}/v1/clubs/${club.clubId}/classroom/mail/unsubscribe/${token}`;
    return fetch(url, { method: 'POST', body }).then(
      ({ ok }) => ok,
      () => false,
    );
  };
  const pauses = async () => {
    const { status } = await call('POST', `/campaigns/${campaignId}/pause`);
    await sleep(500);
    await call('POST', `/campaigns/${campaignId}/resume`);
    return status === 200;
  };
  await Promise.all([
    each(leavesEveryMs, leaves, 'left'),
    each(removedEveryMs, async () => (await call('DELETE', `/students/${anybody()}`)).status === 204, 'removed'),
    each(pausedEveryMs, pauses, 'pauses'),
  ]);
  return done;
}

async function killInTurn(scene: Scene): Promise<Victim[]> {
  const kills: Victim[] = [];
  for (let round = 1; round <= rounds; round++) {
    for (const victim of victims) {
      await untilFlowing(scene);
      await (victim === 'mail server' ? scene.mailServer.kill() : scene.ground.kill(victim));
      kills.push(victim);
      progress(`killed ${victim} (round ${round}); ${receivedIn(scene.log).length} mails received`);
      await sleep(between(deadForMs));
      await (victim === 'mail server' ? scene.mailServer.start() : scene.ground.startAgain(victim));
    }
  }
  return kills;
}

/** Or until it has waited long enough: then the next is killed all the same. */
async function untilFlowing({ log }: Scene): Promise<void> {
  const before = receivedIn(log).length;
  const enough = before + between(mailsBetweenKills);
  const deadline = performance.now() + flowingWithinMs;
  while (receivedIn(log).length < enough && performance.now() < deadline) await sleep(250);
}

/** Waits of an attempt beyond a minute are cut short: the run is about kills, the schedule has tests of its own. */
async function untilSent({ source, campaignId, log }: Scene, call: Call): Promise<void> {
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

function report(ground: Ground, kills: readonly Victim[], done: Done, tally: MailTally, seconds: number): void {
  const print = (line: string) => process.stdout.write(`${line}\n`);
  print(
    `${kills.length} kills in ${seconds.toFixed(0)} s; processes that ended by themselves: ${ground.endedByItself}`,
  );
  print(`meanwhile ${done.left} students left, ${done.removed} were removed, ${done.pauses} pauses`);
  print(
    `of the unknown, ${tally.unknownArrived} arrived; at most ${kills.length * campaignConnections} may be unknown`,
  );
  for (const line of tally.untrue.slice(0, 20)) print(`untrue: ${line}`);
  print(
    `recipients ${tally.recipients}, mailed once ${tally.mailedOnce}, skipped ${tally.skipped}, refused ${tally.refused}, ` +
      `unknown ${tally.unknown} (each marked failed), mailed twice ${tally.mailedTwice}, rows untrue ${tally.untrue.length}`,
  );
}

function between({ least, most }: { least: number; most: number }): number {
  return least + Math.random() * (most - least);
}
