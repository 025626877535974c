/** Stores the networks of the sign-ups of the last hour. Older releases store no network, so their sign-ups count only for the club. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  CREATE TABLE "sign_up_networks" (
    "student_id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "network_key" bytea NOT NULL,
    "created_at" timestamptz NOT NULL,
    CONSTRAINT "sign_up_networks_key" PRIMARY KEY ("student_id"),
    CONSTRAINT "sign_up_networks_student" FOREIGN KEY ("student_id") REFERENCES "students"("id") ON DELETE CASCADE,
    CONSTRAINT "sign_up_networks_club" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE
  );
  CREATE INDEX "sign_up_networks_of_club" ON "sign_up_networks" ("club_id", "network_key");
  CREATE INDEX "sign_up_networks_created" ON "sign_up_networks" ("created_at");
`;

const down = `DROP TABLE "sign_up_networks";`;

export class SignUpNetworks1795741000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
