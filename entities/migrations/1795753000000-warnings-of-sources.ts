/**
 * What of a source could not be read, and by which readers it was read last: 0, so those of today read every source again. Joiners,
 * which passages keep from now on, do not part words in the search.
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
