/**
 * The application splits the text of a passage into words, in any script. Searches find passages by these words
 * (docs/adr/0061-search-in-every-script.md). A
 * passage without `words` was written by an older release. It is searched and counted by the old rule until its source is read again.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Languages that Postgres can stem, with the names of its configurations. `club_pt` and the other `club_` configurations remove accents
 * first (1763764000000-retrieval).
 */
const configurations = {
  en: 'english',
  pt: 'portuguese',
  es: 'spanish',
  fr: 'french',
  de: 'german',
  it: 'italian',
} as const;

/**
 * @param languages the Postgres configuration of each language code
 * @param language the SQL expression of a language code
 */
const stems = (languages: Readonly<Record<string, keyof typeof configurations>>, language: string) => {
  const cases = (configuration: (code: keyof typeof configurations) => string) =>
    Object.entries(languages)
      .map(([tag, code]) => `WHEN '${tag}' THEN '${configuration(code)}'::regconfig`)
      .join(' ');
  return `
  CREATE OR REPLACE FUNCTION agent_stems(language text, words text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT to_tsvector(CASE ${language} ${cases((code) => configurations[code])} ELSE 'simple' END, words)
  $$;
  CREATE OR REPLACE FUNCTION agent_plain_stems(language text, words text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT to_tsvector(CASE ${language} ${cases((code) => `club_${code}`)} ELSE 'simple' END, words)
  $$;`;
};

const own = { en: 'en', pt: 'pt', es: 'es', fr: 'fr', de: 'de', it: 'it' } as const;
const stemsBefore = stems(own, 'language');
/**
 * Only the first part of a language tag such as `pt-BR` selects the rules for Latin letters. If the club's language is Arabic, these rules
 * are English, because most words in Latin letters are then English. Another function stems Arabic words.
 */
const stemsNow = stems({ ...own, ar: 'en' }, `split_part(language, '-', 1)`);

/** Words in these letters are stemmed by the language of the club. */
const latin = String.raw`'^[\u0001-\u024F\u1E00-\u1EFF]*$'`;

/**
 * The stem of a word in any other script depends on the script, and not on the language of the club. These functions must not split a text
 * with Postgres's parser. Unless the locale of the database treats marks as letters, the parser cuts words of some scripts at their marks.
 */
const functions = `
  CREATE FUNCTION agent_script_stem(word text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE
      WHEN word ~ '^[\\u0621-\\u064A]+$' THEN (ts_lexize('pg_catalog.arabic_stem', word))[1]
      WHEN word ~ '^[\\u0900-\\u097F]+$' THEN (ts_lexize('pg_catalog.hindi_stem', word))[1]
      WHEN word ~ '^[\\u0B80-\\u0BFF]+$' THEN (ts_lexize('pg_catalog.tamil_stem', word))[1]
      ELSE word END
  $$;
  CREATE FUNCTION agent_word_stems(language text, word text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN word ~ ${latin} THEN tsvector_to_array(agent_stems(language, word))
                ELSE array_remove(ARRAY[agent_script_stem(word)], NULL) END
  $$;
  -- The stem of a word without its accents. For other scripts this is the word itself, which also finds passages whose words have no stems
  -- yet.
  CREATE FUNCTION agent_word_plain_stem(language text, word text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN word ~ ${latin} THEN (SELECT min(one) FROM unnest(tsvector_to_array(agent_plain_stems(language, word))) AS one)
                WHEN word ~ '^[\\u0621-\\u064A]+$' THEN regexp_replace(word, '^(وال|بال|كال|فال|ال|لل)(?=..)', '')
                ELSE unaccent(word) END
  $$;
  CREATE FUNCTION agent_words_vector(language text, words text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN words ~ ${latin} THEN agent_stems(language, words) ELSE coalesce((
      SELECT string_agg(quote_literal(lexeme) || ':' || least(place, 16383), ' ')::tsvector
        FROM string_to_table(words, ' ') WITH ORDINALITY AS token (word, place)
       CROSS JOIN unnest(agent_word_stems(language, word)) AS lexeme), '') END
  $$;`;

