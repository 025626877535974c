/** The webhook measurements, in their order. Each leaves a clean scene for the next one. */
import { progress } from '../support.ts';
import { measureBrownOut } from './brown-out.ts';
import { benchClaims } from './claims.ts';
import { startDelayLine, type DelayLine } from './delay-line.ts';
import { measureArriving, measureBacklog } from './direct.ts';
import { measureBesideSnapshot, measureRefused, measureWithHistory } from './direct-conditions.ts';
import { measureFairness } from './fairness.ts';
import { benchHistory } from './history.ts';
import { measureHung } from './hung.ts';
import { measureLatency } from './latency.ts';
import { measureListening } from './listen.ts';
import { measureParked } from './parked.ts';
import { untilIdle } from './process-cost.ts';
import { deliver, onWebhookScene, type Scene } from './scene.ts';
import { measureThroughput } from './throughput.ts';

const measurements: Readonly<Record<string, (scene: Scene) => Promise<void>>> = {
  throughput: measureThroughput,
  latency: measureLatency,
  listen: measureListening,
  hung: measureHung,
  fairness: measureFairness,
  parked: measureParked,
};

/** This measurement needs only Postgres, in a separate database, because it leaves five million rows. */
const history = 'history';

/** This measurement needs a separate database, too, because it leaves a million facts. */
const claims = 'claims';

/** This measurement needs a worker with a slow connection to Postgres. */
const brownOut = 'brown-out';

/** These measurements need a worker that makes first attempts without a run. */
const direct: Readonly<Record<string, readonly ((scene: Scene) => Promise<void>)[]>> = {
  direct: [measureArriving, measureBacklog],
  'direct-refused': [measureRefused],
  'direct-snapshot': [measureBesideSnapshot],
  'direct-history': [measureWithHistory],
};

export const webhookMeasurements = [...Object.keys(measurements), history, claims, brownOut, ...Object.keys(direct)];
/** Only if the command line names them: they take minutes, or need a table with millions of rows. */
export const longWebhookMeasurements = ['direct-snapshot', 'direct-history'];

const warmUpFacts = 200;

/** @param selection names from `webhookMeasurements` */
export async function benchWebhooks(selection: readonly string[]): Promise<void> {
  if (selection.some((name) => Object.hasOwn(measurements, name))) await benchOnScene(selection);
  if (selection.includes(history)) {
    progress(history);
    await benchHistory();
  }
  if (selection.includes(claims)) {
    progress(claims);
    await benchClaims();
  }
  if (selection.includes(brownOut)) {
    progress(brownOut);
    await benchBrownOut();
  }
  for (const [name, ofName] of Object.entries(direct)) {
    if (!selection.includes(name)) continue;
    progress(name);
    await benchDirect(ofName);
  }
}

/** Measures on a separate scene with a worker that uses the direct lane. */
async function benchDirect(inTurn: readonly ((scene: Scene) => Promise<void>)[]): Promise<void> {
  const throughLane = async () => ({ WEBHOOK_FIRST_ATTEMPT: 'direct' });
  await onWebhookScene(async (scene) => {
    await warmUp(scene);
    for (const measure of inTurn) {
      await measure(scene);
      await scene.clear();
    }
  }, throughLane);
}

async function benchBrownOut(): Promise<void> {
  let line: DelayLine | undefined;
  const throughLine = async (ofStack: Readonly<Record<string, string>>) => {
    line = await startDelayLine(ofStack['DATABASE_URL'] ?? '');
    return { DATABASE_URL: line.url };
  };
  await onWebhookScene(async (scene) => {
    if (!line) throw new Error('The worker has no line to Postgres.');
    await warmUp(scene);
    await measureBrownOut(scene, line);
    await scene.clear();
    // The worker must end before its connection to Postgres is closed.
  }, throughLine).finally(() => line?.stop());
}

async function benchOnScene(selection: readonly string[]): Promise<void> {
  await onWebhookScene(async (scene) => {
    progress('warming up');
    await warmUp(scene);
    for (const [name, measure] of Object.entries(measurements)) {
      if (!selection.includes(name)) continue;
      await untilIdle(scene.worker.pid);
      progress(name);
      await measure(scene);
      await scene.clear();
    }
  });
}

async function warmUp({ db, addListener, addClubs, clear }: Scene): Promise<void> {
  const { url } = await addListener();
  await deliver(db, await addClubs([url, url]), warmUpFacts);
  await clear();
}
