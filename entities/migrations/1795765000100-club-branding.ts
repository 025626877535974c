/** Adds the look of a club: logo, accent colour, reply address, legal footer, links, and the texts of its mails. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const kinds = (names: readonly string[]) => names.map((name) => `'${name}'`).join(', ');
const before = ['lesson', 'course', 'agent', 'campaign', 'automation', 'automation_version', 'assignment'];
const later = ['assignment_review', 'repository', 'space', 'post'];

export class ClubBranding1795765000100 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE "club_branding" (
        "club_id" uuid NOT NULL,
        "logo_media_id" uuid,
        "accent_color" text NOT NULL,
        "reply_to" text,
        "legal_footer" text,
        "links" jsonb NOT NULL DEFAULT '[]',
        "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        CONSTRAINT "club_branding_accent" CHECK (accent_color ~ '^#[0-9a-f]{6}$'),
        CONSTRAINT "PK_5aeac1b1020040939d64a7873f6" PRIMARY KEY ("club_id"),
        CONSTRAINT "FK_5aeac1b1020040939d64a7873f6" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE
      );
      CREATE TABLE "club_mail_texts" (
        "club_id" uuid NOT NULL,
        "template" text NOT NULL,
        "language" text NOT NULL,
        "subject" text NOT NULL,
        "text" text NOT NULL,
        "action" text,
        "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        CONSTRAINT "PK_38a0c22288bc27e21323886c073" PRIMARY KEY ("club_id", "template", "language"),
        CONSTRAINT "FK_5291a46d3a748c6bd2c5c7c0cc4" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE
      );
      ALTER TABLE "media_uses" DROP CONSTRAINT "media_uses_kind";
      ALTER TABLE "media_uses" ADD CONSTRAINT "media_uses_kind" CHECK (kind in (${kinds([...before, ...later, 'branding'])})) NOT VALID;
      ALTER TABLE "media_uses" VALIDATE CONSTRAINT "media_uses_kind"`);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DELETE FROM "media_uses" WHERE kind = 'branding';
      ALTER TABLE "media_uses" DROP CONSTRAINT "media_uses_kind";
      ALTER TABLE "media_uses" ADD CONSTRAINT "media_uses_kind" CHECK (kind in (${kinds([...before, ...later])}));
      DROP TABLE "club_mail_texts";
      DROP TABLE "club_branding"`);
  }
}
