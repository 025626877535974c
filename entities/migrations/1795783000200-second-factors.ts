/** Adds second factors, recovery codes, and sign-ins that wait for the second factor. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class SecondFactors1795783000200 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE "sign_in_challenges" (
        "token_hash" bytea NOT NULL,
        "administrator_id" uuid NOT NULL,
        "opened_by" text NOT NULL,
        "provider_id" uuid,
        "network" text,
        "created_at" timestamptz NOT NULL,
        "expires_at" timestamptz NOT NULL,
        CONSTRAINT "sign_in_challenges_pkey" PRIMARY KEY ("token_hash"),
        CONSTRAINT "sign_in_challenges_opened_by"
          CHECK (opened_by in ('password', 'mail', 'provider', 'passkey', 'link')),
        CONSTRAINT "sign_in_challenges_administrator_id_fkey"
          FOREIGN KEY ("administrator_id") REFERENCES "administrators"("id") ON DELETE CASCADE
      );
      CREATE INDEX "sign_in_challenges_administrator" ON "sign_in_challenges" ("administrator_id", "created_at");
      CREATE INDEX "sign_in_challenges_expiry" ON "sign_in_challenges" ("expires_at");
      CREATE TABLE "second_factors" (
        "id" uuid NOT NULL,
        "administrator_id" uuid NOT NULL,
        "kind" text NOT NULL,
        "name" text NOT NULL,
        "secret" bytea,
        "last_step" integer,
        "created_at" timestamptz NOT NULL,
        "confirmed_at" timestamptz,
        "last_used_at" timestamptz,
        CONSTRAINT "second_factors_pkey" PRIMARY KEY ("id"),
        CONSTRAINT "second_factors_kind" CHECK (kind in ('totp', 'passkey')),
        CONSTRAINT "second_factors_secret" CHECK ((kind = 'totp') = (secret IS NOT NULL)),
        CONSTRAINT "second_factors_administrator_id_fkey"
          FOREIGN KEY ("administrator_id") REFERENCES "administrators"("id") ON DELETE CASCADE
      );
      CREATE INDEX "second_factors_administrator" ON "second_factors" ("administrator_id", "created_at", "id");
      CREATE INDEX "second_factors_unconfirmed" ON "second_factors" ("created_at") WHERE confirmed_at IS NULL;
      CREATE INDEX "second_factors_secret_key" ON "second_factors" (substr("secret", 1, 5), "id") WHERE "secret" IS NOT NULL;
      CREATE TABLE "recovery_codes" (
        "administrator_id" uuid NOT NULL,
        "code_hash" bytea NOT NULL,
        "created_at" timestamptz NOT NULL,
        CONSTRAINT "recovery_codes_pkey" PRIMARY KEY ("administrator_id", "code_hash"),
        CONSTRAINT "recovery_codes_administrator_id_fkey"
          FOREIGN KEY ("administrator_id") REFERENCES "administrators"("id") ON DELETE CASCADE
      )`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `DROP TABLE "recovery_codes"; DROP TABLE "second_factors"; DROP TABLE "sign_in_challenges"`,
    );
  }
}
