/** Tests each refusal of a question (AGT-6 to AGT-12) in order. A refusal writes nothing to the database. */
import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { startApi } from '../../api/server.ts';
import type { ErrorCode } from '../../platform/core/error-codes.ts';
import { newId } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildEnrollment, buildLearner } from '../toolkit/builders/access.ts';
import { buildOpenAgent } from '../toolkit/builders/agents.ts';
import { buildPlan } from '../toolkit/builders/billing.ts';
import { buildClub, buildStudent } from '../toolkit/builders/clubs.ts';
import { png } from '../toolkit/builders/pictures.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { endAnswer } from '../toolkit/drive/answers.ts';
import { callAt, expectError, testConfig, type Answer } from '../toolkit/drive/api.ts';
import {
  askingOf,
  openAskingClassroom,
  questionTables,
  type Asked,
  type AskingClassroom,
} from '../toolkit/drive/asking.ts';
import { uploadFile } from '../toolkit/drive/media.ts';
import { rowCounts, testDatabase } from '../toolkit/stack/database.ts';

const picture = { fileName: 'knot.png', mime: 'image/png', bytes: png(20, 10) };

async function questionRowCounts(): Promise<Record<string, number | undefined>> {
  const counts = await rowCounts();
  return Object.fromEntries(questionTables.map((table) => [table, counts[table]]));
}

async function refusing(refuse: () => Promise<Answer>, code: ErrorCode): Promise<Answer> {
  const before = await questionRowCounts();
  const answer = await refuse();
  expectError(answer, code);
  expect(await questionRowCounts()).to.deep.equal(before);
  return answer;
}

/** Creates a conversation whose answer is being generated. */
const answering = async (classroom: AskingClassroom) => ({ conversation_id: (await classroom.ask()).conversationId });

