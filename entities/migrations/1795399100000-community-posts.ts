/** Posts, comments, reactions, reports and moderation of the community, counted by tallies (ADR 11); files of students for posts. */
import type { MigrationInterface, QueryRunner } from 'typeorm';

const lists = (names: string) => `
  ALTER TABLE "list_tallies" DROP CONSTRAINT "list_tallies_list";
  ALTER TABLE "list_tallies" ADD CONSTRAINT "list_tallies_list" CHECK (list in (${names}));
`;
const listsBefore = `'students', 'enrollments', 'certificates', 'mails_open', 'mails_sent', 'mails_skipped', 'mails_failed', 'mails_skipped_suppressed', 'mails_skipped_unsubscribed', 'mails_skipped_bounced', 'mails_skipped_complained', 'mails_skipped_invalid_email', 'mails_skipped_no_longer_eligible', 'mails_skipped_student_removed', 'mails_skipped_canceled', 'mails_delivered', 'mails_bounced', 'mails_complained', 'mails_opened', 'mails_clicked', 'mails_links_clicked', 'automation_runs_active', 'automation_runs_completed', 'automation_runs_exited', 'automation_runs_failed', 'submissions_submitted', 'submissions_approved', 'submissions_changes_requested', 'media_video', 'media_image', 'media_audio', 'media_pdf', 'media_file', 'media_embed', 'space_members'`;
const listsOfPosts = `'space_posts', 'post_comments', 'reactions_like', 'reactions_love', 'reactions_celebrate', 'reactions_insightful', 'reactions_support', 'reactions_laugh', 'reports_open', 'moderations'`;

const useKinds = (names: string) => `
  ALTER TABLE "media_uses" DROP CONSTRAINT "media_uses_kind";
  ALTER TABLE "media_uses" ADD CONSTRAINT "media_uses_kind" CHECK (kind in (${names}));
`;
const useKindsBefore = `'lesson', 'course', 'agent', 'campaign', 'automation', 'automation_version', 'assignment', 'assignment_review', 'repository', 'space'`;

const purposes = (ofStudents: string) => `
  ALTER TABLE "media" DROP CONSTRAINT "media_purpose";
  ALTER TABLE "media" ADD CONSTRAINT "media_purpose" CHECK ((purpose = 'library' AND owner_id IS NULL) OR (purpose in (${ofStudents}) AND owner_id IS NOT NULL));
`;

interface TalliedTable {
  table: string;
  list: string;
  /** The record that one of the list is of, and whether it is marked, as expressions of its columns. */
  subject: string;
  marked: string;
  /** Whether the list shows it. */
  listed: string;
  /** All that these depend on, and that changes. */
  columns: readonly string[];
}

const nobody = `'00000000-0000-0000-0000-000000000000'::uuid`;
const tables: readonly TalliedTable[] = [
  {
    table: 'community_posts',
    list: `'space_posts'`,
    subject: 'space_id',
    marked: 'hidden_at IS NOT NULL',
    listed: `state <> 'deleted'`,
    columns: ['state', 'hidden_at'],
  },
  {
    table: 'community_comments',
    list: `'post_comments'`,
    subject: 'post_id',
    marked: 'hidden_at IS NOT NULL',
    listed: `state <> 'deleted'`,
    columns: ['state', 'hidden_at'],
  },
  {
    table: 'community_reactions',
    list: `'reactions_' || kind`,
    subject: 'target_id',
    marked: 'false',
    listed: 'true',
    columns: [],
  },
  {
    table: 'community_reports',
    list: `'reports_open'`,
    subject: nobody,
    marked: 'false',
    listed: 'settled_at IS NULL',
    columns: ['settled_at'],
  },
  {
    table: 'community_moderations',
    list: `'moderations'`,
    subject: nobody,
    marked: 'false',
    listed: 'true',
    columns: [],
  },
];

