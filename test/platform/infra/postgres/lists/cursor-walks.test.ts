/** Tests walks by cursor over lists with keys of every kind, while rows come and go (CUR-2, CUR-3). */
import { expect } from 'chai';
import fc from 'fast-check';
import { newId } from '../../../../../platform/core/ids.ts';
import type { Database } from '../../../../../platform/infra/postgres/database.ts';
import { positionIn } from '../../../../../platform/infra/postgres/lists/cursor.ts';
import {
  ascending,
  descending,
  newestFirst,
  type OrderKeys,
} from '../../../../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page } from '../../../../../platform/infra/postgres/lists/page.ts';
import type { Vault } from '../../../../../platform/infra/keys/vault.ts';
import { raw, selection, sql } from '../../../../../platform/infra/postgres/sql.ts';
import { testDeps } from '../../../../toolkit/stack/database.ts';

/** Orders of every kind: one direction, two directions, expressions, and texts under three collations. */
const orders: Readonly<Record<string, OrderKeys>> = {
  'newest first': newestFirst('walked', 'at'),
  'oldest first': [ascending('at', 'timestamptz'), ascending('id', 'uuid')],
  'newest first, then the lower number': [
    descending('at', 'timestamptz'),
    ascending('number', 'int'),
    ascending('id', 'uuid'),
  ],
  'set notes last, then by number': [
    ascending('note IS NOT NULL', 'boolean'),
    ascending('number', 'int'),
    ascending('id', 'uuid'),
  ],
  'by text': [ascending('name', 'text'), ascending('id', 'uuid')],
  'by text, the last first': [descending('name', 'text'), descending('id', 'uuid')],
  'by text in the order of bytes': [ascending('bytes_name', 'text'), ascending('id', 'uuid')],
  'by text in Swedish': [ascending('swedish_name', 'text'), ascending('id', 'uuid')],
  'by bytes, big numbers and dates': [
    descending('sealed', 'bytea'),
    descending('big', 'bigint'),
    ascending('day', 'date'),
    descending('id', 'uuid'),
  ],
};

/** Few values, so that many keys are equal. */
const values = {
  at: fc.constantFrom(
    '2026-03-01T10:00:00Z',
    '2026-03-01T10:00:00.000001Z',
    '2026-03-01T10:00:00.000002Z',
    '0012-01-01T00:00:00Z',
    '9899-12-31T23:59:59.999999+14:00',
  ),
  number: fc.constantFrom(-2, 0, 7, 2_147_483_647),
  note: fc.constantFrom(null, 'x'),
  name: fc.constantFrom(
    '',
    'a',
    'A',
    'ä',
    'z',
    'Z',
    'é',
    "o'Neill",
    '"{,}\\',
    'NULL',
    '日本',
    'اسم',
    '😀',
    'a b',
    'a-b',
  ),
  sealed: fc.constantFrom('\\x', '\\x00', '\\xff00'),
  big: fc.constantFrom('-9223372036854775808', '9007199254740993', '9007199254740992'),
  day: fc.constantFrom('0001-01-01', '2026-03-01', '2026-03-02'),
};
const row = fc.record(values);
type Row = typeof row extends fc.Arbitrary<infer Value> ? Value : never;

/** A change between two pages, on the row with an index among the current rows. */
const change = fc.oneof(
  fc.record({ kind: fc.constant('insert' as const), row }),
  fc.record({ kind: fc.constant('remove' as const), index: fc.nat(40) }),
  fc.record({ kind: fc.constant('remove the last row of the page' as const) }),
  fc.record({ kind: fc.constant('move' as const), index: fc.nat(40), row }),
);
type Change = typeof change extends fc.Arbitrary<infer Value> ? Value : never;

