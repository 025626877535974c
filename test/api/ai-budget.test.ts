import { expect } from 'chai';
import { newId } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildClub, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildAsker, buildCharge } from '../toolkit/builders/questions.ts';
import { endAnswer } from '../toolkit/drive/answers.ts';
import { call, expectError } from '../toolkit/drive/api.ts';
import { testDatabase } from '../toolkit/stack/database.ts';

describe('AI budget', () => {
  let club: TestClub;
  beforeEach(async () => {
    club = await buildClub();
  });
  const budget = (method: string, path = '', body?: unknown) =>
    call(method, `/v1/clubs/${club.id}/ai-budget${path}`, {
      token: club.owner.token,
      ...(body !== undefined && { body }),
    });
  const usage = (path: string) => call('GET', `/v1/clubs/${club.id}${path}`, { token: club.owner.token });

  const month = () => new Date().toISOString().slice(0, 7);
  const nextMonth = () => {
    const now = new Date();
    return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString();
  };

  describe('GET /v1/clubs/{clubId}/ai-budget', () => {
    it('shows the allowance, the spent amount and the reserved amount of the club’s current month', async () => {
      const asker = await buildAsker(club.id);
      await buildCharge(asker, 30_000n, new Date());
      await endAnswer(await buildCharge(asker, 50_000n, new Date()), { status: 'complete', cost: 20_001n });
      expect((await budget('GET')).body.data).to.deep.equal({
        month: month(),
        turns_at: nextMonth(),
        currency: 'usd',
        allowed: 5_000,
        limit: 5_000,
        spent_micros: 20_001,
        reserved_micros: 30_000,
      });
    });

    it('shows the spent amount that the club’s plan shows in whole cents, rounded down', async () => {
      const asker = await buildAsker(club.id);
      await endAnswer(await buildCharge(asker, 50_000n, new Date()), { status: 'complete', cost: 29_999n });
      expect((await usage('/plan')).body.data.allowances.ai_budget).to.include({ included: 5_000, used: 2 });
    });
  });

  describe('PUT and DELETE /v1/clubs/{clubId}/ai-budget/limit', () => {
    it('sets a limit of the club that is below the limit of its plan, and removes it', async () => {
      const { body } = await budget('PUT', '/limit', { own_limit: 2_000 });
      expect(body.data).to.include({ allowed: 5_000, own_limit: 2_000, limit: 2_000 });
      const { data } = (await budget('DELETE', '/limit')).body;
      expect(data).to.include({ allowed: 5_000, limit: 5_000 });
      expect(data).to.not.have.property('own_limit');
    });

    it('applies the plan’s limit if the club’s own limit is higher', async () => {
      expect((await budget('PUT', '/limit', { own_limit: 6_000 })).body.data).to.include({
        own_limit: 6_000,
        limit: 5_000,
      });
    });

    it('refuses every question if the limit is 0', async () => {
      expect((await budget('PUT', '/limit', { own_limit: 0 })).body.data).to.include({ limit: 0 });
      const refusal = await buildCharge(await buildAsker(club.id), 1n, new Date()).catch((error: unknown) => error);
      expect(refusal).to.have.property('code', 'club_budget_exhausted');
    });

    it('returns 400 or 422 for a limit that is not a number of cents', async () => {
      await eachCase([{}, { own_limit: '1' }, { own_limit: 1, more: 1 }], async (wrong) =>
        expectError(await budget('PUT', '/limit', wrong), 'malformed_request'),
      );
      await eachCase([-1, 100_000_001], async (wrong) =>
        expectError(await budget('PUT', '/limit', { own_limit: wrong }), 'invalid_request'),
      );
    });
  });

  describe('GET /v1/clubs/{clubId}/agents/{agentId}/usage and /ai-usage', () => {
    it('adds up questions, answers, tokens and cost for each month, newest month first', async () => {
      const asker = await buildAsker(club.id);
      const march = new Date('2026-03-10T12:00:00Z');
      const tokens = { input: 1_000, output: 200, cacheWrite: 30, cacheRead: 4 };
      await endAnswer(await buildCharge(asker, 9_000n, march), { status: 'complete', cost: 4_100n, tokens, at: march });
      await endAnswer(await buildCharge(asker, 9_000n, march), { status: 'failed', cost: 100n, tokens, at: march });
      await buildCharge(asker, 9_000n, march);
      const april = new Date('2026-04-10T12:00:00Z');
      await endAnswer(await buildCharge(asker, 9_000n, april), { status: 'refused', cost: 7n, at: april });

      const { body } = await usage(`/agents/${asker.agentId}/usage`);
      expect(body.total).to.equal(2);
      const none = { input_tokens: 0, output_tokens: 0, cache_write_tokens: 0, cache_read_tokens: 0 };
      expect(body.data).to.deep.equal([
        {
          agent_id: asker.agentId,
          agent_name: 'Bosun',
          month: '2026-04',
          questions: 1,
          answers: { complete: 0, truncated: 0, refused: 1, failed: 0 },
          ...none,
          cost_micros: 7,
        },
        {
          agent_id: asker.agentId,
          agent_name: 'Bosun',
          month: '2026-03',
          questions: 3,
          answers: { complete: 1, truncated: 0, refused: 0, failed: 1 },
          input_tokens: 2_000,
          output_tokens: 400,
          cache_write_tokens: 60,
          cache_read_tokens: 8,
          cost_micros: 4_200,
        },
      ]);
    });

    it('lists the agents of one month, highest cost first', async () => {
      const march = new Date('2026-03-10T12:00:00Z');
      for (const [name, cost] of [
        ['Cheap', 1n],
        ['Dear', 3n],
        ['Middling', 2n],
      ] as const)
        await endAnswer(await buildCharge(await buildAsker(club.id, { name }), 9n, march), {
          status: 'complete',
          cost,
          at: march,
        });
      await buildCharge(await buildAsker((await buildClub()).id), 9n, march);
      const { data, total } = (await usage('/ai-usage?month=2026-03')).body;
      expect(data.map((one: { agent_name: string }) => one.agent_name)).to.deep.equal(['Dear', 'Middling', 'Cheap']);
      expect(total).to.equal(3);
      expect((await usage('/ai-usage?month=2026-02')).body).to.deep.equal({ data: [], total: 0 });
    });

    it('counts questions of a removed conversation', async () => {
      const march = new Date('2026-03-10T12:00:00Z');
      const asker = await buildAsker(club.id);
      await endAnswer(await buildCharge(asker, 9n, march), { status: 'complete', cost: 5n, at: march });
      await (await testDatabase()).query(`DELETE FROM agent_conversations WHERE agent_id = $1`, [asker.agentId]);
      expect((await usage('/ai-usage?month=2026-03')).body.data[0]).to.include({ questions: 1, cost_micros: 5 });
    });

    it('shows the current month if the request names no month', async () => {
      await buildCharge(await buildAsker(club.id), 9n, new Date());
      const { data } = (await usage('/ai-usage')).body;
      expect(data.map((one: { month: string }) => one.month)).to.deep.equal([month()]);
    });

    it('returns 404 for an unknown agent or an agent of another club, and 422 for a malformed month', async () => {
      const { agentId } = await buildAsker((await buildClub()).id);
      expectError(await usage(`/agents/${agentId}/usage`), 'not_found');
      expectError(await usage(`/agents/${newId()}/usage`), 'not_found');
      await eachCase(['2026-13', '2026', '0'], async (wrong) =>
        expectError(await usage(`/ai-usage?month=${wrong}`), 'invalid_request'),
      );
    });
  });
});
