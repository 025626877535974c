/**
 * `npm run prove -- faults agents`: students ask questions without a pause. Meanwhile the proof kills and restarts the worker,
 * the API, Temporal and Postgres, one after another. The model also refuses requests, breaks off answers and hangs. Each question must have an answer, which
 * is charged once and has neither gaps nor repeats.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../../../config.ts';
import { startFakeModel, type FakeModel, type Script } from '../../../dev/fake-model/fake-model.ts';
import { createDataSource } from '../../../entities/data-source.ts';
import { askOnce, type Seen } from './agents/asker.ts';
import { buildClass, type Classroom } from './agents/class.ts';
import { tallyAnswers, type AnswerTally } from './agents/tally.ts';
import { elapsedSeconds, progress } from './progress.ts';
import { between } from './ranges.ts';
import { killInTurn } from './turns.ts';
import { onGround, victims, type Ground, type Victim } from './victims.ts';

/** Each student asks one question after another. The limit is 20 questions a minute. */
const students = 24;
const rounds = 3;
const aliveForMs = { least: 2_500, most: 6_000 };
const deadForMs = { least: 0, most: 5_000 };
/** The time limit for the last answers. An answer that cannot begin waits two minutes, and the sweeper needs two more minutes. */
const deadlineMs = 6 * 60_000;
/** An answer takes about four seconds, so that most kills interrupt an answer. */
const words = Array.from({ length: 80 }, (_, index) => `word${index} `);
const delayMs = 50;
const pauseMs = { least: 0, most: 2_000 };

/** How the model fails. `upTo` is a cumulative share of all requests, in percent. */
const troubles: readonly { upTo: number; script: () => Script }[] = [
  { upTo: 4, script: () => ({ refuse: 529 }) },
  { upTo: 7, script: () => ({ refuse: 429, retryAfterS: 2 }) },
  { upTo: 9, script: () => ({ drop: true }) },
  { upTo: 13, script: () => ({ cutAfter: 1 + Math.floor(Math.random() * 80) }) },
  { upTo: 15, script: () => ({ errorAfter: 1 + Math.floor(Math.random() * 80) }) },
  { upTo: 16, script: () => ({ silentAfter: 40 }) },
  { upTo: 18, script: () => ({ stopReason: 'max_tokens' }) },
  { upTo: 20, script: () => ({ stopReason: 'refusal' }) },
];

/** @returns the exit code */
export async function agentFaults(interrupted: Promise<unknown>): Promise<number> {
  const model = await startFakeModel();
  model.rule(() => ({ answer: words, delayMs, ...trouble() }));
  try {
    const env = { ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: 'unused' };
    return (await onGround(interrupted, (ground) => askWhileKilling(ground, model), env)) ?? 130;
  } finally {
    await model.stop();
  }
}

/** Draws the fault of the next answer: most answers have none. */
export function trouble(): Script {
  const draw = Math.random() * 100;
  return troubles.find(({ upTo }) => draw < upTo)?.script() ?? {};
}

async function askWhileKilling(ground: Ground, model: FakeModel): Promise<number> {
  const source = await createDataSource(readConfig(ground.env).database, 'club-faults').initialize();
  const classroom = await buildClass(source, students);
  const seenQuestions: Seen[] = [];
  const over = new AbortController();
  let asking = true;
  const begin = elapsedSeconds();

  const all = Promise.all(
    classroom.tokens.map(async (token) => {
      while (asking) {
        seenQuestions.push(await askOnce(placeOf(classroom, ground), token, 'Which knot?', over.signal));
        await sleep(between(pauseMs));
      }
    }),
  );
  all.catch(() => undefined); // avoids an unhandled rejection; the await of `all` below still throws the error
  const kills = await killInTurn({
    victims,
    rounds,
    deadForMs,
    beforeKill: () => sleep(between(aliveForMs)),
    kill: ground.kill,
    startAgain: ground.startAgain,
    standing: () => `${seenQuestions.length} questions answered, ${model.requests.length} calls`,
  });
  asking = false;
  progress('all processes run again; waiting for the last answers');
  const timer = setTimeout(() => over.abort(), deadlineMs);
  await all;
  clearTimeout(timer);

  const result = await tallyAnswers(source, seenQuestions, model.requests);
  await source.destroy();
  report(ground, seenQuestions, kills, result, elapsedSeconds() - begin);
  return result.lostAnswers.length + result.torn.length + result.miscounted.length === 0 ? 0 : 1;
}

const placeOf = ({ clubId, publicId }: Classroom, { urls }: Ground) => ({ clubId, publicId, apiUrl: urls.API });

function report(
  ground: Ground,
  seen: readonly Seen[],
  kills: readonly Victim[],
  { byStatus, lostAnswers, torn, miscounted, begunAgain, calls }: AnswerTally,
  seconds: number,
): void {
  const print = (line: string) => process.stdout.write(`${line}\n`);
  const sum = (countOf: (one: Seen) => number) => seen.reduce((total, one) => total + countOf(one), 0);
  print(
    `${kills.length} kills in ${seconds.toFixed(0)} s; processes that ended by themselves: ${ground.endedByItself}`,
  );
  print(`sent ${sum(({ sent }) => sent)} times, reattached ${sum(({ reattached }) => reattached)} times`);
  const ends = Object.entries(byStatus).map(([status, count]) => `${status} ${count}`);
  print(`ended ${ends.join(', ')}`);
  print(`${calls} calls of the model; ${begunAgain} questions began again, because their first event was not recorded`);
  for (const line of lostAnswers) print(`lost: ${line}`);
  for (const line of torn) print(`torn: ${line}`);
  for (const line of miscounted) print(`miscounted: ${line}`);
  print(
    `questions ${seen.length}, lost ${lostAnswers.length}, torn ${torn.length}, charged wrongly ${miscounted.length}`,
  );
}
