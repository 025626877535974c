/**
 * Adds a column for the administrator who sent an invitation. The invitation ends when this administrator loses the right to give the role
 * of the invitation. The column is null for invitations of older releases.
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
