import { expect } from 'chai';
import type { Database } from '../../../../platform/infra/postgres/database.ts';
import {
  beginningOf,
  dropPartitions,
  partitionsOf,
  preparePartitions,
  type PartitionedTable,
} from '../../../../platform/infra/postgres/partitions.ts';
import { idOfTime } from '../../../../platform/core/ids.ts';
import { untilWaitingForLocks, withOpenTransaction } from '../../../toolkit/drive/races.ts';
import { testDatabase, testDeps } from '../../../toolkit/stack/database.ts';

const day = 86_400_000;
const now = Date.parse('2026-11-26T15:00:00Z'); // a Thursday
const monday = Date.parse('2026-11-23T00:00:00Z');
const today = Date.parse('2026-11-26T00:00:00Z');

const byId: PartitionedTable = { name: 'parts_by_id', key: { column: 'id', of: 'ids' }, span: 'week' };
const byTime: PartitionedTable = { name: 'parts_by_time', key: { column: 'at', of: 'times' }, span: 'day' };

describe('partitions', () => {
  let db: Database;
  beforeEach('two tables that have only their default partitions', async () => {
    ({ db } = await testDeps());
    await db.source.query(`
      CREATE TABLE parts_by_id (id uuid NOT NULL PRIMARY KEY, note text DEFAULT 'none' CHECK (note <> '')) PARTITION BY RANGE (id);
      CREATE INDEX parts_by_id_note ON parts_by_id (note);
      CREATE TABLE parts_by_id_default PARTITION OF parts_by_id DEFAULT;
      CREATE TABLE parts_by_time (at timestamptz NOT NULL PRIMARY KEY) PARTITION BY RANGE (at);
      CREATE TABLE parts_by_time_default PARTITION OF parts_by_time DEFAULT`);
  });
  afterEach(() => db.source.query(`DROP TABLE parts_by_id, parts_by_time`));

  const insert = async (table: PartitionedTable, at: number) => {
    const value = table === byId ? idOfTime(at) : new Date(at).toISOString();
    await db.source.query(`INSERT INTO ${table.name} (${table.key.column}) VALUES ($1)`, [value]);
  };
  const placesOf = async ({ name }: PartitionedTable) =>
    (
      await db.source.query<{ place: string }[]>(`SELECT tableoid::regclass::text AS place FROM ${name} ORDER BY 1`)
    ).map(({ place }) => place);

  it('begin at midnight in UTC, and weekly partitions on Monday', () => {
    const at = (text: string) => Date.parse(text);
    expect(beginningOf(at('2026-11-29T23:59:59.999Z'), 'week')).to.equal(monday);
    expect(beginningOf(at('2026-11-30T00:00:00Z'), 'week')).to.equal(monday + 7 * day);
    expect(beginningOf(monday, 'week')).to.equal(monday);
    expect(beginningOf(at('2026-11-26T23:59:59.999Z'), 'day')).to.equal(today);
    expect(beginningOf(today, 'day')).to.equal(today);
    expect(beginningOf(at('1970-01-01T00:00:00Z'), 'week')).to.equal(-3 * day);
  });

  it('are created for the next four weeks, and only once', async () => {
    expect(await preparePartitions(db, byId, now)).to.deep.equal({ made: 5, moved: 0 });
    expect(await preparePartitions(db, byTime, now)).to.deep.equal({ made: 29, moved: 0 });
    expect(await preparePartitions(db, byId, now)).to.deep.equal({ made: 0, moved: 0 });
    expect(await partitionsOf(db, byId)).to.deep.equal(
      ['20261123', '20261130', '20261207', '20261214', '20261221'].map((date, nth) => ({
        name: `parts_by_id_${date}`,
        from: monday + nth * 7 * day,
        to: monday + (nth + 1) * 7 * day,
      })),
    );
    const days = await partitionsOf(db, byTime);
    expect([days[0], days.at(-1)]).to.deep.equal([
      { name: 'parts_by_time_20261126', from: today, to: today + day },
      { name: 'parts_by_time_20261224', from: today + 28 * day, to: today + 29 * day },
    ]);
    expect(await preparePartitions(db, byTime, now + day)).to.deep.equal({ made: 1, moved: 0 });
  });

  it('have the defaults, checks and indexes of their table', async () => {
    await preparePartitions(db, byId, now);
    await insert(byId, now);
    expect(await db.source.query(`SELECT note FROM parts_by_id_20261123`)).to.deep.equal([{ note: 'none' }]);
    const refused = await db.source
      .query(`INSERT INTO parts_by_id VALUES ($1, '')`, [idOfTime(now)])
      .catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(Error).with.property('message').that.includes('parts_by_id_note_check');
    const indexes = await db.source.query<unknown[]>(
      `SELECT 1 FROM pg_indexes WHERE tablename = 'parts_by_id_20261123'`,
    );
    expect(indexes).to.have.length(2);
  });

  for (const { title, at, table, place } of [
    { title: 'the first instant of a week', at: monday, table: byId, place: 'parts_by_id_20261123' },
    { title: 'the last instant of a week', at: monday + 7 * day - 1, table: byId, place: 'parts_by_id_20261123' },
    { title: 'the first instant of the next week', at: monday + 7 * day, table: byId, place: 'parts_by_id_20261130' },
    { title: 'the instant before all partitions', at: monday - 1, table: byId, place: 'parts_by_id_default' },
    { title: 'the instant after all partitions', at: monday + 35 * day, table: byId, place: 'parts_by_id_default' },
    { title: 'the last instant of a day', at: today + day - 1, table: byTime, place: 'parts_by_time_20261126' },
    { title: 'the first instant of the next day', at: today + day, table: byTime, place: 'parts_by_time_20261127' },
  ]) {
    it(`hold ${title}: ${place}`, async () => {
      await preparePartitions(db, table, now);
      await insert(table, at);
      expect(await placesOf(table)).to.deep.equal([place]);
    });
  }

  describe('while the default partition has rows', () => {
    for (const table of [byId, byTime]) {
      it(`are created, and the rows move to the new partitions (${table.name})`, async () => {
        for (const at of [now - 400 * day, now, now + 1, now + 7 * day]) await insert(table, at);
        expect(await placesOf(table)).to.deep.equal(Array.from({ length: 4 }, () => `${table.name}_default`));
        const { moved } = await preparePartitions(db, table, now);
        expect(moved).to.equal(4);
        const places = await placesOf(table);
        expect(places).to.have.length(4);
        expect(places).to.not.include(`${table.name}_default`);
        expect(new Set(places).size).to.equal(3);
      });
    }

    it('leave a row in the default partition if no new partition covers its time', async () => {
      await insert(byId, now + 3_650 * day);
      expect(await preparePartitions(db, byId, now)).to.deep.equal({ made: 5, moved: 0 });
      expect(await placesOf(byId)).to.deep.equal(['parts_by_id_default']);
    });
  });

  describe('while another transaction locks the table', () => {
    it('are not created, and delay no transaction', async () => {
      await insert(byId, now);
      await withOpenTransaction(
        (tx) => tx.manager.query(`SELECT FROM parts_by_id_default`),
        async () => {
          expect(await preparePartitions(db, byId, now)).to.deep.equal({ made: 0, moved: 0 });
        },
      );
      expect(await preparePartitions(db, byId, now)).to.deep.equal({ made: 5, moved: 1 });
    });

    it('are not dropped, but a later try drops them', async () => {
      await preparePartitions(db, byId, now);
      const names = ['parts_by_id_20261123', 'parts_by_id_20261130'];
      await withOpenTransaction(
        (tx) => tx.manager.query(`SELECT FROM parts_by_id`),
        async () => {
          expect(await dropPartitions(db, names)).to.equal(false);
        },
      );
      expect(await partitionsOf(db, byId)).to.have.length(5);
      expect(await dropPartitions(db, names)).to.equal(true);
      expect(await partitionsOf(db, byId)).to.have.length(3);
      expect(await dropPartitions(db, names)).to.equal(true);
    });
  });

  it('are created only once by four simultaneous processes', async () => {
    for (let nth = 0; nth < 10; nth++) await insert(byTime, now + nth);
    const results = await Promise.all(Array.from({ length: 4 }, () => preparePartitions(db, byTime, now)));
    expect(results.reduce((sum, one) => sum + one.moved, 0)).to.equal(10);
    while ((await preparePartitions(db, byTime, now)).made > 0);
    expect(await partitionsOf(db, byTime)).to.have.length(29);
    expect(new Set(await placesOf(byTime))).to.deep.equal(new Set(['parts_by_time_20261126']));
  });

  it('receive a row that another transaction commits while they are created', async () => {
    let prepared: Promise<unknown> = Promise.resolve();
    await withOpenTransaction(
      (tx) => tx.manager.query(`INSERT INTO parts_by_time (at) VALUES ($1)`, [new Date(now)]),
      async () => {
        // The creation has found no rows in the default partition, and waits.
        prepared = preparePartitions(db, byTime, now);
        await untilWaitingForLocks(1);
      },
    );
    await prepared;
    await preparePartitions(db, byTime, now);
    expect(await placesOf(byTime)).to.deep.equal(['parts_by_time_20261126']);
    expect(await (await testDatabase()).query(`SELECT 1 FROM parts_by_time`)).to.have.length(1);
  });
});
