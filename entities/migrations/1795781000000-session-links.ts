/** Adds the links with which a club's own site opens the classroom for a student (ADR 83). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class SessionLinks1795781000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE "session_links" (
        "token_hash" bytea NOT NULL,
        "student_id" uuid NOT NULL,
        "api_key_id" uuid NOT NULL,
        "path" text,
        "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        "expires_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        CONSTRAINT "session_links_pkey" PRIMARY KEY ("token_hash"),
        CONSTRAINT "session_links_student_id_fkey" FOREIGN KEY ("student_id") REFERENCES "students"("id") ON DELETE CASCADE,
        CONSTRAINT "session_links_api_key_id_fkey" FOREIGN KEY ("api_key_id") REFERENCES "api_keys"("id") ON DELETE CASCADE
      );
      CREATE INDEX "session_links_student" ON "session_links" ("student_id", "created_at");
      CREATE INDEX "session_links_api_key" ON "session_links" ("api_key_id");
      CREATE INDEX "session_links_expiry" ON "session_links" ("expires_at")`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE "session_links"`);
  }
}
