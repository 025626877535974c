/** Lets a mailed code belong to an open join of an identity (ADR 86). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class IdentityCodes1795784000100 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE "one_time_tokens" ADD "identity_join_id" uuid;
      ALTER TABLE "one_time_tokens" ADD CONSTRAINT "one_time_tokens_identity_join_id_fkey"
        FOREIGN KEY ("identity_join_id") REFERENCES "identity_joins"("id") ON DELETE CASCADE NOT VALID;
      ALTER TABLE "one_time_tokens" DROP CONSTRAINT "one_time_tokens_owner";
      ALTER TABLE "one_time_tokens" ADD CONSTRAINT "one_time_tokens_owner"
        CHECK (num_nonnulls(student_id, administrator_id, invitation_id, identity_join_id) = 1) NOT VALID`);
    await queryRunner.query(`
      ALTER TABLE "one_time_tokens" VALIDATE CONSTRAINT "one_time_tokens_identity_join_id_fkey";
      ALTER TABLE "one_time_tokens" VALIDATE CONSTRAINT "one_time_tokens_owner"`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DELETE FROM "one_time_tokens" WHERE identity_join_id IS NOT NULL;
      ALTER TABLE "one_time_tokens" DROP CONSTRAINT "one_time_tokens_owner";
      ALTER TABLE "one_time_tokens" DROP "identity_join_id";
      ALTER TABLE "one_time_tokens" ADD CONSTRAINT "one_time_tokens_owner"
        CHECK (num_nonnulls(student_id, administrator_id, invitation_id) = 1)`);
  }
}
