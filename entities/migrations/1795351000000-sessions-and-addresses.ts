/** The end of administrator sessions after 30 days, and mails to an address that a student no longer has. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  ALTER TABLE "transactional_mails" ADD "sealed_address" bytea;
  UPDATE "administrator_sessions" SET expires_at = least(expires_at, created_at + interval '30 days');
`;

const down = `
  ALTER TABLE "transactional_mails" DROP COLUMN "sealed_address";
`;

export class SessionsAndAddresses1795351000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