describe('a refused question', () => {
  let classroom: AskingClassroom;
  const refused =
    (body: object = {}, by: Pick<AskingClassroom, 'refused'> = classroom) =>
    () =>
      by.refused(body);
  beforeEach(async () => {
    classroom = await openAskingClassroom();
  });

  describe('404', () => {
    it('is returned if the agent is unknown, unpublished, archived or of another club', async () => {
      const { club, student } = classroom;
      const foreign = await buildOpenAgent((await buildClub()).id);
      const hidden = [
        await buildOpenAgent(club.id, { status: 'draft' }),
        await buildOpenAgent(club.id, { status: 'archived' }),
      ];
      for (const { id } of [foreign, ...hidden])
        await (await testDatabase()).query(`UPDATE agents SET public_id = $2 WHERE id = $1`, [id, id.slice(-12)]);
      await eachCase(['nobody', foreign.id.slice(-12), ...hidden.map(({ id }) => id.slice(-12))], (publicId) =>
        refusing(refused({}, askingOf({ clubId: club.id, publicId }, student)), 'not_found'),
      );
    });

    it('is returned for a conversation that is unknown, deleted, or of another student or agent', async () => {
      const { club, openAgent, student } = classroom;
      const other = await buildOpenAgent(club.id);
      await buildEnrollment(club.id, { studentId: student.id, deliveryId: other.deliveryId, startsAt: new Date(0) });
      const ofOtherAgent = await askingOf(other, student).ask();
      const ofOtherStudent = await askingOf(openAgent, await buildLearner(openAgent)).ask();
      const deleted = await classroom.ask();
      await classroom.remove(deleted.conversationId);
      const answers: string[] = [];
      await eachCase(
        [ofOtherAgent.conversationId, ofOtherStudent.conversationId, deleted.conversationId, newId()],
        async (id) => answers.push((await refusing(refused({ conversation_id: id }), 'not_found')).text),
      );
      expect(new Set(answers)).to.have.property('size', 1);
    });
  });

  it('returns 402 feature_not_in_plan with a message that does not mention the plan (AUTH-10)', async () => {
    await buildPlan(classroom.club.id, 'starter');
    const answer = await refusing(refused(), 'feature_not_in_plan');
    expect(answer.body.error.message).to.equal('This club does not offer this at the moment. Please contact the club.');
  });

  it('returns 403 not_entitled if the student has no current access to this agent', async () => {
    const { club, openAgent } = classroom;
    const stranger = await buildStudent(club.id);
    await refusing(refused({}, askingOf(openAgent, stranger)), 'not_entitled');
    const hour = 3_600_000;
    const other = await buildOpenAgent(club.id);
    await eachCase(
      [
        { startsAt: new Date(Date.now() + hour) },
        { startsAt: new Date(Date.now() - 2 * hour), endsAt: new Date(Date.now() - hour) },
        { startsAt: new Date(Date.now() - hour), revoked: 'revocation' as const },
        { startsAt: new Date(Date.now() - hour), deliveryId: other.deliveryId },
      ],
      async (terms) => {
        const student = await buildStudent(club.id);
        await buildEnrollment(club.id, { studentId: student.id, deliveryId: openAgent.deliveryId, ...terms });
        await refusing(refused({}, askingOf(openAgent, student)), 'not_entitled');
      },
    );
  });

  it('returns 403 not_entitled, not 409 message_exists, and the old answer stays readable', async () => {
    const id = randomUUID();
    const { answerId, conversationId } = await classroom.ask({ id });
    await endAnswer(answerId);
    await refusing(refused({ id }), 'message_exists');
    await (await testDatabase()).query(`DELETE FROM enrollments WHERE student_id = $1`, [classroom.student.id]);
    const answer = await refusing(refused({ id }), 'not_entitled');
    expect(answer.headers.get('location')).to.equal(null);
    await refusing(refused({ id, conversation_id: conversationId }), 'not_entitled');
    expect((await classroom.conversation(conversationId)).status).to.equal(200);
  });

  describe('409 generation_in_progress', () => {
    it('is returned only until the previous answer of the conversation ends with any status', async () => {
      await eachCase(['complete', 'truncated', 'refused', 'failed'] as const, async (status) => {
        const { answerId, conversationId } = await classroom.ask();
        const next = { conversation_id: conversationId };
        await refusing(refused(next), 'generation_in_progress');
        await endAnswer(answerId, { status, ...(status === 'failed' && { errorCode: 'interrupted' }) });
        await classroom.ask(next);
      });
    });

    it('is not returned in another conversation of the student', async () => {
      await classroom.ask();
      await classroom.ask();
    });

    it('is returned for one of two simultaneous questions in one conversation', async () => {
      for (let round = 0; round < 6; round++) {
        const { answerId, conversationId } = await classroom.ask();
        await endAnswer(answerId);
        const outcomes = await Promise.allSettled([1, 2].map(() => classroom.ask({ conversation_id: conversationId })));
        const refusals = outcomes.filter((outcome) => outcome.status === 'rejected');
        expect(refusals, `round ${round}`).to.have.length(1);
        expect(String(refusals[0]?.reason), `round ${round}`).to.include('"generation_in_progress"');
      }
    });
  });

  describe('422 invalid_image', () => {
    it('is returned for an image of another student, a library file, and an unknown or unready image', async () => {
      const { club, student, openAgent } = classroom;
      const other = await buildLearner(openAgent);
      const own = await uploadFile({ club, student }, picture);
      const theirs = await uploadFile({ club, student: other }, picture);
      const library = await uploadFile({ club }, picture);
      await eachCase(
        [[theirs.id], [library.id], [newId()], [own.id, theirs.id], [own.id, own.id.toUpperCase()]],
        (ids) => refusing(refused({ image_ids: ids }), 'invalid_image'),
      );
      await (await testDatabase()).query(`UPDATE media SET status = 'uploading' WHERE id = $1`, [own.id]);
      await refusing(refused({ image_ids: [own.id] }), 'invalid_image');
    });

    it('is not returned for two images, but a third image causes 422 invalid_request', async () => {
      const { club, student } = classroom;
      const images = [await uploadFile({ club, student }, picture), await uploadFile({ club, student }, picture)];
      const ids = images.map(({ id }) => id).toReversed();
      const { data, conversationId } = await classroom.ask({ image_ids: [ids[0] ?? '', (ids[1] ?? '').toUpperCase()] });
      const idsOf = ({ images: shown }: { images: { id: string }[] }) => shown.map(({ id }) => id);
      expect(idsOf(data.question)).to.deep.equal(ids);
      expect(data.question.images[0]).to.include({ kind: 'image', status: 'ready', file_name: 'knot.png' });
      expect(idsOf((await classroom.conversation(conversationId)).body.data.messages[0])).to.deep.equal(ids);
      const third = await uploadFile({ club, student }, picture);
      await refusing(refused({ image_ids: [...ids, third.id] }), 'invalid_request');
    });
  });

  describe('the text of a question', () => {
    it('has 1 to 8000 characters, counted as code points', async () => {
      const knot = '🪢'; // The knot emoji is one code point, two UTF-16 units and four bytes.
      await eachCase(['?', knot, knot.repeat(8_000)], async (content) => {
        const { data } = await classroom.ask({ content });
        expect(data.question.content).to.equal(content);
      });
      await eachCase(['', knot.repeat(8_001), 'a'.repeat(8_001)], (content) =>
        refusing(refused({ content }), 'invalid_request'),
      );
    });

    it('may be only white space', async () => {
      const { data } = await classroom.ask({ content: ' \n' });
      expect([data.question.content, data.conversation.title]).to.deep.equal([' \n', '…']);
    });

    it('must not contain a NUL byte or a lone surrogate', async () => {
      await eachCase(['a\0b', 'a\ud800b'], async (content) => {
        const answer = await refusing(refused({ content }), 'invalid_request');
        expect(answer.body.error.message).to.include('content must not hold a NUL byte or half of a character');
      });
    });
  });

  it('returns 400 for unknown properties and wrong types, and 422 for malformed ids', async () => {
    await eachCase([{ model: 'x' }, { content: 5 }, { image_ids: 'x' }, { conversation_id: null }], (body) =>
      refusing(refused(body), 'malformed_request'),
    );
    await refusing(refused({ conversation_id: 'x' }), 'invalid_request');
    await refusing(refused({ image_ids: ['x'] }), 'invalid_request');
  });

  it('returns 501 not_configured if no model is configured, while conversations stay readable', async () => {
    const { answerId, conversationId } = await classroom.ask();
    await endAnswer(answerId);
    const api = await startApi(await testConfig({ ANTHROPIC_API_KEY: '' }));
    try {
      const base = `http://127.0.0.1:${api.port}`;
      const at = `/v1/clubs/${classroom.club.id}/classroom`;
      const { token } = classroom.student;
      const ask = (body: Asked) =>
        callAt(base, 'POST', `${at}/agents/${classroom.openAgent.publicId}/messages`, {
          token,
          body: { id: randomUUID(), content: 'Which knot?', ...body },
        });
      await refusing(() => ask({}), 'not_configured');
      await refusing(() => ask({ conversation_id: conversationId }), 'not_configured');
      await refusing(() => ask({ conversation_id: newId() }), 'not_found');
      expect((await callAt(base, 'GET', `${at}/conversations/${conversationId}`, { token })).status).to.equal(200);
    } finally {
      await api.stop();
    }
  });

  describe('a question with several reasons for a refusal', () => {
    /** Each step adds a reason that has precedence over all earlier reasons. */
    it('gets only the first reason, in the order: agent, feature, access, …, daily limit, budget', async () => {
      const { club, openAgent, student } = classroom;
      const { id } = (await classroom.ask()).data.question;
      const running = await answering(classroom);
      const all = { id, ...running, image_ids: [newId()] };
      await alter('agents', openAgent.id, { daily_limit: 0 });
      await (await testDatabase()).query(`UPDATE clubs SET ai_monthly_limit = 0 WHERE id = $1`, [club.id]);

      await refusing(refused({ ...all, conversation_id: newId() }), 'not_found');
      await refusing(refused(all), 'message_exists');
      await refusing(refused({ ...all, id: randomUUID() }), 'generation_in_progress');
      await refusing(refused({ image_ids: all.image_ids }), 'invalid_image');
      await refusing(refused(), 'daily_limit_reached');
      await alter('agents', openAgent.id, { daily_limit: 100 });
      await refusing(refused(), 'club_budget_exhausted');

      await (await testDatabase()).query(`DELETE FROM enrollments WHERE student_id = $1`, [student.id]);
      await refusing(refused({ ...all, conversation_id: newId() }), 'not_entitled');
      await buildPlan(club.id, 'starter');
      await refusing(refused({ ...all, conversation_id: newId() }), 'feature_not_in_plan');
      await alter('agents', openAgent.id, { status: 'archived' });
      const answer = await refusing(refused(all), 'not_found');
      expect(answer.body.error.message).to.include('agent');
    });
  });
});
