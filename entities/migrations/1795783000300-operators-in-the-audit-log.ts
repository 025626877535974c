/** Lets entries of the audit log name an operator. The next migration checks the existing entries, because this takes long. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class OperatorsInTheAuditLog1795783000300 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE "audit_entries" DROP CONSTRAINT "audit_entries_actor_kind";
      ALTER TABLE "audit_entries" ADD CONSTRAINT "audit_entries_actor_kind"
        CHECK (actor_kind in ('administrator', 'api_key', 'operator')) NOT VALID`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    // Entries of operators stay, because no entry may be deleted.
    await queryRunner.query(`
      ALTER TABLE "audit_entries" DROP CONSTRAINT "audit_entries_actor_kind";
      ALTER TABLE "audit_entries" ADD CONSTRAINT "audit_entries_actor_kind"
        CHECK (actor_kind in ('administrator', 'api_key')) NOT VALID`);
  }
}
