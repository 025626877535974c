import { expect } from 'chai';
import fc from 'fast-check';
import type { EntityManager } from 'typeorm';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import {
  counting,
  rollUpTallies,
  selection,
  type DeliverySelection,
} from '../../../../domain/webhooks/deliveries/tallies.ts';
import { list, sql } from '../../../../platform/infra/postgres/sql.ts';
import { buildClub } from '../../../toolkit/builders/clubs.ts';
import { testDatabase, testDeps } from '../../../toolkit/stack/database.ts';
import { eraseEndpoint } from '../../../toolkit/drive/erase-webhooks.ts';
import { buildEndpoint } from '../../../toolkit/builders/webhooks.ts';
import { withOpenTransaction } from '../../../toolkit/drive/races.ts';

const types = ['student.created', 'student.updated'] as const;
const statuses = ['pending', 'succeeded', 'failed', 'canceled'] as const;
type Status = (typeof statuses)[number];
const hour = 3_600_000;
/** Just before and after the end of an hour or a day, and some days apart. */
const instants = [
  0,
  1,
  hour - 1,
  hour,
  23 * hour,
  24 * hour - 1,
  24 * hour,
  24 * hour + 1,
  48.5 * hour,
  49 * hour,
  73 * hour + 5,
].map((ms) => Date.parse('2026-03-01T00:00:00Z') + ms);

const plainly = (selected: DeliverySelection) =>
  sql`(SELECT count(*)::int FROM (${selection(sql`id`, selected)}) AS found)`;

async function compare(selections: readonly DeliverySelection[]): Promise<{ tallied: number[]; counted: number[] }[]> {
  const byTallies = list(selections.map(counting));
  const byCounting = list(selections.map(plainly));
  const { db } = await testDeps();
  return db.rows(sql`SELECT ARRAY [${byTallies}] AS tallied, ARRAY [${byCounting}] AS counted`);
}

async function tallied(selected: DeliverySelection): Promise<number | undefined> {
  return (await compare([selected]))[0]?.tallied[0];
}

function selectionsOf(endpointId: Id): DeliverySelection[] {
  const times = [
    { since: -Infinity, until: Infinity },
    { since: instants[1] ?? 0, until: Infinity },
    { since: -Infinity, until: instants[9] ?? 0 },
    { since: instants[2] ?? 0, until: instants[10] ?? 0 },
    { since: instants[3] ?? 0, until: instants[6] ?? 0 },
    { since: instants[0] ?? 0, until: instants[2] ?? 0 },
    { since: instants[4] ?? 0, until: instants[4] ?? 0 },
  ];
  return [undefined, ...statuses].flatMap((status) =>
    [undefined, ...types].flatMap((eventType) =>
      times.map((time) => ({ endpointId, ...(status && { status }), ...(eventType && { eventType }), ...time })),
    ),
  );
}

interface NewEvent {
  type: (typeof types)[number];
  createdAt: number;
  status: Status;
}

/** One statement inserts the event and its deliveries, as the fan-out does. */
async function insert(tx: EntityManager, clubId: Id, endpointIds: readonly Id[], event: NewEvent): Promise<Id> {
  const id = newId();
  const createdAt = new Date(event.createdAt);
  await tx.query(
    `INSERT INTO webhook_events (id, club_id, type, occurred_at, created_at) VALUES ($1, $2, $3, $4, $4)`,
    [id, clubId, event.type, createdAt],
  );
  await tx.query(
    `INSERT INTO webhook_deliveries (id, club_id, endpoint_id, event_id, event_type, status, next_attempt_at, created_at)
     SELECT uuidv7(), $2, endpoint_id, $1, $3, $4, $5, $5 FROM unnest($6::uuid[]) AS endpoint_id
     ON CONFLICT DO NOTHING`,
    [id, clubId, event.type, event.status, createdAt, endpointIds],
  );
  return id;
}

