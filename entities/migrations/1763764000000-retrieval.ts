/** Search of passages: their words by the rules of the club's language, and the words of each club's material. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A language as two letters, and what Postgres calls it. */
const languages = {
  en: 'english',
  pt: 'portuguese',
  es: 'spanish',
  fr: 'french',
  de: 'german',
  it: 'italian',
} as const;

const each = (sql: (code: string, name: string) => string) =>
  Object.entries(languages)
    .map(([code, name]) => sql(code, name))
    .join('\n');

/**
 * A passage is searched by the stems of its language, which need the accents: `informação` and `informações` are one word by
 * them, and two without. `club_pt` and its like take the accents off before: by these stems a question finds the words of the
 * club's material that it may mean (agent_words), however it writes them.
 */
const configurations = each(
  (code, name) => `
  CREATE TEXT SEARCH CONFIGURATION "club_${code}" (COPY = ${name});
  ALTER TEXT SEARCH CONFIGURATION "club_${code}"
    ALTER MAPPING FOR asciiword, word, numword WITH unaccent, ${name}_stem;`,
);

const functions = `
  -- A text as words with one space between them, in small letters: nothing of it is an operator, a file or an address.
  CREATE FUNCTION agent_text(text text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT btrim(regexp_replace(lower(normalize(text, NFKC)), '[^[:alnum:]]+', ' ', 'g'))
  $$;
  CREATE FUNCTION agent_stems(language text, words text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT to_tsvector(CASE language ${each((code, name) => `WHEN '${code}' THEN '${name}'::regconfig`)} ELSE 'simple' END, words)
  $$;
  CREATE FUNCTION agent_plain_stems(language text, words text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT to_tsvector(CASE language ${each((code) => `WHEN '${code}' THEN 'club_${code}'::regconfig`)} ELSE 'simple' END, words)
  $$;
  -- The club's name is in each entry of the index, so that a search meets no passage of any other.
  CREATE FUNCTION agent_lexemes(club uuid, search tsvector) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ARRAY (SELECT club || lexeme FROM unnest(tsvector_to_array(search)) AS lexeme)
  $$;
`;

const columns = `
  ALTER TABLE "agent_passages" ADD "search" tsvector;
  CREATE FUNCTION "agent_passages_searched"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    NEW.search := setweight(agent_stems(NEW.language, agent_text(NEW.title)), 'A')
               || setweight(agent_stems(NEW.language, agent_text(array_to_string(NEW.headings, ' '))), 'B')
               || agent_stems(NEW.language, agent_text(NEW.text));
    RETURN NEW;
  END $$;
  CREATE TRIGGER "agent_passages_searched" BEFORE INSERT OR UPDATE ON "agent_passages"
    FOR EACH ROW EXECUTE FUNCTION "agent_passages_searched"();
`;

/** Of the words of passages that came (\`1\`) or went (\`-1\`), in the transition table \`changed\`. Longer ones are no words. */
const count = (sign: 1 | -1, changed: string) => `
    INSERT INTO agent_words (club_id, word, initial, size, lexeme, stem, passages)
    SELECT club_id, unaccent(word), left(unaccent(word), 1), length(unaccent(word)), lexeme, coalesce(stem, lexeme), ${sign} * passages
      FROM (SELECT club_id, language, word, count(DISTINCT id) AS passages FROM ${changed},
                   string_to_table(agent_text(concat_ws(' ', title, array_to_string(headings, ' '), text)), ' ') AS word
             WHERE length(word) <= 64 GROUP BY club_id, language, word) AS counted
      CROSS JOIN unnest(tsvector_to_array(agent_stems(language, word))) AS lexeme
      LEFT JOIN LATERAL (SELECT min(one) FROM unnest(tsvector_to_array(agent_plain_stems(language, word))) AS one) AS plain (stem) ON true;`;

const words = `
  CREATE TABLE "agent_words" (
    "seq" BIGSERIAL NOT NULL,
    "club_id" uuid NOT NULL,
    "word" text NOT NULL,
    "initial" text NOT NULL,
    "size" smallint NOT NULL,
    "lexeme" text NOT NULL,
    "stem" text NOT NULL,
    "passages" integer NOT NULL,
    "folded" boolean NOT NULL DEFAULT false,
    CONSTRAINT "PK_agent_words" PRIMARY KEY ("seq")
  );
  CREATE INDEX "agent_words_to_fold" ON "agent_words"  ("seq") WHERE NOT folded;
  CREATE INDEX "agent_words_spelling" ON "agent_words"  ("club_id", "initial", "size");
  CREATE INDEX "agent_words_stem" ON "agent_words"  ("club_id", "stem");
  CREATE INDEX "agent_words_lexeme" ON "agent_words"  ("club_id", "lexeme");
  CREATE FUNCTION "agent_passages_counted"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF TG_OP <> 'INSERT' THEN ${count(-1, 'old_rows')}
    END IF;
    IF TG_OP <> 'DELETE' THEN ${count(1, 'new_rows')}
    END IF;
    RETURN NULL;
  END $$;
  CREATE TRIGGER "agent_passages_counted_in" AFTER INSERT ON "agent_passages"
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION "agent_passages_counted"();
  CREATE TRIGGER "agent_passages_counted_out" AFTER DELETE ON "agent_passages"
    REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION "agent_passages_counted"();
  CREATE TRIGGER "agent_passages_recounted" AFTER UPDATE ON "agent_passages"
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION "agent_passages_counted"();
`;

/** What is there already; the triggers do the rest. What waits to be sorted into the index is read by every search: it is kept short. */
const present = `
  UPDATE "agent_passages" SET text = text;
  DELETE FROM "agent_words";
  ${count(1, 'agent_passages')}
  ALTER TABLE "agent_passages" ALTER COLUMN "search" SET NOT NULL;
  CREATE INDEX "agent_passages_search" ON "agent_passages" USING gin (agent_lexemes(club_id, search)) WITH (gin_pending_list_limit = 256);
`;

const down = `
  DROP TRIGGER "agent_passages_recounted" ON "agent_passages";
  DROP TRIGGER "agent_passages_counted_out" ON "agent_passages";
  DROP TRIGGER "agent_passages_counted_in" ON "agent_passages";
  DROP TRIGGER "agent_passages_searched" ON "agent_passages";
  DROP FUNCTION "agent_passages_counted";
  DROP FUNCTION "agent_passages_searched";
  DROP TABLE "agent_words";
  DROP INDEX "agent_passages_search";
  ALTER TABLE "agent_passages" DROP COLUMN "search";
  DROP FUNCTION agent_lexemes;
  DROP FUNCTION agent_plain_stems;
  DROP FUNCTION agent_stems;
  DROP FUNCTION agent_text;
  ${each((code) => `DROP TEXT SEARCH CONFIGURATION "club_${code}";`)}
`;

export class Retrieval1763764000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(configurations);
    await queryRunner.query(functions);
    await queryRunner.query(columns);
    await queryRunner.query(words);
    await queryRunner.query(present);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
