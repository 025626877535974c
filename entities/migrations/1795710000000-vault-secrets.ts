/** Adds the service's own secrets, and for each one-time token the key under which it is derived. Older releases need neither. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  CREATE TABLE "vault_secrets" (
    "name" text NOT NULL,
    "sealed" bytea NOT NULL,
    CONSTRAINT "vault_secrets_key" PRIMARY KEY ("name")
  );
  ALTER TABLE "one_time_tokens" ADD "key_id" bytea;
`;
const down = `
  ALTER TABLE "one_time_tokens" DROP COLUMN "key_id";
  DROP TABLE "vault_secrets";
`;

export class VaultSecrets1795710000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
