import { mock } from 'node:test';
import { expect } from 'chai';
import * as fc from 'fast-check';
import { createClubPermits, type ClubPermits } from '../../../platform/engine/club-permits.ts';

function takeAll(permits: ClubPermits, clubId: string): number {
  let count = 0;
  while (permits.tryAcquire(clubId)) count += 1;
  return count;
}

describe('the sharing of permits among clubs', () => {
  it('gives each further club half of the remaining permits', () => {
    const permits = createClubPermits(8);
    expect(['a', 'b', 'c', 'd', 'e'].map((club) => takeAll(permits, club))).to.deep.equal([4, 2, 1, 1, 0]);
  });

  it('gives a club at least one permit if there are only one, two or three permits', () => {
    expect([1, 2, 3].map((total) => takeAll(createClubPermits(total), 'a'))).to.deep.equal([1, 1, 2]);
  });

  it('gives no club more than half of all permits', () => {
    const step = fc.record({ club: fc.constantFrom('a', 'b', 'c'), gives: fc.boolean() });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), fc.array(step, { maxLength: 60 }), (total, steps) => {
        const permits = createClubPermits(total);
        const permitsByClub: Record<string, (() => void)[]> = { a: [], b: [], c: [] };
        for (const { club, gives } of steps) {
          const ofClub = permitsByClub[club] ?? [];
          const all = () => Object.values(permitsByClub).flat().length;
          if (gives) {
            const release = ofClub.pop();
            release?.();
            release?.(); // a second release changes nothing
            continue;
          }
          const mayTake = ofClub.length < total - all();
          const permit = permits.tryAcquire(club);
          expect(permit !== undefined).to.equal(mayTake);
          if (permit) ofClub.push(permit);
          expect(ofClub.length).to.be.at.most(Math.ceil(total / 2));
        }
      }),
    );
  });

  describe('queued work', () => {
    beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
    afterEach(() => mock.timers.reset());

    const settled = async () => {
      for (let tick = 0; tick < 20; tick++) await Promise.resolve();
    };
    const line = { ofAClub: 3, ofAPerson: 2, patienceMs: 1_000 };

    /** The test ends each piece of work. */
    function works(permits: ClubPermits) {
      const startedWork: string[] = [];
      const ends = new Map<string, PromiseWithResolvers<string>>();
      const outcomes: Record<string, string> = {};
      return {
        startedWork: startedWork,
        outcomes,
        begin(name: string, personId?: string, signal?: AbortSignal) {
          const end = Promise.withResolvers<string>();
          ends.set(name, end);
          const holder = { clubId: name[0] ?? '', ...(personId !== undefined && { personId }) };
          permits
            .run(
              holder,
              () => {
                startedWork.push(name);
                return end.promise;
              },
              signal,
            )
            .then(
              (result) => (outcomes[name] = result),
              (error: Error & { code?: string }) => (outcomes[name] = error.code ?? error.message),
            );
          return settled();
        },
        end(name: string) {
          ends.get(name)?.resolve('done');
          return settled();
        },
        fail(name: string) {
          ends.get(name)?.reject(new Error('broken'));
          return settled();
        },
      };
    }

    it('of one club begins while work of another club waits', async () => {
      const { begin, end, startedWork } = works(createClubPermits(4, { line }));
      for (const name of ['a1', 'a2', 'a3', 'a4', 'b1']) await begin(name);
      expect(startedWork).to.deep.equal(['a1', 'a2', 'b1']);
      await end('a2');
      expect(startedWork).to.deep.equal(['a1', 'a2', 'b1', 'a3']);
    });

    it('gets free permits in rotation over the clubs', async () => {
      const { begin, end, startedWork } = works(createClubPermits(1, { line }));
      for (const name of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) await begin(name);
      for (const name of ['a1', 'a2', 'b1', 'c1', 'a3']) await end(name);
      expect(startedWork).to.deep.equal(['a1', 'a2', 'b1', 'c1', 'a3', 'b2']);
    });

    it('is refused as busy if the queue of its club or person is full', async () => {
      const { begin, outcomes, startedWork } = works(createClubPermits(1, { line }));
      await begin('a1');
      for (const name of ['a2', 'a3', 'a4']) await begin(name, 'eve');
      expect(outcomes).to.deep.equal({ a4: 'busy' });
      for (const name of ['a5', 'a6']) await begin(name, 'bob');
      expect(outcomes).to.deep.equal({ a4: 'busy', a6: 'busy' });
      expect(startedWork).to.deep.equal(['a1']);
    });

    it('is refused as busy if it has waited too long', async () => {
      const { begin, end, outcomes, startedWork } = works(createClubPermits(1, { line }));
      await begin('a1');
      await begin('a2');
      mock.timers.tick(600);
      await begin('a3');
      mock.timers.tick(400);
      await end('a1');
      expect(outcomes).to.deep.equal({ a1: 'done', a2: 'busy' });
      expect(startedWork).to.deep.equal(['a1', 'a3']);
    });

    it('leaves the queue when its abort signal fires', async () => {
      const { begin, end, outcomes, startedWork } = works(createClubPermits(1, { line }));
      const controller = new AbortController();
      await begin('a1');
      await begin('a2', undefined, controller.signal);
      controller.abort(new Error('gone'));
      await begin('a3', undefined, controller.signal);
      await end('a1');
      expect(outcomes).to.deep.equal({ a1: 'done', a2: 'gone', a3: 'gone' });
      expect(startedWork).to.deep.equal(['a1']);
    });

    it('begins when running work fails and releases its permit', async () => {
      const { begin, fail, outcomes, startedWork } = works(createClubPermits(1, { line }));
      await begin('a1');
      await begin('b1');
      await fail('a1');
      expect(outcomes).to.deep.equal({ a1: 'broken' });
      expect(startedWork).to.deep.equal(['a1', 'b1']);
    });
  });

  describe('the retry without a permit', () => {
    const now = Date.UTC(2026, 0, 1);
    let clock = 0;
    const permitsOf = (total: number) => createClubPermits(total, { clock: () => clock, random: () => 1 });

    it('is one usual duration of the club’s work after the previous retry', () => {
      const permits = permitsOf(4);
      const release = permits.tryAcquire('a');
      permits.tryAcquire('a');
      expect(permits.tryAcquire('a')).to.equal(undefined);
      clock += 4_000;
      release?.();
      permits.tryAcquire('a');
      expect([1, 2, 3].map(() => permits.retryAt('a', now) - now)).to.deep.equal([2_000, 4_000, 6_000]);
    });

    it('is after one second if the club is unknown', () => {
      expect(permitsOf(1).retryAt('a', now) - now).to.equal(1_000);
    });

    it('is soon if the last work of the club was short', () => {
      const permits = permitsOf(2);
      const release = permits.tryAcquire('a');
      clock += 50;
      release?.();
      permits.tryAcquire('a');
      expect([1, 2].map(() => permits.retryAt('a', now) - now)).to.deep.equal([50, 100]);
    });

    it('is after one second when a thousand other clubs have worked since', () => {
      const permits = permitsOf(2);
      const work = (club: string) => {
        const release = permits.tryAcquire(club);
        clock += 50;
        release?.();
      };
      work('a');
      for (let other = 1; other <= 1_000; other++) work(`other-${other}`);
      expect(['a', 'other-1'].map((club) => permits.retryAt(club, now) - now)).to.deep.equal([1_000, 50]);
    });

    it('is within two minutes, however much work waits', () => {
      const permits = permitsOf(2);
      permits.tryAcquire('a');
      const waits = Array.from({ length: 200 }, () => permits.retryAt('a', now) - now);
      expect(waits.at(119)).to.equal(120_000);
      expect(Math.max(...waits)).to.equal(120_000);
    });

    it('is within 15 s, even if the last work took hours', () => {
      const permits = permitsOf(4);
      const release = permits.tryAcquire('a');
      permits.tryAcquire('a');
      clock += 3_600_000;
      release?.();
      expect(permits.retryAt('a', now) - now).to.equal(15_000);
    });
  });
});
