/** Who invited somebody: the invitation ends with the inviter's right to give its role. Null for those of releases before. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Inviters1795748000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "invitations" ADD "invited_by" uuid`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "invitations" DROP COLUMN "invited_by"`);
  }
}
