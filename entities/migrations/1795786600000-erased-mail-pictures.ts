/** Adds the progress of the erasure of a club's mail pictures (ADR 89). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ErasedMailPictures1795786600000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "erasures" ADD "pictures_after" uuid`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "erasures" DROP "pictures_after"`);
  }
}
