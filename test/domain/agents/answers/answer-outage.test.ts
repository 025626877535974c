import { expect } from 'chai';
import { Database } from '../../../../platform/infra/postgres/database.ts';
import { readConfig } from '../../../../config.ts';
import { Secret } from '../../../../platform/core/secret.ts';
import { stepAnswer, type AnswerStep } from '../../../../domain/agents/answers/answer-step.ts';
import { createDeltaLog } from '../../../../domain/agents/answers/delta-log.ts';
import { createDataSource } from '../../../../entities/data-source.ts';
import { answerRow, callRows, chargeRow, logOf, monthOf } from '../../../toolkit/assert/answers.ts';
import { useAnswering } from '../../../toolkit/drive/answering.ts';
import { testDatabase } from '../../../toolkit/stack/database.ts';
import { startPostgresLine, type PostgresLine } from '../../../toolkit/fakes/postgres-line.ts';
import { buildQuestion, type TestQuestion } from '../../../toolkit/builders/questions.ts';
import { until } from '../../../toolkit/drive/until.ts';

const second = 1_000;

describe('the step of an answer during an outage of Postgres', function () {
  this.timeout(60 * second);
  const answering = useAnswering();
  const chunks = Array.from({ length: 80 }, (_, at) => `${at} \u{1F98A} `);
  const applicationName = 'club-outage';

  /** The step lasts about 4 s. Calls `happening` after the step has written the first words. */
  async function during(happening: (line: PostgresLine, question: TestQuestion) => Promise<void>): Promise<{
    step: AnswerStep;
    question: TestQuestion;
  }> {
    const question = await buildQuestion();
    const line = await startPostgresLine();
    const source = await createDataSource(
      { ...readConfig().database, url: new Secret(line.url), poolSize: 4 },
      applicationName,
    ).initialize();
    const deps = await answering.deps();
    const log = createDeltaLog({ source, notify() {}, onError() {}, async failpoint() {} });
    answering.model().next({ answer: chunks, delayMs: 50 });
    const db = new Database(source, deps.db.notifier);
    const take = () =>
      stepAnswer(
        { ...deps, log, db, prompt: { ...deps.prompt, db } },
        question.questionId,
        Date.now(),
        new AbortController().signal,
      );
    const stepping = take();
    await until('first words', { timeoutMs: 20 * second }, async () => (await logOf(question.answerId)) !== '');
    await happening(line, question);
    // The step reads once more after it has recorded everything. If only this read fails, Temporal repeats the step.
    const step = await stepping.catch(take);
    log.close();
    await source.destroy();
    line.stop();
    return { step, question };
  }

  const expectWhole = async ({ answerId, clubId }: TestQuestion) => {
    const text = chunks.join('');
    expect(await answerRow(answerId)).to.include({ status: 'complete', content: text, callNo: 1 });
    expect(await logOf(answerId)).to.equal(text);
    expect(answering.model().requests).to.have.length(1);
    const [call] = await callRows(answerId);
    expect((await chargeRow(answerId)).costMicros).to.equal(call?.costMicros);
    expect(await monthOf(clubId)).to.deep.equal({ spent: Number(call?.costMicros), reserved: 0 });
  };
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

  it('loses no word, and charges once, if Postgres does not reply for 5 s', async () => {
    const { question, step } = await during(async (line) => {
      line.fallSilent();
      await pause(5 * second);
      line.speakAgain();
    });
    expect(step).to.have.nested.property('outcome.status', 'complete');
    await expectWhole(question);
  });

  it('loses no word, and charges once, if Postgres ends connections for 5 s', async () => {
    const { question, step } = await during(async () => {
      const source = await testDatabase();
      for (const endsAt = Date.now() + 5 * second; Date.now() < endsAt; await pause(50))
        await source.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1`, [
          applicationName,
        ]);
    });
    expect(step).to.have.nested.property('outcome.status', 'complete');
    await expectWhole(question);
  });
});
