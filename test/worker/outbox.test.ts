import { expect } from 'chai';
import type { DataSource } from 'typeorm';
import { inTransaction } from '../../domain/core/database.ts';
import { newId } from '../../domain/core/ids.ts';
import { recordFact, wake } from '../../domain/facts/facts.ts';
import { claimFacts, claimWakes, deferWake, removeFact, removeWake } from '../../domain/facts/outbox.ts';
import { testPlatform } from '../support/database.ts';
import { strikeOffLeftovers } from '../support/worker.ts';

describe('what the relay takes from Postgres', () => {
  let source: DataSource;
  before(async () => {
    ({ source } = (await testPlatform()).database);
  });
  beforeEach(strikeOffLeftovers);

  describe('wakes', () => {
    const wakeOf = (subjectId: string, clubId = newId()) => ({
      workflowType: 'webhookDelivery' as const,
      subjectId,
      clubId,
      attributes: { ClubId: clubId },
    });
    const raise = async (...wakes: ReturnType<typeof wakeOf>[]) =>
      inTransaction((await testPlatform()).database, (tx) => wake(tx, wakes, new Date()));
    const claimed = async () => (await claimWakes(source, 10)).map(({ subjectId, seq }) => [subjectId, seq]);

    it('a wake that is sent is gone', async () => {
      await raise(wakeOf(newId()));
      const [sent] = await claimWakes(source, 10);
      if (sent) await removeWake(source, sent);
      expect(await source.query(`SELECT 1 FROM wakes`)).to.deep.equal([]);
    });

    it('raised while it is being sent: it stays, and is free to be sent again at once', async () => {
      const one = wakeOf(newId());
      await raise(one);
      const [sent] = await claimWakes(source, 10);
      await raise(one);
      if (sent) await removeWake(source, sent);
      expect(await claimed()).to.deep.equal([[one.subjectId, '2']]);
    });

    it('raised before it is taken: one row, so one signal', async () => {
      const one = wakeOf(newId());
      await raise(one);
      await raise(one);
      expect(await claimed()).to.deep.equal([[one.subjectId, '2']]);
    });

    it('taken by one relay, it is not given to another, until that one has had it for 30 s', async () => {
      const one = wakeOf(newId());
      await raise(one);
      expect(await claimed()).to.deep.equal([[one.subjectId, '1']]);
      expect(await claimed()).to.deep.equal([]);
      await source.query(`UPDATE wakes SET lease_until = lease_until - interval '30 s'`);
      expect(await claimed()).to.deep.equal([[one.subjectId, '1']]);
    });

    it('that could not be sent is put off by 5 s, not lost', async () => {
      await raise(wakeOf(newId()));
      const [failed] = await claimWakes(source, 10);
      if (failed) await deferWake(source, failed);
      const [row] = await source.query<{ seconds: number }[]>(
        `SELECT extract(epoch FROM lease_until - clock_timestamp())::float AS seconds FROM wakes`,
      );
      expect(row?.seconds).to.be.within(4, 5);
    });

    it('of a transaction that is rolled back is never seen', async () => {
      const { database } = await testPlatform();
      const failing = inTransaction(database, async (tx) => {
        await wake(tx, [wakeOf(newId())], new Date());
        throw new Error('rolled back');
      });
      await failing.catch(() => {});
      expect(await claimed()).to.deep.equal([]);
    });
  });

  describe('facts', () => {
    const record = async (clubId: string) =>
      inTransaction((await testPlatform()).database, (tx) =>
        recordFact(tx, { clubId, studentId: newId(), type: 'student.updated', occurredAt: new Date() }),
      );
    const recordMany = async (clubId: string, count: number) => {
      const ids: string[] = [];
      for (let number = 0; number < count; number++) ids.push(await record(clubId));
      return ids;
    };
    const claimed = async (limit: number, perClub = limit, except: string[] = []) =>
      (await claimFacts(source, limit, perClub, except)).map(({ id }) => id);

    it('in turns over the clubs, the oldest of each first: a long backlog keeps nobody waiting', async () => {
      const long = await recordMany(newId(), 50);
      const short = await recordMany(newId(), 2);
      expect(await claimed(4)).to.have.members([...long.slice(0, 2), ...short]);
    });

    it('at most so many of a club, and none of a club that has enough under way', async () => {
      const [a, b] = [newId(), newId()];
      const ofA = await recordMany(a, 5);
      const ofB = await recordMany(b, 5);
      expect(await claimed(10, 2)).to.have.members([...ofA.slice(0, 2), ...ofB.slice(0, 2)]);
      expect(await claimed(10, 2, [a])).to.have.members(ofB.slice(2, 4));
    });

    it('two relays at once take none twice', async () => {
      const ids = await recordMany(newId(), 40);
      const taken = (await Promise.all(Array.from({ length: 8 }, () => claimed(10)))).flat();
      expect(new Set(taken).size).to.equal(taken.length);
      while (taken.length < ids.length) {
        const more = await claimed(10);
        if (more.length === 0) break;
        taken.push(...more);
      }
      expect(taken).to.have.members(ids);
    });

    it('of a relay that died are taken again after 30 s; those that are told are gone', async () => {
      const ids = await recordMany(newId(), 2);
      expect(await claimed(10)).to.have.members(ids);
      expect(await claimed(10)).to.deep.equal([]);
      await removeFact(source, ids[0] ?? '');
      await source.query(`UPDATE facts SET lease_until = lease_until - interval '30 s'`);
      expect(await claimed(10)).to.deep.equal(ids.slice(1));
    });
  });
});
