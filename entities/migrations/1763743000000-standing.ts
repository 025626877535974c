/** Where students stand: tags, levels, and points with what they were awarded for. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const up = `
  CREATE TABLE "levels" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "name" text NOT NULL,
    "points" integer NOT NULL,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "removed_at" TIMESTAMP WITH TIME ZONE,
    CONSTRAINT "PK_05f8dd8f715793c64d49e3f1901" PRIMARY KEY ("id")
  );
  CREATE UNIQUE INDEX "levels_club_points" ON "levels" ("club_id", "points") WHERE removed_at IS NULL;
  CREATE TABLE "point_awards" (
    "student_id" uuid NOT NULL,
    "cause_kind" text NOT NULL,
    "cause_id" uuid NOT NULL,
    "points" integer NOT NULL,
    "note" text,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "point_awards_points" CHECK (points <> 0),
    CONSTRAINT "point_awards_kind" CHECK (cause_kind in ('lesson', 'manual')),
    CONSTRAINT "PK_df4090dacb21d87661a00dd730c" PRIMARY KEY ("student_id", "cause_kind", "cause_id")
  );
  CREATE INDEX "point_awards_student" ON "point_awards" ("student_id", "created_at", "cause_id");
  CREATE TABLE "student_levels" (
    "student_id" uuid NOT NULL,
    "level_id" uuid NOT NULL,
    "reached_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "PK_676006226bbd7200c007a85410b" PRIMARY KEY ("student_id", "level_id")
  );
  CREATE INDEX "student_levels_level" ON "student_levels" ("level_id");
  CREATE TABLE "tags" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "name" text NOT NULL,
    "folded_name" text NOT NULL,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "removed_at" TIMESTAMP WITH TIME ZONE,
    CONSTRAINT "PK_e7dc17249a1148a1970748eda99" PRIMARY KEY ("id")
  );
  CREATE UNIQUE INDEX "tags_club_name" ON "tags" ("club_id", "folded_name") WHERE removed_at IS NULL;
  CREATE TABLE "student_tags" (
    "student_id" uuid NOT NULL,
    "tag_id" uuid NOT NULL,
    "tagged_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "PK_46d7addb771b485233e7348f924" PRIMARY KEY ("student_id", "tag_id")
  );
  CREATE INDEX "student_tags_tag" ON "student_tags" ("tag_id");
  ALTER TABLE "students" ADD "points" bigint NOT NULL DEFAULT '0';
  ALTER TABLE "levels" ADD CONSTRAINT "FK_15865c35ba77f458319d3eabaac" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "point_awards" ADD CONSTRAINT "FK_607582ca578c972202230e0de6b" FOREIGN KEY ("student_id") REFERENCES "students"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "student_levels" ADD CONSTRAINT "FK_0b19991f7044b7694e5f34f64a2" FOREIGN KEY ("student_id") REFERENCES "students"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "student_levels" ADD CONSTRAINT "FK_1a91a3bce5fd73acff477473a68" FOREIGN KEY ("level_id") REFERENCES "levels"("id") ON DELETE NO ACTION ON UPDATE NO ACTION;
  ALTER TABLE "tags" ADD CONSTRAINT "FK_be1e14e5629d80dc6a8dd87abfd" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "student_tags" ADD CONSTRAINT "FK_0d5a61ad10a04ee6853183d9985" FOREIGN KEY ("student_id") REFERENCES "students"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "student_tags" ADD CONSTRAINT "FK_a475217cda7cdd00fbeb5a06bd5" FOREIGN KEY ("tag_id") REFERENCES "tags"("id") ON DELETE NO ACTION ON UPDATE NO ACTION;
`;

const down = `
  ALTER TABLE "students" DROP "points";
  DROP TABLE "point_awards";
  DROP TABLE "student_levels";
  DROP TABLE "student_tags";
  DROP TABLE "levels";
  DROP TABLE "tags";
`;

export class Standing1763743000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