interface History {
  clubId: Id;
  events: Id[];
  endpoints: Id[];
}
interface Step {
  what: string;
  happen: (tx: EntityManager, history: History) => Promise<unknown>;
}
const step = (what: string, happen: Step['happen']): Step => ({ what, happen });

const newEvents = fc.record({
  type: fc.constantFrom(...types),
  createdAt: fc.constantFrom(...instants),
  status: fc.constantFrom(...statuses),
});
const insertions = newEvents.map((event) =>
  step(`insert ${JSON.stringify(event)}`, async (tx, { clubId, events, endpoints }) =>
    events.push(await insert(tx, clubId, endpoints, event)),
  ),
);
const rollBacks = newEvents.map((event) =>
  step('insert, and roll back', (tx, { clubId, endpoints }) =>
    tx
      .transaction(async (inner) => {
        await insert(inner, clubId, endpoints, event);
        throw new Error('rolled back');
      })
      .catch((error: Error) => expect(error.message).to.equal('rolled back')),
  ),
);
const changes = fc
  .tuple(fc.nat(), fc.constantFrom(...statuses))
  .map(([which, status]) =>
    step(`event ${which} ${status}`, (tx, { events }) =>
      tx.query(`UPDATE webhook_deliveries SET status = $2 WHERE event_id = $1`, [
        events[which % events.length],
        status,
      ]),
    ),
  );
const changesOfAll = fc
  .constantFrom(...statuses)
  .map((status) =>
    step(`all ${status}`, (tx, { endpoints }) =>
      tx.query(`UPDATE webhook_deliveries SET status = $2 WHERE endpoint_id = $1`, [endpoints[0], status]),
    ),
  );
const removals = fc
  .nat()
  .map((which) =>
    step(`remove event ${which}`, (tx, { events }) =>
      tx.query(`DELETE FROM webhook_deliveries WHERE event_id = $1`, [events[which % events.length]]),
    ),
  );
const endpointRemovals = fc.constant(
  step('remove endpoint', (tx, { endpoints }) => eraseEndpoint(tx, endpoints.pop() ?? newId())),
);
const rollUps = fc
  .constantFrom(1, 3, 1_000)
  .map((limit) => step(`roll up ${limit}`, async () => rollUpTallies((await testDeps()).db, limit)));
const steps = fc.oneof(
  { weight: 6, arbitrary: insertions },
  { weight: 4, arbitrary: changes },
  { weight: 2, arbitrary: rollUps },
  { weight: 1, arbitrary: changesOfAll },
  { weight: 1, arbitrary: removals },
  { weight: 1, arbitrary: rollBacks },
  { weight: 1, arbitrary: endpointRemovals },
);

