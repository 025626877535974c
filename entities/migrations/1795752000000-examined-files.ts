/** Adds the version of the rules by which a file was examined. Older files are examined again (MED-30). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ExaminedFiles1795752000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "media" ADD "examined" smallint NOT NULL DEFAULT 0`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "media" DROP COLUMN "examined"`);
  }
}
