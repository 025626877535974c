import { expect } from 'chai';
import type { DataSource } from 'typeorm';
import { Database } from '../../../platform/infra/postgres/database.ts';
import { newId, noClub, type Id } from '../../../platform/core/ids.ts';
import { recordFact } from '../../../platform/engine/facts.ts';
import { wakeRuns } from '../../../platform/engine/wakes.ts';
import {
  claimFacts,
  claimWakes,
  deferFact,
  deferWake,
  removeFact,
  removeWake,
} from '../../../platform/engine/relay-queue.ts';
import { migrate } from '../../../entities/migrate.ts';
import { scratchDatabase } from '../../toolkit/stack/database.ts';
import type { Run } from '../../../platform/engine/workflow-types.ts';

let source: DataSource;
let database: Database;
let notified = 0;

/** Ids whose order is the order of clubs. */
const [clubA, clubB, clubC] = [newId(), newId(), newId()];

function useOutbox(): void {
  before('a database of its own: claims are over all clubs', async () => {
    source = await scratchDatabase();
    await migrate(source);
    database = new Database(source, { notify: () => void (notified += 1) });
  });
  beforeEach('empty it', async () => {
    notified = 0;
    await source.query(`TRUNCATE facts, wakes`);
  });
  after(() => source.destroy());
}

const everyFact = (limit = 100, perClub = 100, except: readonly Id[] = []) =>
  claimFacts(source, limit, perClub, except);
const wakeOf = (subjectId: Id, clubId: Id | null = clubA): Run => ({
  workflowType: 'webhookDelivery',
  subjectId,
  clubId,
  attributes: { EventType: 'student.created' },
});
const wakeNow = (...wakes: Run[]) => database.transaction((tx) => wakeRuns(tx, wakes, new Date()));
const record = (clubId: Id, studentId = newId()) =>
  database.transaction((tx) =>
    recordFact(tx, { clubId, type: 'student.created', studentId, occurredAt: new Date('2026-03-01T10:00:00Z') }),
  );
/** The time of the database, by whose clock leases are written. */
const databaseNow = async () => {
  const [row] = await source.query<{ now: Date }[]>(`SELECT clock_timestamp() AS now`);
  return row?.now.getTime() ?? NaN;
};
/** Expects the only row's lease to end so many seconds after `work`: from its begin to its end by the database's clock. */
async function expectLease(table: 'facts' | 'wakes', seconds: number, work: () => Promise<unknown>): Promise<void> {
  const begun = await databaseNow();
  await work();
  const ended = await databaseNow();
  const rows = await source.query<{ until: Date }[]>(`SELECT lease_until AS until FROM ${table}`);
  expect(rows).to.have.length(1);
  // Dates hold whole milliseconds; the database's clock is finer.
  expect(rows[0]?.until.getTime()).to.be.within(begun + seconds * 1_000, ended + seconds * 1_000);
}
const letLeasesRunOut = (table: 'facts' | 'wakes') =>
  source.query(`UPDATE ${table} SET lease_until = clock_timestamp() - interval '1 ms' WHERE lease_until IS NOT NULL`);

