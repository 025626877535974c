import { expect } from 'chai';
import { AgentAnswerDelta } from '../../../../entities/agents/agent-answer-delta.ts';
import { deleteEndedAnswerLogs } from '../../../../domain/agents/answers/answer-logs.ts';
import { stepAnswer } from '../../../../domain/agents/answers/answer-step.ts';
import { eraseConversations } from '../../../../domain/agents/conversations/erasure.ts';
import { rescueOverdue } from '../../../../platform/engine/sweeper.ts';
import { answerRow, callRows, chargeRow, expectSettled, logOf, monthOf } from '../../../toolkit/assert/answers.ts';
import { useAnswering } from '../../../toolkit/drive/answering.ts';
import { testDatabase, testDeps } from '../../../toolkit/stack/database.ts';
import { buildQuestion, type TestQuestion } from '../../../toolkit/builders/questions.ts';
import { until } from '../../../toolkit/drive/until.ts';

const second = 1_000;
const hour = 3_600 * second;

describe('upkeep of answers', function () {
  this.timeout(20 * second);
  const answering = useAnswering();

  describe('the log of an answer', () => {
    const isDeletedAfter = async (question: TestQuestion, ms: number) => {
      const { completedAt } = await answerRow(question.answerId);
      await deleteEndedAnswerLogs((await testDeps()).db, new Date((completedAt?.getTime() ?? 0) + ms));
      return (await answerRow(question.answerId)).logFoldedAt !== null;
    };

    it('is deleted an hour after the answer ends, but the answer keeps the text', async () => {
      const question = await buildQuestion();
      answering.model().next({ answer: ['One ', 'two'] });
      await answering.step(question.questionId);
      expect(await isDeletedAfter(question, hour)).to.equal(false);
      expect(await logOf(question.answerId)).to.equal('One two');
      expect(await isDeletedAfter(question, hour + 1)).to.equal(true);
      expect(await logOf(question.answerId)).to.equal('');
      expect((await answerRow(question.answerId)).content).to.equal('One two');
    });

    it('is not deleted while the answer is in progress', async () => {
      const { answerId } = await buildQuestion();
      const { db } = await testDeps();
      await db.manager.insert(AgentAnswerDelta, { answerId, startsAt: 0, text: 'x' });
      await deleteEndedAnswerLogs(db, new Date(Date.now() + 100 * hour));
      expect(await logOf(answerId)).to.equal('x');
    });
  });

  describe('the sweeper of answers', () => {
    const isRescued = async (question: TestQuestion, columns: string) => {
      const { db } = await testDeps();
      await db.source.query(`UPDATE agent_answers SET ${columns} WHERE id = $1`, [question.answerId]);
      await rescueOverdue(db, new Date());
      const [row] = await db.source.query<{ attributes: object }[]>(
        `SELECT attributes FROM wakes WHERE workflow_id = $1`,
        [`agent-answer/${question.questionId}`],
      );
      return row?.attributes;
    };
    const late = `looks_at = clock_timestamp() - interval '121 s'`;

    it('wakes an answer that is two minutes overdue', async () => {
      const question = await buildQuestion();
      expect(await isRescued(question, late)).to.deep.equal({ ClubId: question.clubId, AgentId: question.agentId });
    });

    it('does not wake an answer that is leased, has ended, or is overdue by less than two minutes', async () => {
      for (const columns of [
        `looks_at = clock_timestamp() - interval '100 s'`,
        `${late}, lease_until = clock_timestamp() + interval '10 s'`,
        `${late}, status = 'complete', completed_at = created_at`,
      ])
        expect(await isRescued(await buildQuestion(), columns), columns).to.equal(undefined);
    });
  });

  describe('a deletion of the conversation', () => {
    it('ends the answer during its stream, deletes its words and charges its use once', async () => {
      const question = await buildQuestion();
      const { answerId, conversationId, clubId } = question;
      answering.model().next({ answer: Array.from({ length: 200 }, () => 'word '), delayMs: 50 });
      const stepping = answering.step(question.questionId);
      await until('first words', { timeoutMs: 10 * second }, async () => (await logOf(answerId)) !== '');
      const { db } = await testDeps();
      await db.transaction((tx) => eraseConversations(tx, [conversationId], 'conversation_deleted', new Date()));
      expect(await stepping).to.have.nested.property('outcome.error_code', 'conversation_deleted');
      expect(answering.model().closedByClient()).to.equal(1);
      expect(await logOf(answerId)).to.equal('');
      expect(await answerRow(answerId)).to.include({
        status: 'failed',
        content: '',
        errorCode: 'conversation_deleted',
      });
      const [call] = await callRows(answerId);
      expect(call).to.include({ outcome: 'failed', errorCode: 'conversation_deleted', estimated: true });
      expect(call?.outputTokens).to.be.above(0);
      expect((await chargeRow(answerId)).costMicros).to.equal(call?.costMicros);
      expect(await monthOf(clubId)).to.deep.equal({ spent: Number(call?.costMicros), reserved: 0 });
    });

    it('prevents a call that has not begun, and releases the reserved budget', async () => {
      const question = await buildQuestion();
      const { db } = await testDeps();
      await db.transaction((tx) => eraseConversations(tx, [question.conversationId], 'student_removed', new Date()));
      expect(await answering.step(question.questionId)).to.have.nested.property(
        'outcome.error_code',
        'student_removed',
      );
      expect(answering.model().requests).to.have.length(0);
      expect(await monthOf(question.clubId)).to.deep.equal({ spent: 0, reserved: 0 });
    });

    describe('after the model request', () => {
      const deletedAtFirstEvent = async (question: TestQuestion, then: () => Promise<void> = async () => {}) => {
        const { db } = await testDeps();
        return answering.step(question.questionId, {
          async failpoint(name) {
            if (name !== 'answer_called') return;
            await db.transaction((tx) =>
              eraseConversations(tx, [question.conversationId], 'student_removed', new Date()),
            );
            await then();
          },
        });
      };
      const endLease = async ({ answerId }: TestQuestion) =>
        (await testDatabase()).query(`UPDATE agent_answers SET lease_until = clock_timestamp() WHERE id = $1`, [
          answerId,
        ]);
      const dies = async () => {
        throw new Error('the worker dies here');
      };

      it('charges the tokens that the model’s first event reported', async () => {
        const question = await buildQuestion();
        expect(await deletedAtFirstEvent(question)).to.have.nested.property('outcome.error_code', 'student_removed');
        // For comparison: this answer's stream also ends after the first event, but its conversation is not deleted.
        const { question: cut } = await answering.answer({ cutAfter: 1 });
        const [expectedCall] = await callRows(cut.answerId);
        const [call, ...others] = await callRows(question.answerId);
        expect(others).to.deep.equal([]);
        expect(call).to.include({
          outcome: 'failed',
          errorCode: 'student_removed',
          estimated: true,
          inputTokens: expectedCall?.inputTokens,
          outputTokens: 1,
          costMicros: expectedCall?.costMicros,
        });
        expect(Number(call?.costMicros)).to.be.above(0);
        await expectSettled(question, Number(call?.costMicros));
        expect(await logOf(question.answerId)).to.equal('');
      });

      it('charges the estimate once if the worker died before it recorded the event', async () => {
        const question = await buildQuestion();
        await deletedAtFirstEvent(question, dies).catch(() => {});
        const [{ costMicros: estimate } = { costMicros: '0' }] = await callRows(question.answerId);
        expect(Number(estimate)).to.be.above(0);
        // The worker may still be alive and may know the real cost.
        expect(await answering.step(question.questionId)).to.include({ done: false, waitingFor: 'lease' });
        expect((await chargeRow(question.answerId)).settledAt).to.equal(null);
        await endLease(question);
        for (let repetition = 0; repetition < 2; repetition++) {
          expect(await answering.step(question.questionId)).to.have.nested.property(
            'outcome.cost_micros',
            Number(estimate),
          );
          await expectSettled(question, Number(estimate));
        }
        expect(answering.model().requests).to.have.length(1);
      });

      it('charges nothing for a request that the model has refused', async () => {
        const question = await buildQuestion();
        answering.model().next({ refuse: 529 });
        const { db } = await testDeps();
        await answering.step(question.questionId, {
          async failpoint(name) {
            if (name === 'answer_claimed')
              await db.transaction((tx) =>
                eraseConversations(tx, [question.conversationId], 'conversation_deleted', new Date()),
              );
          },
        });
        await endLease(question);
        expect(await answering.step(question.questionId)).to.have.nested.property('outcome.calls', 1);
        await expectSettled(question, 0);
      });

      it('charges only the later of two calls', async () => {
        const question = await buildQuestion();
        const [early, late] = [haltAt('answer_called'), haltAt('answer_begun')];
        const stalled = answering.step(question.questionId, early);
        await early.isThere;
        await endLease(question);
        const last = answering.step(question.questionId, late);
        await late.isThere;
        const { db } = await testDeps();
        await db.transaction((tx) =>
          eraseConversations(tx, [question.conversationId], 'conversation_deleted', new Date()),
        );
        early.resume();
        await stalled;
        expect((await chargeRow(question.answerId)).settledAt).to.equal(null);
        late.resume();
        await last;
        const [earlier, later] = await callRows(question.answerId);
        expect(earlier).to.include({ outcome: 'abandoned' });
        expect(later).to.include({ outcome: 'failed', errorCode: 'conversation_deleted' });
        expect(Number(later?.costMicros)).to.be.above(0);
        await expectSettled(question, Number(later?.costMicros));
      });

      const haltAt = (at: string) => {
        const [arrival, resumption] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
        return {
          async failpoint(name: string) {
            if (name !== at) return;
            arrival.resolve();
            await resumption.promise;
          },
          isThere: arrival.promise,
          resume: resumption.resolve,
        };
      };
    });

    it('removes the words but charges the use, if it commits just before the answer ends', async () => {
      const question = await buildQuestion();
      answering.model().next({ answer: ['One ', 'two'] });
      const deps = await answering.deps({
        async failpoint(name) {
          if (name !== 'answer_ending') return;
          await (
            await testDeps()
          ).db.transaction((tx) =>
            eraseConversations(tx, [question.conversationId], 'conversation_deleted', new Date()),
          );
        },
      });
      await stepAnswer(deps, question.questionId, Date.now(), new AbortController().signal);
      expect(await answerRow(question.answerId)).to.include({ status: 'failed', content: '' });
      expect(await logOf(question.answerId)).to.equal('');
      const [call] = await callRows(question.answerId);
      expect(call).to.include({ estimated: false, errorCode: 'conversation_deleted' }); // the model had reported its token counts
      expect((await monthOf(question.clubId)).spent).to.equal(Number(call?.costMicros));
      expect(answering.ended).to.deep.equal([]);
    });
  });
});
