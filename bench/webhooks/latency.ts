/** The time from the commit of a fact to its arrival. The rate is low, so the machine is idle between two facts. */
import { median, quantile, report } from '../support.ts';
import { measureDelays, times } from './pace.ts';
import { withCost, type Scene } from './scene.ts';

const facts = 150;
const everyMs = 200;
const clubs = 10;

export async function measureLatency(scene: Scene): Promise<void> {
  const { db, worker, addListener, addClubs } = scene;
  const listener = await addListener();
  const seeded = await addClubs(Array.from({ length: clubs }, () => listener.url));
  const delays = await withCost(scene, 'worker', worker.pid, facts, () =>
    measureDelays(db, listener, seeded, { everyMs, goOn: times(facts) }),
  );
  report('commit-to-arrival ms', { p50: median(delays), p99: quantile(delays, 0.99) });
}
