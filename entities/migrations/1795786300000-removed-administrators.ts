/** Lets the row of an administrator stay without a name and an address, after the account was erased (ADR 93). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class RemovedAdministrators1795786300000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE "administrators" ADD "removed_at" TIMESTAMP WITH TIME ZONE;
      ALTER TABLE "administrators" ALTER "email" DROP NOT NULL;
      ALTER TABLE "administrators" ADD CONSTRAINT "administrators_removed_is_anonymous"
        CHECK ((removed_at IS NULL) = (email IS NOT NULL)) NOT VALID;
      ALTER TABLE "administrators" ADD CONSTRAINT "administrators_removed_has_no_data" CHECK (removed_at IS NULL
        OR num_nonnulls(password_hash, verified_at, language, phone, phone_verified_at, avatar_key) = 0 AND NOT has_second_factor) NOT VALID`);
    await queryRunner.query(`
      ALTER TABLE "administrators" VALIDATE CONSTRAINT "administrators_removed_is_anonymous";
      ALTER TABLE "administrators" VALIDATE CONSTRAINT "administrators_removed_has_no_data"`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      UPDATE "administrators" SET email = id::text WHERE email IS NULL;
      ALTER TABLE "administrators" DROP CONSTRAINT "administrators_removed_has_no_data";
      ALTER TABLE "administrators" DROP CONSTRAINT "administrators_removed_is_anonymous";
      ALTER TABLE "administrators" ALTER "email" SET NOT NULL;
      ALTER TABLE "administrators" DROP "removed_at"`);
  }
}
