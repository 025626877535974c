/**
 * Stores the current build, the running processes with their versions, and the versions that the schema fits. Without rows, the service
 * works as before.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  CREATE TABLE "releases" (
    "build_id" text NOT NULL,
    "version" text NOT NULL,
    "promoted_at" timestamptz NOT NULL,
    "is_current" boolean NOT NULL,
    PRIMARY KEY ("build_id")
  );
  CREATE UNIQUE INDEX "releases_current" ON "releases" ("is_current") WHERE is_current;
  CREATE TABLE "running_processes" (
    "id" uuid NOT NULL,
    "name" text NOT NULL,
    "build_id" text NOT NULL,
    "version" text NOT NULL,
    "beat_at" timestamptz NOT NULL,
    PRIMARY KEY ("id")
  );
  CREATE TABLE "schema_contractions" (
    "migration" text NOT NULL,
    "needs" text NOT NULL,
    PRIMARY KEY ("migration")
  );
`;
const down = `
  DROP TABLE "schema_contractions";
  DROP TABLE "running_processes";
  DROP TABLE "releases";
`;

export class Releases1795720000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
