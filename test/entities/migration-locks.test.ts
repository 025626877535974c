import { expect } from 'chai';
import type { DataSource, MigrationInterface, QueryRunner } from 'typeorm';
import { createDataSource } from '../../entities/data-source.ts';
import { migrate } from '../../commands/migrate.ts';
import { Secret } from '../../platform/core/secret.ts';
import { scratchDatabase } from '../toolkit/stack/database.ts';

/** Needs an exclusive lock for a moment, like most migrations that only add columns. */
class AddsPlace1799000000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query('ALTER TABLE clubs ADD place integer');
  }
  async down(): Promise<void> {}
}

describe('a migration of a table that another transaction reads for a long time', () => {
  let source: DataSource;
  let patient: DataSource;
  before('create a database for this test only, with a pending migration', async () => {
    source = await scratchDatabase();
    await migrate(source);
    const { url } = source.options as { url: string };
    patient = await createDataSource({ url: new Secret(url), poolSize: 3 }, 'club-migrate', {
      patient: true,
    }).initialize();
    Object.assign(patient, { migrations: [...patient.migrations, new AddsPlace1799000000000()] });
  });
  after(() => Promise.all([source.destroy(), patient.destroy()]));

  const waiting = async () => {
    const rows = await source.query<unknown[]>(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rows.length > 0;
  };

  it('blocks other transactions only for its own short lock timeout', async () => {
    const reader = source.createQueryRunner();
    await reader.query('BEGIN');
    await reader.query('SELECT FROM clubs');
    const migrated = migrate(patient);
    try {
      while (!(await waiting()));
      // This query waits for the migration's lock. A session of the service would wait at most 5 s.
      expect(await source.query('SELECT count(*)::int AS count FROM clubs')).to.deep.equal([{ count: 0 }]);
      const columns = await source.query<unknown[]>(
        `SELECT 1 FROM information_schema.columns WHERE table_name = 'clubs' AND column_name = 'place'`,
      );
      expect(columns, 'while the other transaction reads').to.deep.equal([]);
    } finally {
      await reader.query('COMMIT');
      await reader.release();
    }
    expect(await migrated).to.deep.equal(['AddsPlace1799000000000']);
    expect(await source.query('SELECT place FROM clubs')).to.deep.equal([]);
  });
});
