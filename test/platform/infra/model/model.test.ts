import { expect } from 'chai';
import { startFakeModel, type FakeModel } from '../../../../dev/fake-model/fake-model.ts';
import type { Script } from '../../../../dev/fake-model/script.ts';
import { Secret } from '../../../../platform/core/secret.ts';
import { createModel, type AskModel } from '../../../../platform/infra/model/model.ts';
import { until } from '../../../toolkit/drive/until.ts';

/** For an answer with one delta. */
const eventsOfAnAnswer = 7;

describe('the connection to the model', () => {
  let model: FakeModel;
  let ask: AskModel | undefined;
  beforeEach(async () => {
    model = await startFakeModel();
    const patience = { silenceMs: 30_000, pingsMs: 30_000, requestMs: 30_000 };
    ask = createModel({ apiKey: new Secret('test'), baseUrl: model.url }, patience);
  });
  afterEach(() => model.stop());

  const answered = async (script: Script = {}): Promise<string[]> => {
    model.next({ answer: ['So.'], ...script });
    const request = { model: 'claude-haiku-4-5', max_tokens: 9, messages: [{ role: 'user' as const, content: 'So?' }] };
    const events: string[] = [];
    for await (const { type } of ask?.(request, new AbortController().signal) ?? []) events.push(type);
    return events;
  };
  const all = ['begun', 'text', 'stopped', 'ended'];

  for (const { how, script } of [
    { how: 'with its last event', script: {} },
    { how: 'after its last event', script: { endsAfterMs: 50 } },
  ])
    it(`serves the next answer even if the previous response ends ${how}`, async () => {
      expect(await answered(script)).to.deep.equal(all);
      // The second request may begin before the first response ends. It then gets a new connection.
      await until('an answer over a reused connection', { timeoutMs: 10_000 }, async () => {
        const before = model.connections();
        expect(await answered(script)).to.deep.equal(all);
        return model.connections() === before;
      });
      expect(model.closedByClient()).to.equal(0);
    });

  it('is closed after a complete answer if the server never ends its response', async () => {
    expect(await answered({ silentAfter: eventsOfAnAnswer })).to.deep.equal(all);
    expect(model.closedByClient()).to.equal(0);
    await until('the end', { timeoutMs: 10_000 }, async () => model.closedByClient() === 1);
  });
});
