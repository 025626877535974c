import { expect } from 'chai';
import type { DataSource, QueryRunner } from 'typeorm';
import { readConfig } from '../../../../config.ts';
import { createDataSource } from '../../../../entities/data-source.ts';
import type { Contraction } from '../../../../entities/contraction.ts';
import { migrate } from '../../../../commands/migrate.ts';
import { StartProblem } from '../../../../platform/core/start-problem.ts';
import { checkContractions } from '../../../../platform/infra/postgres/checks/contractions.ts';
import { Database } from '../../../../platform/infra/postgres/database.ts';
import { keepBeating } from '../../../../platform/infra/postgres/checks/running-processes.ts';
import { testDatabase } from '../../../toolkit/stack/database.ts';

/** Version 0.4.0 no longer reads this column. */
class ContractsPlaces1799000000000 implements Contraction {
  readonly needs = '0.4.0';
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE upkeep_rounds DROP COLUMN position');
  }
  async down(): Promise<void> {}
}

describe('a migration that drops columns or tables', () => {
  let source: DataSource;
  let db: Database;
  const build = (version: string) => ({ version, buildId: `of ${version}` });
  const unexpected = (error: unknown) => {
    throw error;
  };
  const problemOf = (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (error: unknown) => (error instanceof StartProblem ? error.message : error),
    );

  before('The file has its own database, without the column.', async () => {
    await testDatabase();
    source = await createDataSource(readConfig().database, 'club-test').initialize();
    Object.assign(source, { migrations: [...source.migrations, new ContractsPlaces1799000000000()] });
    db = new Database(source, { notify() {} });
  });
  after(() => source.destroy());

  it('does not run while an older version runs', async () => {
    const stop = await keepBeating(db, 'worker', build('0.3.0'), unexpected);
    expect(await problemOf(migrate(source, 0))).to.equal(
      'ContractsPlaces1799000000000 removes columns or tables that versions before 0.4.0 read, and such processes run: worker of version 0.3.0. Upgrade or end them, and run this command again.',
    );
    expect(await problemOf(checkContractions(source, build('0.3.0')))).to.equal(undefined);
    await stop();
  });

  it('runs beside versions that do not read the column', async () => {
    const stop = await keepBeating(db, 'worker', build('0.4.0'), unexpected);
    expect(await migrate(source, 0)).to.deep.equal(['ContractsPlaces1799000000000']);
    expect(await problemOf(checkContractions(source, build('0.3.9')))).to.equal(
      'The schema is contracted: it lacks columns or tables that version 0.3.9 reads. Run version 0.4.0 or a later one.',
    );
    expect(await problemOf(checkContractions(source, build('0.4.0')))).to.equal(undefined);
    expect(await problemOf(checkContractions(source, undefined))).to.equal(undefined);
    await stop();
  });

  it('runs once', async () => {
    const stop = await keepBeating(db, 'worker', build('0.3.0'), unexpected);
    expect(await migrate(source, 0)).to.deep.equal([]);
    await stop();
  });
});
