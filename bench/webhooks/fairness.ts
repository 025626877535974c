/** What one club notices while another has committed thousands of facts at once. */
import { progress, quantile, report } from '../support.ts';
import { measureDelays, times } from './pace.ts';
import { commitFacts, type BenchClub, type Scene } from './scene.ts';

const factsAtOnce = 5_000;
/** The backlog must be gone by then: at 10 deliveries a second. */
const backlogLimitMs = 100 * factsAtOnce;
const otherEveryMs = 200;
const factsAlone = 100;
/** Fewer say nothing about a p95. */
const leastFacts = 40;
/** Of the other club's p95, in milliseconds. */
const aim = 2_000;

export async function measureFairness({ db, addListener, addClubs }: Scene): Promise<void> {
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
  const meanwhile = await measureDelays(db, quiet, others, { everyMs: otherEveryMs, goOn: backlogLasts });
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
