/** Deliveries a second, from the commit of the facts until each 2xx is recorded, beside the bare engine. */
import { progress, reportBeside, type Round } from '../support.ts';
import { deliverBacklog, withCost, type Scene } from './scene.ts';

const rounds = 5;
/** Over several clubs. Enough that the start and the end of the round have little influence. */
const factsARound = 1_000;
const clubs = 10;
const warmUpFacts = 200;

export async function measureThroughput(scene: Scene): Promise<void> {
  const { db, worker, launch, addListener, addClubs } = scene;
  const { url, arrivals } = await addListener();
  const seeded = await addClubs(Array.from({ length: clubs }, () => url));
  const { port, child } = await launch('bench/ceiling/worker.ts', 'CEILING_PORT');
  const ours = (count: number) => deliverBacklog(db, seeded, arrivals, count);
  const bare = () => bareEngine(port, factsARound);

  await ours(warmUpFacts);
  await bareEngine(port, warmUpFacts);
  const measured: Round[] = [];
  // Each round measures both, so that a slow phase of the machine affects both.
  for (let round = 1; round <= rounds; round++) {
    const figures = {
      ours: await withCost(scene, 'worker', worker.pid, factsARound, () => ours(factsARound)),
      bare: await withCost(scene, 'bare worker', child.pid, factsARound, bare),
    };
    measured.push(figures);
    progress(`round ${round}: ${figures.ours.toFixed(1)} deliveries/s, bare engine ${figures.bare.toFixed(1)}/s`);
  }
  await child.stop();
  reportBeside('deliveries/s', measured);
}

/**
 * @param steps ordinary activities of each workflow; 0 for one local activity
 * @returns workflows a second without the product
 */
export async function bareEngine(port: number, count: number, steps = 0): Promise<number> {
  const signal = AbortSignal.timeout(30_000 + 100 * count * (steps + 1));
  const answer = await fetch(`http://127.0.0.1:${port}/run?count=${count}&steps=${steps}`, { signal });
  const { perSecond } = (await answer.json()) as { perSecond: number };
  return perSecond;
}
