/** Lists of a million: tallies for their totals, an index for each filter, trigrams for their searches. */
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { requireExtension } from '../extensions.ts';

interface TalliedTable {
  /** The table, which is the name of its list too. */
  table: 'students' | 'enrollments' | 'certificates';
  /** The record that one of the list is of, and whether it is marked, as expressions of its columns. */
  subject: string;
  marked: string;
  /** Whether the list shows it. */
  listed: string;
  /** All that these depend on. */
  columns: readonly string[];
}

const tables: readonly TalliedTable[] = [
  {
    table: 'students',
    subject: `'00000000-0000-0000-0000-000000000000'::uuid`,
    marked: 'verified_at IS NOT NULL',
    listed: 'removed_at IS NULL',
    columns: ['club_id', 'verified_at', 'removed_at'],
  },
  {
    table: 'enrollments',
    subject: 'delivery_id',
    marked: 'revoked_at IS NOT NULL',
    listed: `revoked_reason IS DISTINCT FROM 'removal'`,
    columns: ['club_id', 'delivery_id', 'revoked_at', 'revoked_reason'],
  },
  {
    table: 'certificates',
    subject: 'course_id',
    marked: 'revoked_at IS NOT NULL',
    listed: 'true',
    columns: ['club_id', 'course_id', 'revoked_at'],
  },
];

/**
 * Changes are noted by triggers, so that no writer can forget them: a row for what a statement inserted or deleted of one
 * kind, and for an update a row or two where something that is counted changes, and none otherwise.
 */
const triggersOf = ({ table, subject, marked, listed, columns }: TalliedTable) => `
  CREATE FUNCTION "${table}_tallied"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, '${table}', ${subject}, ${marked}, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
      FROM changed WHERE ${listed} GROUP BY 1, 3, 4;
    RETURN NULL;
  END $$;
  CREATE FUNCTION "${table}_retallied"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, '${table}', ${subject}, ${marked}, sum(sign)
      FROM (SELECT (OLD).*, -1 AS sign UNION ALL SELECT (NEW).*, 1) AS changed
     WHERE ${listed} GROUP BY 1, 3, 4 HAVING sum(sign) <> 0;
    RETURN NULL;
  END $$;
  CREATE TRIGGER "${table}_tallied_in" AFTER INSERT ON "${table}"
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "${table}_tallied"();
  CREATE TRIGGER "${table}_tallied_out" AFTER DELETE ON "${table}"
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "${table}_tallied"();
  CREATE TRIGGER "${table}_retallied" AFTER UPDATE OF ${columns.join(', ')} ON "${table}" FOR EACH ROW
    WHEN ((${columns.map((column) => `OLD.${column}`).join(', ')}) IS DISTINCT FROM (${columns.map((column) => `NEW.${column}`).join(', ')}))
    EXECUTE FUNCTION "${table}_retallied"();
  -- After the triggers, whose creation keeps writers out until the commit.
  INSERT INTO "list_tallies" (club_id, list, subject_id, marked, records)
  SELECT club_id, '${table}', ${subject}, ${marked}, count(*) FROM "${table}" WHERE ${listed} GROUP BY 1, 3, 4;
`;

const withoutTriggersOf = ({ table }: TalliedTable) => `
  DROP TRIGGER "${table}_retallied" ON "${table}";
  DROP TRIGGER "${table}_tallied_out" ON "${table}";
  DROP TRIGGER "${table}_tallied_in" ON "${table}";
  DROP FUNCTION "${table}_retallied";
  DROP FUNCTION "${table}_tallied";
`;

/** What waits to be sorted into a trigram index is read by every search: it is kept short. */
const trigrams = (...columns: string[]) =>
  `USING gin (${columns.map((column) => `${column} gin_trgm_ops`).join(', ')}) WITH (gin_pending_list_limit = 256)`;

const up = `
  CREATE TABLE "list_tallies" (
    "club_id" uuid NOT NULL,
    "list" text NOT NULL,
    "subject_id" uuid NOT NULL,
    "marked" boolean NOT NULL,
    "records" integer NOT NULL,
    CONSTRAINT "list_tallies_list" CHECK (list in ('students', 'enrollments', 'certificates')),
    CONSTRAINT "PK_b6bab86bed67660a12afc6f6e1d" PRIMARY KEY ("club_id", "list", "subject_id", "marked")
  );
  CREATE TABLE "list_tally_changes" (
    "club_id" uuid NOT NULL,
    "list" text NOT NULL,
    "seq" BIGSERIAL NOT NULL,
    "subject_id" uuid NOT NULL,
    "marked" boolean NOT NULL,
    "records" integer NOT NULL,
    CONSTRAINT "PK_5ef7e8bb90f2c12cb3e042a31e9" PRIMARY KEY ("club_id", "list", "seq")
  );
  CREATE INDEX "students_club_unverified" ON "students" ("club_id", "created_at", "id") WHERE removed_at IS NULL AND verified_at IS NULL;
  CREATE INDEX "students_club_verified" ON "students" ("club_id", "created_at", "id") WHERE removed_at IS NULL AND verified_at IS NOT NULL;
  CREATE INDEX "enrollments_delivery_revoked" ON "enrollments" ("delivery_id", "created_at", "id") WHERE revoked_at IS NOT NULL AND revoked_reason IS DISTINCT FROM 'removal';
  CREATE INDEX "enrollments_delivery_valid" ON "enrollments" ("delivery_id", "created_at", "id") WHERE revoked_at IS NULL;
  CREATE INDEX "enrollments_club_revoked" ON "enrollments" ("club_id", "created_at", "id") WHERE revoked_at IS NOT NULL AND revoked_reason IS DISTINCT FROM 'removal';
  CREATE INDEX "enrollments_club_valid" ON "enrollments" ("club_id", "created_at", "id") WHERE revoked_at IS NULL;
  CREATE INDEX "certificates_course_revoked" ON "certificates" ("course_id", "issued_at", "id") WHERE revoked_at IS NOT NULL;
  CREATE INDEX "certificates_course_valid" ON "certificates" ("course_id", "issued_at", "id") WHERE revoked_at IS NULL;
  CREATE INDEX "certificates_club_revoked" ON "certificates" ("club_id", "issued_at", "id") WHERE revoked_at IS NOT NULL;
  CREATE INDEX "certificates_club_valid" ON "certificates" ("club_id", "issued_at", "id") WHERE revoked_at IS NULL;
  CREATE INDEX "students_search" ON "students" ${trigrams('name', 'email')};
  CREATE INDEX "certificates_search" ON "certificates" ${trigrams('student_name', 'student_email', 'code')};
  ${tables.map(triggersOf).join('')}
`;

const down = `
  ${tables.map(withoutTriggersOf).join('')}
  DROP INDEX "certificates_search";
  DROP INDEX "students_search";
  DROP INDEX "certificates_club_valid";
  DROP INDEX "certificates_club_revoked";
  DROP INDEX "certificates_course_valid";
  DROP INDEX "certificates_course_revoked";
  DROP INDEX "enrollments_club_valid";
  DROP INDEX "enrollments_club_revoked";
  DROP INDEX "enrollments_delivery_valid";
  DROP INDEX "enrollments_delivery_revoked";
  DROP INDEX "students_club_verified";
  DROP INDEX "students_club_unverified";
  DROP TABLE "list_tallies";
  DROP TABLE "list_tally_changes";
  DROP EXTENSION pg_trgm;
`;

export class Lists1763748000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await requireExtension(queryRunner, 'pg_trgm');
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
