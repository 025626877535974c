/** Checks the actors of the existing audit entries, without a lock that stops writes. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class AuditActorsChecked1795783000400 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "audit_entries" VALIDATE CONSTRAINT "audit_entries_actor_kind"`);
  }

  async down(): Promise<void> {}
}
