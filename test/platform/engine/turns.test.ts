/** Compares the rotation of claims with a model (ENG-9). */
import { expect } from 'chai';
import fc from 'fast-check';
import { priorities, type Priority } from '../../../entities/facts/values.ts';
import { idAfter, idOfTime, newId, noClub, type Id } from '../../../platform/core/ids.ts';
import { claimFacts, removeFacts } from '../../../platform/engine/facts.ts';
import { turnFromAnywhere, unknownFront, type Turn } from '../../../platform/engine/turns.ts';
import { countsOf, roomFor, useRelayQueue } from '../../toolkit/drive/relay-queue.ts';

/** The nil UUID first, then the other ids in order. */
const clubs: readonly Id[] = [noClub, ...Array.from({ length: 6 }, (_, index) => idOfTime(1_700_000_000_000 + index))];

type Queue = Map<Id, number>[];

interface Row {
  club: Id;
  priority: Priority;
}

/** Each step serves the next club that has a row of the most urgent priority. */
function stepsOf(queue: Queue, turn: Turn, limit: number): Record<string, number> {
  const stepCounts: Record<string, number> = {};
  let remaining = limit;
  for (const priority of priorities) {
    const rows = queue[priority] ?? new Map<Id, number>();
    for (; remaining > 0; remaining--) {
      const last = turn.get(priority) ?? noClub;
      const waiting = clubs.filter((club) => (rows.get(club) ?? 0) > 0);
      const next = waiting.find((club) => club > last) ?? waiting[0];
      if (next === undefined) break;
      rows.set(next, (rows.get(next) ?? 0) - 1);
      turn.set(priority, next);
      stepCounts[`${priority} ${next}`] = (stepCounts[`${priority} ${next}`] ?? 0) + 1;
    }
  }
  return stepCounts;
}

/** A claim of three rows gets only the urgent rows of one club, and none of the eight less urgent rows. */
const urgentRowsOfOneClub: [Row[], (Row[] | number)[]] = [
  [0, 0, 0].map((priority) => ({ club: clubs[1] ?? noClub, priority: priority as Priority })),
  [clubs.slice(2, 6).flatMap((club) => ([1, 2] as const).map((priority) => ({ club, priority }))), 3],
];

