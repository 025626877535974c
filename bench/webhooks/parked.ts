/** Ten thousand deliveries that wait for a dead endpoint: their cost, and how soon they are sent when the endpoint works again. */
import { median, progress, report, waitUntil } from '../support.ts';
import { sendTestTo, throttle, untilParked } from './dead-endpoint.ts';
import { measureDelays, times } from './pace.ts';
import { untilIdle, watchCost, type ProcessCost } from './process-cost.ts';
import { commitFacts, deliver, withCost, type BenchClub, type Listener, type Scene } from './scene.ts';

/** A quick run parks fewer deliveries. */
const parked = Number(process.env['PARKED'] ?? 10_000);
/** The limit for parking all deliveries, and for releasing all: enough for 15 deliveries a second. */
const limitMs = 60_000 + (parked * 1_000) / 15;
/** After this many facts, the worker's memory has its working size. */
const warmUpFacts = 500;
const costSeconds = 15;
const healthyEveryMs = 200;
const healthyFacts = 100;
/** The p50 of the healthy endpoint, as a multiple of its p50 without parked deliveries. */
const aim = 1.5;

export async function measureParked(scene: Scene): Promise<void> {
  const { db, worker, addListener, addReceiver, addClubs } = scene;
  const listener = await addListener();
  const healthy = await addClubs([listener.url]);
  let alive = false;
  const waiting = new Set<string>();
  const { url } = await addReceiver((request) => {
    if (!alive) return { status: 503 };
    waiting.delete(request.headers['webhook-id'] ?? '');
    return { status: 204 };
  });
  const [dead] = (await addClubs([url])) as [BenchClub];

  await deliver(db, healthy, warmUpFacts);
  const before = await observe(scene, listener, healthy);

  await throttle(db, dead);
  const parkingFrom = performance.now();
  for (const id of await commitFacts(db, dead, parked)) waiting.add(id);
  const found = await untilParked(db, dead, limitMs);
  if (found < parked) throw new Error(`Only ${found} of ${parked} deliveries parked: the rest was not held back.`);
  progress(`${found} parked in ${secondsSince(parkingFrom).toFixed(1)} s`);
  const meanwhile = await observe(scene, listener, healthy);
  if (waiting.size < parked) throw new Error(`${parked - waiting.size} parked deliveries went out too early.`);

  alive = true;
  const releasingFrom = performance.now();
  await withCost(scene, 'worker', worker.pid, parked, async () => {
    await sendTestTo(scene, dead);
    await waitUntil(`all ${parked} parked deliveries arrive`, () => waiting.size === 0, {
      timeoutMs: limitMs,
      progressSoFar: () => `${waiting.size} have not`,
    });
  });
  const releasedIn = secondsSince(releasingFrom);
  await untilIdle(worker.pid);
  const after = await watchCost(worker.pid, costSeconds);

  const title = `${parked} parked`;
  const compare = (of: (cost: ProcessCost) => number) => ({
    value: of(meanwhile.cost),
    before: of(before.cost),
    after: of(after),
  });
  report(
    `${title}: worker memory MB`,
    compare(({ memoryMb }) => memoryMb),
  );
  report(
    `${title}: worker CPU ms/s`,
    compare(({ cpu }) => cpu),
  );
  report(`${title}: p50 ms of a healthy endpoint`, {
    value: meanwhile.p50,
    alone: before.p50,
    ratio: meanwhile.p50 / before.p50,
    aim,
  });
  report(`${title}: released in s`, { value: releasedIn, 'deliveries/s': parked / releasedIn });
}

/** Measures the idle worker, and then the delay of facts for a healthy endpoint. */
async function observe(
  { db, worker }: Scene,
  listener: Listener,
  healthy: readonly BenchClub[],
): Promise<{ cost: ProcessCost; p50: number }> {
  await untilIdle(worker.pid);
  const cost = await watchCost(worker.pid, costSeconds);
  const pace = { everyMs: healthyEveryMs, goOn: times(healthyFacts) };
  const p50 = median(await measureDelays(db, listener, healthy, pace));
  progress(`${cost.memoryMb.toFixed(0)} MB, ${cost.cpu.toFixed(0)} ms of CPU a second, p50 ${p50.toFixed(1)} ms`);
  return { cost, p50 };
}

const secondsSince = (start: number): number => (performance.now() - start) / 1_000;
