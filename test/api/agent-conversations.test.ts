/** Tests how students list, read, rename and delete their conversations with agents. */
import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { deltaStatements } from '../../domain/agents/answers/delta-statements.ts';
import { eraseConversations } from '../../domain/agents/conversations/erasure.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { wakesBy } from '../toolkit/assert/wakes.ts';
import { buildLearner } from '../toolkit/builders/access.ts';
import { buildOpenAgent } from '../toolkit/builders/agents.ts';
import { buildClub, buildStudent } from '../toolkit/builders/clubs.ts';
import { buildCourse } from '../toolkit/builders/courses.ts';
import { png } from '../toolkit/builders/pictures.ts';
import { buildSource } from '../toolkit/builders/sources.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { appendWords, endAnswer, failAnswer } from '../toolkit/drive/answers.ts';
import { call, expectError, type Answer } from '../toolkit/drive/api.ts';
import { askingOf, openAskingClassroom, type AskingClassroom } from '../toolkit/drive/asking.ts';
import { uploadFile } from '../toolkit/drive/media.ts';
import { untilWaitingForLocks, withOpenTransaction } from '../toolkit/drive/races.ts';
import { databaseOf } from '../toolkit/fakes/databases.ts';
import { columnsHolding, testDatabase } from '../toolkit/stack/database.ts';

