/** Few or many wakes of a club's runs wait: read for each fact that concerns automations (AUTO-20). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class WakesOfRuns1795411200000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`CREATE INDEX wakes_of_runs ON wakes (club_id) WHERE workflow_type = 'automationRun'`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX wakes_of_runs`);
  }
}
