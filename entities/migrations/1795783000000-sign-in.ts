/** Records the sign-in of each session, and the sign-in rules of clubs (ADR 85). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class SignIn1795783000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    for (const table of ['administrator_sessions', 'student_sessions'])
      await queryRunner.query(`
        ALTER TABLE "${table}"
          ADD "opened_by" text NOT NULL DEFAULT 'password',
          ADD "device" text,
          ADD "network" text,
          ADD "last_used_at" TIMESTAMP WITH TIME ZONE;
        ALTER TABLE "${table}" ADD CONSTRAINT "${table}_opened_by"
          CHECK (opened_by IN ('password', 'mail', 'provider', 'passkey', 'link')) NOT VALID;
        ALTER TABLE "${table}" VALIDATE CONSTRAINT "${table}_opened_by"`);
    await queryRunner.query(`
      ALTER TABLE "administrator_sessions"
        ADD "provider_id" uuid,
        ADD "proved_at" TIMESTAMP WITH TIME ZONE,
        ADD "second_factor_at" TIMESTAMP WITH TIME ZONE;
      ALTER TABLE "administrators" ADD "has_second_factor" boolean NOT NULL DEFAULT false;
      CREATE TABLE "club_sign_in_rules" (
        "club_id" uuid NOT NULL,
        "requires_second_factor" boolean NOT NULL,
        "required_provider_id" uuid,
        CONSTRAINT "club_sign_in_rules_pkey" PRIMARY KEY ("club_id"),
        CONSTRAINT "club_sign_in_rules_club_id_fkey" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE
      )`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DROP TABLE "club_sign_in_rules";
      ALTER TABLE "administrators" DROP "has_second_factor";
      ALTER TABLE "administrator_sessions" DROP "provider_id", DROP "proved_at", DROP "second_factor_at"`);
    for (const table of ['administrator_sessions', 'student_sessions'])
      await queryRunner.query(
        `ALTER TABLE "${table}" DROP "opened_by", DROP "device", DROP "network", DROP "last_used_at"`,
      );
  }
}
