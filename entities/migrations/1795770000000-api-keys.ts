/** Adds the API keys of clubs: the credentials of programs (ADR 70). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ApiKeys1795770000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE "api_keys" (
        "id" uuid NOT NULL,
        "club_id" uuid NOT NULL,
        "name" text NOT NULL,
        "scopes" text array NOT NULL,
        "allowed_networks" text array NOT NULL,
        "secret_hash" bytea NOT NULL,
        "previous_secret_hash" bytea,
        "previous_secret_expires_at" TIMESTAMP WITH TIME ZONE,
        "created_by" uuid,
        "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        "expires_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        "last_used_at" TIMESTAMP WITH TIME ZONE,
        "revoked_at" TIMESTAMP WITH TIME ZONE,
        CONSTRAINT "api_keys_rotation" CHECK ((previous_secret_hash IS NULL) = (previous_secret_expires_at IS NULL)),
        CONSTRAINT "api_keys_pkey" PRIMARY KEY ("id"),
        CONSTRAINT "api_keys_club_id_fkey" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE,
        CONSTRAINT "api_keys_created_by_fkey" FOREIGN KEY ("created_by") REFERENCES "administrators"("id") ON DELETE SET NULL
      );
      CREATE INDEX "api_keys_club" ON "api_keys" ("club_id", "created_at", "id");
      CREATE INDEX "api_keys_creator" ON "api_keys" ("created_by");
      CREATE UNIQUE INDEX "api_keys_secret" ON "api_keys" ("secret_hash");
      CREATE UNIQUE INDEX "api_keys_previous_secret" ON "api_keys" ("previous_secret_hash") WHERE previous_secret_hash IS NOT NULL;
      CREATE INDEX "api_keys_expiry" ON "api_keys" ("expires_at")`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE "api_keys"`);
  }
}
