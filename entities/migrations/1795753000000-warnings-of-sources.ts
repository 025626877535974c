/**
 * Adds warnings about unreadable parts of a source. Also adds the version of the reader that last read the source. This version begins at
 * 0, so the current reader reads every source again. From now on, passages keep joiners, which are invisible characters inside words. The
 * search does not split words at joiners.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const text = (joiners: string) => `
  CREATE OR REPLACE FUNCTION agent_text(text text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT btrim(regexp_replace(lower(normalize(${joiners}, NFKC)), '[^[:alnum:]]+', ' ', 'g'))
  $$;`;

const up = `
  ALTER TABLE "agent_sources" ADD "warnings" jsonb NOT NULL DEFAULT '[]', ADD "reader_version" integer NOT NULL DEFAULT 0;
  ${text(`translate(text, U&'\\200C\\200D', '')`)}
`;
const down = `
  ${text('text')}
  ALTER TABLE "agent_sources" DROP COLUMN "reader_version", DROP COLUMN "warnings";
`;

export class WarningsOfSources1795753000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
