/**
 * Names and titles are also found by their usual spelling (docs/adr/0061-search-in-every-script.md). Triggers write this spelling beside
 * a name only if it differs from the name in small letters, so most rows do not contain it.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Letters that people often type instead of another letter, and the digits of other scripts. In each pair, the search treats a letter of
 * the first text like the letter at the same place in the second text.
 */
const variants: readonly (readonly [string, string])[] = [
  ['ٱىیېےکڪہھەةۃ', 'اييييككههههه'],
  ['ςıđłøħ', 'σidloh'],
  ...['٠١٢٣٤٥٦٧٨٩', '۰۱۲۳۴۵۶۷۸۹', '०१२३४५६७८९', '๐๑๒๓๔๕๖๗๘๙'].map((digits) => [digits, '0123456789'] as const),
];
const [from, to] = [0, 1].map((side) => variants.map((pair) => pair[side]).join(''));

/**
 * The characters that the search ignores in names: accents, vowels of Arabic and Hebrew, nuktas, and characters without width. The list
 * does not contain the marks of kana and of Indic vowels, because a name without them is another name.
 */
const marks = String.raw`[\u00AD\u0300-\u036F\u0591-\u05BD\u05BF\u05C1\u05C2\u05C4\u05C5\u05C7\u0610-\u061A\u0640\u064B-\u065F\u0670\u06D6-\u06DC\u06DF-\u06E8\u06EA-\u06ED\u093C\u09BC\u0A3C\u200B-\u200F\uFE00-\uFE0F]+`;

const functions = `
  -- Returns the spelling by which the search compares names. Most names are in ASCII, and for them this function costs no more than
  -- lower().
  CREATE FUNCTION searched_spelling(name text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN octet_length(name) = length(name) THEN lower(name)
                ELSE normalize(translate(regexp_replace(lower(normalize(name, NFKD)), '${marks}', '', 'g'), '${from}', '${to}'), NFC) END
  $$;
  -- Returns the LIKE pattern that finds a typed text in these spellings.
  CREATE FUNCTION searched_pattern(typed text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT '%' || regexp_replace(searched_spelling(typed), '([\\\\%_])', '\\\\\\1', 'g') || '%'
  $$;`;

const tables = {
  students: { name: 'name_folded' },
  certificates: { student_name: 'student_name_folded' },
  media: { title: 'title_folded', file_name: 'file_name_folded' },
} as const;

const columnsOf = ([table, columns]: [string, Readonly<Record<string, string>>]) => `
  ALTER TABLE "${table}" ${Object.values(columns)
    .map((folded) => `ADD "${folded}" text`)
    .join(', ')};
  CREATE FUNCTION "${table}_folded"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    ${Object.entries(columns)
      .map(([name, folded]) => `NEW.${folded} := nullif(searched_spelling(NEW.${name}), lower(NEW.${name}));`)
      .join('\n    ')}
    RETURN NEW;
  END $$;
  CREATE TRIGGER "${table}_folded" BEFORE INSERT OR UPDATE OF ${Object.keys(columns).join(', ')} ON "${table}"
    FOR EACH ROW EXECUTE FUNCTION "${table}_folded"();`;

const withoutColumnsOf = ([table, columns]: [string, Readonly<Record<string, string>>]) => `
  DROP TRIGGER "${table}_folded" ON "${table}";
  DROP FUNCTION "${table}_folded";
  ALTER TABLE "${table}" ${Object.values(columns)
    .map((folded) => `DROP COLUMN "${folded}"`)
    .join(', ')};`;

export class FoldedNames1795762100000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(functions);
    await queryRunner.query(Object.entries(tables).map(columnsOf).join(''));
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(Object.entries(tables).map(withoutColumnsOf).join(''));
    await queryRunner.query('DROP FUNCTION searched_pattern; DROP FUNCTION searched_spelling;');
  }
}
