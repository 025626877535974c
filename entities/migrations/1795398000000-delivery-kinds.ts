/** Deliveries that open repositories and community spaces, and the tables of these. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const uses = (kinds: string) => `
  ALTER TABLE "media_uses" DROP CONSTRAINT "media_uses_kind";
  ALTER TABLE "media_uses" ADD CONSTRAINT "media_uses_kind" CHECK (kind in (${kinds}));
`;
const usesBefore =
  "'lesson', 'course', 'agent', 'campaign', 'automation', 'automation_version', 'assignment', 'assignment_review'";

const opens = (condition: string) => `
  ALTER TABLE "access_deliveries" DROP CONSTRAINT "access_deliveries_kind";
  ALTER TABLE "access_deliveries" ADD CONSTRAINT "access_deliveries_kind" CHECK (${condition});
`;

export class DeliveryKinds1795398000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      CREATE TABLE "repositories" (
        "id" uuid NOT NULL,
        "club_id" uuid NOT NULL,
        "public_id" text NOT NULL,
        "title" text NOT NULL,
        "description" text NOT NULL DEFAULT '',
        "instructor_name" text NOT NULL DEFAULT '',
        "cover_media_id" uuid,
        "status" text NOT NULL DEFAULT 'draft',
        "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        "published_at" TIMESTAMP WITH TIME ZONE,
        CONSTRAINT "repositories_status" CHECK (status in ('draft', 'published', 'archived')),
        CONSTRAINT "PK_ef0c358c04b4f4d29b8ca68ddff" PRIMARY KEY ("id"),
        CONSTRAINT "FK_e8bcd88221c1269683bdd3d63a8" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE,
        CONSTRAINT "FK_cf80080b92a4a9e6e816873500b" FOREIGN KEY ("cover_media_id") REFERENCES "media"("id") ON DELETE SET NULL
      );
      CREATE UNIQUE INDEX "repositories_club_public_id" ON "repositories" ("club_id", "public_id");
      CREATE INDEX "repositories_club_created" ON "repositories" ("club_id", "created_at", "id");
      CREATE TABLE "repository_items" (
        "repository_id" uuid NOT NULL,
        "media_id" uuid NOT NULL,
        "position" smallint NOT NULL,
        "added_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        CONSTRAINT "PK_96ee18f81836aebc6def092456e" PRIMARY KEY ("repository_id", "media_id"),
        CONSTRAINT "FK_9f665e5e8f64c803c18bff271b6" FOREIGN KEY ("repository_id") REFERENCES "repositories"("id") ON DELETE CASCADE,
        CONSTRAINT "FK_4860d377ed9cc9180fe5c1601b0" FOREIGN KEY ("media_id") REFERENCES "media"("id") ON DELETE CASCADE
      );
      CREATE UNIQUE INDEX "repository_items_position" ON "repository_items" ("repository_id", "position");
      CREATE INDEX "repository_items_media" ON "repository_items" ("media_id");
      CREATE TABLE "community_spaces" (
        "id" uuid NOT NULL,
        "club_id" uuid NOT NULL,
        "public_id" text NOT NULL,
        "name" text NOT NULL,
        "description" text,
        "cover_media_id" uuid,
        "posting" text NOT NULL DEFAULT 'members',
        "private" boolean NOT NULL DEFAULT false,
        "hidden" boolean NOT NULL DEFAULT false,
        "auto_join" boolean NOT NULL DEFAULT false,
        "digest_by_default" boolean NOT NULL DEFAULT false,
        "position" integer NOT NULL,
        "member_count" integer NOT NULL DEFAULT 0,
        "archived_at" TIMESTAMP WITH TIME ZONE,
        "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
        CONSTRAINT "community_spaces_posting" CHECK (posting in ('members', 'admins')),
        CONSTRAINT "PK_0c899458d2f1693e9a2106c46e2" PRIMARY KEY ("id"),
        CONSTRAINT "FK_77487b2ad1a390f3eb2b86e5e4a" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE,
        CONSTRAINT "FK_40c151c3ec4854536eda9441b6f" FOREIGN KEY ("cover_media_id") REFERENCES "media"("id") ON DELETE SET NULL
      );
      CREATE UNIQUE INDEX "community_spaces_club_public_id" ON "community_spaces" ("club_id", "public_id");
      ALTER TABLE "access_deliveries"
        ADD "repository_id" uuid,
        ADD "space_id" uuid,
        ADD CONSTRAINT "FK_7ca02b6dc1eaf1a820c571b6ffa" FOREIGN KEY ("repository_id") REFERENCES "repositories"("id"),
        ADD CONSTRAINT "FK_fd58574b0575d93c58b907d72d4" FOREIGN KEY ("space_id") REFERENCES "community_spaces"("id");
      CREATE INDEX "access_deliveries_repository" ON "access_deliveries" ("repository_id");
      CREATE INDEX "access_deliveries_space" ON "access_deliveries" ("space_id")`);
    await queryRunner.query(
      opens(
        `num_nonnulls(course_id, agent_id, repository_id, space_id) = 1 AND (kind = 'course' OR cohort_id IS NULL) AND CASE kind WHEN 'course' THEN course_id WHEN 'agent' THEN agent_id WHEN 'repository' THEN repository_id WHEN 'space' THEN space_id END IS NOT NULL`,
      ),
    );
    await queryRunner.query(uses(`${usesBefore}, 'repository'`));
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`DELETE FROM "media_uses" WHERE kind = 'repository'`);
    await queryRunner.query(uses(usesBefore));
    await queryRunner.query(`DELETE FROM "access_deliveries" WHERE kind in ('repository', 'space')`);
    await queryRunner.query(
      opens(
        `(kind = 'course' AND course_id IS NOT NULL AND agent_id IS NULL)
         OR (kind = 'agent' AND agent_id IS NOT NULL AND course_id IS NULL AND cohort_id IS NULL)`,
      ),
    );
    await queryRunner.query(`ALTER TABLE "access_deliveries" DROP COLUMN "space_id", DROP COLUMN "repository_id"`);
    await queryRunner.query(`DROP TABLE "community_spaces"`);
    await queryRunner.query(`DROP TABLE "repository_items"`);
    await queryRunner.query(`DROP TABLE "repositories"`);
  }
}
