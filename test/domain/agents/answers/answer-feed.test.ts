/** Compares the feed of answers with a simple reference implementation. */
import {
  answersChannel,
  createAnswersNotifier,
  tagOf,
  tagsIn,
} from '../../../../domain/agents/answers/answers-channel.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import { listen } from '../../../../platform/infra/postgres/notifications.ts';
import { readConfig } from '../../../../config.ts';
import { createAnswerFeed, type AnswerFeed } from '../../../../domain/agents/answers/answer-feed.ts';
import { buildClub } from '../../../toolkit/builders/clubs.ts';
import { buildAsker, buildCharge, type Asker } from '../../../toolkit/builders/questions.ts';
import {
  appendWithoutNotify,
  appendWords,
  endAnswer,
  deleteLog,
  notifyStreams,
} from '../../../toolkit/drive/answers.ts';
import { until } from '../../../toolkit/drive/until.ts';
import { withoutTimersOf } from '../../../toolkit/fakes/timers.ts';
import { testDatabase } from '../../../toolkit/stack/database.ts';
import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';

interface Follower {
  from: number;
  parts: string[];
  /** Resolves to true if the follower received the whole answer. */
  over: Promise<boolean>;
  leave: () => void;
  hasLeft: boolean;
}

type Act =
  | { do: 'append' | 'append silently'; texts: string[] }
  | { do: 'attach'; feed: number; at: number }
  | { do: 'come back' | 'leave'; who: number }
  | { do: 'pause' };

const texts = fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 4 });
const who = fc.nat(20);
const acts = fc.array(
  fc.oneof<fc.Arbitrary<Act>[]>(
    fc.record({ do: fc.constantFrom('append', 'append', 'append silently'), texts }),
    fc.record({ do: fc.constant('attach'), feed: fc.nat(1), at: fc.double({ min: 0, max: 1, noNaN: true }) }),
    fc.record({ do: fc.constantFrom('come back', 'leave'), who }),
    fc.record({ do: fc.constant('pause') }),
  ),
  { minLength: 3, maxLength: 25 },
);

