/** Imports of students from a file, and the report of their rows. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  CREATE TABLE "student_imports" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "status" text NOT NULL,
    "file_name" text,
    "delivery_ids" uuid array NOT NULL,
    "invite" boolean NOT NULL,
    "format" jsonb NOT NULL,
    "ignored_columns" text array NOT NULL,
    "file_bytes" integer,
    "rows_total" integer,
    "cursor" integer NOT NULL,
    "next_row" integer NOT NULL,
    "created_count" integer NOT NULL DEFAULT '0',
    "existing_count" integer NOT NULL DEFAULT '0',
    "failed_count" integer NOT NULL DEFAULT '0',
    "error" text,
    "looks_at" TIMESTAMP WITH TIME ZONE,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "started_at" TIMESTAMP WITH TIME ZONE,
    "completed_at" TIMESTAMP WITH TIME ZONE,
    CONSTRAINT "student_imports_error" CHECK ((error IS NOT NULL) = (status = 'failed')),
    CONSTRAINT "student_imports_ended" CHECK ((completed_at IS NOT NULL) = (status in ('completed', 'failed', 'canceled'))),
    CONSTRAINT "student_imports_status" CHECK (status in ('uploading', 'pending', 'running', 'completed', 'failed', 'canceled')),
    CONSTRAINT "PK_e0a64834e477075a9b0923c79bb" PRIMARY KEY ("id")
  );
  CREATE INDEX "student_imports_looks_at" ON "student_imports" ("looks_at") WHERE looks_at IS NOT NULL;
  CREATE INDEX "student_imports_club" ON "student_imports" ("club_id", "created_at", "id");
  CREATE TABLE "student_import_rows" (
    "import_id" uuid NOT NULL,
    "row" integer NOT NULL,
    "outcome" text NOT NULL,
    "code" text,
    "column_name" text,
    "student_id" uuid,
    CONSTRAINT "student_import_rows_who" CHECK ((outcome = 'failed') = (student_id IS NULL)),
    CONSTRAINT "student_import_rows_code" CHECK ((outcome = 'failed') = (code IS NOT NULL)),
    CONSTRAINT "student_import_rows_outcomes" CHECK (outcome in ('created', 'existing', 'failed')),
    CONSTRAINT "PK_79d253b4bce5cb499b7dad1e8aa" PRIMARY KEY ("import_id", "row")
  );
  CREATE UNIQUE INDEX "student_import_rows_student" ON "student_import_rows" ("import_id", "student_id") WHERE student_id IS NOT NULL;
  CREATE INDEX "student_import_rows_outcome" ON "student_import_rows" ("import_id", "outcome", "row");
  ALTER TABLE "student_imports" ADD CONSTRAINT "FK_e0bb8521fb2c4d4478cb5ccab3e" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "student_import_rows" ADD CONSTRAINT "FK_f9d424992ae36ba5e1288f4e6c1" FOREIGN KEY ("import_id") REFERENCES "student_imports"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
`;

const down = `
  DROP TABLE "student_import_rows";
  DROP TABLE "student_imports";
`;

export class StudentImports1763747000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
