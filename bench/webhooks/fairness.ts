/** The delays of one club's facts while the worker delivers thousands of facts of another club. */
import { laneSettings, progress, quantile, report } from '../support.ts';
import { measureDelays, times } from './pace.ts';
import { commitFacts, withCost, type BenchClub, type Scene } from './scene.ts';

/** Committed together. A quick run uses fewer; with too few the backlog is too short. */
const factsAtOnce = Number(process.env['FAIRNESS_FACTS'] ?? 5_000);
/** This time is enough for 10 deliveries a second. */
const backlogLimitMs = 100 * factsAtOnce;
/** The direct lane delivers the backlog within seconds, so the other club must commit more often. */
const otherEveryMs = laneSettings()['WEBHOOK_FIRST_ATTEMPT'] === 'direct' ? 50 : 200;
const factsAlone = 100;
/** A meaningful p95 needs this number of facts. */
const leastFacts = 40;
/** The p95 of the other club, in milliseconds. */
const aim = 2_000;

export async function measureFairness(scene: Scene): Promise<void> {
  const { db, worker, addListener, addClubs } = scene;
  const [busy, quiet] = [await addListener(), await addListener()];
  const [busyClub] = (await addClubs([busy.url])) as [BenchClub];
  const others = await addClubs([quiet.url]);
  const alone = await measureDelays(db, quiet, others, { everyMs: otherEveryMs, goOn: times(factsAlone) });
  progress(`alone: p95 ${quantile(alone, 0.95).toFixed(1)} ms`);

  await commitFacts(db, busyClub, factsAtOnce);
  const started = performance.now();
  const backlogLasts = () => {
    if (performance.now() - started > backlogLimitMs) {
      throw new Error(`Only ${busy.arrivals.size} of ${factsAtOnce} facts arrived in ${backlogLimitMs / 1_000} s.`);
    }
    return busy.arrivals.size < factsAtOnce;
  };
  const meanwhile = await withCost(
    scene,
    'worker',
    worker.pid,
    (delays: readonly number[]) => factsAtOnce + delays.length,
    () => measureDelays(db, quiet, others, { everyMs: otherEveryMs, goOn: backlogLasts }),
  );
  if (meanwhile.length < leastFacts)
    throw new Error(`The backlog was gone after ${meanwhile.length} facts of the other.`);
  const seconds = (performance.now() - started) / 1_000;
  progress(`a backlog of ${seconds.toFixed(1)} s, ${Math.round(factsAtOnce / seconds)} deliveries/s`);
  report(`p95 ms beside ${factsAtOnce} facts of another club`, {
    value: quantile(meanwhile, 0.95),
    alone: quantile(alone, 0.95),
    aim,
  });
}
