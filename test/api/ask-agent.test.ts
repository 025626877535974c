/** Tests questions to an agent, rule by rule (OP-1, AGT-1 to AGT-5, AGT-13 to AGT-18). */
import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { v1, v7 } from 'uuid';
import { newId } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { wakesBy } from '../toolkit/assert/wakes.ts';
import { buildLearner } from '../toolkit/builders/access.ts';
import { appendWords, endAnswer, failAnswer, notifyStreams } from '../toolkit/drive/answers.ts';
import { call, expectError } from '../toolkit/drive/api.ts';
import { askingOf, openAskingClassroom, type AskingClassroom } from '../toolkit/drive/asking.ts';
import { testDatabase } from '../toolkit/stack/database.ts';

describe('POST /v1/clubs/{clubId}/classroom/agents/{publicId}/messages', () => {
  let classroom: AskingClassroom;
  beforeEach(async () => {
    classroom = await openAskingClassroom(); // Each student may ask 20 questions a minute.
  });

  describe('a question', () => {
    it('opens a new conversation if it has no conversation_id', async () => {
      const [first, second] = [await classroom.ask(), await classroom.ask()];
      expect(first.conversationId).to.not.equal(second.conversationId);
      expect(first.data.conversation).to.deep.equal({
        id: first.conversationId,
        title: 'When is a knot a bend?',
        created_at: first.data.question.created_at,
        last_message_at: first.data.question.created_at,
      });
    });

    it('gives its first line that is not blank to the conversation as the title', async () => {
      const { data } = await classroom.ask({ content: ' \r\n\n  Which   knot\tholds?  \nAnd why?' });
      expect(data.conversation.title).to.equal('Which knot holds?');
      expect(data.question.content).to.equal(' \r\n\n  Which   knot\tholds?  \nAnd why?');
    });

    it('joins the conversation of its conversation_id, keeps the title and updates last_message_at', async () => {
      const { answerId, data, conversationId } = await classroom.ask({ content: 'The first' });
      await endAnswer(answerId);
      const next = await classroom.ask({ conversation_id: conversationId.toUpperCase(), content: 'The second' });
      expect(next.data.conversation).to.deep.equal({
        ...data.conversation,
        last_message_at: next.data.question.created_at,
      });
      expect(next.data.question.created_at > data.question.created_at).to.equal(true);
    });
  });

  describe('the id that the client chooses for a question', () => {
    it('is stored as the id of the question, and as the reply_to of its answer', async () => {
      const id = randomUUID();
      const { data } = await classroom.ask({ id });
      expect(data.question).to.include({ id, role: 'user' });
      expect(data.answer).to.include({ reply_to: id, role: 'assistant' });
    });

    it('causes 409 message_exists if it is repeated, and no second answer or charge', async () => {
      const question = { id: randomUUID() };
      const { answerId } = await classroom.ask(question);
      const before = await traces(classroom);
      expectError(await classroom.refused(question), 'message_exists');
      await endAnswer(answerId);
      expectError(await classroom.refused(question), 'message_exists');
      expect(await traces(classroom)).to.deep.equal({ ...before, generating: before.generating - 1 });
    });

    it('has no letter case: upper case and lower case name one question', async () => {
      const id = randomUUID();
      const { data } = await classroom.ask({ id: id.toUpperCase() });
      expect(data.question.id).to.equal(id);
      expectError(await classroom.refused({ id }), 'message_exists');
      expectError(await classroom.refused({ id: id.toUpperCase() }), 'message_exists');
    });

    it('is refused if another student, agent or club, or a deleted conversation, used it', async () => {
      const id = randomUUID();
      const { conversationId } = await classroom.ask({ id });
      const others = [
        askingOf(classroom.openAgent, await buildLearner(classroom.openAgent)),
        await openAskingClassroom(),
        classroom,
      ];
      await eachCase(others, async (other) => expectError(await other.refused({ id }), 'message_exists'));
      await classroom.remove(conversationId);
      await eachCase(others, async (other) => expectError(await other.refused({ id }), 'message_exists'));
    });

    it('causes 409 with a Location header only for the owner of the conversation', async () => {
      const id = randomUUID();
      const { conversationId } = await classroom.ask({ id });
      const locationOf = async (who: Pick<AskingClassroom, 'refused'>) =>
        (await who.refused({ id })).headers.get('location');
      const path = `/v1/clubs/${classroom.club.id}/classroom/conversations/${conversationId}`;
      expect(await locationOf(classroom)).to.equal(path);
      const read = await call('GET', path, { token: classroom.student.token });
      expect(read.body.data.messages[0].id).to.equal(id);
      expect(await locationOf(askingOf(classroom.openAgent, await buildLearner(classroom.openAgent)))).to.equal(null);
      expect(await locationOf(await openAskingClassroom())).to.equal(null);
      await classroom.remove(conversationId);
      expect(await locationOf(classroom)).to.equal(null);
    });

    it('is accepted from one of three simultaneous requests, and causes 409 for the others', async () => {
      for (let round = 0; round < 6; round++) {
        const question = { id: randomUUID() };
        const outcomes = await Promise.all([1, 2, 3].map(() => outcomeOf(() => classroom.ask(question))));
        expect(outcomes.toSorted(), `round ${round}`).to.deep.equal(['accepted', 'message_exists', 'message_exists']);
      }
    });

    it('is accepted from one of two students who send it simultaneously, and causes 409 for the other', async () => {
      const other = askingOf(classroom.openAgent, await buildLearner(classroom.openAgent));
      for (let round = 0; round < 10; round++) {
        const question = { id: randomUUID() };
        const outcomes = await Promise.all([classroom, other].map((student) => outcomeOf(() => student.ask(question))));
        expect(outcomes.toSorted(), `round ${round}`).to.deep.equal(['accepted', 'message_exists']);
      }
    });

    it('causes 422 if it is no UUID of version 4', async () => {
      await eachCase(
        [v7(), v1(), '00000000-0000-0000-0000-000000000000', 'first', '', `urn:uuid:${randomUUID()}`],
        async (id) => {
          const answer = await classroom.refused({ id });
          expectError(answer, 'invalid_request');
          expect(answer.body.error.message).to.match(/\bid must be a UUID/);
        },
      );
      expectError(await classroom.refused({ id: '9f3c1b2a-7d4e-4f00-0a1b-2c3d4e5f6071' }), 'invalid_request');
    });
  });

  describe('the content type of the answer', () => {
    it('is JSON for a refusal', async () => {
      const answer = await classroom.refused({ conversation_id: newId() });
      expect(answer.headers.get('content-type')).to.equal('application/json; charset=utf-8');
      expectError(answer, 'not_found');
    });

    it('is text/event-stream for an accepted question, with status 200', async () => {
      const { stream } = await classroom.ask();
      expect([stream.status, stream.headers['content-type']]).to.deep.equal([200, 'text/event-stream']);
    });
  });

  describe('the stream of events', () => {
    it('sends `accepted` with the question, the unfinished answer, the conversation and the limits', async () => {
      const { data, answerId, conversationId } = await classroom.ask({ content: '# Raw *text* 🪢\0'.slice(0, -1) });
      expect(Object.keys(data)).to.have.members(['conversation', 'question', 'answer', 'limits']);
      const at = data.conversation.created_at;
      expect(data.question).to.deep.equal({
        id: data.question.id,
        role: 'user',
        content: '# Raw *text* 🪢',
        status: 'complete',
        images: [],
        citations: [],
        created_at: at,
      });
      expect(data.answer).to.deep.equal({
        id: answerId,
        role: 'assistant',
        content: '',
        status: 'generating',
        reply_to: data.question.id,
        images: [],
        citations: [],
        created_at: at,
      });
      const { body } = await classroom.conversation(conversationId);
      expect(body.data.messages).to.deep.equal([data.question, data.answer]);
    });

    it('sends `delta` for each chunk of text, and `done` with the final answer and its citations', async () => {
      const { stream, answerId } = await classroom.ask();
      await appendWords(answerId, 'A knot is ');
      await stream.textOf(10);
      await appendWords(answerId, 'a *bend*');
      await stream.textOf(18);
      await endAnswer(answerId, { text: ' 🪢.', citations: [{ citedText: 'A bend joins two ropes.' }] });
      const { data } = await stream.event('done');
      expect(await stream.ended).to.equal('whole');
      expect(stream.events.map(({ event }) => event)).to.deep.equal(['accepted', 'delta', 'delta', 'delta', 'done']);
      expect(stream.events.slice(1, 4).map((event) => event.data)).to.deep.equal([
        { text: 'A knot is ' },
        { text: 'a *bend*' },
        { text: ' 🪢.' },
      ]);
      expect(Object.keys(data)).to.deep.equal(['answer']);
      expect(data.answer).to.deep.include({ id: answerId, status: 'complete', content: 'A knot is a *bend* 🪢.' });
      expect(data.answer.citations).to.deep.equal([
        { cited_text: 'A bend joins two ropes.', source_kind: 'lesson', source_title: 'Bends' },
      ]);
    });

    for (const status of ['truncated', 'refused'] as const)
      it(`sends done without an error for an answer with the status ${status}`, async () => {
        const { stream, answerId } = await classroom.ask();
        await endAnswer(answerId, { status, text: 'So far' });
        const { data } = await stream.event('done');
        expect(data.answer).to.include({ status, content: 'So far' }).and.not.have.property('error_code');
        expect(stream.events.filter(({ event }) => event === 'error')).to.deep.equal([]);
      });

    it('sends `error` with a message in the language of the student', async () => {
      const { stream, answerId } = await classroom.ask();
      await call('PATCH', '/v1/auth/session', { token: classroom.student.token, body: { language: 'pt-BR' } });
      const later = await classroom.ask();
      for (const id of [answerId, later.answerId]) await failAnswer(id, 'interrupted', { text: '' });
      const messages = await Promise.all(
        [stream, later.stream].map(async (one) => (await one.event('error')).data.error.message),
      );
      expect(messages).to.deep.equal([
        'The answer was interrupted. Please ask again.',
        'A resposta foi interrompida. Pergunte de novo.',
      ]);
    });

    it('sends `error` with the code, the message and the partial answer, although the HTTP status is 200', async () => {
      const { stream, answerId } = await classroom.ask();
      await appendWords(answerId, 'A knot is ');
      await failAnswer(answerId, 'interrupted', { text: 'a' });
      const { data } = await stream.event('error');
      expect(await stream.ended).to.equal('whole');
      expect(stream.status).to.equal(200);
      expect(data.error).to.deep.equal({
        code: 'interrupted',
        message: 'The answer was interrupted. Please ask again.',
      });
      expect(data.answer).to.include({
        id: answerId,
        status: 'failed',
        error_code: 'interrupted',
        content: 'A knot is a',
      });
      expect(stream.text()).to.equal('A knot is a');
      expect(stream.events.filter(({ event }) => event === 'done')).to.deep.equal([]);
    });

    it('sends `done` once and last, even if the stream gets several notifications about the answer', async () => {
      const { stream, answerId } = await classroom.ask();
      await endAnswer(answerId, { text: 'At once' });
      for (let times = 0; times < 5; times++) await notifyStreams();
      expect(await stream.ended).to.equal('whole');
      expect(stream.events.map(({ event }) => event)).to.deep.equal(['accepted', 'delta', 'done']);
    });
  });

  describe('an answer after its client disconnects', () => {
    it('is completed, and GET …/conversations/{id} shows it', async () => {
      const { stream, answerId, conversationId } = await classroom.ask();
      stream.close();
      await appendWords(answerId, 'Nobody ');
      await endAnswer(answerId, {
        text: 'listens.',
        citations: [{ citedText: 'Nobody listens.', pageFrom: 1, pageTo: 2 }],
      });
      const { body } = await classroom.conversation(conversationId);
      expect(body.data.messages[1]).to.deep.include({
        id: answerId,
        status: 'complete',
        content: 'Nobody listens.',
        citations: [
          {
            cited_text: 'Nobody listens.',
            source_kind: 'lesson',
            source_title: 'Bends',
            page_from: 1,
            page_to: 2,
          },
        ],
      });
    });

    it('has one run, which gets only opaque ids', async () => {
      const id = randomUUID();
      const { club, openAgent } = classroom;
      expect(await wakesBy(club.id, () => classroom.ask({ id }))).to.deep.equal([`agent-answer/${id}`]);
      const source = await testDatabase();
      const [wake] = await source.query<object[]>(`SELECT * FROM wakes WHERE workflow_id = $1`, [`agent-answer/${id}`]);
      expect(wake).to.deep.include({
        workflow_type: 'agentAnswer',
        subject_id: id,
        club_id: club.id,
        attributes: { ClubId: club.id, AgentId: openAgent.id },
      });
    });

    it('uses the agent’s model or the default model, and the agent’s size limit', async () => {
      const own = await openAskingClassroom({ model: 'claude-haiku-4-5', answerMaxTokens: 77 });
      const rows = async (answerId: string) =>
        (await testDatabase()).query<object[]>(
          `SELECT status, content, model, max_tokens, call_no, begun_at, completed_at FROM agent_answers WHERE id = $1`,
          [answerId],
        );
      const waiting = { status: 'generating', content: '', call_no: 0, begun_at: null, completed_at: null };
      const [ours, theirs] = [await classroom.ask(), await own.ask()];
      expect(await rows(ours.answerId)).to.deep.equal([{ ...waiting, model: 'claude-sonnet-5-5', max_tokens: 1_024 }]);
      expect(await rows(theirs.answerId)).to.deep.equal([{ ...waiting, model: 'claude-haiku-4-5', max_tokens: 77 }]);
    });
  });
});

async function outcomeOf(ask: () => Promise<unknown>): Promise<string> {
  try {
    await ask();
    return 'accepted';
  } catch (error) {
    return /"code":"(\w+)"/.exec(String(error))?.[1] ?? String(error);
  }
}

async function traces({
  student,
}: AskingClassroom): Promise<{ questions: number; charges: number; generating: number }> {
  const source = await testDatabase();
  const [row] = await source.query<{ questions: number; charges: number; generating: number }[]>(
    `SELECT count(*)::int AS questions, count(charge.answer_id)::int AS charges,
            count(*) FILTER (WHERE answer.status = 'generating')::int AS generating
       FROM agent_answers answer LEFT JOIN agent_charges charge ON charge.answer_id = answer.id WHERE answer.student_id = $1`,
    [student.id],
  );
  if (!row) throw new Error('The query returned no row');
  return row;
}