describe('facts (ENG-4)', () => {
  useOutbox();

  it('are written with the change, and notify the relay once, after the commit', async () => {
    const [studentId, subjectId] = [newId(), newId()];
    const id = await database.transaction(async (tx) => {
      const written = await recordFact(tx, {
        clubId: clubA,
        type: 'student.updated',
        studentId,
        subjectId,
        details: { previousCohortId: clubB },
        occurredAt: new Date(5),
      });
      await recordFact(tx, { clubId: clubA, type: 'student.removed', studentId, occurredAt: new Date(6) });
      expect(notified).to.equal(0);
      return written;
    });
    expect(notified).to.equal(1);
    const [first, second] = await everyFact();
    expect(first).to.deep.equal({
      id,
      clubId: clubA,
      type: 'student.updated',
      studentId,
      subjectId,
      details: { previousCohortId: clubB },
      occurredAt: new Date(5),
    });
    expect(second).to.include({ type: 'student.removed', subjectId: null, details: null });
  });

  it('of a rolled back transaction do not exist and send no NOTIFY', async () => {
    await database
      .transaction(async (tx) => {
        await recordFact(tx, { clubId: clubA, type: 'student.updated', studentId: newId(), occurredAt: new Date() });
        throw new Error('changed our mind');
      })
      .catch((error: Error) => expect(error.message).to.equal('changed our mind'));
    expect(await everyFact()).to.deep.equal([]);
    expect(notified).to.equal(0);
  });

  it('are claimed by one relay only when four claim at once', async () => {
    for (let index = 0; index < 20; index++) await record(clubA);
    const claims = await Promise.all([everyFact(), everyFact(), everyFact(), everyFact()]);
    const ids = claims.flat().map(({ id }) => id);
    expect(ids).to.have.length(20);
    expect(new Set(ids).size).to.equal(20);
  });

  it('are claimed in the order in which a club recorded them', async () => {
    const ids = [];
    for (let index = 0; index < 5; index++) ids.push(await record(clubA));
    expect((await everyFact(2)).map(({ id }) => id)).to.have.members(ids.slice(0, 2));
    expect((await everyFact(2)).map(({ id }) => id)).to.have.members(ids.slice(2, 4));
  });

  it('are claimed round robin: a club’s 1,000 facts delay no other club (ENG-9)', async () => {
    await source.query(
      `INSERT INTO facts (id, club_id, type, student_id, occurred_at)
       SELECT gen_random_uuid(), $1, 'student.created', gen_random_uuid(), now() FROM generate_series(1, 1000)`,
      [clubA],
    );
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

  it('that another transaction has locked are skipped', async () => {
    const [held, free] = [await record(clubA), await record(clubA)];
    const other = source.createQueryRunner();
    await other.startTransaction();
    await other.query(`SELECT 1 FROM facts WHERE id = $1 FOR UPDATE`, [held]);
    expect((await everyFact()).map(({ id }) => id)).to.deep.equal([free]);
    await other.rollbackTransaction();
    await other.release();
    expect((await everyFact()).map(({ id }) => id)).to.deep.equal([held]);
  });

  it('are claimed up to the limit a club, and not from excluded clubs', async () => {
    for (const clubId of [clubA, clubB]) for (let index = 0; index < 5; index++) await record(clubId);
    const claimed = await everyFact(100, 2, [clubB]);
    expect(claimed.map(({ clubId }) => clubId)).to.deep.equal([clubA, clubA]);
  });

  it('are claimed again when a dead relay’s lease of 30 s has run out, and not before', async () => {
    const id = await record(clubA);
    await expectLease('facts', 30, async () => expect(await everyFact()).to.have.length(1));
    expect(await everyFact()).to.deep.equal([]);
    await letLeasesRunOut('facts');
    expect((await everyFact()).map((fact) => fact.id)).to.deep.equal([id]);
  });

  it('that failed are deferred for 5 s, and processed ones are removed', async () => {
    const [put, carried] = [await record(clubA), await record(clubB)];
    await everyFact();
    await removeFact(source, carried);
    await expectLease('facts', 5, () => deferFact(source, put));
    expect(await source.query(`SELECT id FROM facts`)).to.deep.equal([{ id: put }]);
  });
});

describe('wakes (ENG-3)', () => {
  useOutbox();
  const rows = () =>
    source.query<{ workflow_id: string; seq: string }[]>(`SELECT workflow_id, seq FROM wakes ORDER BY workflow_id`);
  const claimOne = async () => {
    const [claimed] = await claimWakes(source, 1);
    if (!claimed) throw new Error('There is no wake to claim.');
    return claimed;
  };

  it('name the workflow by its subject, and hold its search attributes', async () => {
    const id = newId();
    await wakeNow(wakeOf(id));
    expect(await claimWakes(source, 10)).to.deep.equal([
      {
        workflowId: `webhook-delivery/${id}`,
        seq: '1',
        workflowType: 'webhookDelivery',
        subjectId: id,
        clubId: clubA,
        attributes: { EventType: 'student.created' },
      },
    ]);
    expect(notified).to.equal(1);
  });

  it('raise the sequence number of a wake that is not yet sent', async () => {
    const [id, other] = [newId(), newId()];
    await wakeNow(wakeOf(id));
    await wakeNow(wakeOf(id), wakeOf(other));
    await wakeNow(wakeOf(id));
    const seqs = Object.fromEntries((await rows()).map(({ workflow_id: workflowId, seq }) => [workflowId, seq]));
    expect(seqs).to.deep.equal({ [`webhook-delivery/${id}`]: '3', [`webhook-delivery/${other}`]: '1' });
  });

  it('write no rows and send no NOTIFY for an empty list', async () => {
    await wakeNow();
    expect(await rows()).to.deep.equal([]);
    expect(notified).to.equal(0);
  });

  it('without a club are claimed as those of one club', async () => {
    await wakeNow(wakeOf(newId(), null));
    expect((await claimWakes(source, 1))[0]?.clubId).to.equal(noClub);
  });

  it('of two transactions in opposite order cause no deadlock', async () => {
    const ids = Array.from({ length: 20 }, newId);
    for (let round = 0; round < 5; round++) {
      await Promise.all([
        wakeNow(...ids.map((id) => wakeOf(id))),
        wakeNow(...ids.toReversed().map((id) => wakeOf(id))),
      ]);
    }
    expect((await rows()).map(({ seq }) => seq)).to.deep.equal(Array.from({ length: 20 }, () => '10'));
  });

  it('are removed once they are sent', async () => {
    await wakeNow(wakeOf(newId()));
    await removeWake(source, await claimOne());
    expect(await rows()).to.deep.equal([]);
  });

  it('that were raised while being sent stay, and can be claimed at once', async () => {
    const id = newId();
    await wakeNow(wakeOf(id));
    const claimed = await claimOne();
    await wakeNow(wakeOf(id));
    expect(await claimWakes(source, 1)).to.deep.equal([]);
    await removeWake(source, claimed);
    expect((await claimWakes(source, 1)).map(({ seq }) => seq)).to.deep.equal(['2']);
  });

  it('are claimed round robin over the clubs', async () => {
    await wakeNow(...Array.from({ length: 1_000 }, () => wakeOf(newId(), clubA)));
    await wakeNow(wakeOf(newId(), clubB));
    const claimed = await claimWakes(source, 3);
    expect(claimed.map(({ clubId }) => clubId)).to.include(clubB);
  });

  it('that could not be sent are deferred for 5 s', async () => {
    await wakeNow(wakeOf(newId()));
    const claimed = await claimOne();
    await expectLease('wakes', 5, () => deferWake(source, claimed));
    expect(await claimWakes(source, 1)).to.deep.equal([]);
    await letLeasesRunOut('wakes');
    expect(await claimWakes(source, 1)).to.have.length(1);
  });
});
