/** Finds the statements of a migration that would disturb processes of the previous version. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Each with the reason. Empty if the migration only expands the schema. */
export async function noticed(migration: MigrationInterface & { transaction?: boolean }): Promise<string[]> {
  const statements: string[] = [];
  const recorder = {
    query(text: string) {
      statements.push(...split(text));
      return Promise.resolve([]);
    },
  };
  await migration.up(recorder as unknown as QueryRunner);
  const created = new Set<string>();
  /**
   * If an earlier run of the migration broke off, these indexes may be incomplete. The migration therefore drops and creates them again.
   */
  const indexes = statements.map((statement) => nameIn(statement, /^CREATE (?:UNIQUE )?INDEX CONCURRENTLY (\S+)/i));
  const isMadeAnew = (statement: string) => {
    const index = nameIn(statement, /^DROP INDEX CONCURRENTLY IF EXISTS (\S+)$/i);
    return index !== undefined && indexes.includes(index);
  };
  /** The migration replaces these CHECK constraints. The new constraint must allow all that the old one allowed. */
  const checks = statements.map((statement) =>
    nameIn(statement, /^ALTER TABLE \S+ ADD CONSTRAINT (\S+) CHECK .* NOT VALID$/i),
  );
  const isWidened = (statement: string) => {
    const check = nameIn(statement, /^ALTER TABLE \S+ DROP CONSTRAINT (\S+)$/i);
    return check !== undefined && checks.includes(check);
  };
  return statements.flatMap((statement) => {
    const table = nameIn(statement, /^CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?(\S+)/i);
    if (table !== undefined) created.add(table);
    const reason =
      isMadeAnew(statement) || isWidened(statement)
        ? undefined
        : reasonAgainst(statement, created, migration.transaction === false);
    return reason === undefined ? [] : [`${statement.slice(0, 80)}: ${reason}`];
  });
}

/** Without comments and with single blanks. A function body remains inside its statement. */
function split(text: string): string[] {
  const bodies: string[] = [];
  return text
    .replaceAll(/--[^\n]*/g, ' ')
    .replaceAll(/\$(\w*)\$[\s\S]*?\$\1\$/g, (body) => `$${bodies.push(body) - 1}$`)
    .split(';')
    .map((statement) => statement.replaceAll(/\s+/g, ' ').trim())
    .filter((statement) => statement !== '');
}

const nameIn = (statement: string, pattern: RegExp): string | undefined =>
  pattern.exec(statement)?.[1]?.replaceAll('"', '').replace(/\($/, '').toLowerCase();

/** For any table. */
const harmless = [
  /^CREATE (UNLOGGED )?TABLE /i,
  /^CREATE (OR REPLACE )?(FUNCTION|TRIGGER|VIEW) /i,
  /^CREATE (CONSTRAINT TRIGGER|SEQUENCE|TYPE|STATISTICS|EXTENSION) /i,
  /^COMMENT ON /i,
  /^INSERT INTO /i,
  /^SELECT /i,
  /^SET (LOCAL )?/i,
  /^ALTER SEQUENCE \S+ OWNED BY /i,
  /^ALTER INDEX \S+ ATTACH PARTITION /i,
];

/** These parts of ALTER TABLE block no other transaction. */
const harmlessAlterations = [
  /^ALTER (COLUMN )?\S+ (SET DEFAULT|DROP NOT NULL|SET STATISTICS|SET COMPRESSION|SET STORAGE) ?/i,
  /^ADD CONSTRAINT .* NOT VALID$/i,
  /^ADD CONSTRAINT \S+ (UNIQUE|PRIMARY KEY) USING INDEX /i,
  /^VALIDATE CONSTRAINT /i,
  /^SET \(/i,
];

const volatileDefault =
  /\b(random|gen_random_uuid|uuidv7|clock_timestamp|nextval|timeofday)\b|\b(big)?serial\b|GENERATED /i;

function reasonAgainst(statement: string, created: ReadonlySet<string>, isAlone: boolean): string | undefined {
  // This index has no entries. The indexes of the partitions are built separately.
  if (/^CREATE INDEX IF NOT EXISTS \S+ ON ONLY /i.test(statement)) return undefined;
  if (/^CREATE (UNIQUE )?INDEX /i.test(statement)) {
    const table = nameIn(statement, / ON (?:ONLY )?(\S+)/i) ?? '';
    if (created.has(table)) return undefined;
    if (!/INDEX CONCURRENTLY /i.test(statement)) return 'it keeps others from writing: build it CONCURRENTLY';
    return isAlone ? undefined : 'CONCURRENTLY needs a migration with transaction = false';
  }
  const altered = /^ALTER TABLE (?:IF EXISTS )?(?:ONLY )?(\S+) (.*)$/i.exec(statement);
  if (altered) {
    const [, name = '', what = ''] = altered;
    if (created.has(name.replaceAll('"', '').toLowerCase())) return undefined;
    return alterations(what).map(reasonAgainstAlteration).find(Boolean);
  }
  return harmless.some((pattern) => pattern.test(statement)) ? undefined : 'it is not known to be harmless';
}

function alterations(what: string): string[] {
  const parts: string[] = [''];
  let depth = 0;
  for (const letter of what) {
    if (letter === '(') depth++;
    if (letter === ')') depth--;
    if (letter === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += letter;
  }
  return parts.map((part) => part.trim());
}

function reasonAgainstAlteration(part: string): string | undefined {
  if (harmlessAlterations.some((pattern) => pattern.test(part))) return undefined;
  if (!/^ADD (?!CONSTRAINT|CHECK|UNIQUE|PRIMARY|FOREIGN|EXCLUDE)/i.test(part)) return 'it is not known to be harmless';
  if (/\bNOT NULL\b/i.test(part) && !/\bDEFAULT\b/i.test(part))
    return 'older processes write no value: give it a default';
  if (volatileDefault.test(part)) return 'it writes the whole table anew: the default must be constant';
  if (/\b(REFERENCES|UNIQUE|PRIMARY KEY|CHECK)\b/i.test(part))
    return 'it looks at every row: add the constraint NOT VALID';
  return undefined;
}
