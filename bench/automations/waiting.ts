/** The worker's cost of 20,000 waiting runs, and the end of 5,000 waits beside other clubs. */
import { askForCodes, type Mailbox } from '../codes.ts';
import { median, progress, quantile, report } from '../support.ts';
import { measureDelays, times } from '../webhooks/pace.ts';
import { untilIdle, watchCost } from '../webhooks/process-cost.ts';
import type { Scene } from '../webhooks/scene.ts';
import { addTag, clubOf, publish, tellTagged, untilRuns, type AutomationClub, type Published } from './scene.ts';
import type { Id } from '../../platform/core/ids.ts';

const aClub = 5_000;
const clubsOfAll = 4;
const warmUp = 400;
const costSeconds = 20;
/** The limit is enough for 5 runs a second; the measured speed is much higher. */
const limitMs = 60_000 + (clubsOfAll * aClub * 1_000) / 5;
const healthyEveryMs = 200;
const healthyFacts = 100;

interface Waiting extends Published {
  club: AutomationClub;
  /** This tag ends the wait of a run. */
  endTag: Id;
}

/** @param wanted the cost of all waiting runs, the end of one club's waits, or both */
export async function measureWaiting(
  scene: Scene,
  { arrivals }: Pick<Mailbox, 'arrivals'>,
  wanted: { cost: boolean; burst: boolean },
): Promise<void> {
  const { db, vault, worker } = scene;
  await waits(scene, warmUp); // the worker's memory grows to its working size
  await untilIdle(worker.pid);
  const before = await watchCost(worker.pid, costSeconds);
  const all: Waiting[] = [];
  while (all.length < (wanted.cost ? clubsOfAll : 1)) all.push(await waits(scene, aClub));
  if (wanted.cost) {
    await untilIdle(worker.pid);
    const { memoryMb, cpu } = await watchCost(worker.pid, costSeconds);
    const title = `${clubsOfAll * aClub} runs that wait`;
    report(`${title}: worker memory MB`, {
      value: memoryMb,
      before: before.memoryMb,
      more: memoryMb - before.memoryMb,
    });
    report(`${title}: worker CPU ms/s`, { value: cpu, before: before.cpu });
  }
  const [first] = all;
  if (wanted.burst && first) await measureBurst(scene, first, { db, vault, arrivals });
}

/** Each student has a run that waits for a tag. */
async function waits({ db, vault }: Scene, students: number): Promise<Waiting> {
  const club = await clubOf({ db, vault }, students);
  const endTag = await addTag(db.source, club.clubId);
  const published = await publish({ db, vault }, club.clubId, [
    {
      id: 'wait',
      kind: 'wait',
      wait: { kind: 'until_condition', days: 300 },
      condition: { match: 'all', rules: [{ kind: 'has_tag', negate: false, tag_ids: [endTag] }] },
    },
    { id: 'points', kind: 'award_points', points: 1 },
  ]);
  const started = performance.now();
  await tellTagged(db, club, published.tagId);
  await untilRuns(db, [published], { count: students, where: 'waiting', timeoutMs: limitMs, unpaced: true });
  progress(`${students} wait after ${((performance.now() - started) / 1_000).toFixed(0)} s`);
  return { ...published, club, endTag };
}

async function measureBurst(
  scene: Scene,
  waiting: Waiting,
  asking: Omit<Parameters<typeof askForCodes>[0], 'clubId'>,
): Promise<void> {
  const { db, addListener, addClubs, worker } = scene;
  const listener = await addListener();
  const healthy = await addClubs([listener.url]);
  const other = healthy[0]?.clubId ?? '';
  const observe = async () => {
    const pace = { everyMs: healthyEveryMs, goOn: times(healthyFacts) };
    const [delays, codes] = await Promise.all([
      measureDelays(db, listener, healthy, pace),
      askForCodes({ ...asking, clubId: other }),
    ]);
    return { p50: median(delays), code: quantile(codes, 0.95) };
  };
  await observe(); // warms up
  await untilIdle(worker.pid);
  const alone = await observe();
  const started = performance.now();
  await tellTagged(db, waiting.club, waiting.endTag);
  const [beside] = await Promise.all([
    observe(),
    untilRuns(db, [waiting], { count: aClub, where: `(status <> 'active' OR cursor <> 'wait')`, timeoutMs: limitMs }),
  ]);
  const seconds = (performance.now() - started) / 1_000;
  const title = `a tag ends ${aClub} waits`;
  report(`${title}: all moved on after s`, { value: seconds, 'runs/s': aClub / seconds });
  report(`${title}: p50 ms of another club’s webhook`, {
    value: beside.p50,
    alone: alone.p50,
    ratio: beside.p50 / alone.p50,
    aim: 1.5,
  });
  report(`${title}: p95 ms of a code’s mail`, { value: beside.code, alone: alone.code, aim: 2_000 });
}
