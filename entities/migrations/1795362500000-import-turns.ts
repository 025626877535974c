/** The imports of a club that run or wait for their turn are found without its ended ones (ENG-17). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ImportTurns1795362500000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(
      `CREATE INDEX student_imports_turn ON student_imports (club_id, created_at, id) WHERE status IN ('pending', 'running')`,
    );
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DROP INDEX student_imports_turn`);
  }
}
