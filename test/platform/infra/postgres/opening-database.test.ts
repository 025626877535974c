import { expect } from 'chai';
import { Database } from '../../../../platform/infra/postgres/database.ts';
import { OpeningDatabase } from '../../../../platform/infra/postgres/opening-database.ts';
import { sql } from '../../../../platform/infra/postgres/sql.ts';
import { buildClub } from '../../../toolkit/builders/clubs.ts';
import { testDatabase } from '../../../toolkit/stack/database.ts';

describe('OpeningDatabase', () => {
  let openings: number;
  let pool: Database;
  let db: OpeningDatabase;
  let clubId: string;

  beforeEach('a request and a club', async () => {
    openings = 0;
    pool = new Database(await testDatabase(), { notify() {} });
    clubId = (await buildClub()).id;
    db = new OpeningDatabase(pool, async (tx) => {
      openings += 1;
      await tx.run(sql`UPDATE clubs SET name = 'opened' WHERE id = ${clubId}`);
    });
  });

  const currentName = async () =>
    (await pool.one<{ name: string }>(sql`SELECT name FROM clubs WHERE id = ${clubId}`))?.name;

  it('runs the opening only in the first transaction', async () => {
    const club = await db.transaction((tx) =>
      tx.one<{ name: string }>(sql`SELECT name FROM clubs WHERE id = ${clubId}`),
    );
    await db.transaction(async () => undefined);
    expect([club?.name, await currentName(), openings]).to.deep.equal(['opened', 'opened', 1]);
  });

  it('repeats the opening after a transaction that fails', async () => {
    const before = await currentName();
    const failed = await db
      .transaction(() => Promise.reject(new Error('refused')))
      .catch((error: Error) => error.message);
    expect([failed, await currentName()]).to.deep.equal(['refused', before]);
    await db.transaction(async () => undefined);
    expect([await currentName(), openings]).to.deep.equal(['opened', 2]);
  });
});
