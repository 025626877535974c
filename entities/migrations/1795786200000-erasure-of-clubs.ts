/**
 * Lets the erasure of a club delete its audit entries before the row of the club, and lets it delete rows without writing tallies (ADR 88).
 * The tallies of the club are erased too, and the stems of each passage cost more than its deletion.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The tables whose trigger after a deletion writes rows of the club, and the name of the trigger. */
const tallying = {
  agent_passages: 'agent_passages_counted_out',
  assignment_submissions: 'assignment_submissions_tallied_out',
  automation_runs: 'automation_runs_tallied_out',
  certificates: 'certificates_tallied_out',
  community_comments: 'community_comments_tallied_out',
  community_memberships: 'community_memberships_tallied_out',
  community_moderations: 'community_moderations_tallied_out',
  community_posts: 'community_posts_tallied_out',
  community_reactions: 'community_reactions_tallied_out',
  community_reports: 'community_reports_tallied_out',
  enrollments: 'enrollments_tallied_out',
  mails: 'mails_tallied_out',
  media: 'media_tallied_out',
  mentorship_sessions: 'mentorship_sessions_tallied_out',
  students: 'students_tallied_out',
} as const;

/** Further triggers of this kind. */
const counting = {
  media: 'media_counted_out',
  students: 'students_counted_out',
  webhook_deliveries: 'webhook_deliveries_deleted',
  media_tracks: 'media_track_removed',
} as const;

const triggers = [...Object.entries(tallying), ...Object.entries(counting)];

/** True unless the transaction erases a club (domain/erasures/clubs/rows.ts). */
const condition = `(current_setting('club.erases', true) IS DISTINCT FROM 'on')`;

/** Replaces each trigger by its own definition, with or without the condition. */
async function replaceTriggers(queryRunner: QueryRunner, change: (definition: string) => string): Promise<void> {
  for (const [table, name] of triggers) {
    const [trigger] = (await queryRunner.query(`
      SELECT pg_get_triggerdef(oid) AS definition FROM pg_trigger WHERE tgname = '${name}' AND tgrelid = '${table}'::regclass`)) as {
      definition: string;
    }[];
    if (trigger)
      await queryRunner.query(change(trigger.definition).replace('CREATE TRIGGER', 'CREATE OR REPLACE TRIGGER'));
  }
}

const guard = (club: string) => `
      CREATE OR REPLACE FUNCTION audit_entries_guarded() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP = 'UPDATE' THEN
          RAISE EXCEPTION 'An entry of the audit log cannot be changed.' USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        -- The entries of a deleted club are deleted with it. ${club === '' ? 'Then the row of the club does not exist any more.' : 'Then the club is closed, or its row does not exist any more.'}
        IF OLD.created_at > clock_timestamp() - interval '400 days' AND EXISTS (SELECT FROM clubs WHERE id = OLD.club_id${club}) THEN
          RAISE EXCEPTION 'An entry of the audit log is kept for 400 days.' USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        RETURN OLD;
      END $$;`;

export class ErasureOfClubs1795786200000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(guard(' AND erasing_at IS NULL'));
    await replaceTriggers(queryRunner, (definition) =>
      definition.replace(' EXECUTE FUNCTION ', ` WHEN ${condition} EXECUTE FUNCTION `),
    );
    await queryRunner.query(`ALTER TABLE "erasures" ADD "empty_looks" smallint NOT NULL DEFAULT '0'`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`ALTER TABLE "erasures" DROP "empty_looks"`);
    await replaceTriggers(queryRunner, (definition) =>
      definition
        .slice(0, definition.indexOf(' WHEN '))
        .concat(definition.slice(definition.indexOf(' EXECUTE FUNCTION '))),
    );
    await queryRunner.query(guard(''));
  }
}
