import { expect } from 'chai';
import { answerEvents } from '../../../domain/agents/answer-events.ts';
import type { AnswerFeed } from '../../../domain/agents/answer-feed.ts';
import { finish } from '../../toolkit/drive/answers.ts';
import { ask, buildAsker } from '../../toolkit/builders/charges.ts';
import { testDatabase } from '../../toolkit/stack/database.ts';
import { buildClub } from '../../toolkit/builders/factories.ts';

describe('events of an answer', () => {
  it('end with one done event once Postgres is back, when it was away at the end of the answer', async () => {
    const real = await testDatabase();
    const answerId = await ask(await buildAsker((await buildClub()).id), 1n, new Date());
    await finish(answerId, { text: 'words' });
    let failures = 2;
    const query = (...given: Parameters<typeof real.manager.query>) =>
      failures-- > 0 ? Promise.reject(new Error('away')) : real.manager.query(...given);
    const source = { manager: { query } } as unknown as typeof real;
    const feed: AnswerFeed = {
      async *follow() {
        yield 'words';
        return true;
      },
      stop: async () => {},
    };
    const got = [];
    for await (const event of answerEvents({ source, feed }, { answerId, from: 0 }, new AbortController().signal))
      got.push(event);
    expect(got.map(({ event }) => event)).to.deep.equal(['delta', 'done']);
    expect(got[1]?.data).to.have.nested.property('answer.content', 'words');
    expect(failures).to.be.below(0);
  });
});
