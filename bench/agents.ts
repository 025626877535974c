/**
 * `npm run bench -- agents` asks an agent questions through two API processes and a worker. It compares the answers with the bare SDK. It
 * measures how soon an answer begins, how late its pieces arrive, and the cost of many streams.
 */
import type Anthropic from '@anthropic-ai/sdk';
import { askProduct } from './agents/asking.ts';
import { measureFeeds } from './agents/feeds.ts';
import { measureLatency } from './agents/latency.ts';
import { onAgentScene, pick, type Scene } from './agents/scene.ts';
import { measureStreams } from './agents/streams.ts';
import { progress } from './support.ts';

const measurements: Readonly<Record<string, (scene: Scene, request: Anthropic.MessageStreamParams) => Promise<void>>> =
  {
    latency: measureLatency,
    streams: measureStreams,
  };

/** Needs only Postgres. */
const feeds = 'feeds';

export const agentMeasurements = [...Object.keys(measurements), feeds];

const warmUpQuestions = 40;

/** @param selection names from `agentMeasurements` */
export async function benchAgents(selection: readonly string[]): Promise<void> {
  if (selection.includes(feeds)) await measureFeeds();
  if (selection.every((name) => name === feeds)) return;
  await onAgentScene(async (scene) => {
    progress('warming up');
    const request = await warmUp(scene);
    for (const [name, measure] of Object.entries(measurements)) {
      if (!selection.includes(name)) continue;
      progress(name);
      await measure(scene, request);
    }
  });
}

/**
 * Does the work that happens only once, before the measurement.
 * @returns the request that the model's service gets for a question
 */
async function warmUp({ server, apis, students }: Scene): Promise<Anthropic.MessageStreamParams> {
  await server.obey({ recite: { deltas: 20, characters: 24 } });
  for (let index = 0; index < warmUpQuestions; index += 1) await askProduct(pick(apis, index), pick(students, index));
  const [first] = await server.requests();
  if (!first) throw new Error('The model server was not asked.');
  const { stream: _, ...request } = first.body as unknown as Anthropic.MessageCreateParamsStreaming;
  return request;
}
