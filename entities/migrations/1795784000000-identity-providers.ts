/** Stores the identity providers of clubs, the identities of administrators, and the open joins of both (ADR 86). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class IdentityProviders1795784000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE "identity_providers" (
        "id" uuid NOT NULL,
        "club_id" uuid NOT NULL,
        "name" text NOT NULL,
        "issuer" text NOT NULL,
        "client_id" text NOT NULL,
        "sealed_client_secret" bytea NOT NULL,
        "email_domains" text array NOT NULL,
        "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        CONSTRAINT "identity_providers_pkey" PRIMARY KEY ("id"),
        CONSTRAINT "identity_providers_club_id_fkey" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE
      );
      CREATE UNIQUE INDEX "identity_providers_club" ON "identity_providers" ("club_id");
      CREATE INDEX "identity_providers_sealed_client_secret_key" ON "identity_providers" (substr("sealed_client_secret", 1, 5), "id");

      CREATE TABLE "administrator_identities" (
        "id" uuid NOT NULL,
        "administrator_id" uuid NOT NULL,
        "provider_id" uuid NOT NULL,
        "club_provider_id" uuid,
        "subject" text NOT NULL,
        "email" text,
        "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        "last_used_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        CONSTRAINT "administrator_identities_pkey" PRIMARY KEY ("id"),
        CONSTRAINT "administrator_identities_provider" CHECK (club_provider_id = provider_id),
        CONSTRAINT "administrator_identities_administrator_id_fkey" FOREIGN KEY ("administrator_id")
          REFERENCES "administrators"("id") ON DELETE CASCADE,
        CONSTRAINT "administrator_identities_club_provider_id_fkey" FOREIGN KEY ("club_provider_id")
          REFERENCES "identity_providers"("id") ON DELETE CASCADE
      );
      CREATE UNIQUE INDEX "administrator_identities_subject" ON "administrator_identities" ("provider_id", "subject");
      CREATE INDEX "administrator_identities_administrator" ON "administrator_identities" ("administrator_id", "id");
      CREATE INDEX "administrator_identities_club_provider" ON "administrator_identities" ("club_provider_id");

      CREATE TABLE "identity_joins" (
        "id" uuid NOT NULL,
        "token_hash" bytea NOT NULL,
        "provider_id" uuid NOT NULL,
        "club_provider_id" uuid,
        "subject" text NOT NULL,
        "email" text,
        "is_email_verified" boolean NOT NULL,
        "name" text,
        "tries_left" smallint NOT NULL,
        "codes_left" smallint NOT NULL,
        "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        "expires_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        CONSTRAINT "identity_joins_pkey" PRIMARY KEY ("id"),
        CONSTRAINT "identity_joins_provider" CHECK (club_provider_id = provider_id),
        CONSTRAINT "identity_joins_club_provider_id_fkey" FOREIGN KEY ("club_provider_id")
          REFERENCES "identity_providers"("id") ON DELETE CASCADE
      );
      CREATE UNIQUE INDEX "identity_joins_token" ON "identity_joins" ("token_hash");
      CREATE UNIQUE INDEX "identity_joins_subject" ON "identity_joins" ("provider_id", "subject");
      CREATE INDEX "identity_joins_club_provider" ON "identity_joins" ("club_provider_id", "created_at");
      CREATE INDEX "identity_joins_expiry" ON "identity_joins" ("expires_at");

      CREATE TABLE "spent_sign_ins" (
        "id" uuid NOT NULL,
        "expires_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        CONSTRAINT "spent_sign_ins_pkey" PRIMARY KEY ("id")
      );
      CREATE INDEX "spent_sign_ins_expiry" ON "spent_sign_ins" ("expires_at")`);
    await queryRunner.query(`
      ALTER TABLE "administrator_sessions" ADD "club_id" uuid;
      ALTER TABLE "sign_in_challenges" ADD "club_id" uuid;
      ALTER TABLE "club_sign_in_rules" ADD CONSTRAINT "club_sign_in_rules_required_provider_id_fkey"
        FOREIGN KEY ("required_provider_id") REFERENCES "identity_providers"("id") ON DELETE SET NULL NOT VALID;
      ALTER TABLE "club_sign_in_rules" VALIDATE CONSTRAINT "club_sign_in_rules_required_provider_id_fkey"`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      ALTER TABLE "club_sign_in_rules" DROP CONSTRAINT "club_sign_in_rules_required_provider_id_fkey";
      ALTER TABLE "sign_in_challenges" DROP "club_id";
      ALTER TABLE "administrator_sessions" DROP "club_id";
      DROP TABLE "spent_sign_ins", "identity_joins", "administrator_identities", "identity_providers"`);
  }
}
