import { expect } from 'chai';
import { contractDocument } from '../../contract/document.ts';
import { pricedModels } from '../../domain/agents/prompt/prices.policy.ts';
import { newId } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildAccessDelivery, buildEnrollment } from '../toolkit/builders/access.ts';
import { buildAgent } from '../toolkit/builders/agents.ts';
import { buildPlan } from '../toolkit/builders/billing.ts';
import { buildClub, buildMember, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { call, clock, expectError } from '../toolkit/drive/api.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { rowCounts } from '../toolkit/stack/database.ts';

describe('agents', () => {
  let club: TestClub;
  let write: ReturnType<typeof callsOf>;

  beforeEach(async () => {
    club = await buildClub();
    write = callsOf(club);
  });
  const create = (body: object) => write('POST', '/agents', body);
  const change = (id: string, body: object) => write('PATCH', `/agents/${id}`, body);

  const within = [
    { public_id: 'a' },
    { public_id: 'A'.repeat(32) },
    { name: '🎓'.repeat(120) },
    { description: 'x'.repeat(5_000) },
    { instructions: '🎓'.repeat(20_000) },
    { instructions: '' },
    { daily_limit: 0 },
    { daily_limit: 1_000 },
    { answer_max_tokens: 256 },
    { answer_max_tokens: 8_192 },
    { model: 'claude-haiku-4-5' },
  ];
  const beyond = [
    { public_id: '' },
    { public_id: 'a'.repeat(33) },
    { public_id: '-a' },
    { name: ' ' },
    { name: 'x'.repeat(121) },
    { description: 'x'.repeat(5_001) },
    { instructions: 'x'.repeat(20_001) },
    { daily_limit: -1 },
    { daily_limit: 1_001 },
    { answer_max_tokens: 255 },
    { answer_max_tokens: 8_193 },
    { model: 'gpt' },
  ];

  describe('POST /v1/clubs/{clubId}/agents', () => {
    describe('201', () => {
      it('creates a draft with defaults, and returns the complete record that later reads return', async () => {
        const { status, body } = await create({ name: '  Bosun   Bill ' });
        expect(status).to.equal(201);
        const { id, created_at: createdAt } = body.data;
        expect(body.data).to.deep.equal({
          id,
          public_id: 'bosun-bill',
          name: 'Bosun Bill',
          description: '',
          instructions: '',
          status: 'draft',
          daily_limit: 50,
          answer_max_tokens: 2048,
          created_at: createdAt,
          updated_at: createdAt,
        });
        expect((await write('GET', `/agents/${id}`)).body).to.deep.equal(body);
        expect((await write('GET', `/agents/${id}/material`)).body.data).to.deep.equal({
          course_ids: [],
          lesson_ids: [],
          media_ids: [],
        });
      });

      it('stores every given field', async () => {
        const fields = {
          name: 'Bosun',
          public_id: 'Bosun_1',
          description: 'Knows the ropes.',
          instructions: 'Be brief.',
          model: 'claude-sonnet-5-5',
          daily_limit: 20,
          answer_max_tokens: 1_024,
        };
        expect((await create(fields)).body.data).to.include(fields);
      });

      it('gives different public ids to agents with the same name, even in ten simultaneous requests', async () => {
        const answers = await Promise.all(Array.from({ length: 10 }, () => create({ name: 'Bosun' })));
        const ids = answers.map(({ body }) => body.data.public_id);
        expect(ids).to.include.members(['bosun', 'bosun-2', 'bosun-5']);
        expect(new Set(ids).size).to.equal(10);
      });

      it('gives the public id `agent` to a name without Latin letters', async () => {
        expect((await create({ name: '学生' })).body.data.public_id).to.equal('agent');
      });
    });

    it('returns 402 feature_not_in_plan for a plan without agents, and writes nothing', async () => {
      await buildPlan(club.id, 'starter');
      const before = await rowCounts();
      expectError(await create({ name: 'Bosun' }), 'feature_not_in_plan');
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('accepts one of four simultaneous requests for the same public id, and returns 409 to the others', async () => {
      const body = { name: 'Bosun', public_id: 'bosun' };
      const answers = await Promise.all([1, 2, 3, 4].map(() => create(body)));
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).to.deep.equal([201, 409, 409, 409]);
      const before = await rowCounts();
      expectError(await create(body), 'public_id_taken');
      expect(await rowCounts()).to.deep.equal(before);
      expect((await callsOf(await buildClub())('POST', '/agents', body)).status).to.equal(201);
    });

    it('returns 422 for a field outside its bounds, and accepts values at the bounds', async () => {
      await eachCase(within, async (body) => expect((await create({ name: 'Bosun', ...body })).status).to.equal(201));
      const before = await rowCounts();
      await eachCase(beyond, async (body) => expectError(await create({ name: 'Bosun', ...body }), 'invalid_request'));
      expectError(await create({ name: 'Bosun', model: 'default' }), 'invalid_request');
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('offers exactly the models that have a price', () => {
      const { AgentModel, AgentModelOrDefault } = contractDocument.components.schemas;
      expect(AgentModel?.['enum']).to.deep.equal(pricedModels);
      expect(AgentModelOrDefault?.['enum']).to.deep.equal(['default', ...pricedModels]);
    });
  });

  describe('GET /v1/clubs/{clubId}/agents', () => {
    it('lists this club’s agents without instructions, newest first, filtered by status, in pages', async () => {
      await callsOf(await buildClub())('POST', '/agents', { name: 'Stranger' });
      for (const name of ['First', 'Second', 'Third']) {
        await create({ name, instructions: 'Be brief.' });
        clock.advance(1_000);
      }
      const list = async (query = '') => (await write('GET', `/agents${query}`)).body;
      const { data, total } = await list();
      expect(data.map(({ name }: { name: string }) => name)).to.deep.equal(['Third', 'Second', 'First']);
      expect(total).to.equal(3);
      await eachCase(data, (agent) => expect(agent).not.to.have.property('instructions'));
      await change(data[1].id, { status: 'published' });
      expect((await list('?status=published')).data.map(({ id }: { id: string }) => id)).to.deep.equal([data[1].id]);
      const second = await list('?page=2&page_size=2');
      expect(second.data.map(({ name }: { name: string }) => name)).to.deep.equal(['First']);
      expect(second.total).to.equal(3);
      expectError(await write('GET', '/agents?status=ready'), 'invalid_request');
    });
  });

  describe('GET /v1/clubs/{clubId}/agents/{agentId}', () => {
    it('shows the agent with its instructions to every member', async () => {
      const { body } = await create({ name: 'Bosun', instructions: 'Be brief.' });
      const support = callsOf(club, (await buildMember(club.id, 'support')).token);
      expect((await support('GET', `/agents/${body.data.id}`)).body).to.deep.equal(body);
    });

    it('returns 404 in every operation on an agent if the agent is unknown or belongs to another club', async () => {
      const foreign = await buildAgent((await buildClub()).id);
      const material = { course_ids: [], lesson_ids: [], media_ids: [] };
      const before = await rowCounts();
      await eachCase([newId(), foreign.id], async (id) => {
        expectError(await write('GET', `/agents/${id}`), 'not_found');
        expectError(await change(id, { name: 'Mine' }), 'not_found');
        expectError(await change(id, { status: 'published' }), 'not_found');
        expectError(await write('GET', `/agents/${id}/material`), 'not_found');
        expectError(await write('PUT', `/agents/${id}/material`, material), 'not_found');
        expectError(await write('GET', `/agents/${id}/sources`), 'not_found');
        expectError(await write('POST', `/agents/${id}/sources/${newId()}/reindex`), 'not_found');
      });
      expect(await rowCounts()).to.deep.equal(before);
    });
  });

  describe('PATCH /v1/clubs/{clubId}/agents/{agentId}', () => {
    it('changes only the given fields', async () => {
      let { data } = (await create({ name: 'Bosun', model: 'claude-opus-5' })).body;
      const changes = [
        { name: 'Mate' },
        { public_id: 'mate' },
        { description: 'Knows the ropes.' },
        { instructions: 'Be brief.' },
        { model: 'claude-haiku-5-5' },
        { daily_limit: 0 },
        { answer_max_tokens: 256 },
        { status: 'published' },
        { status: 'archived' },
        { status: 'draft' },
      ];
      await eachCase(changes, async (fields) => {
        clock.advance(1_000);
        const { status, body } = await change(data.id, fields);
        expect(status).to.equal(200);
        expect(body.data).to.deep.equal({ ...data, ...fields, updated_at: body.data.updated_at });
        expect(body.data.updated_at > data.updated_at).to.equal(true);
        expect((await write('GET', `/agents/${data.id}`)).body).to.deep.equal(body);
        ({ data } = body);
      });
      const { model: _, ...without } = data;
      const { body } = await change(data.id, { model: 'default' });
      expect(body.data).to.deep.equal({ ...without, updated_at: body.data.updated_at });
    });

    it('returns 402 feature_not_in_plan for publishing in a plan without agents, but accepts other changes', async () => {
      const { id } = (await create({ name: 'Bosun' })).body.data;
      await buildPlan(club.id, 'starter');
      expectError(await change(id, { name: 'Mate', status: 'published' }), 'feature_not_in_plan');
      expect((await write('GET', `/agents/${id}`)).body.data).to.include({ name: 'Bosun', status: 'draft' });
      expect((await change(id, { name: 'Mate' })).status).to.equal(200);
      await buildPlan(club.id, 'professional');
      expect((await change(id, { status: 'published' })).status).to.equal(200);
      await buildPlan(club.id, 'starter');
      // The agent is already published, so this request publishes nothing.
      expect((await change(id, { name: 'Bosun', status: 'published' })).status).to.equal(200);
      expect((await change(id, { status: 'archived' })).status).to.equal(200);
      expectError(await change(id, { status: 'published' }), 'feature_not_in_plan');
    });

    it('returns 409 public_id_taken for another agent’s public id, but accepts the agent’s own public id', async () => {
      await create({ name: 'Bosun' });
      const { data } = (await create({ name: 'Mate' })).body;
      expectError(await change(data.id, { name: 'Other', public_id: 'bosun' }), 'public_id_taken');
      expect((await write('GET', `/agents/${data.id}`)).body.data).to.deep.equal(data);
      expect((await change(data.id, { public_id: 'mate' })).status).to.equal(200);
    });

    it('returns 422 for an empty change or a value out of bounds, and 400 for an unknown field', async () => {
      const { data } = (await create({ name: 'Bosun' })).body;
      await eachCase(within, async (body) => expect((await change(data.id, body)).status).to.equal(200));
      const before = (await write('GET', `/agents/${data.id}`)).body;
      await eachCase([...beyond, { status: 'ready' }, {}], async (body) =>
        expectError(await change(data.id, body), 'invalid_request'),
      );
      expectError(await change(data.id, { title: 'Bosun' }), 'malformed_request');
      expect((await write('GET', `/agents/${data.id}`)).body).to.deep.equal(before);
    });
  });

  describe('GET /v1/clubs/{clubId}/classroom/agents', () => {
    it('lists the published agents that the student may use now, newest first, without details', async () => {
      const student = await buildStudent(club.id);
      const list = async (query = '') =>
        (await call('GET', `/v1/clubs/${club.id}/classroom/agents${query}`, { token: student.token })).body;
      expect(await list()).to.deep.equal({ data: [], total: 0 });

      const now = clock.now().getTime();
      const minute = 60_000;
      const opened = async (
        name: string,
        times: object = {},
        status: 'published' | 'draft' | 'archived' = 'published',
      ) => {
        const agent = await buildAgent(club.id, { name, status });
        const delivery = await buildAccessDelivery(club.id, { agentId: agent.id });
        const startsAt = new Date(now - minute);
        await buildEnrollment(club.id, { studentId: student.id, deliveryId: delivery.id, startsAt, ...times });
        return agent;
      };
      await buildAgent(club.id, { name: 'Without access' });
      await opened('Draft', {}, 'draft');
      await opened('Archived', {}, 'archived');
      await opened('Ended', { endsAt: new Date(now - 1) });
      await opened('Not yet', { startsAt: new Date(now + minute) });
      await opened('Revoked', { revoked: 'revocation' });
      const [first, second] = [await opened('First'), await opened('Second', { endsAt: new Date(now + minute) })];
      const present = ({ id, publicId, name }: typeof first) => ({ id, public_id: publicId, name, description: '' });
      expect(await list()).to.deep.equal({ data: [second, first].map(present), total: 2 });
      expect(await list('?page=2&page_size=1')).to.deep.equal({ data: [present(first)], total: 2 });
      clock.advance(2 * minute);
      const later = (await list()).data.map(({ name }: { name: string }) => name);
      expect(later).to.deep.equal(['First', 'Not yet']);
    });

    it('omits an agent that only another student may use', async () => {
      const agent = await buildAgent(club.id);
      await buildEnrollment(club.id, { deliveryId: (await buildAccessDelivery(club.id, { agentId: agent.id })).id });
      const { token } = await buildStudent(club.id);
      expect((await call('GET', `/v1/clubs/${club.id}/classroom/agents`, { token })).body.total).to.equal(0);
    });
  });
});