describe('walks by cursor', () => {
  let db: Database;
  let vault: Vault;
  before(async () => {
    ({ db, vault } = await testDeps());
    await db.run(sql`CREATE TABLE walked (id uuid PRIMARY KEY, at timestamptz NOT NULL, number int NOT NULL, note text,
      name text NOT NULL, bytes_name text COLLATE "C" NOT NULL, swedish_name text COLLATE "sv-x-icu" NOT NULL,
      sealed bytea NOT NULL, big bigint NOT NULL, day date NOT NULL)`);
  });
  beforeEach(() => db.run(sql`TRUNCATE walked`));

  const insert = async (value: Row): Promise<string> => {
    const id = newId();
    await db.run(sql`INSERT INTO walked VALUES (${id}, ${value.at}, ${value.number}, ${value.note}, ${value.name}, ${value.name},
      ${value.name}, ${value.sealed}, ${value.big}, ${value.day})`);
    return id;
  };

  const read = (keys: OrderKeys, size: number, cursor: string | undefined): Promise<Page<{ id: string }>> =>
    listPage(
      db,
      { page: 1, page_size: size, cursor: positionIn(vault, { list: 'walked', clubId: 'club', filters: {} }, cursor) },
      { columns: selection<{ id: string }>(sql`id`), from: sql`FROM walked WHERE true`, orderBy: keys },
    );

  /** Ids in the order of the list, as Postgres sorts them. */
  const sorted = async (keys: OrderKeys): Promise<string[]> => {
    const by = keys.map(({ column, descending: down }) => `${column}${down ? ' DESC' : ''}`).join(', ');
    return (await db.rows<{ id: string }>(sql`SELECT id FROM walked ORDER BY ${raw(by)}`)).map(({ id }) => id);
  };

  /** Makes the change. @returns the id of a row that was moved or removed */
  const apply = async (next: Change, lastId: string | undefined): Promise<string | undefined> => {
    if (next.kind === 'insert') {
      await insert(next.row);
      return undefined;
    }
    const ids = await sorted([ascending('id', 'uuid')]);
    const id = next.kind === 'remove the last row of the page' ? lastId : ids[next.index % Math.max(ids.length, 1)];
    if (id === undefined) return undefined;
    if (next.kind === 'move')
      await db.run(sql`UPDATE walked SET at = ${next.row.at}, number = ${next.row.number}, name = ${next.row.name},
        bytes_name = ${next.row.name}, swedish_name = ${next.row.name} WHERE id = ${id}`);
    else await db.run(sql`DELETE FROM walked WHERE id = ${id}`);
    return id;
  };

  for (const [title, keys] of Object.entries(orders)) {
    it(`give each row once, in the order of the list: ${title}`, async () => {
      await fc.assert(
        fc
          .asyncProperty(fc.array(row, { maxLength: 12 }), fc.integer({ min: 1, max: 4 }), async (rows, size) => {
            for (const value of rows) await insert(value);
            const walked: string[] = [];
            let cursor: string | undefined;
            do {
              const page = await read(keys, size, cursor);
              expect(page.total).to.equal(rows.length);
              expect(walked.length, 'rows of the walk').to.be.at.most(rows.length);
              walked.push(...page.rows.map(({ id }) => id));
              cursor = page.next;
            } while (cursor !== undefined);
            expect(walked).to.deep.equal(await sorted(keys));
          })
          .beforeEach(() => db.run(sql`TRUNCATE walked`).then(() => undefined)),
        { numRuns: 25 },
      );
    }).timeout(60_000);

    it(`neither miss nor repeat a row that kept its position, while rows come and go: ${title}`, async () => {
      await fc.assert(
        fc
          .asyncProperty(
            fc.array(row, { minLength: 3, maxLength: 12 }),
            fc.integer({ min: 1, max: 3 }),
            fc.array(fc.array(change, { maxLength: 3 }), { maxLength: 8 }),
            async (rows, size, changes) => {
              const steady = new Set<string>();
              for (const value of rows) steady.add(await insert(value));
              const moved = new Set<string>();
              const walked: string[] = [];
              let cursor: string | undefined;
              for (let page = 0; page === 0 || cursor !== undefined; page++) {
                const answer = await read(keys, size, cursor);
                walked.push(...answer.rows.map(({ id }) => id));
                expect(page, 'pages of the walk').to.be.below(60);
                cursor = answer.next;
                for (const next of changes[page] ?? []) {
                  const id = await apply(next, walked.at(-1));
                  if (id !== undefined) moved.add(id);
                }
              }
              const stands = (id: string) => !moved.has(id);
              expect(walked.filter(stands)).to.deep.equal([...new Set(walked.filter(stands))]);
              expect(walked).to.include.members([...steady].filter(stands));
              const order = await sorted(keys);
              const remaining = walked.filter(stands);
              expect(remaining).to.deep.equal(order.filter((id) => remaining.includes(id)));
            },
          )
          .beforeEach(() => db.run(sql`TRUNCATE walked`).then(() => undefined)),
        { numRuns: 25 },
      );
    }).timeout(60_000);
  }

  it('refuse a cursor that was made for another order of the list', async () => {
    for (const value of fc.sample(row, 3)) await insert(value);
    const [first, second] = [orders['newest first'], orders['by text']];
    if (!first || !second) throw new Error('There are no two orders.');
    const { next } = await read(first, 1, undefined);
    expect(next).to.be.a('string');
    const refusal: unknown = await read(second, 1, next).catch((error: unknown) => error);
    expect(refusal).to.have.property('code', 'invalid_cursor');
    expect((await read(first, 1, next)).rows).to.have.length(1);
  });
});