describe('feed of answers', function () {
  this.timeout(120_000);
  const feeds: AnswerFeed[] = [];
  let asker: Asker;
  before('two processes’ feeds', async () => {
    const source = await testDatabase();
    const databaseUrl = readConfig().database.url.reveal();
    for (let count = 0; count < 2; count++) feeds.push(createAnswerFeed({ source, databaseUrl, onFailure() {} }));
    asker = await buildAsker((await buildClub()).id);
  });
  after(() => Promise.all(feeds.map((feed) => feed.stop())));

  const follow = (feed: number, answerId: Id, from: number): Follower => {
    const leaving = new AbortController();
    const follower: Follower = {
      from,
      parts: [],
      over: Promise.resolve(false),
      hasLeft: false,
      leave: () => {
        follower.hasLeft = true;
        leaving.abort();
      },
    };
    follower.over = (async () => {
      const parts = (feeds[feed] ?? fail()).follow(answerId, from, leaving.signal);
      let part = await parts.next();
      for (; !part.done; part = await parts.next()) follower.parts.push(part.value);
      return part.value;
    })();
    return follower;
  };

  /**
   * Runs the test with a second feed that never polls and reads only after a NOTIFY.
   */
  const withoutPolls = (work: (feed: number) => Promise<void>) =>
    withoutTimersOf(1_000, async () => {
      const feed = createAnswerFeed({
        source: await testDatabase(),
        databaseUrl: readConfig().database.url.reveal(),
        onFailure() {},
      });
      const index = feeds.push(feed) - 1;
      try {
        await work(index);
      } finally {
        feeds.pop();
        await feed.stop();
      }
    });

  it('sends each follower one contiguous piece, even if followers come and go', async () => {
    await fc.assert(
      fc.asyncProperty(acts, fc.boolean(), async (planned, isDeleted) => {
        const answerId = await buildCharge(asker, 1n, new Date());
        let written: string[] = [];
        const followers: Follower[] = [follow(0, answerId, 0)];
        for (const act of planned) {
          if ('texts' in act) {
            await (act.do === 'append' ? appendWords : appendWithoutNotify)(answerId, ...act.texts);
            written = [...written, ...Array.from(act.texts.join(''))];
          } else if ('at' in act) {
            followers.push(follow(act.feed, answerId, Math.floor(act.at * written.length)));
          } else if (!('who' in act)) await new Promise((resolve) => setTimeout(resolve, 5));
          else {
            const follower = followers[act.who % followers.length] ?? fail();
            follower.leave();
            await follower.over;
            // The follower continues at another process, after the characters that it has received.
            const received = Array.from(follower.parts.join('')).length;
            if (act.do === 'come back') followers.push(follow(act.who % 2, answerId, follower.from + received));
          }
        }
        await endAnswer(answerId, { text: 'end' });
        written = [...written, 'e', 'n', 'd'];
        if (isDeleted) await deleteLog(answerId);
        for (const { from, parts, over, hasLeft } of followers) {
          const isWhole = await over;
          const text = parts.join('');
          const piece = written.slice(from, from + Array.from(text).length).join('');
          expect(text).to.equal(piece);
          if (!hasLeft) expect([isWhole, text]).to.deep.equal([true, written.slice(from).join('')]);
        }
      }),
      { numRuns: 40 },
    );
  });

  it('sends a long stored text in pieces, without a poll between them', async () => {
    const answerId = await buildCharge(asker, 1n, new Date());
    await endAnswer(answerId, { text: 'x'.repeat(400_000) });
    await withoutPolls(async (feed) => {
      const follower = follow(feed, answerId, 0);
      expect([await follower.over, follower.parts.join('').length]).to.deep.equal([true, 400_000]);
      expect(follower.parts.length).to.be.above(20);
    });
  });

  it('sends words after its next poll when a NOTIFY is lost', async () => {
    const answerId = await buildCharge(asker, 1n, new Date());
    const follower = follow(0, answerId, 0);
    await appendWithoutNotify(answerId, 'words');
    await endAnswer(answerId, { notified: false });
    expect([await follower.over, follower.parts.join('')]).to.deep.equal([true, 'words']);
  });

  it('needs only a few queries for 50 followers', async () => {
    const source = await testDatabase();
    const answers = await Promise.all(Array.from({ length: 50 }, () => buildCharge(asker, 1n, new Date())));
    await withoutPolls(async (feed) => {
      const followers = answers.map((answerId) => follow(feed, answerId, 0));
      const looks = looksAt(source);
      for (const answerId of answers) await appendWithoutNotify(answerId, 'words');
      await endAnswer(answers[0] ?? '', { notified: false });
      await notifyStreams();
      expect(await followers[0]?.over).to.equal(true);
      await until('the words', { timeoutMs: 10_000 }, async () => followers.every(({ parts }) => parts.length > 0));
      const sizes = looks.stop();
      expect(sizes, 'the number of followers in one read').to.include(50);
      expect(sizes).to.have.length.below(10);
      for (const follower of followers) follower.leave();
      await Promise.all(followers.map(({ over }) => over));
    });
  });

  it('makes no query for a NOTIFY that names only other answers', async () => {
    const source = await testDatabase();
    const [own, other] = [await buildCharge(asker, 1n, new Date()), await buildCharge(asker, 1n, new Date())];
    await withoutPolls(async (feed) => {
      const follower = follow(feed, own, 0);
      await appendWords(own, 'first ');
      await until('first words', { timeoutMs: 10_000 }, async () => follower.parts.length > 0);
      const looks = looksAt(source);
      for (let count = 0; count < 6; count++) {
        await appendWords(other, 'words');
        await sleep(60); // The feed combines NOTIFYs for a shorter time than this sleep.
      }
      await endAnswer(own);
      expect(await follower.over).to.equal(true);
      // The NOTIFY of the first words may arrive late, so a second read is allowed.
      expect(looks.stop()).to.have.length.below(3);
    });
  });

  it('reads at most once in 50 ms for a follower that already has words', async () => {
    const source = await testDatabase();
    const answerId = await buildCharge(asker, 1n, new Date());
    await withoutPolls(async (feed) => {
      const follower = follow(feed, answerId, 0);
      await appendWords(answerId, 'first ');
      await until('first words', { timeoutMs: 10_000 }, async () => follower.parts.length > 0);
      const [looks, begun] = [looksAt(source), performance.now()];
      for (let count = 0; count < 40; count++) await notifyStreams(answerId);
      await endAnswer(answerId);
      expect(await follower.over).to.equal(true);
      expect(looks.stop()).to.have.length.within(1, 1 + Math.ceil((performance.now() - begun) / 50));
    });
  });

  it('sends first words immediately, even right after it read for another follower', async () => {
    const [one, other] = [await buildCharge(asker, 1n, new Date()), await buildCharge(asker, 1n, new Date())];
    await withoutPolls(async (feed) => {
      const reader = follow(feed, one, 0);
      await appendWords(one, 'first ');
      await until('first words', { timeoutMs: 10_000 }, async () => reader.parts.length > 0);
      const waiting = follow(feed, other, 0);
      await withoutTimersOf(1, async () => {
        await appendWords(one, 'more');
        await endAnswer(other, { text: 'words' }); // without first words, the read would wait for a timer
        expect(await waiting.over).to.equal(true);
      });
      reader.leave();
      await reader.over;
    });
  });

  it('accepts NOTIFYs about 2,000 answers, with payloads that Postgres allows', async () => {
    const ids = Array.from({ length: 2_000 }, () => newId());
    const payloads: string[] = [];
    const heard = Promise.withResolvers<void>();
    const listening = Promise.withResolvers<void>();
    const listener = listen({
      databaseUrl: readConfig().database.url.reveal(),
      source: await testDatabase(),
      name: 'test',
      channel: answersChannel,
      onNotify(payload) {
        if (payload === '') return listening.resolve();
        payloads.push(payload);
        if (payloads.flatMap((one) => tagsIn(one)).length >= ids.length) heard.resolve();
      },
      onFailure: heard.reject,
    });
    await listening.promise;
    createAnswersNotifier(await testDatabase(), heard.reject).notify(ids);
    await heard.promise;
    await listener.stop();
    expect(payloads.flatMap((one) => tagsIn(one))).to.have.members(ids.map(tagOf));
    expect(payloads).to.have.length(3);
  });

  it('disconnects its followers when it stops, without an end event', async () => {
    const source = await testDatabase();
    const feed = createAnswerFeed({ source, databaseUrl: readConfig().database.url.reveal(), onFailure() {} });
    feeds.push(feed);
    const answerId = await buildCharge(asker, 1n, new Date());
    const follower = follow(feeds.length - 1, answerId, 0);
    await appendWords(answerId, 'words');
    feeds.pop();
    await feed.stop();
    expect(await follower.over).to.equal(false);
  });

  it('ends the stream immediately if the answer is unknown', async () => {
    const follower = follow(0, 'f0000000-0000-4000-8000-000000000000', 0);
    expect([await follower.over, follower.parts]).to.deep.equal([true, []]);
  });
});

function fail(): never {
  throw new Error('The value is missing');
}

/** `stop` returns the number of followers in each query. */
function looksAt(source: Awaited<ReturnType<typeof testDatabase>>): { stop: () => number[] } {
  const pool = (source.driver as unknown as { master: { query: (...args: unknown[]) => unknown } }).master;
  const { query } = pool;
  const sizes: number[] = [];
  pool.query = (...args) => {
    const { name, values } = args[0] as { name?: string; values?: unknown[][] };
    if (name === 'answer_parts') sizes.push(values?.[0]?.length ?? 0);
    return query.apply(pool, args);
  };
  return {
    stop() {
      pool.query = query;
      return sizes;
    },
  };
}
