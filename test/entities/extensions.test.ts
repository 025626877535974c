import { expect } from 'chai';
import type { DataSource } from 'typeorm';
import { newId } from '../../platform/core/ids.ts';
import { requireExtension } from '../../entities/extensions.ts';
import { scratchDatabase } from '../toolkit/stack/database.ts';

describe('a Postgres extension that the schema needs', () => {
  let source: DataSource;
  before(async () => {
    source = await scratchDatabase();
  });
  after(() => source.destroy());

  const refusalOf = async (name: string, role?: string) => {
    const queryRunner = source.createQueryRunner();
    try {
      if (role !== undefined) await queryRunner.query(`SET ROLE ${role}`);
      return await requireExtension(queryRunner, name).then(
        () => 'created',
        (error: Error) => error.message,
      );
    } finally {
      await queryRunner.query(`RESET ROLE`);
      await queryRunner.release();
    }
  };

  it('is named in an error with a remedy if the server lacks it', async () => {
    const message = await refusalOf('pg_absent');
    expect(message).to.match(
      /^The schema needs the extension pg_absent of Postgres\. Install it on the database server/,
    );
    expect(message).to.contain('extension "pg_absent" is not available');
  });

  it('causes an error with a remedy if the role may not create it', async () => {
    const role = `limited_${newId().replaceAll('-', '')}`;
    await source.query(`CREATE ROLE ${role}`);
    expect(await refusalOf('pg_trgm', role)).to.match(/CREATE EXTENSION pg_trgm in this database.*permission denied/s);
    expect(await refusalOf('pg_trgm')).to.equal('created');
    expect(await refusalOf('pg_trgm', role)).to.equal('created');
    await source.query(`DROP ROLE ${role}`);
  });
});
