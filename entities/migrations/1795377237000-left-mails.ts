/** The index by which e-mails of automations are found that nobody settled (AUTO-13). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  CREATE INDEX "mails_run_open" ON "mails" ("lease_until") WHERE run_id IS NOT NULL AND status = 'sending';
`;

const down = `
  DROP INDEX "mails_run_open";
`;

export class LeftMails1795377237000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
