/** Tests the order in which a relay claims rows. */
import { expect } from 'chai';
import { newId } from '../../../platform/core/ids.ts';
import { bulk } from '../../../entities/facts/values.ts';
import { claimFacts, deferFact, removeFacts } from '../../../platform/engine/facts.ts';
import type { Room } from '../../../platform/engine/turns.ts';
import { countsOf, roomFor, useRelayQueue, wakeOf } from '../../toolkit/drive/relay-queue.ts';

const [clubA, clubB, clubC] = [newId(), newId(), newId()];

describe('facts (ENG-9)', () => {
  const { source, everyFact, record, recordMany, endPauses, rowsRead } = useRelayQueue();

  it('are claimed by only one of four concurrent relays', async () => {
    for (let index = 0; index < 20; index++) await record(clubA);
    const claims = await Promise.all([everyFact(), everyFact(), everyFact(), everyFact()]);
    const ids = claims.flat().map(({ id }) => id);
    expect(ids).to.have.length(20);
    expect(new Set(ids).size).to.equal(20);
  });

  it('are claimed in the order of their creation within a club', async () => {
    const ids = [];
    for (let index = 0; index < 5; index++) ids.push(await record(clubA));
    expect((await everyFact(2)).map(({ id }) => id)).to.have.members(ids.slice(0, 2));
    expect((await everyFact(2)).map(({ id }) => id)).to.have.members(ids.slice(2, 4));
  });

  it('are claimed from one club after another, even if a club has 1,000 facts', async () => {
    await recordMany(clubA, 1_000);
    const [late, later] = [await record(clubB), await record(clubC)];
    const claimed = await everyFact(4);
    expect(claimed).to.have.length(4);
    expect(claimed.map(({ id }) => id)).to.include.members([late, later]);
    expect(claimed.filter(({ clubId }) => clubId === clubA)).to.have.length(2);
  });

  it('are claimed in equal numbers from three clubs', async () => {
    for (const clubId of [clubA, clubB, clubC]) for (let index = 0; index < 4; index++) await record(clubId);
    const claimed = await everyFact(6);
    for (const club of [clubA, clubB, clubC]) {
      expect(
        claimed.filter(({ clubId }) => clubId === club),
        `club ${club}`,
      ).to.have.length(2);
    }
  });

  it('are skipped while another transaction locks them', async () => {
    const [locked, free] = [await record(clubA), await record(clubA)];
    const other = source().createQueryRunner();
    await other.startTransaction();
    await other.query(`SELECT 1 FROM facts WHERE id = $1 FOR UPDATE`, [locked]);
    expect((await everyFact()).map(({ id }) => id)).to.deep.equal([free]);
    await other.rollbackTransaction();
    await other.release();
    expect((await everyFact()).map(({ id }) => id)).to.deep.equal([locked]);
  });

  it('that are urgent leave permits for less urgent facts of another club', async () => {
    await recordMany(clubA, 200);
    await recordMany(clubB, 10, bulk);
    const room: Room = { ...roomFor(32, 8), bulk: 24, bulkPerClub: 6 };
    const claimed = await claimFacts(source(), room);
    expect(countsOf(claimed)).to.deep.equal({ [clubA]: 8, [clubB]: 6 });
    const inHand = new Map([
      [clubA, { all: 7, bulk: 0 }],
      [clubB, { all: 0, bulk: 0 }],
    ]);
    await source().query(`UPDATE facts SET lease_until = NULL`);
    expect(countsOf(await claimFacts(source(), { ...room, limit: 25, inHand }))).to.deep.equal({
      [clubA]: 1,
      [clubB]: 6,
    });
  });

  it('are claimed up to the limit of the club, and facts in progress count too', async () => {
    for (const clubId of [clubA, clubB, clubC]) await recordMany(clubId, 10);
    const claimed = await everyFact(100, 5, { [clubB]: 5, [clubC]: 3 });
    expect(countsOf(claimed)).to.deep.equal({ [clubA]: 5, [clubC]: 2 });
  });

  it('are claimed equally from all clubs if each claim gets only one fact', async () => {
    const clubs = Array.from({ length: 6 }, newId);
    for (const clubId of clubs) await recordMany(clubId, 50);
    const claimed = [];
    for (let index = 0; index < 60; index++) claimed.push(...(await everyFact(1)));
    for (const clubId of clubs) expect(countsOf(claimed)[clubId], `club ${clubId}`).to.equal(10);
  });

  it('are claimed from one club after another, even if no row is leased', async () => {
    const clubs = Array.from({ length: 6 }, newId);
    for (const clubId of clubs) await recordMany(clubId, 50);
    const claimed = [];
    for (let index = 0; index < 60; index++) {
      const [fact] = await everyFact(1);
      if (!fact) break;
      claimed.push(fact);
      await removeFacts(source(), [fact]);
    }
    expect(claimed).to.have.length(60);
    for (const clubId of clubs) expect(countsOf(claimed)[clubId], `club ${clubId}`).to.equal(10);
  });

  it('are claimed by all of four concurrent relays while free facts exist', async () => {
    await recordMany(clubA, 300);
    await recordMany(clubB, 20);
    let remaining = 320;
    const idle: number[] = [];
    const relay = async () => {
      for (;;) {
        const claimed = await everyFact(8);
        remaining -= claimed.length;
        if (remaining <= 0) return;
        // The other relays may have locked all remaining rows.
        if (claimed.length === 0 && remaining > 3 * 8) idle.push(remaining);
      }
    };
    await Promise.all([relay(), relay(), relay(), relay()]);
    expect(idle).to.deep.equal([]);
  });

  it('are claimed even if other relays have locked the first facts of the queue', async () => {
    await recordMany(clubA, 40);
    const other = source().createQueryRunner();
    await other.startTransaction();
    await other.query(`SELECT FROM facts WHERE seq IN (SELECT seq FROM facts ORDER BY seq LIMIT 24) FOR UPDATE`);
    try {
      expect(await everyFact(8)).to.have.length(8);
    } finally {
      await other.rollbackTransaction();
      await other.release();
    }
  });

  it('are claimed by urgency, and bulk facts come last (ENG-15)', async () => {
    await recordMany(clubA, 20, 2);
    await recordMany(clubB, 20);
    await recordMany(clubA, 3, 0);
    const claimed = [];
    for (let index = 0; index < 30; index++) claimed.push(...(await everyFact(1)));
    expect(claimed.map(({ priority }) => priority)).to.deep.equal(
      [0, 1, 2].flatMap((priority) => Array.from({ length: [3, 20, 7][priority] ?? 0 }, () => priority)),
    );
  });

  it('of bulk work are claimed up to two limits: of all bulk work, and of each club', async () => {
    await recordMany(clubA, 20, 2);
    await recordMany(clubA, 1, 0);
    await recordMany(clubB, 20, 2);
    const claim = (room: Partial<Room>) =>
      claimFacts(source(), { ...roomFor(16, 8), bulk: 12, bulkPerClub: 6, ...room });
    expect(await claim({ bulk: 0 })).to.have.length(1);
    expect(countsOf(await claim({ bulk: 3 }))).to.have.all.keys(clubA, clubB);
    expect(await claim({ bulk: 3 })).to.have.length(3);
    expect(Math.max(...Object.values(countsOf(await claim({}))))).to.equal(6);
    const inHand = new Map([[clubA, { all: 7, bulk: 6 }]]);
    expect(Object.keys(countsOf(await claim({ inHand })))).to.deep.equal([clubB]);
  });

  it('are claimed from a long backlog without additional row reads', async () => {
    for (const count of [2_000, 20_000]) {
      await source().query(`TRUNCATE facts`);
      await recordMany(clubA, count);
      await recordMany(clubB, 10);
      expect(await rowsRead('facts', (tx) => claimFacts(tx, roomFor(8, 8))), `${count} facts`).to.be.below(400);
    }
  });

  it('that fail repeatedly do not block the club’s next valid fact', async () => {
    await recordMany(clubA, 40);
    const poisoned = await everyFact();
    for (const fact of poisoned) await deferFact(source(), fact, 'its own');
    const good = await record(clubA);
    await endPauses('facts');
    expect((await everyFact(1)).map(({ id }) => id)).to.deep.equal([good]);
  });

  it('that failed are not read before their retry is due', async () => {
    await recordMany(clubA, 20_000);
    await source().query(`UPDATE facts SET attempt_count = 1, due_at = clock_timestamp() + interval '1 min'`);
    await record(clubA);
    expect(await rowsRead('facts', (tx) => claimFacts(tx, roomFor(8, 8)))).to.be.below(100);
  });
});

describe('wakes (ENG-9)', () => {
  const { someWakes, wakeNow } = useRelayQueue();

  it('are claimed from one club after another', async () => {
    await wakeNow(...Array.from({ length: 1_000 }, () => wakeOf(newId(), clubA)));
    await wakeNow(wakeOf(newId(), clubB));
    const claimed = await someWakes(3);
    expect(claimed.map(({ clubId }) => clubId)).to.include(clubB);
  });

  it('are claimed up to the limit of the club', async () => {
    await wakeNow(...[clubA, clubB].flatMap((clubId) => Array.from({ length: 20 }, () => wakeOf(newId(), clubId))));
    expect(countsOf(await someWakes(100, 8))).to.deep.equal({ [clubA]: 8, [clubB]: 8 });
  });
});