describe('the rotation over the clubs (ENG-9, ENG-15)', () => {
  const { source, recordMany, rowsRead, letLeasesRunOut } = useRelayQueue();

  it('continues after the last claim, and serves the most urgent rows first (model)', async () => {
    const row = fc.record({ club: fc.constantFrom(...clubs), priority: fc.constantFrom<Priority>(...priorities) });
    const rows = fc.array(row, { maxLength: 40 });
    const command = fc.oneof(
      { weight: 3, arbitrary: fc.integer({ min: 1, max: 9 }) }, // a claim of this many rows
      { weight: 1, arbitrary: rows }, // more rows
    );
    await fc.assert(
      fc.asyncProperty(rows, fc.array(command, { maxLength: 10 }), async (first, commands) => {
        await source().query(`TRUNCATE facts`);
        const queue: Queue = priorities.map(() => new Map());
        const [turn, turnOfModel]: Turn[] = [new Map(), new Map()];
        const front = unknownFront(); // the front must not hide the remaining rows, even if the first rows are old
        for (const one of [first, ...commands, 100]) {
          if (typeof one === 'number') {
            const claimed = await claimFacts(source(), { ...roomFor(one, 100), turn: turn ?? new Map(), front });
            const claimCounts: Record<string, number> = {};
            for (const { priority, clubId } of claimed)
              claimCounts[`${priority} ${clubId}`] = (claimCounts[`${priority} ${clubId}`] ?? 0) + 1;
            expect(claimCounts).to.deep.equal(stepsOf(queue, turnOfModel ?? new Map(), one));
            await removeFacts(source(), claimed);
          } else
            for (const { club, priority } of one) {
              await recordMany(club, 1, priority, one === first ? 5_000 : 0);
              queue[priority]?.set(club, (queue[priority].get(club) ?? 0) + 1);
            }
        }
      }),
      { numRuns: 40, examples: [urgentRowsOfOneClub] },
    );
  });

  it('reaches even a row of a dead relay or of a slow transaction', async () => {
    const command = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          full: fc.subarray([...clubs]),
          claim: fc.integer({ min: 1, max: 9 }),
          perClub: fc.integer({ min: 1, max: 3 }),
        }),
      },
      { weight: 2, arbitrary: fc.record({ club: fc.constantFrom(...clubs), count: fc.integer({ min: 1, max: 9 }) }) },
      // A transaction wrote these rows earlier, and commits only now.
      { weight: 1, arbitrary: fc.record({ club: fc.constantFrom(...clubs), agoMs: fc.constantFrom(10, 900, 5_000) }) },
      { weight: 1, arbitrary: fc.constant('a relay dies' as const) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 20 }), async (commands) => {
        await source().query(`TRUNCATE facts`);
        const front = unknownFront();
        const turn: Turn = new Map();
        for (const one of commands) {
          if (one === 'a relay dies') await letLeasesRunOut('facts');
          else if ('claim' in one) {
            const inHand = Object.fromEntries(one.full.map((club) => [club, one.perClub]));
            const room = roomFor(one.claim, one.perClub, inHand, turn);
            const claimed = await claimFacts(source(), { ...room, front });
            // The relay handles every second row, and then dies.
            await removeFacts(
              source(),
              claimed.filter((_, place) => place % 2 === 0),
            );
          } else if ('count' in one) await recordMany(one.club, one.count);
          else await recordMany(one.club, 1, 1, one.agoMs);
        }
        await letLeasesRunOut('facts');
        front.lookedAt -= 1_000; // a second later
        const countRemaining = async () =>
          Number((await source().query<{ count: string }[]>(`SELECT count(*) FROM facts`))[0]?.count);
        for (let count = await countRemaining(); count > 0; count = await countRemaining()) {
          const claimed = await claimFacts(source(), { ...roomFor(9, 3, {}, turn), front });
          expect(claimed, `of ${count}`).to.have.length.above(0);
          await removeFacts(source(), claimed);
        }
      }),
      { numRuns: 40 },
    );
  });

  it('serves each of 100 clubs once, even clubs that join during the round', async () => {
    const many = Array.from({ length: 100 }, (_, index) => idOfTime(1_700_000_000_000 + index));
    for (const club of many.slice(0, 96)) await recordMany(club, 5);
    const turn: Turn = new Map();
    const served: Id[] = [];
    for (let claim = 0; claim < 12; claim++) {
      if (claim === 6) for (const club of many.slice(96)) await recordMany(club, 5);
      served.push(...(await claimFacts(source(), { ...roomFor(8), turn })).map(({ clubId }) => clubId));
    }
    served.push(...(await claimFacts(source(), { ...roomFor(4), turn })).map(({ clubId }) => clubId));
    expect(countsOf(served.map((clubId) => ({ clubId })))).to.deep.equal(
      Object.fromEntries(many.map((club) => [club, 1])),
    );
  });

  it('begins with a different club in each process', () => {
    const begins = Array.from({ length: 20 }, () => turnFromAnywhere().get(1));
    expect(new Set(begins).size).to.equal(20);
  });

  it('skips clubs with only postponed rows or rows in progress', async () => {
    await source().query(
      `INSERT INTO facts (id, club_id, type, student_id, occurred_at, due_at)
       SELECT gen_random_uuid(), gen_random_uuid(), 'student.created', gen_random_uuid(), now(), now() + interval '1 h'
         FROM generate_series(1, 300)`,
    );
    const club = newId();
    await recordMany(club, 3);
    expect(countsOf(await claimFacts(source(), roomFor(4)))).to.deep.equal({ [club]: 3 });
    const busyClubs = Array.from({ length: 60 }, newId);
    for (const clubId of [...busyClubs, club]) await recordMany(clubId, 1);
    const inHand = Object.fromEntries(busyClubs.map((clubId) => [clubId, 8]));
    expect(countsOf(await claimFacts(source(), roomFor(4, 8, inHand)))).to.deep.equal({ [club]: 1 });
  });

  const [aClub, anotherClub] = [idOfTime(1_700_000_000_000), idOfTime(1_700_000_000_100)];
  for (const { of, lockedClubs, free } of [
    { of: 'one club', lockedClubs: Array.from({ length: 60 }, () => aClub), free: aClub },
    {
      of: '60 clubs',
      lockedClubs: Array.from({ length: 60 }, (_, index) => idOfTime(1_700_000_000_000 + index)),
      free: anotherClub,
    },
  ])
    it(`finds a free row behind 60 rows of ${of} that a long transaction locks`, async () => {
      for (const clubId of lockedClubs) await recordMany(clubId, 1);
      const other = source().createQueryRunner();
      await other.startTransaction();
      await other.query(`SELECT FROM facts FOR UPDATE`);
      try {
        await recordMany(free, 1);
        expect(countsOf(await claimFacts(source(), roomFor(1)))).to.deep.equal({ [free]: 1 });
      } finally {
        await other.rollbackTransaction();
        await other.release();
      }
    });

  it('reads fewer than 400 rows in a claim, whether 100 or 5,000 clubs wait', async () => {
    for (const waiting of [100, 5_000]) {
      await source().query(`TRUNCATE facts`);
      await source().query(
        `INSERT INTO facts (id, club_id, type, student_id, occurred_at, priority)
         SELECT gen_random_uuid(), lpad(to_hex(number % $1::int), 32, '0')::uuid, 'student.created', gen_random_uuid(), now(), 1 + number % 2
           FROM generate_series(1, $1::int * 4) number`,
        [waiting],
      );
      expect(await rowsRead('facts', (tx) => claimFacts(tx, roomFor(8, 8))), `${waiting} clubs`).to.be.below(400);
    }
  });
});

describe('the order of ids', () => {
  it('has a next id after each id', () => {
    expect(idAfter(noClub)).to.equal('00000000-0000-0000-0000-000000000001');
    expect(idAfter('01980000-0000-7000-8000-0000ffffffff')).to.equal('01980000-0000-7000-8000-000100000000');
    expect(idAfter('01980000-00ff-ffff-ffff-ffffffffffff')).to.equal('01980000-0100-0000-0000-000000000000');
  });
});