describe('agent conversations', () => {
  let classroom: AskingClassroom;
  beforeEach(async () => {
    classroom = await openAskingClassroom({ description: 'Knows knots.' });
  });

  /** Each text contains its number. */
  async function converse(turns: number): Promise<Id> {
    let conversationId: Id | undefined;
    for (let turn = 1; turn <= turns; turn++) {
      const question = await classroom.ask({
        content: `question ${turn}`,
        ...(conversationId !== undefined && { conversation_id: conversationId }),
      });
      await endAnswer(question.answerId, { text: `answer ${turn}` });
      ({ conversationId } = question);
    }
    return conversationId ?? '';
  }

  const loseAccess = async () =>
    (await testDatabase()).query(`DELETE FROM enrollments WHERE student_id = $1`, [classroom.student.id]);

  describe('GET /v1/clubs/{clubId}/classroom/agents/{publicId}', () => {
    it('shows the agent without its instructions, and shows the student’s limits', async () => {
      const { body } = await classroom.agent();
      expect(body.data).to.deep.equal({
        id: classroom.openAgent.id,
        public_id: classroom.openAgent.publicId,
        name: 'Bosun',
        description: 'Knows knots.',
        limits: { daily_limit: 50, used: 0, remaining: 50, club_budget_exhausted: false },
      });
    });

    it('returns 403 not_entitled without access, and 404 for unpublished agents and agents of other clubs', async () => {
      const { openAgent, club } = classroom;
      expectError(await askingOf(openAgent, await buildStudent(club.id)).agent(), 'not_entitled');
      const foreign = await buildOpenAgent((await buildClub()).id);
      expectError(
        await askingOf({ clubId: club.id, publicId: foreign.publicId }, classroom.student).agent(),
        'not_found',
      );
      await alter('agents', openAgent.id, { status: 'draft' });
      expectError(await classroom.agent(), 'not_found');
    });
  });

  describe('GET /v1/clubs/{clubId}/classroom/agents/{publicId}/conversations', () => {
    const titles = async (query = '') => {
      const { body } = await classroom.conversations(query);
      return [body.data.map(({ title }: { title: string }) => title), body.total];
    };

    it('lists the student’s own conversations with this agent, newest message first, in pages', async () => {
      expect((await classroom.conversations()).body).to.deep.equal({ data: [], total: 0 });
      const first = await classroom.ask({ content: 'first' });
      await classroom.ask({ content: 'second' });
      await askingOf(classroom.openAgent, await buildLearner(classroom.openAgent)).ask({ content: 'somebody else’s' });
      expect(await titles()).to.deep.equal([['second', 'first'], 2]);
      await endAnswer(first.answerId);
      const again = await classroom.ask({ content: 'again', conversation_id: first.conversationId });
      expect(await titles()).to.deep.equal([['first', 'second'], 2]);
      expect(await titles('?page=2&page_size=1')).to.deep.equal([['second'], 2]);
      expect((await classroom.conversations('?page_size=1')).body.data[0]).to.deep.equal(again.data.conversation);
    });

    it('still lists conversations after the student’s access has ended or the agent was archived', async () => {
      await classroom.ask({ content: 'first' });
      await loseAccess();
      expect(await titles()).to.deep.equal([['first'], 1]);
      await alter('agents', classroom.openAgent.id, { status: 'archived' });
      expect(await titles()).to.deep.equal([['first'], 1]);
    });

    it('returns 404 for an unknown agent, and for an archived agent that the student never asked', async () => {
      expectError(
        await askingOf({ ...classroom.openAgent, publicId: 'nobody' }, classroom.student).conversations(),
        'not_found',
      );
      await alter('agents', classroom.openAgent.id, { status: 'archived' });
      expectError(await classroom.conversations(), 'not_found');
    });
  });

  describe('GET /v1/clubs/{clubId}/classroom/conversations/{conversationId}', () => {
    const contents = async (id: Id, query = '') => {
      const { body } = await classroom.conversation(id, query);
      return [body.data.messages.map(({ content }: { content: string }) => content), body.total];
    };

    it('shows the conversation with its messages, each question before its answer', async () => {
      const { data, answerId, conversationId } = await classroom.ask();
      await endAnswer(answerId, { text: 'Yes.' });
      const { body } = await classroom.conversation(conversationId.toUpperCase());
      const [question, answer] = body.data.messages;
      expect(body).to.deep.equal({ data: { ...data.conversation, messages: [question, answer] }, total: 2 });
      expect(question).to.deep.equal(data.question);
      expect(answer).to.deep.equal({
        ...data.answer,
        status: 'complete',
        content: 'Yes.',
        completed_at: answer.completed_at,
      });
    });

    it('shows the current text of an unfinished answer, but no error, no citations and no end time', async () => {
      const { answerId, conversationId } = await classroom.ask();
      await appendWords(answerId, 'So ', 'far 🪢');
      const [, answer] = (await classroom.conversation(conversationId)).body.data.messages;
      expect(answer).to.deep.include({ status: 'generating', content: 'So far 🪢', citations: [] });
      expect(answer).to.not.have.any.keys('error_code', 'completed_at');
    });

    it('shows the error code and the partial text of a failed answer', async () => {
      const { answerId, conversationId } = await classroom.ask();
      await appendWords(answerId, 'So far');
      await failAnswer(answerId, 'model_silent');
      const [, answer] = (await classroom.conversation(conversationId)).body.data.messages;
      expect(answer).to.include({ status: 'failed', error_code: 'model_silent', content: 'So far' });
      expect(answer).to.have.property('completed_at');
    });

    it('puts the newest messages on page 1, and sorts the messages of each page from old to new', async () => {
      const id = await converse(3);
      const all = ['question 1', 'answer 1', 'question 2', 'answer 2', 'question 3', 'answer 3'];
      expect(await contents(id)).to.deep.equal([all, 6]);
      for (let size = 1; size <= 7; size++) {
        const pages = Math.ceil(6 / size);
        const read: string[] = [];
        for (let page = 1; page <= pages; page++) {
          const [texts, total] = await contents(id, `?page=${page}&page_size=${size}`);
          expect(total, `page ${page} of ${size}`).to.equal(6);
          read.unshift(...texts);
        }
        expect(read, `pages of ${size}`).to.deep.equal(all);
        const beyond = await contents(id, `?page=${pages + 1}&page_size=${size}`);
        expect(beyond, `the page after the last page of ${size}`).to.deep.equal([[], 6]);
      }
    });

    it('shows the conversation after access has ended, but refuses a new question with 403 not_entitled', async () => {
      const id = await converse(1);
      await loseAccess();
      expect(await contents(id)).to.deep.equal([['question 1', 'answer 1'], 2]);
      expectError(await classroom.refused({ conversation_id: id }), 'not_entitled');
    });

    it('returns 404 for an unknown conversation, and for a conversation of another student or club', async () => {
      const { conversationId } = await classroom.ask();
      const other = askingOf(classroom.openAgent, await buildLearner(classroom.openAgent));
      const elsewhere = await openAskingClassroom();
      await eachCase(
        [
          await other.conversation(conversationId),
          await other.rename(conversationId, 'Mine'),
          await other.remove(conversationId),
          await elsewhere.conversation(conversationId),
          await classroom.conversation(newId()),
        ],
        (answer) => expectError(answer, 'not_found'),
      );
      expect((await classroom.conversation(conversationId)).status).to.equal(200);
    });

    describe('Agent citation', () => {
      const citationsOf = async (conversationId: Id) =>
        (await classroom.conversation(conversationId)).body.data.messages[1].citations;

      it('has lesson_id for a lesson, media_id for a file, and page numbers if they are known', async () => {
        const { club } = classroom;
        const lessonId = (await buildCourse(club.id)).lessons[0]?.id ?? '';
        const file = await uploadFile(
          { club },
          { fileName: 'a.txt', mime: 'text/plain', bytes: Buffer.from('Knots.') },
        );
        const { id: lesson } = await buildSource(club.id, { lessonId, title: 'Bends' });
        // A change of the library updates the index only if an agent's material contains the file.
        const { id: media } = await buildSource(club.id, { mediaId: file.id, title: 'Bends' });
        const { answerId, conversationId } = await classroom.ask();
        await endAnswer(answerId, {
          citations: [
            { citedText: 'one', sourceId: lesson, sourceKind: 'lesson', sourceTitle: 'Bends' },
            { citedText: 'two', sourceId: media, sourceKind: 'media', sourceTitle: 'a.txt', pageFrom: 3, pageTo: 4 },
          ],
        });
        expect(await citationsOf(conversationId)).to.deep.equal([
          { cited_text: 'one', source_id: lesson, source_kind: 'lesson', source_title: 'Bends', lesson_id: lessonId },
          {
            cited_text: 'two',
            source_id: media,
            source_kind: 'media',
            source_title: 'a.txt',
            media_id: file.id,
            page_from: 3,
            page_to: 4,
          },
        ]);
      });

      it('omits the ids of a source that left the index, and keeps the cited text', async () => {
        const lessonId = (await buildCourse(classroom.club.id)).lessons[0]?.id ?? '';
        const { id: source } = await buildSource(classroom.club.id, { lessonId, title: 'Bends' });
        const { answerId, conversationId } = await classroom.ask();
        await endAnswer(answerId, { citations: [{ citedText: 'one', sourceId: source }] });
        await (await testDatabase()).query(`DELETE FROM agent_sources WHERE id = $1`, [source]);
        expect(await citationsOf(conversationId)).to.deep.equal([
          { cited_text: 'one', source_kind: 'lesson', source_title: 'Bends' },
        ]);
      });
    });
  });

  describe('GET /v1/clubs/{clubId}/classroom/agents/{publicId}/conversations/{conversationId}', () => {
    const read = async (publicId: string, conversationId: Id, query = '') =>
      call(
        'GET',
        `/v1/clubs/${classroom.club.id}/classroom/agents/${publicId}/conversations/${conversationId}${query}`,
        {
          token: classroom.student.token,
        },
      );

    it('answers like the path without the agent, also for a later page', async () => {
      const { answerId, conversationId } = await classroom.ask();
      await endAnswer(answerId, { text: 'Yes.' });
      for (const query of ['', '?page=2&page_size=1']) {
        const answer = await read(classroom.openAgent.publicId, conversationId, query);
        expect(answer.status).to.equal(200);
        expect(answer.body).to.deep.equal((await classroom.conversation(conversationId, query)).body);
      }
    });

    it('returns 404 if the path names another agent of the club, an agent of another club, or no agent', async () => {
      const { conversationId } = await classroom.ask();
      const sibling = await buildOpenAgent(classroom.club.id);
      const elsewhere = await openAskingClassroom();
      for (const publicId of [sibling.publicId, elsewhere.openAgent.publicId, 'nobody'])
        expectError(await read(publicId, conversationId), 'not_found');
    });
  });

  describe('PATCH /v1/clubs/{clubId}/classroom/conversations/{conversationId}', () => {
    it('stores a title of 1 to 120 characters without surplus blanks, and changes no other field', async () => {
      const { data, conversationId } = await classroom.ask();
      await eachCase(
        [
          [' My   knots\n', 'My knots'],
          ['🪢'.repeat(120), '🪢'.repeat(120)],
          ['a', 'a'],
        ] as const,
        async ([title, kept]) => {
          const { body } = await classroom.rename(conversationId, title);
          expect(body).to.deep.equal({ data: { ...data.conversation, title: kept } });
        },
      );
      expect((await classroom.conversations()).body.data[0].title).to.equal('a');
    });

    it('returns 422 for an empty or blank title, and for a title of 121 characters', async () => {
      const { conversationId } = await classroom.ask();
      await eachCase(['', '  ', 'a'.repeat(121)], async (title) =>
        expectError(await classroom.rename(conversationId, title), 'invalid_request'),
      );
    });
  });

  describe('DELETE /v1/clubs/{clubId}/classroom/conversations/{conversationId}', () => {
    it('removes the conversation from lists and reads', async () => {
      const id = await converse(1);
      const answer = await classroom.remove(id);
      expect([answer.status, answer.text]).to.deep.equal([204, '']);
      expect((await classroom.conversations()).body).to.deep.equal({ data: [], total: 0 });
      await eachCase(
        [await classroom.conversation(id), await classroom.rename(id, 'x'), await classroom.remove(id)],
        (read) => expectError(read, 'not_found'),
      );
    });

    it('erases the texts of questions, answers and citations, and keeps empty rows for the daily limit', async () => {
      const word = `w${randomUUID()}`;
      const { answerId, conversationId } = await classroom.ask({ content: `question ${word}` });
      await appendWords(answerId, `answer ${word}`);
      await endAnswer(answerId, { citations: [{ citedText: `citation ${word}` }] });
      const next = await classroom.ask({ content: `again ${word}`, conversation_id: conversationId });
      await appendWords(next.answerId, `so far ${word}`);
      expect(await columnsHolding(word)).to.deep.equal([
        'agent_answer_deltas.text',
        'agent_answers.content',
        'agent_citations.cited_text',
        'agent_conversations.title',
        'agent_questions.content',
      ]);
      await classroom.remove(conversationId);
      expect(await columnsHolding(word)).to.deep.equal([]);
      expect((await classroom.agent()).body.data.limits.used).to.equal(2);
    });

    it('removes each image of the conversation, unless another conversation contains the image', async () => {
      const { club, student } = classroom;
      const upload = () => uploadFile({ club, student }, { fileName: 'knot.png', mime: 'image/png', bytes: png() });
      const [own, shared] = [await upload(), await upload()];
      const { conversationId } = await classroom.ask({ image_ids: [own.id, shared.id] });
      const other = await classroom.ask({ image_ids: [shared.id] });
      await classroom.remove(conversationId);
      const removed = async () => {
        const source = await testDatabase();
        const rows = await source.query<{ id: Id }[]>(
          `SELECT id FROM media WHERE owner_id = $1 AND removed_at IS NOT NULL AND file_name IS NULL AND erases_at IS NOT NULL`,
          [student.id],
        );
        return rows.map(({ id }) => id);
      };
      expect(await removed()).to.deep.equal([own.id]);
      await classroom.remove(other.conversationId);
      expect(await removed()).to.have.members([own.id, shared.id]);
    });

    it('gives an unfinished answer the status failed, and wakes the run that generates the answer', async () => {
      const { stream, answerId, conversationId, data } = await classroom.ask();
      await appendWords(answerId, 'So far');
      await stream.textOf(6);
      expect(await wakesBy(classroom.club.id, () => classroom.remove(conversationId))).to.deep.equal([
        `agent-answer/${data.question.id}`,
      ]);
      const failed = (await stream.event('error')).data;
      expect(failed.error).to.deep.equal({ code: 'conversation_deleted', message: 'The conversation was deleted.' });
      expect(failed.answer).to.include({ status: 'failed', error_code: 'conversation_deleted', content: '' });
      expect(await stream.ended).to.equal('whole');
    });

    describe('while the worker writes parts of the answer', () => {
      const word = `w${randomUUID()}`;
      const write = async (source: DataSource, { answerId }: { answerId: Id }) =>
        deltaStatements.write(source, [{ answerId, callNo: 0, startsAt: 0, text: word }]);

      it('erases the parts that the worker wrote before the deletion', async () => {
        const question = await classroom.ask();
        let removal: Promise<Answer> | undefined;
        await withOpenTransaction(
          async (tx) => {
            expect(await write(databaseOf(tx).source, question)).to.deep.equal(['written']);
          },
          async () => {
            removal = classroom.remove(question.conversationId);
            await untilWaitingForLocks(1);
          },
        );
        expect((await removal)?.status).to.equal(204);
        expect(await columnsHolding(word)).to.deep.equal([]);
      });

      it('refuses the parts that the worker tries to write after the deletion', async () => {
        const question = await classroom.ask();
        const source = await testDatabase();
        await withOpenTransaction(
          (tx) => eraseConversations(tx, [question.conversationId], 'conversation_deleted', new Date()),
          async () => {
            expect(await write(source, question)).to.deep.equal(['held']);
          },
        );
        expect(await write(source, question)).to.deep.equal(['lost']);
        expect(await columnsHolding(word)).to.deep.equal([]);
      });
    });
  });
});