describe('delivery tallies', () => {
  let clubId: Id;
  before('create a club', async () => {
    ({ id: clubId } = await buildClub());
  });
  const endpoint = async () => (await buildEndpoint(clubId, 'https://hooks.example.com')).id;
  const rowsOf = async (table: 'webhook_tallies' | 'webhook_tally_changes', endpointId: Id) => {
    const rows: Record<string, unknown>[] = await (
      await testDatabase()
    ).query(`SELECT * FROM ${table} WHERE endpoint_id = $1`, [endpointId]);
    return rows;
  };
  const rollUpAll = async () => {
    const { db } = await testDeps();
    while ((await rollUpTallies(db, 1_000)) > 0);
  };

  it('equal a count of the rows, for each filter, after any sequence of changes', async () => {
    const { manager } = await testDatabase();
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { minLength: 5, maxLength: 25 }), async (sequence) => {
        const endpoints = [await endpoint(), await endpoint(), await endpoint()];
        const history = { clubId, events: [], endpoints: [...endpoints] };
        for (const { happen } of sequence) await happen(manager, history);
        for (const [at, selections] of endpoints.map(selectionsOf).entries()) {
          const [row] = await compare(selections);
          expect(row?.tallied, `endpoint ${at}`).to.deep.equal(row?.counted);
        }
      }),
      { numRuns: 10 },
    );
  });

  it('count only committed changes, without delaying writers', async () => {
    const source = await testDatabase();
    const endpointId = await endpoint();
    const everything = { endpointId, since: -Infinity, until: Infinity };
    const event: NewEvent = { type: 'student.created', createdAt: instants[0] ?? 0, status: 'pending' };
    const first = await insert(source.manager, clubId, [endpointId], event);
    await withOpenTransaction(
      async (tx) => {
        await insert(tx.manager, clubId, [endpointId], event);
        await tx.manager.query(`UPDATE webhook_deliveries SET status = 'failed' WHERE event_id = $1`, [first]);
      },
      async () => {
        await source.transaction(async (tx) => {
          await tx.query(`SET LOCAL lock_timeout = '1s'`);
          await insert(tx, clubId, [endpointId], event);
        });
        await rollUpAll();
        expect(await tallied(everything)).to.equal(2);
        expect(await tallied({ ...everything, status: 'failed' })).to.equal(0);
      },
    );
    expect(await tallied(everything)).to.equal(3);
    expect(await tallied({ ...everything, status: 'failed' })).to.equal(1);
    await rollUpAll();
    expect(await tallied(everything)).to.equal(3);
    expect(await tallied({ ...everything, status: 'failed' })).to.equal(1);
  });

  it('count nothing twice when rollups run concurrently', async () => {
    const { db } = await testDeps();
    const endpointId = await endpoint();
    const event: NewEvent = { type: 'student.updated', createdAt: instants[5] ?? 0, status: 'succeeded' };
    for (let number = 0; number < 20; number++) await insert(db.source.manager, clubId, [endpointId], event);
    await Promise.all([7, 7, 7].map((limit) => rollUpTallies(db, limit)));
    expect(await tallied({ endpointId, since: -Infinity, until: Infinity })).to.equal(20);
    await rollUpAll();
    expect(await tallied({ endpointId, since: -Infinity, until: Infinity })).to.equal(20);
  });

  it('record no change for updates that keep the status', async () => {
    const source = await testDatabase();
    const endpointId = await endpoint();
    await insert(source.manager, clubId, [endpointId], { type: 'student.created', createdAt: 0, status: 'pending' });
    await rollUpAll();
    await source.query(`UPDATE webhook_deliveries SET fence = 3, lease_until = now() WHERE endpoint_id = $1`, [
      endpointId,
    ]);
    await source.query(`UPDATE webhook_deliveries SET status = 'pending' WHERE endpoint_id = $1`, [endpointId]);
    expect(await rowsOf('webhook_tally_changes', endpointId)).to.deep.equal([]);
  });

  it('have no rows of a deleted endpoint after a rollup', async () => {
    const source = await testDatabase();
    const [deleted, remaining] = [await endpoint(), await endpoint()];
    for (const createdAt of instants.slice(0, 3)) {
      const event: NewEvent = { type: 'student.created', createdAt, status: 'pending' };
      const id = await insert(source.manager, clubId, [deleted, remaining], event);
      await source.query(`UPDATE webhook_deliveries SET status = 'succeeded' WHERE event_id = $1`, [id]);
    }
    await eraseEndpoint(source.manager, deleted);
    await rollUpAll();
    for (const table of ['webhook_tallies', 'webhook_tally_changes'] as const) {
      expect(await rowsOf(table, deleted), table).to.deep.equal([]);
    }
    expect(await rowsOf('webhook_tally_changes', remaining)).to.deep.equal([]);
    const common = { event_type: 'student.created', pending: 0, succeeded: 3, failed: 0, canceled: 0 };
    const startsAt = new Date(instants[0] ?? 0);
    expect(await rowsOf('webhook_tallies', remaining)).to.have.deep.members([
      { endpoint_id: remaining, span: 'day', starts_at: startsAt, ...common },
      { endpoint_id: remaining, span: 'hour', starts_at: startsAt, ...common },
    ]);
  });
});
