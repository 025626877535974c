/**
 * Adds pictures of administrators, the codes that verify their telephone numbers, and the sign-in that a mail is about. A leftover object may
 * now belong to no club.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  ALTER TABLE "administrators" ADD "avatar_key" text;
  ALTER TABLE "leftover_objects" ALTER COLUMN "club_id" DROP NOT NULL;
  ALTER TABLE "transactional_mails" ADD "device" text, ADD "network" text;
  CREATE TABLE "phone_codes" (
    "id" uuid NOT NULL,
    "club_id" uuid,
    "administrator_id" uuid NOT NULL,
    "number_key" bytea NOT NULL,
    "key_id" bytea NOT NULL,
    "tries_left" smallint NOT NULL,
    "status" text NOT NULL DEFAULT 'pending',
    "attempt_count" smallint NOT NULL DEFAULT 0,
    "next_attempt_at" timestamptz NOT NULL,
    "fence" integer NOT NULL DEFAULT 0,
    "lease_until" timestamptz,
    "created_at" timestamptz NOT NULL,
    "expires_at" timestamptz NOT NULL,
    "spent_at" timestamptz,
    CONSTRAINT "phone_codes_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "phone_codes_status" CHECK (status in ('pending', 'sent', 'failed', 'canceled')),
    CONSTRAINT "phone_codes_administrator" FOREIGN KEY ("administrator_id") REFERENCES "administrators"("id") ON DELETE CASCADE
  );
  CREATE INDEX "phone_codes_of_administrator" ON "phone_codes" ("administrator_id", "created_at");
  CREATE INDEX "phone_codes_of_number" ON "phone_codes" ("number_key", "created_at");
  CREATE INDEX "phone_codes_created" ON "phone_codes" ("created_at");
  CREATE INDEX "phone_codes_due" ON "phone_codes" ("next_attempt_at") WHERE status = 'pending';
`;

const down = `
  DROP TABLE "phone_codes";
  ALTER TABLE "transactional_mails" DROP COLUMN "device", DROP COLUMN "network";
  DELETE FROM "leftover_objects" WHERE "club_id" IS NULL;
  ALTER TABLE "leftover_objects" ALTER COLUMN "club_id" SET NOT NULL;
  ALTER TABLE "administrators" DROP COLUMN "avatar_key";
`;

export class ProfilesOfAdministrators1795782000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
