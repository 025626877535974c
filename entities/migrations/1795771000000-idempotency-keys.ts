/** Stores requests with the header `Idempotency-Key`, with their answers, for 24 hours. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class IdempotencyKeys1795771000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE "idempotency_keys" (
        "caller" text NOT NULL,
        "key_hash" bytea NOT NULL,
        "id" uuid NOT NULL,
        "club_id" uuid,
        "is_about_student" boolean NOT NULL,
        "fingerprint" bytea NOT NULL,
        "status" smallint,
        "answer" bytea,
        "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        "expires_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY ("caller", "key_hash"),
        CONSTRAINT "idempotency_keys_club_fkey" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE
      );
      CREATE INDEX "idempotency_keys_expiry" ON "idempotency_keys" ("expires_at");
      CREATE INDEX "idempotency_keys_students" ON "idempotency_keys" ("club_id") WHERE is_about_student;
      CREATE INDEX "idempotency_keys_answer_key" ON "idempotency_keys" (substr("answer", 1, 5), "id") WHERE "answer" IS NOT NULL;
      CREATE TABLE "idempotency_erasures" (
        "club_id" uuid NOT NULL,
        "count" integer NOT NULL,
        CONSTRAINT "idempotency_erasures_pkey" PRIMARY KEY ("club_id"),
        CONSTRAINT "idempotency_erasures_club_fkey" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE
      )`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DROP TABLE "idempotency_erasures";
      DROP TABLE "idempotency_keys"`);
  }
}
