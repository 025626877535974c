/** Places that used files of the library before these were kept: lessons, e-mails of drafts and of versions (MED-14). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** By kind: the ids that its places name, as texts. */
const named = {
  lesson: `SELECT club_id, id, found[1] AS named FROM lessons,
    regexp_matches(content, '(?<![[:alnum:]_-])media:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![[:alnum:]_-])', 'gi') AS found WHERE removed_at IS NULL`,
  campaign: `SELECT club_id, id, image #>> '{}' FROM campaigns, jsonb_path_query(content, '$.**.media_id') AS image WHERE frozen_at IS NULL AND status <> 'canceled'`,
  automation: `SELECT club_id, id, image #>> '{}' FROM automations, jsonb_path_query(draft, '$.**.media_id') AS image WHERE status <> 'archived'`,
  automation_version: `SELECT version.club_id, version.id, image #>> '{}' FROM automation_versions version
    JOIN automations automation ON automation.id = version.automation_id, jsonb_path_query(version.definition, '$.**.media_id') AS image
    WHERE (automation.published_id = version.id AND automation.status IN ('active', 'paused'))
       OR EXISTS (SELECT FROM automation_runs run WHERE run.version_id = version.id AND run.status = 'active')`,
};

const up = Object.entries(named)
  .map(
    ([kind, places]) => `
  INSERT INTO "media_uses" (media_id, kind, place_id)
  SELECT DISTINCT media.id, '${kind}', place.id FROM (${places}) AS place (club_id, id, named)
    JOIN media ON media.id::text = lower(place.named) AND media.club_id = place.club_id AND media.purpose = 'library' AND media.removed_at IS NULL
  ON CONFLICT DO NOTHING;`,
  )
  .join('');

export class MediaPlaces1795378510000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DELETE FROM "media_uses" WHERE kind <> 'agent'`);
  }
}
