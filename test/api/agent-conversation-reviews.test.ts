import { expect } from 'chai';
import { newId } from '../../platform/core/ids.ts';
import { buildLearner } from '../toolkit/builders/access.ts';
import { buildOpenAgent } from '../toolkit/builders/agents.ts';
import { buildClub } from '../toolkit/builders/clubs.ts';
import { endAnswer } from '../toolkit/drive/answers.ts';
import { call, expectError } from '../toolkit/drive/api.ts';
import { askingOf, openAskingClassroom, type AskingClassroom } from '../toolkit/drive/asking.ts';

describe('agent conversation reviews', () => {
  let classroom: AskingClassroom;
  beforeEach(async () => {
    classroom = await openAskingClassroom();
  });

  const conversations = (path = '', { club, openAgent } = classroom) =>
    call('GET', `/v1/clubs/${club.id}/agents/${openAgent.id}/conversations${path}`, { token: club.owner.token });

  /** @returns the conversation's id */
  async function talk(student = classroom.student, content = 'When is a knot a bend?'): Promise<string> {
    const { conversationId, answerId, stream } = await askingOf(classroom.openAgent, student).ask({ content });
    await endAnswer(answerId, { text: 'When it joins two ropes.' });
    await stream.event('done');
    return conversationId;
  }

  describe('GET /v1/clubs/{clubId}/agents/{agentId}/conversations', () => {
    it('lists the conversations of every student, newest message first, and filters them by student', async () => {
      const other = await buildLearner(classroom.openAgent);
      const first = await talk();
      const second = await talk(other, 'And a hitch?');
      const { data, total } = (await conversations()).body;
      expect(total).to.equal(2);
      expect(data.map(({ id }: { id: string }) => id)).to.deep.equal([second, first]);
      expect(data[0]).to.deep.include({
        title: 'And a hitch?',
        student: { id: other.id, name: 'Stella Student', email: other.email },
      });
      const own = (await conversations(`?student_id=${classroom.student.id}`)).body;
      expect(own).to.deep.include({ total: 1 });
      expect(own.data[0].id).to.equal(first);
    });

    it('omits deleted conversations, and omits the conversations of a removed student', async () => {
      await classroom.remove(await talk());
      const other = await buildLearner(classroom.openAgent);
      await talk(other);
      await call('DELETE', `/v1/clubs/${classroom.club.id}/students/${other.id}`, {
        token: classroom.club.owner.token,
      });
      expect((await conversations()).body).to.deep.equal({ data: [], total: 0 });
    });

    it('returns 404 for an agent of another club', async () => {
      const { id } = await buildOpenAgent((await buildClub()).id);
      const path = `/v1/clubs/${classroom.club.id}/agents/${id}/conversations`;
      expectError(await call('GET', path, { token: classroom.club.owner.token }), 'not_found');
    });
  });

  describe('GET /v1/clubs/{clubId}/agents/{agentId}/conversations/{conversationId}', () => {
    it('shows the messages as the student sees them, and names the student', async () => {
      const id = await talk();
      const read = (await conversations(`/${id}`)).body;
      const { data } = (await classroom.conversation(id)).body;
      const { student } = classroom;
      expect(read.total).to.equal(2);
      expect(read.data).to.deep.equal({
        ...data,
        student: { id: student.id, name: 'Stella Student', email: student.email },
      });
      expect(read.data.messages.map(({ content }: { content: string }) => content)).to.deep.equal([
        'When is a knot a bend?',
        'When it joins two ropes.',
      ]);
    });

    it('returns 404 for an unknown or deleted conversation, or a conversation of another club or agent', async () => {
      const id = await talk();
      const sibling = await buildOpenAgent(classroom.club.id);
      expectError(await conversations(`/${id}`, { ...classroom, openAgent: sibling }), 'not_found');
      const foreign = await openAskingClassroom();
      expectError(await conversations(`/${id}`, foreign), 'not_found');
      expectError(await conversations(`/${newId()}`), 'not_found');
      await classroom.remove(id);
      expectError(await conversations(`/${id}`), 'not_found');
    });
  });
});