const triggersOf = ({ table, list, subject, marked, listed, columns }: TalliedTable) => `
  CREATE FUNCTION "${table}_tallied"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, ${list}, ${subject}, ${marked}, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
      FROM changed WHERE ${listed} GROUP BY 1, 2, 3, 4;
    RETURN NULL;
  END $$;
  CREATE TRIGGER "${table}_tallied_in" AFTER INSERT ON "${table}"
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "${table}_tallied"();
  CREATE TRIGGER "${table}_tallied_out" AFTER DELETE ON "${table}"
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "${table}_tallied"();
  ${
    columns.length === 0
      ? ''
      : `CREATE FUNCTION "${table}_retallied"() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, ${list}, ${subject}, ${marked}, sum(sign)
      FROM (SELECT (OLD).*, -1 AS sign UNION ALL SELECT (NEW).*, 1) AS changed
     WHERE ${listed} GROUP BY 1, 2, 3, 4 HAVING sum(sign) <> 0;
    RETURN NULL;
  END $$;
  CREATE TRIGGER "${table}_retallied" AFTER UPDATE OF ${columns.join(', ')} ON "${table}" FOR EACH ROW
    WHEN ((${columns.map((column) => `OLD.${column}`).join(', ')}) IS DISTINCT FROM (${columns.map((column) => `NEW.${column}`).join(', ')}))
    EXECUTE FUNCTION "${table}_retallied"();`
  }
`;

