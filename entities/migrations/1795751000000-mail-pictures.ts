/** Adds the e-mail pictures of images. They are made when an image is processed (DEC-157). */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  ALTER TABLE "media_renditions" DROP CONSTRAINT "media_renditions_role";
  ALTER TABLE "media_renditions"
    ADD CONSTRAINT "media_renditions_role" CHECK (role in ('preview', 'thumbnail', 'video', 'mail')) NOT VALID;
  ALTER TABLE "media_renditions" VALIDATE CONSTRAINT "media_renditions_role";
  ALTER TABLE "media_renditions" ADD "stands_still" boolean NOT NULL DEFAULT false;
  ALTER TABLE "media" ADD "mail_picture" text;
  ALTER TABLE "media" ADD CONSTRAINT "media_mail_picture"
    CHECK (mail_picture in ('made', 'image_unreadable', 'image_too_large', 'image_too_heavy')) NOT VALID;
  ALTER TABLE "media" VALIDATE CONSTRAINT "media_mail_picture";
`;
const down = `
  ALTER TABLE "media" DROP CONSTRAINT "media_mail_picture";
  ALTER TABLE "media" DROP COLUMN "mail_picture";
  ALTER TABLE "media_renditions" DROP COLUMN "stands_still";
  DELETE FROM "media_renditions" WHERE role = 'mail';
  ALTER TABLE "media_renditions" DROP CONSTRAINT "media_renditions_role";
  ALTER TABLE "media_renditions" ADD CONSTRAINT "media_renditions_role" CHECK (role in ('preview', 'thumbnail', 'video'));
`;

export class MailPictures1795751000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
