import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'chai';
import type { DataSource } from 'typeorm';
import { projectDirectory } from '../../dev/project.ts';
import { migrate } from '../../commands/migrate.ts';
import { missingInSchema } from '../toolkit/assert/schema.ts';
import { scratchDatabase } from '../toolkit/stack/database.ts';

describe('the migrations', () => {
  let source: DataSource;
  before('an empty database', async () => {
    source = await scratchDatabase();
  });
  after(() => source.destroy());

  const tables = () =>
    source
      .query<{ name: string }[]>(
        // Excludes partitions, which have no entity, and the two tables of TypeORM itself.
        `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
            AND NOT relispartition AND relname NOT IN ('migrations', 'typeorm_metadata') ORDER BY 1`,
      )
      .then((rows) => rows.map(({ name }) => name));

  it('include the migration of every file in the folder', async () => {
    const files = (await readdir(path.join(projectDirectory, 'entities/migrations'))).toSorted();
    const timeOf = (name: string) => /\d{13}/.exec(name)?.[0] ?? '';
    const registered = source.migrations.map((migration) => timeOf(migration.constructor.name));
    expect(registered).to.have.members(files.map(timeOf));
  });

  it('produce the schema of the entities in an empty database', async () => {
    expect(await migrate(source)).to.have.length(source.migrations.length);
    expect(await missingInSchema(source)).to.deep.equal([]);
    expect(await tables()).to.deep.equal(source.entityMetadatas.map(({ tableName }) => tableName).toSorted());
  });

  it('run at the first call, and do nothing at the second call', async () => {
    expect(await migrate(source)).to.deep.equal([]);
  });

  it('can be reverted to an empty database and run again', async () => {
    for (const _ of source.migrations) await source.undoLastMigration();
    expect(await tables()).to.deep.equal([]);
    const sequences = await source.query<unknown[]>(
      `SELECT * FROM pg_sequences WHERE schemaname = 'public' AND sequencename NOT LIKE 'migrations%'`,
    );
    expect(sequences).to.deep.equal([]);
    expect(await migrate(source)).to.have.length(source.migrations.length);
  });

  it('run only once if three processes start them simultaneously', async () => {
    for (const _ of source.migrations) await source.undoLastMigration();
    const migrationNames = await Promise.all([migrate(source), migrate(source), migrate(source)]);
    expect(migrationNames.flat()).to.have.length(source.migrations.length);
  });
});
