/** Videos that end because the plan does not host them, and plans whose features changed (MED-10). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  CREATE TABLE "club_feature_changes" (
    "club_id" uuid NOT NULL,
    "changed_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "PK_e8d8537326bb3fe68215d897a0f" PRIMARY KEY ("club_id")
  );
  CREATE INDEX "club_feature_changes_at" ON "club_feature_changes" ("changed_at");
  ALTER TABLE "club_feature_changes" ADD CONSTRAINT "FK_e8d8537326bb3fe68215d897a0f" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "media" ADD "expiry_looks_at" TIMESTAMP WITH TIME ZONE;
  ALTER TABLE "media" ADD "expiry_warned_at" TIMESTAMP WITH TIME ZONE;
  ALTER TABLE "media" ADD CONSTRAINT "media_expires" CHECK (expiry_looks_at IS NULL OR expires_at IS NOT NULL);
  CREATE INDEX "media_expiry" ON "media" ("expiry_looks_at") WHERE expiry_looks_at IS NOT NULL AND removed_at IS NULL;
  CREATE INDEX "media_warned" ON "media" ("club_id", "expiry_warned_at") WHERE expiry_warned_at IS NOT NULL;
  CREATE INDEX "media_videos" ON "media" ("club_id", "id") WHERE kind = 'video' AND purpose = 'library' AND removed_at IS NULL;
`;

const down = `
  DROP INDEX "media_videos";
  DROP INDEX "media_warned";
  DROP INDEX "media_expiry";
  ALTER TABLE "media" DROP CONSTRAINT "media_expires";
  ALTER TABLE "media" DROP COLUMN "expiry_warned_at";
  ALTER TABLE "media" DROP COLUMN "expiry_looks_at";
  DROP TABLE "club_feature_changes";
`;

export class MediaExpiry1795377900000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
