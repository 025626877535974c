/** Media, and AI agents: their material, what is asked of them, what they answer, and what that costs. */
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { requireExtension } from '../extensions.ts';

const up = `
  CREATE TABLE "agents" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "public_id" text NOT NULL,
    "name" text NOT NULL,
    "description" text NOT NULL DEFAULT '',
    "instructions" text NOT NULL DEFAULT '',
    "model" text,
    "status" text NOT NULL DEFAULT 'draft',
    "daily_limit" integer NOT NULL,
    "answer_max_tokens" integer NOT NULL,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "agents_answer_max_tokens" CHECK (answer_max_tokens > 0),
    CONSTRAINT "agents_daily_limit" CHECK (daily_limit >= 0),
    CONSTRAINT "agents_status" CHECK (status in ('draft', 'published', 'archived')),
    CONSTRAINT "PK_9c653f28ae19c5884d5baf6a1d9" PRIMARY KEY ("id")
  );
  CREATE INDEX "agents_club_created" ON "agents"  ("club_id", "created_at", "id");
  CREATE UNIQUE INDEX "agents_club_public_id" ON "agents"  ("club_id", "public_id");
  CREATE TABLE "agent_conversations" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "agent_id" uuid NOT NULL,
    "student_id" uuid NOT NULL,
    "title" text NOT NULL,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "last_message_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "deleted_at" TIMESTAMP WITH TIME ZONE,
    CONSTRAINT "PK_2680ac7af80219a718cf98a1d21" PRIMARY KEY ("id")
  );
  CREATE INDEX "agent_conversations_agent" ON "agent_conversations"  ("agent_id", "last_message_at", "id") WHERE deleted_at IS NULL;
  CREATE INDEX "agent_conversations_student" ON "agent_conversations"  ("student_id", "agent_id", "last_message_at", "id") WHERE deleted_at IS NULL;
  CREATE TABLE "agent_questions" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "agent_id" uuid NOT NULL,
    "student_id" uuid NOT NULL,
    "conversation_id" uuid NOT NULL,
    "content" text NOT NULL,
    "asked_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "agent_questions_id" PRIMARY KEY ("id")
  );
  CREATE INDEX "agent_questions_conversation" ON "agent_questions"  ("conversation_id", "asked_at", "id");
  CREATE INDEX "agent_questions_counted" ON "agent_questions"  ("agent_id", "student_id", "asked_at");
  CREATE TABLE "agent_answers" (
    "id" uuid NOT NULL,
    "question_id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "agent_id" uuid NOT NULL,
    "student_id" uuid NOT NULL,
    "conversation_id" uuid NOT NULL,
    "status" text NOT NULL DEFAULT 'generating',
    "content" text NOT NULL DEFAULT '',
    "error_code" text,
    "model" text NOT NULL,
    "max_tokens" integer NOT NULL,
    "call_no" smallint NOT NULL DEFAULT '0',
    "begun_at" TIMESTAMP WITH TIME ZONE,
    "lease_until" TIMESTAMP WITH TIME ZONE,
    "looks_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "completed_at" TIMESTAMP WITH TIME ZONE,
    "log_folded_at" TIMESTAMP WITH TIME ZONE,
    CONSTRAINT "REL_1a165d8398969e22bc6317d269" UNIQUE ("question_id"),
    CONSTRAINT "agent_answers_calls" CHECK (call_no BETWEEN 0 AND 3),
    CONSTRAINT "agent_answers_error" CHECK ((error_code IS NOT NULL) = (status = 'failed')),
    CONSTRAINT "agent_answers_ended" CHECK ((completed_at IS NULL) = (status = 'generating')),
    CONSTRAINT "agent_answers_status" CHECK (status in ('generating', 'complete', 'truncated', 'refused', 'failed')),
    CONSTRAINT "PK_e1e4cfd8e1dadbd2f91684e3ee6" PRIMARY KEY ("id")
  );
  CREATE UNIQUE INDEX "agent_answers_question" ON "agent_answers"  ("question_id");
  CREATE INDEX "agent_answers_conversation" ON "agent_answers"  ("conversation_id");
  CREATE INDEX "agent_answers_logs_to_fold" ON "agent_answers"  ("completed_at") WHERE log_folded_at IS NULL AND completed_at IS NOT NULL;
  CREATE INDEX "agent_answers_agent" ON "agent_answers"  ("agent_id", "created_at");
  CREATE INDEX "agent_answers_looks_at" ON "agent_answers"  ("looks_at") WHERE status = 'generating';
  CREATE UNIQUE INDEX "agent_answers_one_at_a_time" ON "agent_answers"  ("conversation_id") WHERE status = 'generating';
  CREATE TABLE "agent_answer_deltas" (
    "answer_id" uuid NOT NULL,
    "starts_at" integer NOT NULL,
    "text" text NOT NULL,
    CONSTRAINT "agent_answer_deltas_text" CHECK (text <> ''),
    CONSTRAINT "PK_9f0c980d6e51de10971f10ea762" PRIMARY KEY ("answer_id", "starts_at")
  );
  CREATE TABLE "agent_calls" (
    "answer_id" uuid NOT NULL,
    "call_no" smallint NOT NULL,
    "model" text NOT NULL,
    "started_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "ended_at" TIMESTAMP WITH TIME ZONE,
    "outcome" text,
    "error_code" text,
    "request_id" text,
    "input_tokens" integer NOT NULL DEFAULT '0',
    "output_tokens" integer NOT NULL DEFAULT '0',
    "cache_write_tokens" integer NOT NULL DEFAULT '0',
    "cache_read_tokens" integer NOT NULL DEFAULT '0',
    "estimated" boolean NOT NULL DEFAULT false,
    "cost_micros" bigint NOT NULL DEFAULT '0',
    CONSTRAINT "agent_calls_ended" CHECK ((outcome IS NULL) = (ended_at IS NULL)),
    CONSTRAINT "agent_calls_outcome" CHECK (outcome in ('answered', 'failed', 'abandoned')),
    CONSTRAINT "PK_1780a1d8ca46544c6fc0cb190d7" PRIMARY KEY ("answer_id", "call_no")
  );
  CREATE TABLE "agent_charges" (
    "answer_id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "agent_id" uuid NOT NULL,
    "month" date NOT NULL,
    "reserved_micros" bigint NOT NULL,
    "cost_micros" bigint,
    "settled_at" TIMESTAMP WITH TIME ZONE,
    CONSTRAINT "agent_charges_amounts" CHECK (reserved_micros >= 0 AND cost_micros >= 0),
    CONSTRAINT "agent_charges_settled" CHECK ((settled_at IS NULL) = (cost_micros IS NULL)),
    CONSTRAINT "PK_447ddfab5cf19de0cac58d8169c" PRIMARY KEY ("answer_id")
  );
  CREATE INDEX "agent_charges_month" ON "agent_charges"  ("club_id", "month", "agent_id");
  CREATE TABLE "media" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "purpose" text NOT NULL,
    "owner_id" uuid,
    "kind" text NOT NULL,
    "title" text NOT NULL,
    "provider" text NOT NULL,
    "status" text NOT NULL,
    "visibility" text NOT NULL DEFAULT 'private',
    "archived" boolean NOT NULL DEFAULT false,
    "file_name" text,
    "mime" text,
    "size_bytes" bigint,
    "width" integer,
    "height" integer,
    "error" text,
    "object_key" text,
    "upload_expires_at" TIMESTAMP WITH TIME ZONE,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "removed_at" TIMESTAMP WITH TIME ZONE,
    CONSTRAINT "media_error" CHECK ((error IS NOT NULL) = (status = 'failed')),
    CONSTRAINT "media_visibility" CHECK (visibility in ('private', 'public')),
    CONSTRAINT "media_status" CHECK (status in ('uploading', 'processing', 'ready', 'failed')),
    CONSTRAINT "media_provider" CHECK (provider = 'objstore'),
    CONSTRAINT "media_kind" CHECK (kind in ('video', 'audio', 'image', 'document')),
    CONSTRAINT "media_purpose" CHECK ((purpose = 'library' AND owner_id IS NULL) OR (purpose = 'agent_image' AND owner_id IS NOT NULL)),
    CONSTRAINT "PK_f4e0fcac36e050de337b670d8bd" PRIMARY KEY ("id")
  );
  CREATE INDEX "media_to_erase" ON "media"  ("removed_at") WHERE removed_at IS NOT NULL AND object_key IS NOT NULL;
  CREATE INDEX "media_unfinished" ON "media"  ("upload_expires_at") WHERE status = 'uploading';
  CREATE INDEX "media_owner" ON "media"  ("owner_id") WHERE owner_id IS NOT NULL;
  CREATE INDEX "media_library" ON "media"  ("club_id", "created_at", "id") WHERE purpose = 'library' AND removed_at IS NULL;
  CREATE TABLE "agent_sources" (
    "id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "kind" text NOT NULL,
    "lesson_id" uuid,
    "media_id" uuid,
    "title" text NOT NULL,
    "status" text NOT NULL DEFAULT 'pending',
    "error_code" text,
    "wanted_version" integer NOT NULL DEFAULT '1',
    "indexed_version" integer NOT NULL DEFAULT '0',
    "attempts" integer NOT NULL DEFAULT '0',
    "fence" integer NOT NULL DEFAULT '0',
    "lease_until" TIMESTAMP WITH TIME ZONE,
    "looks_at" TIMESTAMP WITH TIME ZONE,
    "page_count" integer,
    "passage_count" integer NOT NULL DEFAULT '0',
    "indexed_at" TIMESTAMP WITH TIME ZONE,
    "created_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    "updated_at" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT "agent_sources_error" CHECK ((error_code IS NOT NULL) = (status = 'failed')),
    CONSTRAINT "agent_sources_status" CHECK (status in ('pending', 'indexing', 'ready', 'failed')),
    CONSTRAINT "agent_sources_kind" CHECK ((kind = 'lesson' AND lesson_id IS NOT NULL AND media_id IS NULL) OR (kind = 'media' AND media_id IS NOT NULL AND lesson_id IS NULL)),
    CONSTRAINT "PK_d1b8edeaee0e9aba6ffa2e42070" PRIMARY KEY ("id")
  );
  CREATE UNIQUE INDEX "agent_sources_lesson" ON "agent_sources"  ("lesson_id");
  CREATE UNIQUE INDEX "agent_sources_media" ON "agent_sources"  ("media_id");
  CREATE INDEX "agent_sources_looks_at" ON "agent_sources"  ("looks_at") WHERE looks_at IS NOT NULL;
  CREATE INDEX "agent_sources_club" ON "agent_sources"  ("club_id", "created_at", "id");
  CREATE TABLE "agent_citations" (
    "answer_id" uuid NOT NULL,
    "position" smallint NOT NULL,
    "cited_text" text NOT NULL,
    "source_id" uuid,
    "source_kind" text NOT NULL,
    "source_title" text NOT NULL,
    "page_from" integer,
    "page_to" integer,
    CONSTRAINT "PK_45a9dfea8bd9b86ce6a9bd4b3bd" PRIMARY KEY ("answer_id", "position")
  );
  CREATE INDEX "agent_citations_source" ON "agent_citations"  ("source_id");
  CREATE TABLE "agent_materials" (
    "id" uuid NOT NULL,
    "agent_id" uuid NOT NULL,
    "course_id" uuid,
    "lesson_id" uuid,
    "media_id" uuid,
    CONSTRAINT "agent_materials_one" CHECK (num_nonnulls(course_id, lesson_id, media_id) = 1),
    CONSTRAINT "PK_ca74122f3453fac894030070b1d" PRIMARY KEY ("id")
  );
  CREATE INDEX "agent_materials_agent" ON "agent_materials"  ("agent_id");
  CREATE UNIQUE INDEX "agent_materials_media" ON "agent_materials"  ("media_id", "agent_id");
  CREATE UNIQUE INDEX "agent_materials_lesson" ON "agent_materials"  ("lesson_id", "agent_id");
  CREATE UNIQUE INDEX "agent_materials_course" ON "agent_materials"  ("course_id", "agent_id");
  CREATE TABLE "agent_passages" (
    "id" uuid NOT NULL,
    "source_id" uuid NOT NULL,
    "club_id" uuid NOT NULL,
    "position" integer NOT NULL,
    "page" integer,
    "title" text NOT NULL,
    "headings" text array NOT NULL,
    "blocks" text array NOT NULL,
    "text" text NOT NULL,
    "language" text NOT NULL,
    CONSTRAINT "PK_e0e6ad6e46d6783bef3ae34a652" PRIMARY KEY ("id")
  );
  CREATE UNIQUE INDEX "agent_passages_source" ON "agent_passages"  ("source_id", "position");
  CREATE TABLE "agent_question_images" (
    "question_id" uuid NOT NULL,
    "position" smallint NOT NULL,
    "media_id" uuid NOT NULL,
    CONSTRAINT "agent_question_images_at_most_two" CHECK (position in (0, 1)),
    CONSTRAINT "PK_a2ac79e8dba726d30925516272e" PRIMARY KEY ("question_id", "position")
  );
  CREATE INDEX "agent_question_images_media" ON "agent_question_images"  ("media_id");
  CREATE TABLE "club_ai_months" (
    "club_id" uuid NOT NULL,
    "month" date NOT NULL,
    "spent_micros" bigint NOT NULL DEFAULT '0',
    "reserved_micros" bigint NOT NULL DEFAULT '0',
    CONSTRAINT "club_ai_months_amounts" CHECK (spent_micros >= 0 AND reserved_micros >= 0),
    CONSTRAINT "PK_d9034c90c72c0a12a217f2ff2ec" PRIMARY KEY ("club_id", "month")
  );
  ALTER TABLE "clubs" ADD "language" text NOT NULL DEFAULT 'en';
  ALTER TABLE "clubs" ADD "ai_monthly_limit" integer;
  ALTER TABLE "access_deliveries" ADD "agent_id" uuid;
  CREATE INDEX "access_deliveries_agent" ON "access_deliveries"  ("agent_id");
  ALTER TABLE "clubs" ADD CONSTRAINT "clubs_ai_monthly_limit" CHECK (ai_monthly_limit >= 0);
  ALTER TABLE "clubs" ADD CONSTRAINT "clubs_language" CHECK (language in ('en', 'pt', 'es', 'fr', 'de', 'it'));
  ALTER TABLE "agents" ADD CONSTRAINT "FK_29f312b0d14a7b5db0ab3841dce" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "access_deliveries" ADD CONSTRAINT "FK_6e4318b9b6bb60feba313c76105" FOREIGN KEY ("agent_id") REFERENCES "agents"("id") ON DELETE NO ACTION ON UPDATE NO ACTION;
  ALTER TABLE "agent_conversations" ADD CONSTRAINT "FK_2108fd043719b2262a73327cf6b" FOREIGN KEY ("agent_id") REFERENCES "agents"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "agent_conversations" ADD CONSTRAINT "FK_51b5029d84a3d82e133ea490ebc" FOREIGN KEY ("student_id") REFERENCES "students"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "agent_questions" ADD CONSTRAINT "FK_bbd173e1e4fc3020cda8de5f4a5" FOREIGN KEY ("conversation_id") REFERENCES "agent_conversations"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "agent_answers" ADD CONSTRAINT "FK_1a165d8398969e22bc6317d2697" FOREIGN KEY ("question_id") REFERENCES "agent_questions"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "agent_answers" ADD CONSTRAINT "FK_56e65ab3c341e18bdf50d8a9bce" FOREIGN KEY ("conversation_id") REFERENCES "agent_conversations"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "agent_answer_deltas" ADD CONSTRAINT "FK_b71af6bad1d50f4d5c745214018" FOREIGN KEY ("answer_id") REFERENCES "agent_answers"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "agent_calls" ADD CONSTRAINT "FK_69cc8f3cdb07d4a99ef3e332934" FOREIGN KEY ("answer_id") REFERENCES "agent_answers"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "agent_charges" ADD CONSTRAINT "FK_447ddfab5cf19de0cac58d8169c" FOREIGN KEY ("answer_id") REFERENCES "agent_answers"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "media" ADD CONSTRAINT "FK_87f6a68a1bff088457d57929bb0" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "media" ADD CONSTRAINT "FK_c6889397830b5ed0f2a30362065" FOREIGN KEY ("owner_id") REFERENCES "students"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "agent_sources" ADD CONSTRAINT "FK_dfa0eccf587ad380955948e132b" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "agent_sources" ADD CONSTRAINT "FK_0316889a4de00cf394c7088dd99" FOREIGN KEY ("lesson_id") REFERENCES "lessons"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "agent_sources" ADD CONSTRAINT "FK_626d9ba065b45a1fee78cea80b9" FOREIGN KEY ("media_id") REFERENCES "media"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "agent_citations" ADD CONSTRAINT "FK_86f7bcb5e307aafe77ebdac5526" FOREIGN KEY ("answer_id") REFERENCES "agent_answers"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "agent_citations" ADD CONSTRAINT "FK_830d7940aa1fb56d1e88b177d75" FOREIGN KEY ("source_id") REFERENCES "agent_sources"("id") ON DELETE SET NULL ON UPDATE NO ACTION;
  ALTER TABLE "agent_materials" ADD CONSTRAINT "FK_efa81cd6f0559246c1d0eaa12b4" FOREIGN KEY ("agent_id") REFERENCES "agents"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "agent_materials" ADD CONSTRAINT "FK_049cbda726ab2677e5a7d1a33be" FOREIGN KEY ("course_id") REFERENCES "courses"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "agent_materials" ADD CONSTRAINT "FK_dd2210140b93d38a52b4eb9083e" FOREIGN KEY ("lesson_id") REFERENCES "lessons"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "agent_materials" ADD CONSTRAINT "FK_549a0221ee45d2f7beb1f354c64" FOREIGN KEY ("media_id") REFERENCES "media"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "agent_passages" ADD CONSTRAINT "FK_0e588396cb9d7d336b157e32724" FOREIGN KEY ("source_id") REFERENCES "agent_sources"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "agent_question_images" ADD CONSTRAINT "FK_5243cec36f4cdcce5ddfa019ac2" FOREIGN KEY ("question_id") REFERENCES "agent_questions"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "agent_question_images" ADD CONSTRAINT "FK_a6c6f1a9130ba6111a31bee2f02" FOREIGN KEY ("media_id") REFERENCES "media"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
  ALTER TABLE "club_ai_months" ADD CONSTRAINT "FK_9fd49b89d416e67ff1b2812e016" FOREIGN KEY ("club_id") REFERENCES "clubs"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
`;

