/**
 * Measures many simultaneous streams: the cost of the processes, lost deltas, and the delay of deltas beside as many streams of the bare
 * SDK.
 */
import Anthropic from '@anthropic-ai/sdk';
import { setTimeout as sleep } from 'node:timers/promises';
import { progress, report } from '../support.ts';
import { untilIdle, watchCost, type ProcessCost } from '../webhooks/process-cost.ts';
import { askBare, askProduct, type StreamedAnswer } from './asking.ts';
import { beside, compare } from './figures.ts';
import { pick, type Scene } from './scene.ts';

const counts = [1, 50, 200];
/** A student gets 50 deltas a second. */
const characters = 24;
const delayMs = 20;
/** 20 students a second ask. */
const startEveryMs = 50;
/** All streams run during this time. */
const costSeconds = 4;
/** In this time after the last start, the last first pieces arrive, and the cost is measured. */
const togetherMs = 8_000;

/** @param request sent by the product to the model */
export async function measureStreams(scene: Scene, request: Anthropic.MessageStreamParams): Promise<void> {
  for (const count of counts) await measureCount(scene, request, count);
}

async function measureCount(scene: Scene, request: Anthropic.MessageStreamParams, count: number): Promise<void> {
  const { server, apis, processes, students } = scene;
  const client = new Anthropic({ apiKey: 'bench', baseURL: server.url, maxRetries: 0 });
  const name = count === 1 ? '1 stream' : `${count} streams`;
  const recite = { deltas: Math.ceil((count * startEveryMs + togetherMs) / delayMs), characters };

  progress(`${name} of the bare SDK`);
  await server.obey({ recite, delayMs });
  const bareReceived = await startAll(
    count,
    (_, onBegin) => askBare(client, request, onBegin),
    async () => {},
  );
  const bare = compare(bareReceived, await server.requests());

  progress(`${name} through the product`);
  await server.obey({ recite, delayMs });
  let costs: Costs | undefined;
  const received = await startAll(
    count,
    (index, onBegin) => askProduct(pick(apis, index), pick(students, index), onBegin),
    async () => void (costs = await watchCosts(processes)),
  );
  const ours = compare(received, await server.requests());

  report(`${name}: first delta ms`, beside(ours.firsts, bare.firsts));
  report(`${name}: delta lag ms`, beside(ours.lags, bare.lags));
  report(
    `${name}: memory MB`,
    valuesOf(costs, ({ memoryMb }) => memoryMb),
  );
  report(
    `${name}: CPU ms/s`,
    valuesOf(costs, ({ cpu }) => cpu),
  );
  report(`${name}: deltas lost`, { value: ours.lostDeltas, of: count * recite.deltas });
  await untilIdle(processes.worker);
}

/** One after another. @param together called when all streams have begun */
async function startAll(
  count: number,
  start: (index: number, onBegin: () => void) => Promise<StreamedAnswer>,
  together: () => Promise<void>,
): Promise<StreamedAnswer[]> {
  let waiting = count;
  const allBegun = Promise.withResolvers<void>();
  const onBegin = () => {
    waiting -= 1;
    if (waiting === 0) allBegun.resolve();
  };
  const started: Promise<StreamedAnswer>[] = [];
  for (let index = 0; index < count; index += 1) {
    if (index > 0) await sleep(startEveryMs);
    const one = start(index, onBegin);
    one.catch(() => {}); // awaited below
    started.push(one);
  }
  const [received] = await Promise.all([Promise.all(started), allBegun.promise.then(together)]);
  return received;
}

type Costs = Readonly<Record<string, ProcessCost>>;

async function watchCosts({ apis, worker }: Scene['processes']): Promise<Costs> {
  const named = [...apis.map((pid, index) => [`API ${index + 1}`, pid] as const), ['worker', worker] as const];
  const costs = await Promise.all(named.map(async ([name, pid]) => [name, await watchCost(pid, costSeconds)] as const));
  return Object.fromEntries(costs);
}

function valuesOf(costs: Costs | undefined, of: (cost: ProcessCost) => number): Record<string, number> {
  return Object.fromEntries(Object.entries(costs ?? {}).map(([name, cost]) => [name, of(cost)]));
}
