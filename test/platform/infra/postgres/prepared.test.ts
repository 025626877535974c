import { expect } from 'chai';
import { prepared, preparedRows } from '../../../../platform/infra/postgres/prepared.ts';
import { Queries } from '../../../../platform/infra/postgres/database.ts';
import { sql } from '../../../../platform/infra/postgres/sql.ts';
import { messageOf } from '../../../../dev/problem.ts';
import { testDatabase } from '../../../toolkit/stack/database.ts';

describe('prepared', () => {
  let db: Queries;

  before('a connection', async () => {
    db = new Queries((await testDatabase()).manager);
  });

  it('assigns each named value its parameter, in any order of the values', async () => {
    const select = prepared<{ first: string; second: number }, { first: string; second: number }>(
      'prepared_test_order',
      (value) => `SELECT ${value.second}::int AS second, ${value.first}::text AS first`,
    );
    expect(await select(db, { first: 'a', second: 2 })).to.deep.equal([{ first: 'a', second: 2 }]);
  });

  it('keeps one parameter for a name that the text uses twice', async () => {
    const select = prepared<{ twice: number }, { n: number }>(
      'prepared_test_twice',
      (value) => `SELECT ${value.n}::int + ${value.n}::int AS twice`,
    );
    expect(await select(db, { n: 3 })).to.deep.equal([{ twice: 6 }]);
    expect(
      await db.rows(sql`SELECT statement FROM pg_prepared_statements WHERE name = ${'prepared_test_twice'}`),
    ).to.satisfy((rows: { statement: string }[]) =>
      rows.every(({ statement }) => statement.includes('$1::int + $1::int')),
    );
  });

  it('does not change casts, strings and comments of the text', async () => {
    const select = prepared<{ text: string; list: string[] }, { n: number; ids: readonly string[] }>(
      'prepared_test_text',
      (value) => `SELECT ':n $1 ::' || ${value.n}::int::text AS text, -- :ids $2
        (${value.ids}::text[])[1:1] AS list`,
    );
    expect(await select(db, { n: 1, ids: ['a', 'b'] })).to.deep.equal([{ text: ':n $1 ::1', list: ['a'] }]);
  });

  it('refuses values if a name in the text has no value', async () => {
    const select = prepared<object, { clubId: string; id: string }>(
      'prepared_test_missing',
      (value) => `SELECT ${value.clubId}::text, ${value.id}::text`,
    );
    // @ts-expect-error the compiler refuses it, too
    const failure = await select(db, { clubId: 'a' }).catch(messageOf);
    expect(failure).to.equal('Statement prepared_test_missing got no value for id');
  });

  it('refuses a value that the text does not use', async () => {
    const select = prepared<object, { clubId: string; id: string }>(
      'prepared_test_unused',
      (value) => `SELECT ${value.clubId}::text`,
    );
    const failure = await select(db, { clubId: 'a', id: 'b' }).catch(messageOf);
    expect(failure).to.equal('Statement prepared_test_unused does not use id');
  });

  it('makes the compiler refuse a name that is missing in the values', () => {
    // @ts-expect-error `club` is not a name of the values
    prepared<object, { clubId: string }>('prepared_test_unknown', (value) => `SELECT ${value.club}::text`);
  });

  it('sends undefined as null', async () => {
    const select = prepared<{ isNull: boolean }, { text: string | undefined }>(
      'prepared_test_undefined',
      (value) => `SELECT ${value.text}::text IS NULL AS "isNull"`,
    );
    expect(await select(db, { text: undefined })).to.deep.equal([{ isNull: true }]);
  });

  it('prepares a rendered statement of `sql` under its name', async () => {
    const select = (n: number) => preparedRows<{ n: number }>('prepared_test_rows', db, sql`SELECT ${n}::int AS n`);
    expect([await select(1), await select(2)]).to.deep.equal([[{ n: 1 }], [{ n: 2 }]]);
  });
});
