import { expect } from 'chai';
import { bulk } from '../../../entities/facts/values.ts';
import { idOfTime, newId, type Id } from '../../../platform/core/ids.ts';
import { claimFacts, removeFacts } from '../../../platform/engine/facts.ts';
import {
  turnFromAnywhere,
  unknownFront,
  untilNextLook,
  type Front,
  type Room,
} from '../../../platform/engine/turns.ts';
import { claimWakes, removeWake } from '../../../platform/engine/wakes.ts';
import { countsOf, roomFor, useRelayQueue, wakeOf } from '../../toolkit/drive/relay-queue.ts';

/** No transaction stays open this long, so no row this old can become visible later. */
const longMs = 5_000;
const aClub = idOfTime(1_700_000_000_000);
const anotherClub = idOfTime(1_700_000_000_100);

describe('the position from which a claim reads the queue (ENG-9)', () => {
  const { source, recordMany, rowsRead, wakeNow } = useRelayQueue();

  /** Returns how many rows of each club were claimed without a full scan. */
  const claimOn = async (front: Front, limit: number, room: Partial<Room> = {}) => {
    front.lookedAt = performance.now();
    const claimed = await claimFacts(source(), { ...roomFor(limit, 8), front, ...room });
    await removeFacts(source(), claimed);
    return countsOf(claimed);
  };
  const inHandOfOne = (all: number, ofBulk: number): Partial<Room> => ({
    inHand: new Map([[aClub, { all, bulk: ofBulk }]]),
    bulkPerClub: 6,
  });

  it('does not hide the remaining rows of a long backlog from the next claims', async () => {
    await recordMany(aClub, 12, 1, longMs);
    const front = unknownFront();
    for (let nth = 1; nth <= 3; nth++) expect(await claimOn(front, 4), `claim ${nth}`).to.deep.equal({ [aClub]: 4 });
  });

  for (const { what, priority, room } of [
    { what: 'a club that had reached its limit', priority: 1, room: inHandOfOne(8, 0) },
    { what: 'a club that had reached its bulk limit', priority: bulk, room: inHandOfOne(6, 6) },
    { what: 'bulk priority while the total limit of bulk is reached', priority: bulk, room: { bulk: 0 } },
  ] as const)
    it(`still shows the next claim rows of ${what}`, async () => {
      await recordMany(aClub, 2, priority, longMs);
      await recordMany(anotherClub, 2);
      const front = unknownFront();
      expect(await claimOn(front, 4, room)).to.deep.equal({ [anotherClub]: 2 });
      expect(await claimOn(front, 4)).to.deep.equal({ [aClub]: 2 });
    });

  it('does not hide rows of clubs that earlier claims did not reach', async () => {
    const clubs = Array.from({ length: 9 }, (_, index): Id => idOfTime(1_700_000_000_000 + index));
    for (const [index, club] of clubs.entries()) await recordMany(club, 1, 1, index < 8 ? 0 : longMs);
    const front = unknownFront();
    const turn = turnFromAnywhere();
    let count = 0;
    for (let nth = 1; nth <= 9; nth++) count += Object.keys(await claimOn(front, 1, { turn })).length;
    expect(count).to.equal(9);
  });

  it('comes before a row whose transaction took 200 ms to commit', async () => {
    await recordMany(anotherClub, 1);
    const front = unknownFront();
    expect(await claimOn(front, 4)).to.deep.equal({ [anotherClub]: 1 });
    expect(await claimOn(front, 4), 'the front is at the present time').to.deep.equal({});
    await recordMany(aClub, 1, 1, 200);
    expect(await claimOn(front, 4)).to.deep.equal({ [aClub]: 1 });
  });

  it('does not hide a wake that was raised while it was being sent', async () => {
    const raised = wakeOf(newId(), aClub);
    await wakeNow(raised);
    await source().query(`UPDATE wakes SET due_at = due_at - make_interval(secs => $1 / 1000.0)`, [longMs]);
    const front = unknownFront();
    const claim = () =>
      claimWakes(source(), { ...roomFor(4), front: Object.assign(front, { lookedAt: performance.now() }) });
    const [claimedWake] = await claim();
    if (!claimedWake) throw new Error('The wake is not due.');
    await wakeNow(raised);
    expect(await claim(), 'the front is at the present time').to.deep.equal([]);
    await removeWake(source(), claimedWake);
    expect((await claim()).map(({ subjectId }) => subjectId)).to.deep.equal([raised.subjectId]);
  });

  it('skips deleted rows that an open transaction keeps in the index', async () => {
    const other = source().createQueryRunner();
    await other.startTransaction('REPEATABLE READ');
    await other.query('SELECT count(*) FROM facts');
    try {
      const deletedRows = 2_000;
      await recordMany(newId(), deletedRows, 1, 10_000);
      await source().query(`DELETE FROM facts`);
      const front = unknownFront();
      expect(await claimFacts(source(), { ...roomFor(8), front })).to.deep.equal([]);
      await recordMany(newId(), 3);
      const read = (known: Front) => rowsRead('facts', (tx) => claimFacts(tx, { ...roomFor(8), front: known }));
      expect(await read({ ...front, lookedAt: performance.now() })).to.be.below(100);
      expect(await read({ ...front, lookedAt: performance.now() - 1_000 }), 'a read of all rows').to.be.above(
        deletedRows,
      );
    } finally {
      await other.rollbackTransaction();
      await other.release();
    }
  });

  it('returns to the first row after 1 s, or after ten times a full scan', () => {
    expect([0, 100, 200, 500, 30_000].map(untilNextLook)).to.deep.equal([1_000, 1_000, 2_000, 5_000, 5_000]);
  });
});
