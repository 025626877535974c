import { expect } from 'chai';
import fc from 'fast-check';
import {
  AnswerLost,
  createDeltaLog,
  type DeltaLog,
  type DeltaLogDeps,
} from '../../../../domain/agents/answers/delta-log.ts';
import { deltaStatements, type DeltaStatements } from '../../../../domain/agents/answers/delta-statements.ts';
import { newId } from '../../../../platform/core/ids.ts';
import { logOf } from '../../../toolkit/assert/answers.ts';
import { testDatabase } from '../../../toolkit/stack/database.ts';
import { buildConversation, buildQuestion } from '../../../toolkit/builders/questions.ts';
import { until } from '../../../toolkit/drive/until.ts';

describe('writer of answer logs', function () {
  this.timeout(20_000);
  const open: DeltaLog[] = [];
  after(() => open.forEach((log) => log.close()));

  const writer = async (overrides: Partial<DeltaLogDeps> = {}) => {
    const state = { notifications: 0, errors: 0 };
    const log = createDeltaLog({
      source: await testDatabase(),
      notify: () => void state.notifications++,
      onError: () => void state.errors++,
      async failpoint() {},
      ...overrides,
    });
    open.push(log);
    return { log, state };
  };
  const claimed = async () => {
    const { answerId } = await buildQuestion();
    const source = await testDatabase();
    await source.query(
      `UPDATE agent_answers SET call_no = 1, lease_until = clock_timestamp() + interval '20 s' WHERE id = $1`,
      [answerId],
    );
    return answerId;
  };
  const untilLogged = (answerId: string, text: string) =>
    until(`the log "${text.slice(0, 20)}"`, { timeoutMs: 5_000 }, async () => (await logOf(answerId)) === text);
  const lostBy = async (promise: Promise<unknown>) => {
    const error = await promise.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).to.be.instanceOf(AnswerLost);
  };

  it('writes chunks in order, and counts their positions in characters', async () => {
    const { log } = await writer();
    const answerId = await claimed();
    const answer = log.open(answerId, 1, () => {});
    const chunks = ['\u{1F98A}', 'é', 'a\nb', '  ', '\u{1F98A}\u{1F98A}'];
    for (const chunk of chunks) {
      await answer.append(chunk);
      await until('it', { timeoutMs: 5_000 }, async () => (await logOf(answerId)).endsWith(chunk));
    }
    expect(await logOf(answerId)).to.equal(chunks.join(''));
    expect(await answer.rest()).to.deep.equal({ startsAt: 9, text: '' });
    answer.release();
  });

  it('writes the first words of an answer immediately, and calls the callback once', async () => {
    const writes: number[] = [];
    const { log } = await writer({
      statements: {
        ...deltaStatements,
        async write(dataSource, deltas) {
          writes.push(deltas.length);
          return deltaStatements.write(dataSource, deltas);
        },
      },
    });
    let firstWordReports = 0;
    const answer = log.open(await claimed(), 1, () => void firstWordReports++);
    const appended = answer.append('now');
    expect(writes).to.deep.equal([1]); // the write began synchronously
    await appended;
    await until('it', { timeoutMs: 5_000 }, async () => firstWordReports === 1);
    await answer.append(' and later');
    expect(writes).to.deep.equal([1]);
    await until('it', { timeoutMs: 5_000 }, async () => writes.length === 2);
    expect(firstWordReports).to.equal(1);
    answer.release();
  });

  it('writes the later words of all answers in one statement', async () => {
    const gate = gated();
    const { log, state } = await writer({ statements: gate.statements });
    const ids = await Promise.all(Array.from({ length: 5 }, claimed));
    const answers = ids.map((id) => log.open(id, 1, () => {}));
    gate.shut();
    for (const answer of answers) void answer.append('first');
    await until('a write', { timeoutMs: 5_000 }, async () => gate.waiting() === 1);
    for (const word of [' a', ' b', ' c']) for (const answer of answers) void answer.append(word);
    gate.open();
    for (const id of ids) await untilLogged(id, 'first a b c');
    // At most three batches: the first answer's first words, the other answers' first words, and the rest.
    expect(gate.batches[0]).to.equal(1);
    expect(gate.batches.length).to.be.at.most(3);
    expect(state.notifications).to.equal(gate.batches.length);
    for (const answer of answers) answer.release();
  });

  it('returns only the unwritten words at the end of an answer', async () => {
    const { log } = await writer();
    const answerId = await claimed();
    const answer = log.open(answerId, 1, () => {});
    await answer.append('first');
    await untilLogged(answerId, 'first');
    await answer.append(' rest');
    const rest = await answer.rest();
    expect((await logOf(answerId)) + rest.text).to.equal('first rest');
    expect(rest.startsAt).to.equal(5);
    answer.release();
  });

  describe('a writer whose call no longer owns the answer', () => {
    const endings: Record<string, string> = {
      'the answer was ended': `status = 'failed', error_code = 'student_removed', completed_at = created_at`,
      'another call of the answer has begun': `call_no = 2`,
    };
    for (const [how, change] of Object.entries(endings)) {
      it(`writes no more words and aborts the stream, because ${how}`, async () => {
        const { log } = await writer();
        const answerId = await claimed();
        const answer = log.open(answerId, 1, () => {});
        await answer.append('before');
        await untilLogged(answerId, 'before');
        await (await testDatabase()).query(`UPDATE agent_answers SET ${change} WHERE id = $1`, [answerId]);
        await answer.append(' after');
        await until('the loss', { timeoutMs: 5_000 }, async () => answer.lost.aborted);
        await lostBy(answer.append('more'));
        await lostBy(answer.rest());
        expect(await logOf(answerId)).to.equal('before');
      });
    }

    it('aborts the stream when it next renews the lease, even without new words', async () => {
      const { log } = await writer({ leaseMs: 400 });
      const answerId = await claimed();
      const answer = log.open(answerId, 1, () => {});
      await (await testDatabase()).query(`UPDATE agent_answers SET call_no = 2 WHERE id = $1`, [answerId]);
      await until('the loss', { timeoutMs: 5_000 }, async () => answer.lost.aborted);
      expect(answer.lost.reason).to.be.instanceOf(AnswerLost);
    });

    it('writes no word after another transaction ended the answer', async () => {
      const { log } = await writer();
      const answerId = await claimed();
      const answer = log.open(answerId, 1, () => {});
      const source = await testDatabase();
      const runner = source.createQueryRunner();
      await runner.startTransaction();
      await runner.query(
        `UPDATE agent_answers SET status = 'failed', error_code = 'student_removed', completed_at = created_at WHERE id = $1`,
        [answerId],
      );
      await answer.append('a word');
      const other = await claimed();
      const beside = log.open(other, 1, () => {});
      await beside.append('beside it');
      await untilLogged(other, 'beside it'); // the locked row delays no other answer
      expect(answer.lost.aborted).to.equal(false);
      await runner.commitTransaction();
      await runner.release();
      await until('the loss', { timeoutMs: 5_000 }, async () => answer.lost.aborted);
      expect(await logOf(answerId)).to.equal('');
      beside.release();
    });

    it('writes the words later if another transaction locked the row only for a while', async () => {
      const { log } = await writer();
      const answerId = await claimed();
      const answer = log.open(answerId, 1, () => {});
      const runner = (await testDatabase()).createQueryRunner();
      await runner.startTransaction();
      await runner.query(`SELECT 1 FROM agent_answers WHERE id = $1 FOR UPDATE`, [answerId]);
      await answer.append('one');
      await answer.append(' two');
      await runner.rollbackTransaction();
      await runner.release();
      await untilLogged(answerId, 'one two');
      answer.release();
    });
  });

  describe('while Postgres cannot be reached', () => {
    it('makes the stream wait when the buffer is full, and loses no word', async () => {
      const gate = gated();
      const { log } = await writer({ statements: gate.statements });
      const answerId = await claimed();
      const answer = log.open(answerId, 1, () => {});
      await answer.append('x');
      await untilLogged(answerId, 'x');
      gate.break();
      const long = 'y'.repeat(5_000);
      let isAppended = false;
      const appended = answer.append(long).then(() => (isAppended = true));
      await until('tries', { timeoutMs: 5_000 }, async () => gate.batches.length >= 4);
      expect(isAppended).to.equal(false);
      gate.mend();
      await appended;
      await untilLogged(answerId, `x${long}`);
      answer.release();
    });

    it('repeats a write after its reply was lost, and stores no word twice', async () => {
      const gate = gated();
      const { log, state } = await writer({ statements: gate.statements });
      const answerId = await claimed();
      const answer = log.open(answerId, 1, () => {});
      gate.breakAfterCommit();
      await answer.append('once');
      await until('two lost answers', { timeoutMs: 5_000 }, async () => state.errors >= 2);
      await answer.append(' more'); // these words must follow the words that the writer writes again
      gate.mend();
      await untilLogged(answerId, 'once more');
      answer.release();
    });

    it('aborts the stream when the outage lasts longer than the lease', async () => {
      const gate = gated();
      const { log } = await writer({ statements: gate.statements, leaseMs: 400 });
      const answer = log.open(await claimed(), 1, () => {});
      gate.break();
      await until('the loss', { timeoutMs: 5_000 }, async () => answer.lost.aborted);
      await lostBy(answer.append('x'));
    });

    it('aborts the stream if a write is still open when the lease ends', async () => {
      const gate = gated();
      const { log } = await writer({ statements: gate.statements, leaseMs: 400 });
      const answer = log.open(await claimed(), 1, () => {});
      gate.shut();
      void answer.append('x').catch(() => {});
      await until('the loss', { timeoutMs: 5_000 }, async () => answer.lost.aborted);
      gate.open();
    });
  });

  it('renews the lease until the answer is released, even if no words arrive', async () => {
    const { log } = await writer({ leaseMs: 1_000 });
    const answerId = await claimed();
    const source = await testDatabase();
    await source.query(`UPDATE agent_answers SET lease_until = clock_timestamp() WHERE id = $1`, [answerId]);
    const answer = log.open(answerId, 1, () => {});
    const remainingLease = async () => {
      const [row] = await source.query<{ ms: number }[]>(
        `SELECT 1000 * extract(epoch FROM lease_until - clock_timestamp())::float AS ms FROM agent_answers WHERE id = $1`,
        [answerId],
      );
      return row?.ms ?? 0;
    };
    await until('a renewal', { timeoutMs: 5_000 }, async () => (await remainingLease()) > 500);
    await until('another', { timeoutMs: 5_000 }, async () => (await remainingLease()) > 900);
    answer.release();
    await until('its end', { timeoutMs: 5_000 }, async () => (await remainingLease()) < -300);
    expect(answer.lost.aborted).to.equal(false);
  });

  it('writes each text in order, without gaps or repetitions, for any chunks and faults', async () => {
    const conversations = await Promise.all(Array.from({ length: 3 }, () => buildConversation()));
    const chunk = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 });
    const fault = fc.constantFrom('none', 'none', 'before', 'after', 'held');
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ answer: fc.nat({ max: 2 }), chunk, pause: fc.boolean() }), { maxLength: 40 }),
        fc.array(fault, { maxLength: 8 }),
        async (steps, faults) => {
          const source = await testDatabase();
          const ids: string[] = [];
          for (const conversation of conversations) {
            await source.query(
              `UPDATE agent_answers SET status = 'complete', completed_at = created_at WHERE conversation_id = $1 AND status = 'generating'`,
              [conversation.conversationId],
            );
            const { answerId } = await buildQuestion({}, conversation);
            await source.query(`UPDATE agent_answers SET call_no = 1 WHERE id = $1`, [answerId]);
            ids.push(answerId);
          }
          const remainingFaults = [...faults];
          const { log } = await writer({
            statements: {
              ...deltaStatements,
              async write(dataSource, deltas) {
                const kind = remainingFaults.shift() ?? 'none';
                if (kind === 'before') throw new Error('away');
                if (kind === 'held') return deltas.map(() => 'held' as const);
                const outcomes = await deltaStatements.write(dataSource, deltas);
                if (kind === 'after') throw new Error('away');
                return outcomes;
              },
            },
          });
          const answers = ids.map((id) => log.open(id, 1, () => {}));
          const texts = ids.map(() => '');
          for (const { answer, chunk: text, pause } of steps) {
            texts[answer] += text;
            await answers[answer]?.append(text);
            if (pause) await new Promise((resolve) => setTimeout(resolve, 15));
          }
          for (const [place, answer] of answers.entries()) {
            const { startsAt, text } = await answer.rest();
            const logged = await logOf(ids[place] ?? newId());
            expect(logged + text, `answer ${place}`).to.equal(texts[place]);
            expect(startsAt, `answer ${place}`).to.equal(Array.from(logged).length);
            answer.release();
          }
          log.close();
        },
      ),
      { numRuns: 25 },
    );
  }).timeout(60_000);
});

/** The statements wait while the test keeps the gate closed. */
function gated() {
  let shut: PromiseWithResolvers<void> | undefined;
  let broken: 'no' | 'before' | 'after' = 'no';
  let waiting = 0;
  const batches: number[] = [];
  const statements: DeltaStatements = {
    async write(dataSource, deltas) {
      batches.push(deltas.length);
      waiting++;
      await shut?.promise;
      waiting--;
      if (broken === 'before') throw new Error('away');
      const outcomes = await deltaStatements.write(dataSource, deltas);
      if (broken === 'after') throw new Error('away');
      return outcomes;
    },
    async renew(source, answers, leaseMs) {
      await shut?.promise;
      if (broken !== 'no') throw new Error('away');
      return deltaStatements.renew(source, answers, leaseMs);
    },
  };
  return {
    statements,
    batches,
    waiting: () => waiting,
    shut: () => void (shut = Promise.withResolvers()),
    open() {
      shut?.resolve();
      shut = undefined;
    },
    break: () => void (broken = 'before'),
    breakAfterCommit: () => void (broken = 'after'),
    mend: () => void (broken = 'no'),
  };
}