const up = `
  ${lists(`${listsBefore}, ${listsOfPosts}`)}
  ${useKinds(`${useKindsBefore}, 'post'`)}
  ${purposes(`'agent_image', 'assignment', 'post'`)}
  CREATE TABLE "community_posts" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "space_id" uuid NOT NULL,
    "public_id" text NOT NULL,
    "student_id" uuid,
    "administrator_id" uuid,
    "title" text,
    "body" text,
    "state" text NOT NULL DEFAULT 'published',
    "pinned" boolean NOT NULL DEFAULT false,
    "locked" boolean NOT NULL DEFAULT false,
    "hidden_at" TIMESTAMP WITH TIME ZONE,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "edited_at" TIMESTAMP WITH TIME ZONE,
    CONSTRAINT "community_posts_author" CHECK (num_nonnulls(student_id, administrator_id) <= 1),
    CONSTRAINT "community_posts_words" CHECK ((state = 'published') = (body IS NOT NULL) AND (title IS NULL OR state = 'published')),
    CONSTRAINT "community_posts_state" CHECK (state in ('published', 'emptied', 'deleted')),
    CONSTRAINT "PK_af0c0b33e03b933e3e48119f2e3" PRIMARY KEY ("id")
  );
  CREATE UNIQUE INDEX "community_posts_club_public_id" ON "community_posts" ("club_id", "public_id");
  CREATE INDEX "community_posts_listed" ON "community_posts" ("space_id", "pinned", "created_at", "id") WHERE state <> 'deleted';
  CREATE INDEX "community_posts_visible" ON "community_posts" ("space_id", "created_at") WHERE state = 'published' AND hidden_at IS NULL;
  CREATE INDEX "community_posts_student" ON "community_posts" ("student_id", "space_id") WHERE student_id IS NOT NULL;
  CREATE INDEX "community_posts_administrator" ON "community_posts" ("administrator_id");
  CREATE TABLE "community_comments" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "post_id" uuid NOT NULL,
    "reply_to" uuid,
    "student_id" uuid,
    "administrator_id" uuid,
    "body" text,
    "state" text NOT NULL DEFAULT 'published',
    "hidden_at" TIMESTAMP WITH TIME ZONE,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "edited_at" TIMESTAMP WITH TIME ZONE,
    CONSTRAINT "community_comments_author" CHECK (num_nonnulls(student_id, administrator_id) <= 1),
    CONSTRAINT "community_comments_words" CHECK ((state = 'published') = (body IS NOT NULL)),
    CONSTRAINT "community_comments_state" CHECK (state in ('published', 'emptied', 'deleted')),
    CONSTRAINT "PK_bddaf18297fe4a6d1cd539586b3" PRIMARY KEY ("id")
  );
  CREATE INDEX "community_comments_listed" ON "community_comments" ("post_id", "created_at", "id") WHERE state <> 'deleted';
  CREATE INDEX "community_comments_student" ON "community_comments" ("student_id", "post_id") WHERE student_id IS NOT NULL;
  CREATE INDEX "community_comments_replies" ON "community_comments" ("reply_to") WHERE reply_to IS NOT NULL;
  CREATE INDEX "community_comments_administrator" ON "community_comments" ("administrator_id");
  CREATE TABLE "community_reactions" (
    "target_id" uuid NOT NULL,
    "author_id" uuid NOT NULL,
    "kind" text NOT NULL,
    "club_id" uuid NOT NULL,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "community_reactions_kind" CHECK (kind in ('like', 'love', 'celebrate', 'insightful', 'support', 'laugh')),
    CONSTRAINT "PK_058405d0871c6e9394d2c7ec55b" PRIMARY KEY ("target_id", "author_id", "kind")
  );
  CREATE INDEX "community_reactions_author" ON "community_reactions" ("author_id");
  CREATE TABLE "community_post_files" (
    "media_id" uuid NOT NULL,
    "post_id" uuid NOT NULL,
    "position" smallint NOT NULL,
    CONSTRAINT "PK_a5a67826f4e8fbde95fea856065" PRIMARY KEY ("media_id")
  );
  CREATE UNIQUE INDEX "community_post_files_post" ON "community_post_files" ("post_id", "position");
  CREATE TABLE "community_reports" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "student_id" uuid NOT NULL,
    "target_id" uuid NOT NULL,
    "post_id" uuid NOT NULL,
    "comment_id" uuid,
    "reason" text,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "settled_at" TIMESTAMP WITH TIME ZONE,
    "outcome" text,
    CONSTRAINT "community_reports_settled" CHECK ((settled_at IS NULL) = (outcome IS NULL)),
    CONSTRAINT "community_reports_outcome" CHECK (outcome in ('upheld', 'dismissed')),
    CONSTRAINT "PK_bc0b51d10de08f80c750268a7c0" PRIMARY KEY ("id")
  );
  CREATE UNIQUE INDEX "community_reports_once" ON "community_reports" ("student_id", "target_id");
  CREATE INDEX "community_reports_open" ON "community_reports" ("club_id", "created_at", "id") WHERE settled_at IS NULL;
  CREATE INDEX "community_reports_target" ON "community_reports" ("target_id");
  CREATE INDEX "community_reports_created" ON "community_reports" ("created_at");
  CREATE INDEX "community_reports_post" ON "community_reports" ("post_id");
  CREATE INDEX "community_reports_comment" ON "community_reports" ("comment_id");
  CREATE TABLE "community_moderations" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "post_id" uuid NOT NULL,
    "comment_id" uuid,
    "administrator_id" uuid,
    "action" text NOT NULL,
    "reason" text,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "community_moderations_action" CHECK (action in ('hide', 'restore', 'delete', 'pin', 'unpin', 'lock', 'unlock')),
    CONSTRAINT "PK_b2f1adcfe48980f5b387a98ba88" PRIMARY KEY ("id")
  );
  CREATE INDEX "community_moderations_club" ON "community_moderations" ("club_id", "created_at", "id");
  CREATE INDEX "community_moderations_created" ON "community_moderations" ("created_at");
  CREATE INDEX "community_moderations_post" ON "community_moderations" ("post_id");
  CREATE INDEX "community_moderations_comment" ON "community_moderations" ("comment_id");
  CREATE INDEX "community_moderations_administrator" ON "community_moderations" ("administrator_id");
  ALTER TABLE "community_posts" ADD CONSTRAINT "FK_fa961b3b1435e0e38c2c99372d3" FOREIGN KEY ("space_id") REFERENCES "community_spaces"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "community_posts" ADD CONSTRAINT "FK_633e5f9b766fd1a17cbea98d189" FOREIGN KEY ("student_id") REFERENCES "students"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "community_posts" ADD CONSTRAINT "FK_c400b03defd22e536564723549a" FOREIGN KEY ("administrator_id") REFERENCES "administrators"("id") ON DELETE SET NULL ON UPDATE NO ACTION;
  ALTER TABLE "community_comments" ADD CONSTRAINT "FK_a33d7ff95c8e9cffddc6ec8452d" FOREIGN KEY ("post_id") REFERENCES "community_posts"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "community_comments" ADD CONSTRAINT "FK_cdc40c4694a3fe9fb372e45bfea" FOREIGN KEY ("reply_to") REFERENCES "community_comments"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "community_comments" ADD CONSTRAINT "FK_bff423059e6f04ded4cfbceebaf" FOREIGN KEY ("student_id") REFERENCES "students"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "community_comments" ADD CONSTRAINT "FK_3616a96a8f3e6522a674a3c6691" FOREIGN KEY ("administrator_id") REFERENCES "administrators"("id") ON DELETE SET NULL ON UPDATE NO ACTION;
  ALTER TABLE "community_reactions" ADD CONSTRAINT "FK_1392abb141b0029138b8445d523" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "community_post_files" ADD CONSTRAINT "FK_a5a67826f4e8fbde95fea856065" FOREIGN KEY ("media_id") REFERENCES "media"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "community_post_files" ADD CONSTRAINT "FK_d724f740dfd3eeade9c2db5cad5" FOREIGN KEY ("post_id") REFERENCES "community_posts"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "community_reports" ADD CONSTRAINT "FK_4da2fb139eb0614516392c41e97" FOREIGN KEY ("student_id") REFERENCES "students"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "community_reports" ADD CONSTRAINT "FK_dcfa7008c0d203136c8db8d7ea8" FOREIGN KEY ("post_id") REFERENCES "community_posts"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "community_reports" ADD CONSTRAINT "FK_6c7f1c9d673f8a1bf0ea337e84c" FOREIGN KEY ("comment_id") REFERENCES "community_comments"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "community_moderations" ADD CONSTRAINT "FK_2030d7b4b06436eb1803294daa6" FOREIGN KEY ("post_id") REFERENCES "community_posts"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "community_moderations" ADD CONSTRAINT "FK_26c1e7c2febf1bf48a17ab9181c" FOREIGN KEY ("comment_id") REFERENCES "community_comments"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "community_moderations" ADD CONSTRAINT "FK_982f9a06576bb6f2a88724e7166" FOREIGN KEY ("administrator_id") REFERENCES "administrators"("id") ON DELETE SET NULL ON UPDATE NO ACTION;
  ${tables.map(triggersOf).join('')}
`;

const down = `
  DROP TABLE "community_moderations";
  DROP TABLE "community_reports";
  DROP TABLE "community_post_files";
  DROP TABLE "community_reactions";
  DROP TABLE "community_comments";
  DROP TABLE "community_posts";
  ${tables.map(({ table, columns }) => `DROP FUNCTION "${table}_tallied"; ${columns.length === 0 ? '' : `DROP FUNCTION "${table}_retallied";`}`).join(' ')}
  DELETE FROM "media" WHERE purpose = 'post';
  ${purposes(`'agent_image', 'assignment'`)}
  DELETE FROM "media_uses" WHERE kind = 'post';
  ${useKinds(useKindsBefore)}
  DELETE FROM "list_tally_changes" WHERE list in (${listsOfPosts});
  DELETE FROM "list_tallies" WHERE list in (${listsOfPosts});
  ${lists(listsBefore)}
`;

export class CommunityPosts1795399100000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
