/** Adds the passkeys of administrators and of students (ADR 87). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Passkeys1795785000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE "passkeys" (
        "id" uuid NOT NULL,
        "factor_id" uuid,
        "student_id" uuid,
        "club_id" uuid,
        "credential_id" bytea NOT NULL,
        "public_key" bytea NOT NULL,
        "counter" bigint NOT NULL,
        "transports" text array NOT NULL,
        "is_synced" boolean NOT NULL,
        "name" text,
        "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        "last_used_at" TIMESTAMP WITH TIME ZONE,
        CONSTRAINT "passkeys_owner" CHECK (num_nonnulls(factor_id, student_id) = 1),
        CONSTRAINT "passkeys_of_student" CHECK (num_nonnulls(student_id, club_id, name) IN (0, 3)),
        CONSTRAINT "passkeys_pkey" PRIMARY KEY ("id"),
        CONSTRAINT "passkeys_factor_id_fkey" FOREIGN KEY ("factor_id") REFERENCES "second_factors"("id") ON DELETE CASCADE,
        CONSTRAINT "passkeys_student_id_fkey" FOREIGN KEY ("student_id") REFERENCES "students"("id") ON DELETE CASCADE,
        CONSTRAINT "passkeys_club_id_fkey" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE
      );
      CREATE UNIQUE INDEX "passkeys_credential_of_administrator" ON "passkeys" ("credential_id") WHERE club_id IS NULL;
      CREATE UNIQUE INDEX "passkeys_credential_of_student" ON "passkeys" ("club_id", "credential_id") WHERE club_id IS NOT NULL;
      CREATE UNIQUE INDEX "passkeys_factor" ON "passkeys" ("factor_id") WHERE factor_id IS NOT NULL;
      CREATE INDEX "passkeys_student" ON "passkeys" ("student_id") WHERE student_id IS NOT NULL;
      CREATE TABLE "spent_passkey_challenges" (
        "challenge_hash" bytea NOT NULL,
        "expires_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        CONSTRAINT "spent_passkey_challenges_pkey" PRIMARY KEY ("challenge_hash")
      );
      CREATE INDEX "spent_passkey_challenges_expiry" ON "spent_passkey_challenges" ("expires_at")`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE "spent_passkey_challenges"; DROP TABLE "passkeys"`);
  }
}
