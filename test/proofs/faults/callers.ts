/**
 * `npm run prove -- faults callers` sends 2,000 requests with an `Idempotency-Key`, and repeats each of them. A proxy cuts connections. The proof
 * kills the API and Postgres at random times, and the API between two statements of a request. Each request must have one effect, and all
 * its answers must be equal.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../../../config.ts';
import { createDataSource } from '../../../entities/data-source.ts';
import { createVault } from '../../../platform/infra/keys/vault.ts';
import { createCaller, type KeyedCaller } from './callers/caller.ts';
import { startCuttingProxy } from './callers/cutting-proxy.ts';
import { readEffects, requestsOf, type KeyedRequest } from './callers/requests.ts';
import { tallyCalls, type CallerRecord, type CallerTally } from './callers/tally.ts';
import { buildRecipients, type Recipients } from './mail/recipients.ts';
import { elapsedSeconds, progress } from './progress.ts';
import { between } from './ranges.ts';
import { killAtStatement } from './steps.ts';
import { killInTurn } from './turns.ts';
import { onGround, type Ground } from './victims.ts';

const requestCount = 2_000;
/** So many clubs that the rate limit of a club refuses few requests. */
const clubCount = 100;
const callers = 24;
/** This share of the requests is sent twice at the same time. */
const twinShare = 0.2;
const rounds = 5;
const aliveForMs = { least: 500, most: 4_000 };
const deadForMs = { least: 0, most: 2_000 };
/**
 * The proof kills the API before a random SQL statement of a request. It counts the statements from the claim of the key. Statement 9 comes
 * after the commit.
 */
const statements = { least: 1, most: 9 };
const apiAtStatement = 'API at a statement';
const victims = ['API', 'Postgres', apiAtStatement, apiAtStatement] as const;

/** @returns the exit code */
export async function callerFaults(interrupted: Promise<unknown>): Promise<number> {
  return (await onGround(interrupted, callWhileKilling, { WORKER_TASK_QUEUES: 'upkeep' })) ?? 1;
}

async function callWhileKilling(ground: Ground): Promise<number> {
  const config = readConfig(ground.env);
  const source = await createDataSource(config.database, 'club-faults').initialize();
  const clubs: Recipients[] = [];
  while (clubs.length < clubCount) clubs.push(await buildRecipients(source, 1));
  const requests = requestsOf(clubs, requestCount);
  const proxy = await startCuttingProxy(ground.urls.API);
  const caller = createCaller(proxy.url);
  const beganAt = elapsedSeconds();
  let [begun, killNumber, missed] = [0, 0, 0];
  const killCount = rounds * victims.length;
  let needsRequests = false;
  const work = sendAll(caller, requests, () => {
    const mayHaveBegun = Math.ceil((requestCount * (killNumber + 1)) / killCount);
    if (begun >= mayHaveBegun && !needsRequests) return false;
    begun += 1;
    return true;
  });
  work.catch(() => undefined); // the await below throws the error
  const kills = await killInTurn({
    victims,
    rounds,
    deadForMs,
    async beforeKill() {
      killNumber += 1;
      await sleep(between(aliveForMs));
    },
    async kill(victim) {
      if (victim !== apiAtStatement) return ground.kill(victim);
      needsRequests = true;
      missed += (await killAtStatement(ground, 'key', Math.round(between(statements)))) ? 0 : 1;
      needsRequests = false;
    },
    startAgain: (victim) => ground.startAgain(victim === apiAtStatement ? 'API' : victim),
    standing: () => `${begun} requests begun, ${proxy.cuts} connections cut, ${caller.lostAnswers} answers lost`,
  });
  progress('all processes run again; waiting for the last answers');
  const records = await work;
  const tally = tallyCalls(records, await readEffects(source, createVault(config.masterKey), requests));
  await source.destroy();
  await proxy.stop();
  print(
    `${kills.length} kills in ${(elapsedSeconds() - beganAt).toFixed(0)} s, ${missed} of them not at their statement; processes that ended by themselves: ${ground.endedByItself}`,
  );
  print(`connections cut ${proxy.cuts}, answers lost ${caller.lostAnswers}, answers given again ${tally.replays}`);
  return report(tally);
}

async function sendAll(
  caller: KeyedCaller,
  requests: readonly KeyedRequest[],
  mayBegin: () => boolean,
): Promise<CallerRecord[]> {
  const open = [...requests];
  const records: CallerRecord[] = [];
  async function work(): Promise<void> {
    while (open.length > 0) {
      if (!mayBegin()) {
        await sleep(50);
        continue;
      }
      const request = open.pop();
      if (!request) return;
      const isTwin = Math.random() < twinShare;
      const first = await Promise.all(isTwin ? [caller.send(request), caller.send(request)] : [caller.send(request)]);
      records.push({ mark: request.mark, answers: [...first, await caller.send(request)] });
    }
  }
  await Promise.all(Array.from({ length: callers }, work));
  return records;
}

function report({ requests, effects, doubledEffects, lostEffects, differingReplays }: CallerTally): number {
  for (const [name, lines] of Object.entries({ doubledEffects, lostEffects, differingReplays }))
    for (const line of lines.slice(0, 20)) print(`${name}: ${line}`);
  print(
    `requests ${requests}, effects ${effects}, doubled ${doubledEffects.length}, lost ${lostEffects.length}, replays that differ ${differingReplays.length}`,
  );
  const wrong = doubledEffects.length + lostEffects.length + differingReplays.length;
  return requests === requestCount && effects === requestCount && wrong === 0 ? 0 : 1;
}

const print = (line: string) => process.stdout.write(`${line}\n`);
