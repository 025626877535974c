/** PDFs of certificates are kept in the bucket (DEC-56). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CertificateFiles1795360200000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE certificate_files (
        object_key text NOT NULL,
        certificate_id uuid NOT NULL,
        put_at timestamptz NOT NULL,
        erases_at timestamptz,
        CONSTRAINT "PK_73b38108bc3126ea09255d77aac" PRIMARY KEY (object_key),
        CONSTRAINT "FK_3176733cf516f65dfa9cffe7dc3" FOREIGN KEY (certificate_id) REFERENCES certificates (id) ON DELETE CASCADE
      )`);
    await queryRunner.query(`CREATE INDEX certificate_files_certificate ON certificate_files (certificate_id)`);
    await queryRunner.query(
      `CREATE INDEX certificate_files_erases_at ON certificate_files (erases_at) WHERE erases_at IS NOT NULL`,
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP TABLE certificate_files`);
  }
}
