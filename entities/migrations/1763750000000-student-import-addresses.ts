/** Addresses that students leave behind while an import is open, so that it does not bring them back. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  CREATE TABLE "student_import_addresses" (
    "import_id" uuid NOT NULL,
    "address_key" bytea NOT NULL,
    "student_id" uuid NOT NULL,
    CONSTRAINT "PK_af1b6d12b105bb8a28450acca72" PRIMARY KEY ("import_id", "address_key", "student_id")
  );
  ALTER TABLE "student_import_addresses" ADD CONSTRAINT "FK_518b6ec9afde5a0a6094fd2dcfa" FOREIGN KEY ("import_id") REFERENCES "student_imports"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "student_import_addresses" ADD CONSTRAINT "FK_43427aecdaadfd66a75b6c44a28" FOREIGN KEY ("student_id") REFERENCES "students"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
`;

const down = `
  DROP TABLE "student_import_addresses";
`;

export class StudentImportAddresses1763750000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