/** A part that is NULL contains only Latin words, which Postgres splits like the application. */
const parts = {
  title: `coalesce(words[1], agent_text(title))`,
  headings: `coalesce(words[2], agent_text(array_to_string(headings, ' ')))`,
  text: `coalesce(words[3], agent_text(text))`,
};

const searchedBefore = `
    NEW.search := setweight(agent_stems(NEW.language, agent_text(NEW.title)), 'A')
               || setweight(agent_stems(NEW.language, agent_text(array_to_string(NEW.headings, ' '))), 'B')
               || agent_stems(NEW.language, agent_text(NEW.text));`;
const ofNew = (part: string) => part.replace(/\b(words|title|headings|text)\b(?=[[,)])/g, 'NEW.$1');
const searched = `
    IF NEW.words IS NULL THEN ${searchedBefore}
    ELSE
      NEW.search := setweight(agent_words_vector(NEW.language, ${ofNew(parts.title)}), 'A')
                 || setweight(agent_words_vector(NEW.language, ${ofNew(parts.headings)}), 'B')
                 || agent_words_vector(NEW.language, ${ofNew(parts.text)});
    END IF;`;

const countBefore = (sign: 1 | -1, changed: string, condition = '') => `
    INSERT INTO agent_words (club_id, word, initial, size, lexeme, stem, passages)
    SELECT club_id, unaccent(word), left(unaccent(word), 1), length(unaccent(word)), lexeme, coalesce(stem, lexeme), ${sign} * passages
      FROM (SELECT club_id, language, word, count(DISTINCT id) AS passages FROM ${changed},
                   string_to_table(agent_text(concat_ws(' ', title, array_to_string(headings, ' '), text)), ' ') AS word
             WHERE length(word) <= 64 ${condition} GROUP BY club_id, language, word) AS counted
      CROSS JOIN unnest(tsvector_to_array(agent_stems(language, word))) AS lexeme
      LEFT JOIN LATERAL (SELECT min(one) FROM unnest(tsvector_to_array(agent_plain_stems(language, word))) AS one) AS plain (stem) ON true;`;

/** A row is counted when it is inserted and when it is deleted. Both times, the rule under which the row was written applies. */
const count = (sign: 1 | -1, changed: string) => `
    ${countBefore(sign, changed, 'AND words IS NULL')}
    INSERT INTO agent_words (club_id, word, initial, size, lexeme, stem, passages)
    SELECT club_id, unaccent(word), left(unaccent(word), 1), length(unaccent(word)), lexeme,
           coalesce(agent_word_plain_stem(language, word), lexeme), ${sign} * passages
      FROM (SELECT club_id, language, word, count(DISTINCT id) AS passages FROM ${changed},
                   string_to_table(concat_ws(' ', ${parts.title}, ${parts.headings}, ${parts.text}), ' ') AS word
             WHERE length(word) BETWEEN 1 AND 64 AND words IS NOT NULL GROUP BY club_id, language, word) AS counted
      CROSS JOIN unnest(agent_word_stems(language, word)) AS lexeme;`;

const triggers = (search: string, counts: typeof count) => `
  CREATE OR REPLACE FUNCTION "agent_passages_searched"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN ${search}
    RETURN NEW;
  END $$;
  CREATE OR REPLACE FUNCTION "agent_passages_counted"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF TG_OP <> 'INSERT' THEN ${counts(-1, 'old_rows')}
    END IF;
    IF TG_OP <> 'DELETE' THEN ${counts(1, 'new_rows')}
    END IF;
    RETURN NULL;
  END $$;`;

const up = `
  ALTER TABLE "agent_passages" ADD "words" text[];
  ${stemsNow}
  ${functions}
  ${triggers(searched, count)}
`;

const down = `
  ${triggers(searchedBefore, countBefore)}
  UPDATE "agent_passages" SET text = text;
  DELETE FROM "agent_words";
  ${countBefore(1, 'agent_passages')}
  DROP FUNCTION agent_words_vector;
  DROP FUNCTION agent_word_plain_stem;
  DROP FUNCTION agent_word_stems;
  DROP FUNCTION agent_script_stem;
  ${stemsBefore}
  ALTER TABLE "agent_passages" DROP COLUMN "words";
`;

export class SearchInEveryScript1795762000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
