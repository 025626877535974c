/** Asks one question after another. Measures the time to the first piece of each answer, and the delay of each piece. */
import Anthropic from '@anthropic-ai/sdk';
import { report } from '../support.ts';
import { askBare, askProduct, type StreamedAnswer } from './asking.ts';
import { beside, compare } from './figures.ts';
import { pick, type Scene } from './scene.ts';

const questions = 60;
/** An answer takes about a second. */
const recite = { deltas: 50, characters: 24 };
const delayMs = 20;

/** @param request sent by the product to the model */
export async function measureLatency(scene: Scene, request: Anthropic.MessageStreamParams): Promise<void> {
  const { server, apis, students } = scene;
  const client = new Anthropic({ apiKey: 'bench', baseURL: server.url, maxRetries: 0 });
  const [received, bareReceived]: [StreamedAnswer[], StreamedAnswer[]] = [[], []];
  await server.obey({ recite, delayMs });
  // The two sides alternate, so that other load on the machine affects both.
  for (let index = 0; index < questions; index += 1) {
    bareReceived.push(await askBare(client, request));
    received.push(await askProduct(pick(apis, index), pick(students, index)));
  }
  const serverRecords = await server.requests();
  const [ours, bare] = [compare(received, serverRecords), compare(bareReceived, serverRecords)];
  report('first delta ms', beside(ours.firsts, bare.firsts));
  report('of it, until the model says it, ms', beside(ours.reached, bare.reached));
  report('delta lag ms', beside(ours.lags, bare.lags));
  report('deltas lost', { value: ours.lostDeltas, of: questions * recite.deltas });
}
