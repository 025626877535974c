/**
 * Indexes the log of events. Each partition gets its index while the service runs. A repeated run makes the unfinished indexes of an
 * interrupted run again. The index of the table is valid when the indexes of all partitions are attached.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const key = `("club_id", "position") WHERE position IS NOT NULL`;

export class IndexOfTheEventLog1795774000100 implements MigrationInterface {
  /** CREATE INDEX CONCURRENTLY cannot run in a transaction. */
  transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`CREATE INDEX IF NOT EXISTS "webhook_bodies_log" ON ONLY "webhook_bodies" ${key}`);
    const partitions = (await queryRunner.query(
      `SELECT relname AS name FROM pg_inherits JOIN pg_class part ON part.oid = inhrelid
        WHERE inhparent = 'webhook_bodies'::regclass
          AND NOT EXISTS (SELECT FROM pg_index JOIN pg_inherits attached ON attached.inhrelid = indexrelid
                           WHERE indrelid = part.oid AND attached.inhparent = 'webhook_bodies_log'::regclass)
        ORDER BY relname`,
    )) as { name: string }[];
    await queryRunner.query(`SELECT set_config('club.lock_timeout', current_setting('lock_timeout'), false)`);
    await queryRunner.query(`SET lock_timeout = 0`); // the creation waits for other transactions, and none waits for it
    for (const { name } of partitions) {
      await queryRunner.query(`DROP INDEX CONCURRENTLY IF EXISTS "${name}_log"`);
      await queryRunner.query(`CREATE INDEX CONCURRENTLY "${name}_log" ON "${name}" ${key}`);
    }
    await queryRunner.query(`SELECT set_config('lock_timeout', current_setting('club.lock_timeout'), false)`);
    for (const { name } of partitions)
      await queryRunner.query(`ALTER INDEX "webhook_bodies_log" ATTACH PARTITION "${name}_log"`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX "webhook_bodies_log"`);
  }
}
