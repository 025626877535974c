import { expect } from 'chai';
import type { DataSource } from 'typeorm';
import { Database, type Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { newId, noClub, type Id } from '../../../platform/core/ids.ts';
import type { Priority } from '../../../entities/facts/values.ts';
import { recordFact } from '../../../platform/engine/facts.ts';
import { wakeRuns } from '../../../platform/engine/wakes.ts';
import {
  claimFacts,
  claimWakes,
  deferFact,
  deferWake,
  removeFact,
  removeWake,
  type Room,
} from '../../../platform/engine/relay-queue.ts';
import { migrate } from '../../../entities/migrate.ts';
import { scratchDatabase } from '../../toolkit/stack/database.ts';
import type { Run } from '../../../platform/engine/workflow-types.ts';

let source: DataSource;
let db: Database;
let notified = 0;

/** Ids whose order is the order of clubs. */
const [clubA, clubB, clubC] = [newId(), newId(), newId()];

function useOutbox(): void {
  before('a database of its own: claims are over all clubs', async () => {
    source = await scratchDatabase();
    await migrate(source);
    db = new Database(source, { notify: () => void (notified += 1) });
  });
  beforeEach('empty it', async () => {
    notified = 0;
    await source.query(`TRUNCATE facts, wakes`);
  });
  after(() => source.destroy());
}

const roomFor = (limit: number, perClub = 100, inHand: Readonly<Record<Id, number>> = {}): Room => ({
  limit,
  bulk: limit,
  perClub,
  bulkPerClub: perClub,
  inHand: new Map(Object.entries(inHand).map(([clubId, all]) => [clubId, { all, bulk: 0 }])),
});
const everyFact = (limit = 100, perClub = 100, inHand: Readonly<Record<Id, number>> = {}) =>
  claimFacts(source, roomFor(limit, perClub, inHand));
const someWakes = (limit: number, perClub = 100) => claimWakes(source, roomFor(limit, perClub));
/** Inserts so many facts of the club at once. */
const recordMany = (clubId: Id, count: number, priority: Priority = 1) =>
  source.query(
    `INSERT INTO facts (id, club_id, type, student_id, occurred_at, priority)
     SELECT gen_random_uuid(), $1, 'student.created', gen_random_uuid(), now(), $3 FROM generate_series(1, $2::int)`,
    [clubId, count, priority],
  );
const countsOf = (rows: readonly { clubId: Id }[]): Record<Id, number> => {
  const counts: Record<Id, number> = {};
  for (const { clubId } of rows) counts[clubId] = (counts[clubId] ?? 0) + 1;
  return counts;
};
const wakeOf = (subjectId: Id, clubId: Id | null = clubA): Run => ({
  workflowType: 'webhookDelivery',
  subjectId,
  clubId,
  attributes: { EventType: 'student.created' },
});
const wakeNow = (...wakes: Run[]) => db.transaction((tx) => wakeRuns(tx, wakes, new Date()));
const record = (clubId: Id, studentId = newId()) =>
  db.transaction((tx) =>
    recordFact(tx, { clubId, type: 'student.created', studentId, occurredAt: new Date('2026-03-01T10:00:00Z') }),
  );
/** The time of the database, by whose clock leases are written. */
const databaseNow = async () => {
  const [row] = await source.query<{ now: Date }[]>(`SELECT clock_timestamp() AS now`);
  return row?.now.getTime() ?? NaN;
};
/** Expects the only row's lease, or its pause, to end so many seconds after `work`: from its begin to its end by the database's clock. */
async function expectEnd(
  column: 'lease_until' | 'due_at',
  table: 'facts' | 'wakes',
  seconds: number,
  work: () => Promise<unknown>,
): Promise<void> {
  const begun = await databaseNow();
  await work();
  const ended = await databaseNow();
  const rows = await source.query<{ until: Date }[]>(`SELECT ${column} AS until FROM ${table}`);
  expect(rows).to.have.length(1);
  // Dates hold whole milliseconds; the database's clock is finer.
  expect(rows[0]?.until.getTime()).to.be.within(begun + seconds * 1_000, ended + seconds * 1_000);
}
/** How many rows and entries of indexes of the table a claim reads; what it claims is given back. */
async function rowsRead(table: 'facts' | 'wakes', claim: (tx: Transaction) => Promise<unknown>): Promise<number> {
  await source.query(`VACUUM ANALYZE ${table}`);
  let count = NaN;
  const rollback = new Error('give it back');
  await db
    .transaction(async (tx) => {
      const read = async () => {
        const row = await tx.one<{ count: number }>(
          sql`SELECT sum(pg_stat_get_xact_tuples_returned(oid))::int AS count FROM pg_class
               WHERE oid = ${table}::regclass OR oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = ${table}::regclass)`,
        );
        return row?.count ?? NaN;
      };
      const before = await read(); // the connection may still have counts of earlier transactions
      expect(await claim(tx)).not.to.deep.equal([]);
      count = (await read()) - before;
      throw rollback;
    })
    .catch((error: unknown) => expect(error).to.equal(rollback));
  return count;
}
/** What waits after a failure has waited long enough. */
const endPauses = (table: 'facts' | 'wakes') =>
  source.query(`UPDATE ${table} SET due_at = clock_timestamp() WHERE due_at > clock_timestamp()`);
const letLeasesRunOut = (table: 'facts' | 'wakes') =>
  source.query(`UPDATE ${table} SET lease_until = clock_timestamp() - interval '1 ms' WHERE lease_until IS NOT NULL`);

describe('facts (ENG-4)', () => {
  useOutbox();

  it('are written with the change, and notify the relay once, after the commit', async () => {
    const [studentId, subjectId] = [newId(), newId()];
    const id = await db.transaction(async (tx) => {
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
      priority: 1,
    });
    expect(second).to.include({ type: 'student.removed', subjectId: null, details: null });
  });

  it('of a rolled back transaction do not exist and send no NOTIFY', async () => {
    await db
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

  it('are claimed up to the limit of a club, together with those in hand', async () => {
    for (const clubId of [clubA, clubB, clubC]) await recordMany(clubId, 10);
    const claimed = await everyFact(100, 5, { [clubB]: 5, [clubC]: 3 });
    expect(countsOf(claimed)).to.deep.equal({ [clubA]: 5, [clubC]: 2 });
  });

  it('are claimed in equal numbers one by one, whatever the order of the clubs’ ids', async () => {
    const clubs = Array.from({ length: 6 }, newId);
    for (const clubId of clubs) await recordMany(clubId, 50);
    const claimed = [];
    for (let index = 0; index < 60; index++) claimed.push(...(await everyFact(1)));
    for (const clubId of clubs) expect(countsOf(claimed)[clubId], `club ${clubId}`).to.be.within(7, 13);
  });

  it('are claimed by chance among clubs of which nothing is leased', async () => {
    const clubs = Array.from({ length: 6 }, newId);
    for (const clubId of clubs) await recordMany(clubId, 50);
    const claimed = [];
    for (let index = 0; index < 60; index++) {
      const [fact] = await everyFact(1);
      if (!fact) break;
      claimed.push(fact);
      await removeFact(source, fact.id);
    }
    expect(claimed).to.have.length(60);
    expect(Object.keys(countsOf(claimed)).length).to.be.greaterThan(3);
  });

  it('are claimed by each of four relays at once as long as free ones exist', async () => {
    await recordMany(clubA, 300);
    await recordMany(clubB, 20);
    let left = 320;
    const idle: number[] = [];
    const relay = async () => {
      for (;;) {
        const claimed = await everyFact(8);
        left -= claimed.length;
        if (left <= 0) return;
        // The last ones may all be locked by the claims of the others.
        if (claimed.length === 0 && left > 3 * 8) idle.push(left);
      }
    };
    await Promise.all([relay(), relay(), relay(), relay()]);
    expect(idle).to.deep.equal([]);
  });

  it('are claimed beyond those that other relays have locked', async () => {
    await recordMany(clubA, 40);
    const other = source.createQueryRunner();
    await other.startTransaction();
    await other.query(`SELECT FROM facts WHERE seq IN (SELECT seq FROM facts ORDER BY seq LIMIT 24) FOR UPDATE`);
    try {
      expect(await everyFact(8)).to.have.length(8);
    } finally {
      await other.rollbackTransaction();
      await other.release();
    }
  });

  it('are claimed by urgency before turn: bulk of a club last, also beside another club’s backlog (ENG-15)', async () => {
    await recordMany(clubA, 20, 2);
    await recordMany(clubB, 20);
    await recordMany(clubA, 3, 0);
    const claimed = [];
    for (let index = 0; index < 30; index++) claimed.push(...(await everyFact(1)));
    expect(claimed.map(({ priority }) => priority)).to.deep.equal(
      [0, 1, 2].flatMap((priority) => Array.from({ length: [3, 20, 7][priority] ?? 0 }, () => priority)),
    );
  });

  it('of bulk are claimed up to the places that are open to it, in all and of a club', async () => {
    await recordMany(clubA, 20, 2);
    await recordMany(clubA, 1, 0);
    await recordMany(clubB, 20, 2);
    const claim = (room: Partial<Room>) => claimFacts(source, { ...roomFor(16, 8), bulk: 12, bulkPerClub: 6, ...room });
    expect(await claim({ bulk: 0 })).to.have.length(1);
    expect(countsOf(await claim({ bulk: 3 }))).to.have.all.keys(clubA, clubB);
    expect(await claim({ bulk: 3 })).to.have.length(3);
    expect(Math.max(...Object.values(countsOf(await claim({}))))).to.equal(6);
    const inHand = new Map([[clubA, { all: 7, bulk: 6 }]]);
    expect(Object.keys(countsOf(await claim({ inHand })))).to.deep.equal([clubB]);
  });

  it('are found by reading as few rows of a long backlog as of a short one', async () => {
    for (const count of [2_000, 20_000]) {
      await source.query(`TRUNCATE facts`);
      await recordMany(clubA, count);
      await recordMany(clubB, 10);
      expect(await rowsRead('facts', (tx) => claimFacts(tx, roomFor(8, 8))), `${count} facts`).to.be.below(400);
    }
  });

  it('are claimed again when a dead relay’s lease of 30 s has run out, and not before', async () => {
    const id = await record(clubA);
    await expectEnd('lease_until', 'facts', 30, async () => expect(await everyFact()).to.have.length(1));
    expect(await everyFact()).to.deep.equal([]);
    await letLeasesRunOut('facts');
    expect((await everyFact()).map((fact) => fact.id)).to.deep.equal([id]);
  });

  it('that were carried on are removed', async () => {
    const [put, carried] = [await record(clubA), await record(clubB)];
    await everyFact();
    await removeFact(source, carried);
    expect(await source.query(`SELECT id FROM facts`)).to.deep.equal([{ id: put }]);
  });

  it('that failed are due again after 5 s, then twice as late each time, up to 10 minutes', async () => {
    const id = await record(clubA);
    for (const [index, seconds] of [5, 10, 20, 40, 80, 160, 320, 600, 600].entries()) {
      expect(await everyFact(), `before failure ${index + 1}`).to.have.length(1);
      await expectEnd('due_at', 'facts', seconds, () => deferFact(source, id, 'its own'));
      expect(await everyFact()).to.deep.equal([]);
      await endPauses('facts');
    }
    expect(await source.query(`SELECT attempt_count AS count FROM facts`)).to.deep.equal([{ count: 9 }]);
  });

  it('that failed 40 times are deferred without an error', async () => {
    const id = await record(clubA);
    await source.query(`UPDATE facts SET attempt_count = 32767`);
    await expectEnd('due_at', 'facts', 600, () => deferFact(source, id, 'its own'));
  });

  it('that could not be carried on because the engine was away are due after 5 s each time', async () => {
    const id = await record(clubA);
    for (let failures = 1; failures <= 3; failures++)
      await expectEnd('due_at', 'facts', 5, () => deferFact(source, id, 'away'));
    expect(await source.query(`SELECT attempt_count AS count FROM facts`)).to.deep.equal([{ count: 0 }]);
  });

  it('that fail again and again do not hold up the club’s next good one', async () => {
    await recordMany(clubA, 40);
    const poisoned = await everyFact();
    for (const { id } of poisoned) await deferFact(source, id, 'its own');
    const good = await record(clubA);
    await endPauses('facts');
    expect((await everyFact(1)).map(({ id }) => id)).to.deep.equal([good]);
  });

  it('that fail are not read while they wait', async () => {
    await recordMany(clubA, 20_000);
    await source.query(`UPDATE facts SET attempt_count = 1, due_at = clock_timestamp() + interval '1 min'`);
    await record(clubA);
    expect(await rowsRead('facts', (tx) => claimFacts(tx, roomFor(8, 8)))).to.be.below(100);
  });
});

describe('wakes (ENG-3)', () => {
  useOutbox();
  const rows = () =>
    source.query<{ workflowId: string; seq: string; raised: boolean }[]>(
      `SELECT workflow_id AS "workflowId", seq, raised FROM wakes ORDER BY workflow_id`,
    );
  const claimOne = async () => {
    const [claimed] = await someWakes(1);
    if (!claimed) throw new Error('There is no wake to claim.');
    return claimed;
  };

  it('name the workflow by its subject, and hold its search attributes', async () => {
    const id = newId();
    await wakeNow(wakeOf(id));
    const [row] = await rows();
    expect(await someWakes(10)).to.deep.equal([
      {
        workflowId: `webhook-delivery/${id}`,
        seq: row?.seq,
        raised: false,
        workflowType: 'webhookDelivery',
        subjectId: id,
        clubId: clubA,
        attributes: { EventType: 'student.created' },
        priority: 1,
      },
    ]);
    expect(notified).to.equal(1);
  });

  it('raise a wake that is not yet sent, instead of adding one, with a new number', async () => {
    const [id, other] = [newId(), newId()];
    await wakeNow(wakeOf(id));
    const [first] = await rows();
    await wakeNow(wakeOf(id), wakeOf(other));
    const raised = Object.fromEntries((await rows()).map((row) => [row.workflowId, row.raised]));
    expect(raised).to.deep.equal({ [`webhook-delivery/${id}`]: true, [`webhook-delivery/${other}`]: false });
    const second = (await rows()).find((row) => row.raised);
    expect(Number(second?.seq)).to.be.greaterThan(Number(first?.seq));
  });

  it('are not removed by a late relay that sent an earlier wake of the same workflow', async () => {
    const id = newId();
    await wakeNow(wakeOf(id));
    const late = await claimOne();
    await letLeasesRunOut('wakes');
    await removeWake(source, await claimOne());
    await wakeNow(wakeOf(id));
    await removeWake(source, late);
    expect((await rows()).map(({ workflowId }) => workflowId)).to.deep.equal([`webhook-delivery/${id}`]);
  });

  it('are as urgent as their type or their row says, and a raised one keeps the more urgent', async () => {
    const [mail, answer, other] = [newId(), newId(), newId()];
    const mailWake = { workflowType: 'transactionalMail', subjectId: mail, clubId: clubA, attributes: {} } as const;
    await wakeNow({ ...mailWake, priority: 2 }, wakeOf(other), {
      ...mailWake,
      workflowType: 'agentAnswer',
      subjectId: answer,
    });
    const priorities = async () => {
      const found = await source.query<{ id: string; priority: number }[]>(
        `SELECT subject_id AS id, priority FROM wakes`,
      );
      return Object.fromEntries(found.map(({ id, priority }) => [id, priority]));
    };
    expect(await priorities()).to.deep.equal({ [mail]: 2, [other]: 1, [answer]: 0 });
    await wakeNow({ ...mailWake, priority: 0 });
    await wakeNow({ ...mailWake, priority: 2 });
    expect(await priorities()).to.deep.include({ [mail]: 0 });
  });

  it('write no rows and send no NOTIFY for an empty list', async () => {
    await wakeNow();
    expect(await rows()).to.deep.equal([]);
    expect(notified).to.equal(0);
  });

  it('without a club are claimed as those of one club', async () => {
    await wakeNow(wakeOf(newId(), null));
    expect((await someWakes(1))[0]?.clubId).to.equal(noClub);
  });

  it('of two transactions in opposite order cause no deadlock', async () => {
    const ids = Array.from({ length: 20 }, newId);
    for (let round = 0; round < 5; round++) {
      await Promise.all([
        wakeNow(...ids.map((id) => wakeOf(id))),
        wakeNow(...ids.toReversed().map((id) => wakeOf(id))),
      ]);
    }
    expect((await rows()).map(({ raised }) => raised)).to.deep.equal(Array.from({ length: 20 }, () => true));
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
    expect(await someWakes(1)).to.deep.equal([]);
    await removeWake(source, claimed);
    expect((await someWakes(1)).map(({ raised }) => raised)).to.deep.equal([true]);
  });

  it('are claimed round robin over the clubs', async () => {
    await wakeNow(...Array.from({ length: 1_000 }, () => wakeOf(newId(), clubA)));
    await wakeNow(wakeOf(newId(), clubB));
    const claimed = await someWakes(3);
    expect(claimed.map(({ clubId }) => clubId)).to.include(clubB);
  });

  it('are claimed up to the limit of a club', async () => {
    await wakeNow(...[clubA, clubB].flatMap((clubId) => Array.from({ length: 20 }, () => wakeOf(newId(), clubId))));
    expect(countsOf(await someWakes(100, 8))).to.deep.equal({ [clubA]: 8, [clubB]: 8 });
  });

  it('that could not be sent are due again after 5 s, then after 10 s', async () => {
    await wakeNow(wakeOf(newId()));
    for (const seconds of [5, 10]) {
      const claimed = await claimOne();
      await expectEnd('due_at', 'wakes', seconds, () => deferWake(source, claimed, 'its own'));
      expect(await someWakes(1)).to.deep.equal([]);
      await endPauses('wakes');
    }
    expect(await someWakes(1)).to.have.length(1);
  });

  it('that failed and are raised are due at once', async () => {
    const id = newId();
    await wakeNow(wakeOf(id));
    await deferWake(source, await claimOne(), 'its own');
    await wakeNow(wakeOf(id));
    expect(await someWakes(1)).to.have.length(1);
  });
});
