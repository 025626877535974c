/**
 * Adds the inviter of an invitation. The invitation ends when the inviter loses the right to give its role. The column is null for
 * invitations of older releases.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Inviters1795748000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "invitations" ADD "invited_by" uuid`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "invitations" DROP COLUMN "invited_by"`);
  }
}
