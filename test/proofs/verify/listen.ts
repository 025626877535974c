/**
 * `npm run prove -- verify listen` verifies that the command `listen` loses no event. Facts are committed while the API is killed several
 * times, and while the command sleeps like the process of a closed laptop. A receiver counts the events, and the library `standardwebhooks`
 * judges each of them.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../../../config.ts';
import { Problem } from '../../../dev/problem.ts';
import { projectDirectory, scriptArguments } from '../../../dev/project.ts';
import { newKey } from '../../../domain/identity/api-keys/key-format.ts';
import { createDataSource } from '../../../entities/data-source.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { recordFact } from '../../../platform/engine/facts.ts';
import { sha256 } from '../../../platform/infra/keys/vault.ts';
import { Database } from '../../../platform/infra/postgres/database.ts';
import { createNotifier } from '../../../platform/infra/postgres/notifications.ts';
import { secretOf } from '../../../sdk/src/commands/listen/secret.ts';
import { until } from '../../toolkit/drive/until.ts';
import { startJudge } from '../../toolkit/fakes/webhook-judge.ts';
import { progress } from '../faults/progress.ts';
import { onGround, type Ground } from '../faults/victims.ts';

const events = 300;
const everyMs = 200;
/** The API is killed after these numbers of events. */
const killsAfter = [30, 90, 150, 240];
/** The command sleeps after these numbers of events, for so many milliseconds. The longer sleep cuts the stream. */
const sleepsAfter: Readonly<Record<number, number>> = { 60: 8_000, 190: 70_000 };
const connectionLimitMs = 90_000;
const arrivalLimitMs = 120_000;

/** @returns the last line of the proof @throws Problem with the fault */
export async function verifyListen(): Promise<string> {
  const never = new Promise<never>(() => undefined);
  const line = await onGround(never, measure, {}, ['temporal', 'postgres']);
  return line ?? '';
}

async function measure(ground: Ground): Promise<string> {
  const source = await createDataSource(readConfig(ground.env).database, 'club-proof').initialize();
  const db = new Database(
    source,
    createNotifier(source, () => {}),
  );
  const club = await insertClub(db);
  const judge = await startJudge(secretOf(club.key));
  const command = startCommand(ground, club, judge.url);
  try {
    await until('the stream', { timeoutMs: 60_000 }, async () => command.errors().includes('Listening.'));
    const committed = await commitAll(ground, db, club, command);
    const arrived = () => new Set(judge.received.map(({ id }) => id));
    await until(`${events} events`, { timeoutMs: arrivalLimitMs }, async () => arrived().size >= events).catch(
      () => undefined,
    );
    const forwarded = arrived().size;
    const lostEvents = committed.filter((id) => !arrived().has(id)).length;
    const doubled = judge.received.length - forwarded;
    const falsified = judge.received.filter(({ isGenuine }) => !isGenuine).length;
    const line = `events ${committed.length}, forwarded ${forwarded}, lost ${lostEvents}`;
    if (lostEvents + doubled + falsified > 0 || forwarded !== events)
      throw new Problem(`${line}, doubled ${doubled}, with a wrong signature ${falsified}\n${command.errors()}`);
    progress(`doubled 0; the command connected ${command.connections()} times`);
    return line;
  } finally {
    await command.stop();
    await judge.stop();
    await source.destroy();
  }
}

interface ProofClub {
  id: Id;
  studentId: Id;
  key: string;
}

async function insertClub(db: Database): Promise<ProofClub> {
  const [id, studentId, keyId] = [newId(), newId(), newId()];
  const key = newKey(keyId);
  const query = (statement: string, values: unknown[]) => db.source.query(statement, values);
  await query(`INSERT INTO clubs (id, name, slug, created_at) VALUES ($1, 'Club', $2, now())`, [id, `club-${id}`]);
  await query(
    `INSERT INTO students (id, club_id, name, email, created_at) VALUES ($1, $2, 'Ada', 'ada@example.com', now())`,
    [studentId, id],
  );
  await query(
    `INSERT INTO api_keys (id, club_id, name, scopes, allowed_networks, secret_hash, created_at, updated_at, expires_at)
     VALUES ($1, $2, 'listen', '{events:read}', '{}', $3, now(), now(), now() + interval '1 day')`,
    [keyId, id, sha256(key)],
  );
  return { id, studentId, key };
}

/** Starts the command in a process of its own. */
function startCommand(ground: Ground, club: ProofClub, receiver: string) {
  const args = ['listen', '--api-url', ground.urls.API, '--club', club.id, '--forward-to', receiver, '--json'];
  const child = spawn(process.execPath, [...scriptArguments('sdk/src/commands/bin.ts'), ...args], {
    cwd: projectDirectory,
    env: { PATH: process.env['PATH'], CLUB_LEARNING_API_KEY: club.key },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  return {
    child,
    errors: () => errors,
    connections: () => errors.split('Listening').length - 1,
    async stop() {
      if (child.exitCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGCONT');
      child.kill('SIGTERM');
      await exited;
    },
  };
}

/** Commits the events, with the kills and sleeps between them. @returns the ids of the events */
async function commitAll(
  ground: Ground,
  db: Database,
  club: ProofClub,
  { child, connections }: Pick<ReturnType<typeof startCommand>, 'child' | 'connections'>,
): Promise<Id[]> {
  const ids: Id[] = [];
  const disturbances: Promise<void>[] = [];
  let connectionsBefore = 0;
  while (ids.length < events) {
    const fact = {
      clubId: club.id,
      type: 'student.updated',
      studentId: club.studentId,
      occurredAt: new Date(),
    } as const;
    ids.push(await db.transaction((tx) => recordFact(tx, fact)));
    const sleepMs = sleepsAfter[ids.length];
    if (killsAfter.includes(ids.length)) {
      // Each kill cuts a stream, so the command must be connected again.
      await Promise.all(disturbances);
      const isConnected = async () => connections() > connectionsBefore;
      await until('another connection', { timeoutMs: connectionLimitMs }, isConnected);
      connectionsBefore = connections();
      disturbances.push(killApi(ground, ids.length));
    }
    if (sleepMs !== undefined) disturbances.push(putToSleep(child, sleepMs, ids.length));
    await sleep(everyMs);
  }
  await Promise.all(disturbances);
  return ids;
}

async function killApi(ground: Ground, after: number): Promise<void> {
  progress(`killing the API after ${after} events`);
  await ground.kill('API');
  await sleep(1_000);
  await ground.startAgain('API');
}

async function putToSleep(child: ChildProcess, sleepMs: number, after: number): Promise<void> {
  progress(`stopping the command for ${sleepMs / 1_000} s after ${after} events`);
  child.kill('SIGSTOP');
  await sleep(sleepMs);
  child.kill('SIGCONT');
}
