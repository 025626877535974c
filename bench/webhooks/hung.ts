/** Sixty receivers that hang until the time limit of an attempt, beside a healthy endpoint. */
import { median, progress, quantile, report } from '../support.ts';
import { measureDelays, steadily, times } from './pace.ts';
import { commitFact, withCost, type BenchClub, type Scene } from './scene.ts';

const receivers = 60;
/** An attempt hangs for 15 s. So three attempts of each endpoint hang at any time, unless the service holds deliveries back. */
const hungEveryMs = 5_000;
const healthyEveryMs = 200;
const factsAlone = 100;
/** In 45 seconds: the first hanging attempts reach their time limit of 15 s and are repeated. */
const factsBeside = 225;
/** The p50 of the healthy endpoint, as a multiple of its p50 without hanging receivers. */
const aim = 2;

export async function measureHung(scene: Scene): Promise<void> {
  const { db, worker, addListener, addReceiver, addClubs } = scene;
  const listener = await addListener();
  const healthy = await addClubs([listener.url]);
  const alone = await measureDelays(db, listener, healthy, { everyMs: healthyEveryMs, goOn: times(factsAlone) });
  progress(`alone: p50 ${median(alone).toFixed(1)} ms`);

  let hanging = 0;
  const silent = await Promise.all(
    Array.from({ length: receivers }, () =>
      addReceiver(() => {
        hanging++;
        return 'hang';
      }),
    ),
  );
  const hung = await addClubs(silent.map(({ url }) => url));
  let over = false;
  const [beside] = await withCost(
    scene,
    'worker',
    worker.pid,
    () => factsBeside + hanging,
    () =>
      Promise.all([
        measureDelays(db, listener, healthy, { everyMs: healthyEveryMs, goOn: times(factsBeside) }).finally(() => {
          over = true;
        }),
        steadily(
          hungEveryMs / receivers,
          (index) => commitFact(db, hung[index % hung.length] as BenchClub),
          () => !over,
        ),
      ]),
  );
  if (hanging < receivers) throw new Error(`Only ${hanging} requests came to the ${receivers} receivers that hang.`);
  progress(`${hanging} attempts hung; p50 ${median(beside).toFixed(1)}, p95 ${quantile(beside, 0.95).toFixed(1)} ms`);
  report(`p50 ms beside ${receivers} hung receivers`, {
    value: median(beside),
    alone: median(alone),
    ratio: median(beside) / median(alone),
    aim,
  });
}
