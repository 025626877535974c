/** Adds the receivers of `student.removed` to erasures (ERS-33), because the rows of deliveries are deleted earlier. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ReceiversOfErasures1795786700000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE "erasures" ADD "receivers" jsonb NOT NULL DEFAULT '[]';
      ALTER TABLE "erasures" ADD "receivers_final" boolean NOT NULL DEFAULT false;
      CREATE INDEX "erasures_receivers" ON "erasures" ("completed_at")
        WHERE kind = 'student' AND completed_at IS NOT NULL AND NOT receivers_final`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "erasures" DROP "receivers_final"; ALTER TABLE "erasures" DROP "receivers"`);
  }
}
