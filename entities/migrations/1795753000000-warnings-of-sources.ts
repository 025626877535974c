/**
 * Adds warnings about unreadable parts of a source, and the version of the readers that read the source last. This version begins at 0,
 * so the current readers read every source again. Passages keep joiners from now on, and the search does not split words at joiners.
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
