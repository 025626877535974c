/**
 * Adds the time of the last change to the records of lists with `updated_since` that have no `updated_at` (ADR 79). The trigger of a table
 * writes it only if a column changes that the list shows, because some of these tables are large and other columns change often. Each table is
 * changed alone and briefly. A repeated run goes on after an interrupted one. Records of before count as changed now.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** By table, the columns whose value the list shows. */
const values: Readonly<Record<string, readonly string[]>> = {
  students: ['name', 'email', 'language', 'avatar_key', 'removed_at'],
  enrollments: ['cohort_id', 'source', 'starts_at', 'ends_at', 'revoked_at', 'revoked_reason'],
  certificates: [
    'student_name',
    'student_email',
    'course_title',
    'club_name',
    'lesson_count',
    'hours',
    'version',
    'warnings',
    'completed_at',
    'issued_at',
    'revoked_at',
    'revoked_reason',
    'withdrawn_at',
    'verify_url',
  ],
  assignment_submissions: [
    'status',
    'submitted_at',
    'file_count',
    'reviewed_at',
    'first_submitted_at',
    'due_at',
    'late',
  ],
  media: [
    'kind',
    'title',
    'provider',
    'status',
    'visibility',
    'archived',
    'file_name',
    'mime',
    'size_bytes',
    'width',
    'height',
    'duration_ms',
    'external_id',
    'folder_id',
    'expires_at',
    'object_key',
    'error',
    'examined',
    'removed_at',
  ],
  mentorship_sessions: [
    'status',
    'starts_at',
    'ends_at',
    'agenda',
    'booked_at',
    'canceled_at',
    'canceled_by',
    'cancel_reason',
    'rating',
    'rating_comment',
    'rated_at',
  ],
  repositories: [
    'public_id',
    'title',
    'description',
    'instructor_name',
    'cover_media_id',
    'status',
    'published_at',
    'updated_at',
  ],
  registration_links: ['code', 'name', 'max_uses', 'uses', 'expires_at', 'revoked_at', 'updated_at'],
};

/** By table, the columns of which the list shows only whether they have a value. */
const presences: Readonly<Record<string, readonly string[]>> = {
  students: ['password_hash', 'verified_at'],
  media: ['processed_at', 'renditions_due_at'],
};

const conditionOf = (table: string): string => {
  const row = (version: 'OLD' | 'NEW') =>
    [
      ...(values[table] ?? []).map((name) => `${version}."${name}"`),
      ...(presences[table] ?? []).map((name) => `${version}."${name}" IS NULL`),
    ].join(', ');
  return `(${row('OLD')}) IS DISTINCT FROM (${row('NEW')})`;
};

export class ChangesOfShownColumns1795778000000 implements MigrationInterface {
  transaction = false;

  async up(queryRunner: QueryRunner): Promise<void> {
    // The transaction gets its id before it reads the clock, as in `record_changed`.
    await queryRunner.query(`
      CREATE OR REPLACE FUNCTION shown_columns_changed() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM pg_current_xact_id();
        NEW.changed_at := clock_timestamp();
        RETURN NEW;
      END $$`);
    for (const table of Object.keys(values))
      await queryRunner.query(`
        ALTER TABLE "${table}" ADD COLUMN IF NOT EXISTS "changed_at" TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now();
        CREATE OR REPLACE TRIGGER "${table}_created" BEFORE INSERT ON "${table}"
          FOR EACH ROW EXECUTE FUNCTION shown_columns_changed();
        CREATE OR REPLACE TRIGGER "${table}_changed" BEFORE UPDATE ON "${table}"
          FOR EACH ROW WHEN (${conditionOf(table)}) EXECUTE FUNCTION shown_columns_changed()`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    for (const table of Object.keys(values))
      await queryRunner.query(
        `DROP TRIGGER IF EXISTS "${table}_created" ON "${table}"; DROP TRIGGER IF EXISTS "${table}_changed" ON "${table}";
         ALTER TABLE "${table}" DROP COLUMN IF EXISTS "changed_at"`,
      );
    await queryRunner.query('DROP FUNCTION shown_columns_changed');
  }
}
