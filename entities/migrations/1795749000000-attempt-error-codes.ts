/** Adds the reason why an attempt of a webhook delivery got no answer. Older releases leave it null. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class AttemptErrorCodes1795749000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "webhook_attempts" ADD "error_code" text`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "webhook_attempts" DROP COLUMN "error_code"`);
  }
}
