import { expect } from 'chai';
import { wordingIn } from '../../../../domain/language/wording.ts';
import { answerEvents } from '../../../../domain/agents/answers/answer-events.ts';
import type { AnswerFeed } from '../../../../domain/agents/answers/answer-feed.ts';
import { buildClub } from '../../../toolkit/builders/clubs.ts';
import { testDatabase } from '../../../toolkit/stack/database.ts';
import { buildCharge, buildAsker } from '../../../toolkit/builders/questions.ts';
import { endAnswer } from '../../../toolkit/drive/answers.ts';

describe('events of an answer', () => {
  it('end with exactly one `done` event, even if Postgres was unreachable', async () => {
    const real = await testDatabase();
    const answerId = await buildCharge(await buildAsker((await buildClub()).id), 1n, new Date());
    await endAnswer(answerId, { text: 'words' });
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
    const events = [];
    const request = { answerId, from: 0, wording: wordingIn('en') };
    for await (const event of answerEvents({ source, feed }, request, new AbortController().signal)) events.push(event);
    expect(events.map(({ event }) => event)).to.deep.equal(['delta', 'done']);
    expect(events[1]?.data).to.have.nested.property('answer.content', 'words');
    expect(failures).to.be.below(0);
  });
});