const down = `
  ALTER TABLE "club_ai_months" DROP CONSTRAINT "FK_9fd49b89d416e67ff1b2812e016";
  ALTER TABLE "agent_question_images" DROP CONSTRAINT "FK_a6c6f1a9130ba6111a31bee2f02";
  ALTER TABLE "agent_question_images" DROP CONSTRAINT "FK_5243cec36f4cdcce5ddfa019ac2";
  ALTER TABLE "agent_passages" DROP CONSTRAINT "FK_0e588396cb9d7d336b157e32724";
  ALTER TABLE "agent_materials" DROP CONSTRAINT "FK_549a0221ee45d2f7beb1f354c64";
  ALTER TABLE "agent_materials" DROP CONSTRAINT "FK_dd2210140b93d38a52b4eb9083e";
  ALTER TABLE "agent_materials" DROP CONSTRAINT "FK_049cbda726ab2677e5a7d1a33be";
  ALTER TABLE "agent_materials" DROP CONSTRAINT "FK_efa81cd6f0559246c1d0eaa12b4";
  ALTER TABLE "agent_citations" DROP CONSTRAINT "FK_830d7940aa1fb56d1e88b177d75";
  ALTER TABLE "agent_citations" DROP CONSTRAINT "FK_86f7bcb5e307aafe77ebdac5526";
  ALTER TABLE "agent_sources" DROP CONSTRAINT "FK_626d9ba065b45a1fee78cea80b9";
  ALTER TABLE "agent_sources" DROP CONSTRAINT "FK_0316889a4de00cf394c7088dd99";
  ALTER TABLE "agent_sources" DROP CONSTRAINT "FK_dfa0eccf587ad380955948e132b";
  ALTER TABLE "media" DROP CONSTRAINT "FK_c6889397830b5ed0f2a30362065";
  ALTER TABLE "media" DROP CONSTRAINT "FK_87f6a68a1bff088457d57929bb0";
  ALTER TABLE "agent_charges" DROP CONSTRAINT "FK_447ddfab5cf19de0cac58d8169c";
  ALTER TABLE "agent_calls" DROP CONSTRAINT "FK_69cc8f3cdb07d4a99ef3e332934";
  ALTER TABLE "agent_answer_deltas" DROP CONSTRAINT "FK_b71af6bad1d50f4d5c745214018";
  ALTER TABLE "agent_answers" DROP CONSTRAINT "FK_56e65ab3c341e18bdf50d8a9bce";
  ALTER TABLE "agent_answers" DROP CONSTRAINT "FK_1a165d8398969e22bc6317d2697";
  ALTER TABLE "agent_questions" DROP CONSTRAINT "FK_bbd173e1e4fc3020cda8de5f4a5";
  ALTER TABLE "agent_conversations" DROP CONSTRAINT "FK_51b5029d84a3d82e133ea490ebc";
  ALTER TABLE "agent_conversations" DROP CONSTRAINT "FK_2108fd043719b2262a73327cf6b";
  ALTER TABLE "access_deliveries" DROP CONSTRAINT "FK_6e4318b9b6bb60feba313c76105";
  ALTER TABLE "agents" DROP CONSTRAINT "FK_29f312b0d14a7b5db0ab3841dce";
  ALTER TABLE "clubs" DROP CONSTRAINT "clubs_language";
  ALTER TABLE "clubs" DROP CONSTRAINT "clubs_ai_monthly_limit";
  DROP INDEX "public"."access_deliveries_agent";
  ALTER TABLE "access_deliveries" DROP COLUMN "agent_id";
  ALTER TABLE "clubs" DROP COLUMN "ai_monthly_limit";
  ALTER TABLE "clubs" DROP COLUMN "language";
  DROP TABLE "club_ai_months";
  DROP INDEX "public"."agent_question_images_media";
  DROP TABLE "agent_question_images";
  DROP INDEX "public"."agent_passages_source";
  DROP TABLE "agent_passages";
  DROP INDEX "public"."agent_materials_course";
  DROP INDEX "public"."agent_materials_lesson";
  DROP INDEX "public"."agent_materials_media";
  DROP INDEX "public"."agent_materials_agent";
  DROP TABLE "agent_materials";
  DROP INDEX "public"."agent_citations_source";
  DROP TABLE "agent_citations";
  DROP INDEX "public"."agent_sources_club";
  DROP INDEX "public"."agent_sources_looks_at";
  DROP INDEX "public"."agent_sources_media";
  DROP INDEX "public"."agent_sources_lesson";
  DROP TABLE "agent_sources";
  DROP INDEX "public"."media_library";
  DROP INDEX "public"."media_owner";
  DROP INDEX "public"."media_unfinished";
  DROP INDEX "public"."media_to_erase";
  DROP TABLE "media";
  DROP INDEX "public"."agent_charges_month";
  DROP TABLE "agent_charges";
  DROP TABLE "agent_calls";
  DROP TABLE "agent_answer_deltas";
  DROP INDEX "public"."agent_answers_one_at_a_time";
  DROP INDEX "public"."agent_answers_looks_at";
  DROP INDEX "public"."agent_answers_agent";
  DROP INDEX "public"."agent_answers_logs_to_fold";
  DROP INDEX "public"."agent_answers_conversation";
  DROP INDEX "public"."agent_answers_question";
  DROP TABLE "agent_answers";
  DROP INDEX "public"."agent_questions_counted";
  DROP INDEX "public"."agent_questions_conversation";
  DROP TABLE "agent_questions";
  DROP INDEX "public"."agent_conversations_student";
  DROP INDEX "public"."agent_conversations_agent";
  DROP TABLE "agent_conversations";
  DROP INDEX "public"."agents_club_public_id";
  DROP INDEX "public"."agents_club_created";
  DROP TABLE "agents";
`;

export class Agents1763760000000 implements MigrationInterface {
  async up(queryRunner: QueryRunner): Promise<void> {
    await requireExtension(queryRunner, 'unaccent');
    await queryRunner.query(up);
  }

  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(down);
  }
}
