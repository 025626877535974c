/**
 * The schema of release 0.2.0 as one migration, in place of the 72 that led to it. It changes nothing in a database of 0.2.0, where
 * those have run. Made from such a database with pg_dump; test/releases holds both ways against each other.
 */
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { requireExtension } from '../extensions.ts';

/** The last migration of release 0.2.0. */
const lastOfRelease = 'SessionLists1795451900000';

/** Search by the stems of a language without accents, named as the language's two letters. */
const searchConfigurations = Object.entries({
  en: 'english',
  pt: 'portuguese',
  es: 'spanish',
  fr: 'french',
  de: 'german',
  it: 'italian',
})
  .map(
    ([code, name]) => `
      CREATE TEXT SEARCH CONFIGURATION club_${code} (COPY = ${name});
      ALTER TEXT SEARCH CONFIGURATION club_${code} ALTER MAPPING FOR asciiword, word, numword WITH unaccent, ${name}_stem;`,
  )
  .join('');

/** Functions that tables and triggers call. */
const functions = String.raw`
CREATE FUNCTION agent_lexemes(club uuid, search tsvector) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT ARRAY (SELECT club || lexeme FROM unnest(tsvector_to_array(search)) AS lexeme)
  $$;
CREATE FUNCTION agent_passages_counted() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    IF TG_OP <> 'INSERT' THEN 
    INSERT INTO agent_words (club_id, word, initial, size, lexeme, stem, passages)
    SELECT club_id, unaccent(word), left(unaccent(word), 1), length(unaccent(word)), lexeme, coalesce(stem, lexeme), -1 * passages
      FROM (SELECT club_id, language, word, count(DISTINCT id) AS passages FROM old_rows,
                   string_to_table(agent_text(concat_ws(' ', title, array_to_string(headings, ' '), text)), ' ') AS word
             WHERE length(word) <= 64 GROUP BY club_id, language, word) AS counted
      CROSS JOIN unnest(tsvector_to_array(agent_stems(language, word))) AS lexeme
      LEFT JOIN LATERAL (SELECT min(one) FROM unnest(tsvector_to_array(agent_plain_stems(language, word))) AS one) AS plain (stem) ON true;
    END IF;
    IF TG_OP <> 'DELETE' THEN 
    INSERT INTO agent_words (club_id, word, initial, size, lexeme, stem, passages)
    SELECT club_id, unaccent(word), left(unaccent(word), 1), length(unaccent(word)), lexeme, coalesce(stem, lexeme), 1 * passages
      FROM (SELECT club_id, language, word, count(DISTINCT id) AS passages FROM new_rows,
                   string_to_table(agent_text(concat_ws(' ', title, array_to_string(headings, ' '), text)), ' ') AS word
             WHERE length(word) <= 64 GROUP BY club_id, language, word) AS counted
      CROSS JOIN unnest(tsvector_to_array(agent_stems(language, word))) AS lexeme
      LEFT JOIN LATERAL (SELECT min(one) FROM unnest(tsvector_to_array(agent_plain_stems(language, word))) AS one) AS plain (stem) ON true;
    END IF;
    RETURN NULL;
  END $$;
CREATE FUNCTION agent_passages_searched() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    NEW.search := setweight(agent_stems(NEW.language, agent_text(NEW.title)), 'A')
               || setweight(agent_stems(NEW.language, agent_text(array_to_string(NEW.headings, ' '))), 'B')
               || agent_stems(NEW.language, agent_text(NEW.text));
    RETURN NEW;
  END $$;
CREATE FUNCTION agent_plain_stems(language text, words text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT to_tsvector(CASE language WHEN 'en' THEN 'club_en'::regconfig
WHEN 'pt' THEN 'club_pt'::regconfig
WHEN 'es' THEN 'club_es'::regconfig
WHEN 'fr' THEN 'club_fr'::regconfig
WHEN 'de' THEN 'club_de'::regconfig
WHEN 'it' THEN 'club_it'::regconfig ELSE 'simple' END, words)
  $$;
CREATE FUNCTION agent_stems(language text, words text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT to_tsvector(CASE language WHEN 'en' THEN 'english'::regconfig
WHEN 'pt' THEN 'portuguese'::regconfig
WHEN 'es' THEN 'spanish'::regconfig
WHEN 'fr' THEN 'french'::regconfig
WHEN 'de' THEN 'german'::regconfig
WHEN 'it' THEN 'italian'::regconfig ELSE 'simple' END, words)
  $$;
CREATE FUNCTION agent_text(text text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT btrim(regexp_replace(lower(normalize(text, NFKC)), '[^[:alnum:]]+', ' ', 'g'))
  $$;
CREATE FUNCTION assignment_submissions_retallied() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT NEW.club_id, 'submissions_' || change.status, '00000000-0000-0000-0000-000000000000', false, change.records
      FROM (VALUES (OLD.status, -1), (NEW.status, 1)) AS change (status, records);
    RETURN NULL;
  END $$;
CREATE FUNCTION assignment_submissions_tallied() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, 'submissions_' || status, '00000000-0000-0000-0000-000000000000', false,
           CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
      FROM changed GROUP BY 1, 2;
    RETURN NULL;
  END $$;
CREATE FUNCTION automation_mails_retallied() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO automation_step_changes (version_id, step_id, sent, opened, clicked)
    SELECT run.version_id, NEW.step_id, (NEW.status = 'sent')::int - (OLD.status = 'sent')::int,
           num_nonnulls(NEW.opened_at) - num_nonnulls(OLD.opened_at), num_nonnulls(NEW.clicked_at) - num_nonnulls(OLD.clicked_at)
      FROM automation_runs run WHERE run.id = NEW.run_id;
    RETURN NULL;
  END $$;
CREATE FUNCTION automation_run_steps_retallied() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO automation_step_changes (version_id, step_id, departed)
    VALUES (NEW.version_id, NEW.step_id, CASE WHEN NEW.left_at IS NULL THEN -1 ELSE 1 END);
    RETURN NULL;
  END $$;
CREATE FUNCTION automation_run_steps_tallied() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO automation_step_changes (version_id, step_id, entered, departed)
    SELECT version_id, step_id, count(*), count(left_at) FROM changed GROUP BY 1, 2;
    RETURN NULL;
  END $$;
CREATE FUNCTION automation_runs_retallied() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT NEW.club_id, 'automation_runs_' || change.status, change.subject_id, false, change.records
      FROM (VALUES (OLD.status, OLD.automation_id, -1), (NEW.status, NEW.automation_id, 1),
                   (OLD.status, OLD.version_id, -1), (NEW.status, NEW.version_id, 1)) AS change (status, subject_id, records);
    RETURN NULL;
  END $$;
CREATE FUNCTION automation_runs_tallied() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, 'automation_runs_' || status, subject_id, false, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
      FROM changed CROSS JOIN LATERAL (VALUES (automation_id), (version_id)) AS subject (subject_id) GROUP BY 1, 2, 3;
    RETURN NULL;
  END $$;
CREATE FUNCTION certificates_retallied() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, 'certificates', course_id, revoked_at IS NOT NULL, sum(sign)
      FROM (SELECT (OLD).*, -1 AS sign UNION ALL SELECT (NEW).*, 1) AS changed
     WHERE true GROUP BY 1, 3, 4 HAVING sum(sign) <> 0;
    RETURN NULL;
  END $$;
CREATE FUNCTION certificates_tallied() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, 'certificates', course_id, revoked_at IS NOT NULL, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
      FROM changed WHERE true GROUP BY 1, 3, 4;
    RETURN NULL;
  END $$;
CREATE FUNCTION community_comments_retallied() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, 'post_comments', post_id, hidden_at IS NOT NULL, sum(sign)
      FROM (SELECT (OLD).*, -1 AS sign UNION ALL SELECT (NEW).*, 1) AS changed
     WHERE state <> 'deleted' GROUP BY 1, 2, 3, 4 HAVING sum(sign) <> 0;
    RETURN NULL;
  END $$;
CREATE FUNCTION community_comments_tallied() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, 'post_comments', post_id, hidden_at IS NOT NULL, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
      FROM changed WHERE state <> 'deleted' GROUP BY 1, 2, 3, 4;
    RETURN NULL;
  END $$;
CREATE FUNCTION community_memberships_retallied() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, 'space_members', space_id, counted, sum(sign)
      FROM (SELECT (OLD).*, -1 AS sign UNION ALL SELECT (NEW).*, 1) AS changed
     WHERE left_at IS NULL AND banned_at IS NULL GROUP BY 1, 3, 4 HAVING sum(sign) <> 0;
    RETURN NULL;
  END $$;
CREATE FUNCTION community_memberships_tallied() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, 'space_members', space_id, counted, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
      FROM changed WHERE left_at IS NULL AND banned_at IS NULL GROUP BY 1, 3, 4;
    RETURN NULL;
  END $$;
CREATE FUNCTION community_moderations_tallied() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, 'moderations', '00000000-0000-0000-0000-000000000000'::uuid, false, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
      FROM changed WHERE true GROUP BY 1, 2, 3, 4;
    RETURN NULL;
  END $$;
CREATE FUNCTION community_posts_retallied() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, 'space_posts', space_id, hidden_at IS NOT NULL, sum(sign)
      FROM (SELECT (OLD).*, -1 AS sign UNION ALL SELECT (NEW).*, 1) AS changed
     WHERE state <> 'deleted' GROUP BY 1, 2, 3, 4 HAVING sum(sign) <> 0;
    RETURN NULL;
  END $$;
CREATE FUNCTION community_posts_tallied() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, 'space_posts', space_id, hidden_at IS NOT NULL, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
      FROM changed WHERE state <> 'deleted' GROUP BY 1, 2, 3, 4;
    RETURN NULL;
  END $$;
CREATE FUNCTION community_reactions_tallied() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, 'reactions_' || kind, target_id, false, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
      FROM changed WHERE true GROUP BY 1, 2, 3, 4;
    RETURN NULL;
  END $$;
CREATE FUNCTION community_reports_retallied() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, 'reports_open', '00000000-0000-0000-0000-000000000000'::uuid, false, sum(sign)
      FROM (SELECT (OLD).*, -1 AS sign UNION ALL SELECT (NEW).*, 1) AS changed
     WHERE settled_at IS NULL GROUP BY 1, 2, 3, 4 HAVING sum(sign) <> 0;
    RETURN NULL;
  END $$;
CREATE FUNCTION community_reports_tallied() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, 'reports_open', '00000000-0000-0000-0000-000000000000'::uuid, false, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
      FROM changed WHERE settled_at IS NULL GROUP BY 1, 2, 3, 4;
    RETURN NULL;
  END $$;
CREATE FUNCTION enrollments_retallied() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, 'enrollments', delivery_id, revoked_at IS NOT NULL, sum(sign)
      FROM (SELECT (OLD).*, -1 AS sign UNION ALL SELECT (NEW).*, 1) AS changed
     WHERE revoked_reason IS DISTINCT FROM 'removal' GROUP BY 1, 3, 4 HAVING sum(sign) <> 0;
    RETURN NULL;
  END $$;
CREATE FUNCTION enrollments_tallied() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, 'enrollments', delivery_id, revoked_at IS NOT NULL, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
      FROM changed WHERE revoked_reason IS DISTINCT FROM 'removal' GROUP BY 1, 3, 4;
    RETURN NULL;
  END $$;
CREATE FUNCTION mails_list(status text) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$ SELECT 'mails_' || CASE WHEN status IN ('pending', 'sending') THEN 'open' ELSE status END $$;
CREATE FUNCTION mails_lists(status text, skip_reason text) RETURNS text[]
    LANGUAGE sql IMMUTABLE
    AS $$ SELECT CASE WHEN skip_reason IS NULL THEN ARRAY[mails_list(status)] ELSE ARRAY[mails_list(status), 'mails_skipped_' || skip_reason] END $$;
CREATE FUNCTION mails_retallied() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, list, campaign_id, false, sum(step) FROM (
      SELECT club_id, campaign_id, status, skip_reason, -1 AS step FROM former
      UNION ALL SELECT club_id, campaign_id, status, skip_reason, 1 FROM changed) AS steps, unnest(mails_lists(status, skip_reason)) AS list
     WHERE campaign_id IS NOT NULL GROUP BY 1, 2, 3 HAVING sum(step) <> 0;
    RETURN NULL;
  END $$;
CREATE FUNCTION mails_tallied() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, list, campaign_id, false, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
      FROM changed, unnest(mails_lists(status, skip_reason)) AS list WHERE campaign_id IS NOT NULL GROUP BY 1, 2, 3;
    RETURN NULL;
  END $$;
CREATE FUNCTION media_added() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN 
    INSERT INTO club_storage_changes (club_id, kind, bytes, files, held)
    SELECT club_id, kind, sum(CASE WHEN (added.size_bytes IS NOT NULL AND added.object_key IS NOT NULL AND added.erased_at IS NULL) THEN added.size_bytes ELSE 0 END), sum((added.size_bytes IS NOT NULL AND added.object_key IS NOT NULL AND added.erased_at IS NULL)::int), sum(CASE WHEN (added.size_bytes IS NULL AND added.removed_at IS NULL AND added.status IN ('uploading', 'processing')) THEN coalesce(added.held_bytes, 0) ELSE 0 END)
      FROM added GROUP BY club_id, kind HAVING bool_or((added.size_bytes IS NOT NULL AND added.object_key IS NOT NULL AND added.erased_at IS NULL) OR CASE WHEN (added.size_bytes IS NULL AND added.removed_at IS NULL AND added.status IN ('uploading', 'processing')) THEN coalesce(added.held_bytes, 0) ELSE 0 END > 0);
    RETURN NULL;
  END $$;
CREATE FUNCTION media_changed() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO club_storage_changes (club_id, kind, bytes, files, held)
    SELECT club_id, kind, sum(bytes), sum(files), sum(held)
      FROM (VALUES (OLD.club_id, OLD.kind, -(CASE WHEN (OLD.size_bytes IS NOT NULL AND OLD.object_key IS NOT NULL AND OLD.erased_at IS NULL) THEN OLD.size_bytes ELSE 0 END), -((OLD.size_bytes IS NOT NULL AND OLD.object_key IS NOT NULL AND OLD.erased_at IS NULL)::int), -(CASE WHEN (OLD.size_bytes IS NULL AND OLD.removed_at IS NULL AND OLD.status IN ('uploading', 'processing')) THEN coalesce(OLD.held_bytes, 0) ELSE 0 END)),
                   (NEW.club_id, NEW.kind, CASE WHEN (NEW.size_bytes IS NOT NULL AND NEW.object_key IS NOT NULL AND NEW.erased_at IS NULL) THEN NEW.size_bytes ELSE 0 END, (NEW.size_bytes IS NOT NULL AND NEW.object_key IS NOT NULL AND NEW.erased_at IS NULL)::int, CASE WHEN (NEW.size_bytes IS NULL AND NEW.removed_at IS NULL AND NEW.status IN ('uploading', 'processing')) THEN coalesce(NEW.held_bytes, 0) ELSE 0 END)) AS changed (club_id, kind, bytes, files, held)
     GROUP BY club_id, kind HAVING (sum(bytes), sum(files), sum(held)) <> (0, 0, 0);
    RETURN NULL;
  END $$;
CREATE FUNCTION media_deleted() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN 
    INSERT INTO club_storage_changes (club_id, kind, bytes, files, held)
    SELECT club_id, kind, -sum(CASE WHEN (deleted.size_bytes IS NOT NULL AND deleted.object_key IS NOT NULL AND deleted.erased_at IS NULL) THEN deleted.size_bytes ELSE 0 END), -sum((deleted.size_bytes IS NOT NULL AND deleted.object_key IS NOT NULL AND deleted.erased_at IS NULL)::int), -sum(CASE WHEN (deleted.size_bytes IS NULL AND deleted.removed_at IS NULL AND deleted.status IN ('uploading', 'processing')) THEN coalesce(deleted.held_bytes, 0) ELSE 0 END)
      FROM deleted GROUP BY club_id, kind HAVING bool_or((deleted.size_bytes IS NOT NULL AND deleted.object_key IS NOT NULL AND deleted.erased_at IS NULL) OR CASE WHEN (deleted.size_bytes IS NULL AND deleted.removed_at IS NULL AND deleted.status IN ('uploading', 'processing')) THEN coalesce(deleted.held_bytes, 0) ELSE 0 END > 0);
    RETURN NULL;
  END $$;
CREATE FUNCTION media_retallied() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, 'media_' || type, subject::uuid, archived, sum(sign)
      FROM (SELECT (OLD).*, -1 AS sign UNION ALL SELECT (NEW).*, 1) AS changed, unnest(ARRAY['ffffffff-ffff-ffff-ffff-ffffffffffff', coalesce(folder_id, '00000000-0000-0000-0000-000000000000')]) AS subject
     WHERE purpose = 'library' AND removed_at IS NULL GROUP BY 1, 2, 3, 4 HAVING sum(sign) <> 0;
    RETURN NULL;
  END $$;
CREATE FUNCTION media_tallied() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, 'media_' || type, subject::uuid, archived, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
      FROM changed, unnest(ARRAY['ffffffff-ffff-ffff-ffff-ffffffffffff', coalesce(folder_id, '00000000-0000-0000-0000-000000000000')]) AS subject WHERE purpose = 'library' AND removed_at IS NULL GROUP BY 1, 2, 3, 4;
    RETURN NULL;
  END $$;
CREATE FUNCTION mentorship_sessions_retallied() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, 'sessions_' || status, lpad(to_hex(floor(extract(epoch FROM starts_at) / 86400)::bigint), 32, '0')::uuid, false, sum(sign) FROM (SELECT (OLD).*, -1 AS sign UNION ALL SELECT (NEW).*, 1) AS changed
     GROUP BY 1, 2, 3 HAVING sum(sign) <> 0;
    RETURN NULL;
  END $$;
CREATE FUNCTION mentorship_sessions_tallied() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, 'sessions_' || status, lpad(to_hex(floor(extract(epoch FROM starts_at) / 86400)::bigint), 32, '0')::uuid, false, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END FROM changed GROUP BY 1, 2, 3;
    RETURN NULL;
  END $$;
CREATE FUNCTION students_added() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO club_student_counts AS counted (club_id, students)
    SELECT club_id, count(*) FROM added WHERE (added.removed_at IS NULL AND (added.verified_at IS NOT NULL OR added.opened_by <> 'sign_up')) GROUP BY club_id ORDER BY club_id
    ON CONFLICT (club_id) DO UPDATE SET students = counted.students + excluded.students;
    RETURN NULL;
  END $$;
CREATE FUNCTION students_changed() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO club_student_changes (club_id, students)
    SELECT changed.club_id, sum(changed.students)
      FROM (VALUES (OLD.club_id, -((OLD.removed_at IS NULL AND (OLD.verified_at IS NOT NULL OR OLD.opened_by <> 'sign_up')))::int), (NEW.club_id, ((NEW.removed_at IS NULL AND (NEW.verified_at IS NOT NULL OR NEW.opened_by <> 'sign_up')))::int))
        AS changed (club_id, students)
     GROUP BY 1;
    RETURN NULL;
  END $$;
CREATE FUNCTION students_deleted() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO club_student_changes (club_id, students)
    SELECT club_id, -count(*) FROM deleted WHERE (deleted.removed_at IS NULL AND (deleted.verified_at IS NOT NULL OR deleted.opened_by <> 'sign_up')) GROUP BY club_id;
    RETURN NULL;
  END $$;
CREATE FUNCTION students_forget_key() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    NEW.email_key := NULL;
    RETURN NEW;
  END $$;
CREATE FUNCTION students_retallied() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, 'students', '00000000-0000-0000-0000-000000000000'::uuid, verified_at IS NOT NULL, sum(sign)
      FROM (SELECT (OLD).*, -1 AS sign UNION ALL SELECT (NEW).*, 1) AS changed
     WHERE removed_at IS NULL GROUP BY 1, 3, 4 HAVING sum(sign) <> 0;
    RETURN NULL;
  END $$;
CREATE FUNCTION students_tallied() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO list_tally_changes (club_id, list, subject_id, marked, records)
    SELECT club_id, 'students', '00000000-0000-0000-0000-000000000000'::uuid, verified_at IS NOT NULL, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
      FROM changed WHERE removed_at IS NULL GROUP BY 1, 3, 4;
    RETURN NULL;
  END $$;
CREATE FUNCTION webhook_deliveries_counted() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  DECLARE
    sign integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
  BEGIN
    INSERT INTO webhook_tally_changes (endpoint_id, hour, event_type, pending, succeeded, failed, canceled)
    SELECT endpoint_id, date_trunc('hour', created_at, 'UTC'), event_type, sign * count(*) FILTER (WHERE status = 'pending'), sign * count(*) FILTER (WHERE status = 'succeeded'), sign * count(*) FILTER (WHERE status = 'failed'), sign * count(*) FILTER (WHERE status = 'canceled')
      FROM changed GROUP BY 1, 2, 3;
    RETURN NULL;
  END $$;
CREATE FUNCTION webhook_deliveries_recounted() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
  BEGIN
    INSERT INTO webhook_tally_changes (endpoint_id, hour, event_type, pending, succeeded, failed, canceled)
    SELECT counted.endpoint_id, date_trunc('hour', counted.created_at, 'UTC'), counted.event_type,
           sum((counted.status = 'pending')::int * sign), sum((counted.status = 'succeeded')::int * sign),
           sum((counted.status = 'failed')::int * sign), sum((counted.status = 'canceled')::int * sign)
      FROM (VALUES (OLD.endpoint_id, OLD.created_at, OLD.event_type, OLD.status, -1),
                   (NEW.endpoint_id, NEW.created_at, NEW.event_type, NEW.status, 1))
        AS counted (endpoint_id, created_at, event_type, status, sign)
     GROUP BY 1, 2, 3;
    RETURN NULL;
  END $$;
`;

/** Tables with their checks. */
const tables = String.raw`
CREATE TABLE access_deliveries (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    name text NOT NULL,
    kind text NOT NULL,
    course_id uuid,
    cohort_id uuid,
    free boolean DEFAULT false NOT NULL,
    access_days integer,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    archived_at timestamp with time zone,
    agent_id uuid,
    repository_id uuid,
    space_id uuid,
    CONSTRAINT access_deliveries_days CHECK ((access_days > 0)),
    CONSTRAINT access_deliveries_kind CHECK (((num_nonnulls(course_id, agent_id, repository_id, space_id) = 1) AND ((kind = 'course'::text) OR (cohort_id IS NULL)) AND (
CASE kind
    WHEN 'course'::text THEN course_id
    WHEN 'agent'::text THEN agent_id
    WHEN 'repository'::text THEN repository_id
    WHEN 'space'::text THEN space_id
    ELSE NULL::uuid
END IS NOT NULL)))
);
CREATE TABLE add_ons (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    kind text NOT NULL,
    quantity integer NOT NULL,
    adds bigint NOT NULL,
    amount integer NOT NULL,
    currency text NOT NULL,
    status text NOT NULL,
    customer_id text NOT NULL,
    payment_method_id text,
    payment_id text,
    created_at timestamp with time zone NOT NULL,
    settled_at timestamp with time zone,
    next_attempt_at timestamp with time zone NOT NULL,
    attempt_count integer DEFAULT 0 NOT NULL,
    fence integer DEFAULT 0 NOT NULL,
    lease_until timestamp with time zone,
    CONSTRAINT add_ons_kind CHECK ((kind = ANY (ARRAY['storage'::text, 'ai_budget'::text, 'students'::text]))),
    CONSTRAINT add_ons_paid CHECK (((status <> 'active'::text) OR (payment_id IS NOT NULL))),
    CONSTRAINT add_ons_quantity CHECK ((quantity > 0)),
    CONSTRAINT add_ons_settled CHECK (((status = 'pending'::text) = (settled_at IS NULL))),
    CONSTRAINT add_ons_status CHECK ((status = ANY (ARRAY['pending'::text, 'active'::text, 'failed'::text])))
);
CREATE TABLE administrator_sessions (
    token_hash bytea NOT NULL,
    administrator_id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL
);
CREATE TABLE administrators (
    id uuid NOT NULL,
    name text NOT NULL,
    email text NOT NULL,
    password_hash text,
    verified_at timestamp with time zone,
    phone text,
    phone_verified_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE agent_answer_deltas (
    answer_id uuid NOT NULL,
    starts_at integer NOT NULL,
    text text NOT NULL,
    CONSTRAINT agent_answer_deltas_text CHECK ((text <> ''::text))
);
CREATE TABLE agent_answers (
    id uuid NOT NULL,
    question_id uuid NOT NULL,
    club_id uuid NOT NULL,
    agent_id uuid NOT NULL,
    student_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    status text DEFAULT 'generating'::text NOT NULL,
    content text DEFAULT ''::text NOT NULL,
    error_code text,
    model text NOT NULL,
    max_tokens integer NOT NULL,
    call_no smallint DEFAULT '0'::smallint NOT NULL,
    begun_at timestamp with time zone,
    lease_until timestamp with time zone,
    looks_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone NOT NULL,
    completed_at timestamp with time zone,
    log_folded_at timestamp with time zone,
    CONSTRAINT agent_answers_calls CHECK (((call_no >= 0) AND (call_no <= 3))),
    CONSTRAINT agent_answers_ended CHECK (((completed_at IS NULL) = (status = 'generating'::text))),
    CONSTRAINT agent_answers_error CHECK (((error_code IS NOT NULL) = (status = 'failed'::text))),
    CONSTRAINT agent_answers_status CHECK ((status = ANY (ARRAY['generating'::text, 'complete'::text, 'truncated'::text, 'refused'::text, 'failed'::text])))
);
CREATE TABLE agent_calls (
    answer_id uuid NOT NULL,
    call_no smallint NOT NULL,
    model text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    outcome text,
    error_code text,
    request_id text,
    input_tokens integer DEFAULT 0 NOT NULL,
    output_tokens integer DEFAULT 0 NOT NULL,
    cache_write_tokens integer DEFAULT 0 NOT NULL,
    cache_read_tokens integer DEFAULT 0 NOT NULL,
    estimated boolean DEFAULT false NOT NULL,
    cost_micros bigint DEFAULT '0'::bigint NOT NULL,
    CONSTRAINT agent_calls_ended CHECK (((outcome IS NULL) = (ended_at IS NULL))),
    CONSTRAINT agent_calls_outcome CHECK ((outcome = ANY (ARRAY['answered'::text, 'failed'::text, 'abandoned'::text])))
);
CREATE TABLE agent_charges (
    answer_id uuid NOT NULL,
    club_id uuid NOT NULL,
    agent_id uuid NOT NULL,
    month date NOT NULL,
    reserved_micros bigint NOT NULL,
    cost_micros bigint,
    settled_at timestamp with time zone,
    CONSTRAINT agent_charges_amounts CHECK (((reserved_micros >= 0) AND (cost_micros >= 0))),
    CONSTRAINT agent_charges_settled CHECK (((settled_at IS NULL) = (cost_micros IS NULL)))
);
CREATE TABLE agent_citations (
    answer_id uuid NOT NULL,
    "position" smallint NOT NULL,
    cited_text text NOT NULL,
    source_id uuid,
    source_kind text NOT NULL,
    source_title text NOT NULL,
    page_from integer,
    page_to integer
);
CREATE TABLE agent_conversations (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    agent_id uuid NOT NULL,
    student_id uuid NOT NULL,
    title text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_message_at timestamp with time zone NOT NULL,
    deleted_at timestamp with time zone
);
CREATE TABLE agent_materials (
    id uuid NOT NULL,
    agent_id uuid NOT NULL,
    course_id uuid,
    lesson_id uuid,
    media_id uuid,
    CONSTRAINT agent_materials_one CHECK ((num_nonnulls(course_id, lesson_id, media_id) = 1))
);
CREATE TABLE agent_months (
    agent_id uuid NOT NULL,
    month date NOT NULL,
    club_id uuid NOT NULL,
    questions integer DEFAULT 0 NOT NULL,
    complete integer DEFAULT 0 NOT NULL,
    truncated integer DEFAULT 0 NOT NULL,
    refused integer DEFAULT 0 NOT NULL,
    failed integer DEFAULT 0 NOT NULL,
    input_tokens bigint DEFAULT '0'::bigint NOT NULL,
    output_tokens bigint DEFAULT '0'::bigint NOT NULL,
    cache_write_tokens bigint DEFAULT '0'::bigint NOT NULL,
    cache_read_tokens bigint DEFAULT '0'::bigint NOT NULL,
    cost_micros bigint DEFAULT '0'::bigint NOT NULL,
    CONSTRAINT agent_months_answers CHECK (((((complete + truncated) + refused) + failed) <= questions))
);
CREATE TABLE agent_passages (
    id uuid NOT NULL,
    source_id uuid NOT NULL,
    club_id uuid NOT NULL,
    "position" integer NOT NULL,
    page integer,
    title text NOT NULL,
    headings text[] NOT NULL,
    blocks text[] NOT NULL,
    text text NOT NULL,
    language text NOT NULL,
    search tsvector NOT NULL
);
CREATE TABLE agent_question_images (
    question_id uuid NOT NULL,
    "position" smallint NOT NULL,
    media_id uuid NOT NULL,
    CONSTRAINT agent_question_images_at_most_two CHECK (("position" = ANY (ARRAY[0, 1])))
);
CREATE TABLE agent_questions (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    agent_id uuid NOT NULL,
    student_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    content text NOT NULL,
    asked_at timestamp with time zone NOT NULL
);
CREATE TABLE agent_sources (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    kind text NOT NULL,
    lesson_id uuid,
    media_id uuid,
    title text NOT NULL,
    status text DEFAULT 'pending'::text NOT NULL,
    error_code text,
    wanted_version integer DEFAULT 1 NOT NULL,
    indexed_version integer DEFAULT 0 NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    fence integer DEFAULT 0 NOT NULL,
    lease_until timestamp with time zone,
    looks_at timestamp with time zone,
    page_count integer,
    passage_count integer DEFAULT 0 NOT NULL,
    indexed_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    removed_at timestamp with time zone,
    CONSTRAINT agent_sources_error CHECK (((error_code IS NOT NULL) = (status = 'failed'::text))),
    CONSTRAINT agent_sources_kind CHECK ((((kind = 'lesson'::text) AND ((lesson_id IS NULL) = (removed_at IS NOT NULL)) AND (media_id IS NULL)) OR ((kind = 'media'::text) AND ((media_id IS NULL) = (removed_at IS NOT NULL)) AND (lesson_id IS NULL)))),
    CONSTRAINT agent_sources_removed CHECK (((removed_at IS NULL) OR (looks_at IS NOT NULL))),
    CONSTRAINT agent_sources_status CHECK ((status = ANY (ARRAY['pending'::text, 'indexing'::text, 'ready'::text, 'failed'::text])))
);
CREATE TABLE agent_words (
    seq bigint NOT NULL,
    club_id uuid NOT NULL,
    word text NOT NULL,
    initial text NOT NULL,
    size smallint NOT NULL,
    lexeme text NOT NULL,
    stem text NOT NULL,
    passages integer NOT NULL,
    folded boolean DEFAULT false NOT NULL
);
CREATE SEQUENCE agent_words_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE agent_words_seq_seq OWNED BY agent_words.seq;
CREATE TABLE agents (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    public_id text NOT NULL,
    name text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    instructions text DEFAULT ''::text NOT NULL,
    model text,
    status text DEFAULT 'draft'::text NOT NULL,
    daily_limit integer NOT NULL,
    answer_max_tokens integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT agents_answer_max_tokens CHECK ((answer_max_tokens > 0)),
    CONSTRAINT agents_daily_limit CHECK ((daily_limit >= 0)),
    CONSTRAINT agents_status CHECK ((status = ANY (ARRAY['draft'::text, 'published'::text, 'archived'::text])))
);
CREATE TABLE assignment_attempt_files (
    media_id uuid NOT NULL,
    attempt_id uuid NOT NULL,
    "position" smallint NOT NULL
);
CREATE TABLE assignment_attempts (
    id uuid NOT NULL,
    submission_id uuid NOT NULL,
    number integer NOT NULL,
    text text,
    submitted_at timestamp with time zone NOT NULL
);
CREATE TABLE assignment_extensions (
    assignment_id uuid NOT NULL,
    student_id uuid NOT NULL,
    due_at timestamp with time zone,
    closes_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT assignment_extensions_moves_something CHECK ((num_nonnulls(due_at, closes_at) > 0))
);
CREATE TABLE assignment_reviews (
    id uuid NOT NULL,
    attempt_id uuid NOT NULL,
    outcome text NOT NULL,
    comment text,
    reviewer_id uuid,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT assignment_reviews_comment CHECK (((comment IS NOT NULL) OR (outcome = 'approved'::text))),
    CONSTRAINT assignment_reviews_outcome CHECK ((outcome = ANY (ARRAY['approved'::text, 'changes_requested'::text])))
);
CREATE TABLE assignment_submissions (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    assignment_id uuid NOT NULL,
    student_id uuid NOT NULL,
    status text NOT NULL,
    last_number integer NOT NULL,
    due_at timestamp with time zone,
    first_submitted_at timestamp with time zone NOT NULL,
    submitted_at timestamp with time zone NOT NULL,
    file_count smallint NOT NULL,
    reviewed_at timestamp with time zone,
    late boolean,
    CONSTRAINT assignment_submissions_late CHECK (((late IS NOT NULL) = (status = 'approved'::text))),
    CONSTRAINT assignment_submissions_reviewed CHECK (((reviewed_at IS NULL) = (status = 'submitted'::text))),
    CONSTRAINT assignment_submissions_status CHECK ((status = ANY (ARRAY['submitted'::text, 'approved'::text, 'changes_requested'::text])))
);
CREATE TABLE assignments (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    lesson_id uuid NOT NULL,
    block_label text,
    prompt text NOT NULL,
    "position" integer NOT NULL,
    due_at timestamp with time zone,
    closes_at timestamp with time zone,
    takes_text boolean NOT NULL,
    max_files smallint NOT NULL,
    required boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    removed_at timestamp with time zone,
    CONSTRAINT assignments_dates CHECK ((due_at <= closes_at)),
    CONSTRAINT assignments_max_files CHECK (((max_files >= 0) AND (max_files <= 10))),
    CONSTRAINT assignments_takes_something CHECK ((takes_text OR (max_files > 0)))
);
CREATE TABLE automation_course_looks (
    course_id uuid NOT NULL,
    after_id uuid NOT NULL,
    changed_at timestamp with time zone NOT NULL
);
CREATE TABLE automation_course_watches (
    course_id uuid NOT NULL,
    run_id uuid NOT NULL
);
CREATE TABLE automation_references (
    version_id uuid NOT NULL,
    referred_id uuid NOT NULL,
    kind text NOT NULL,
    CONSTRAINT automation_references_kind CHECK ((kind = ANY (ARRAY['delivery'::text, 'cohort'::text, 'product'::text, 'tag'::text, 'lesson'::text, 'course'::text, 'level'::text])))
);
CREATE TABLE automation_run_steps (
    id uuid NOT NULL,
    run_id uuid NOT NULL,
    version_id uuid NOT NULL,
    step_id text NOT NULL,
    entered_at timestamp with time zone NOT NULL,
    deadline timestamp with time zone,
    left_at timestamp with time zone,
    outcome text,
    answers boolean[]
);
CREATE TABLE automation_runs (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    automation_id uuid NOT NULL,
    version_id uuid NOT NULL,
    student_id uuid NOT NULL,
    status text DEFAULT 'active'::text NOT NULL,
    exit_reason text,
    error_code text,
    cause_id uuid NOT NULL,
    reentry text NOT NULL,
    priority smallint DEFAULT '1'::smallint NOT NULL,
    access_kind text,
    access_id uuid,
    was_open boolean DEFAULT false NOT NULL,
    links jsonb DEFAULT '[]'::jsonb NOT NULL,
    cursor text,
    deadline timestamp with time zone,
    waiting boolean DEFAULT false NOT NULL,
    watches text[] DEFAULT '{}'::text[] NOT NULL,
    looks_at timestamp with time zone,
    parked_at timestamp with time zone,
    path_kept boolean DEFAULT true NOT NULL,
    entered_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    CONSTRAINT automation_runs_access CHECK ((access_kind = ANY (ARRAY['delivery'::text, 'course'::text, 'product'::text]))),
    CONSTRAINT automation_runs_cursor CHECK (((status <> 'active'::text) OR (cursor IS NOT NULL))),
    CONSTRAINT automation_runs_ended CHECK (((status = 'active'::text) = (ended_at IS NULL))),
    CONSTRAINT automation_runs_exit_reason CHECK ((exit_reason = ANY (ARRAY['exit_step'::text, 'exit_when'::text, 'access_lost'::text, 'archived'::text, 'by_hand'::text, 'student_removed'::text]))),
    CONSTRAINT automation_runs_exited CHECK (((status = 'exited'::text) = (exit_reason IS NOT NULL))),
    CONSTRAINT automation_runs_failed CHECK (((status = 'failed'::text) = (error_code IS NOT NULL))),
    CONSTRAINT automation_runs_lives CHECK (((status <> 'active'::text) OR ((looks_at IS NULL) = (parked_at IS NOT NULL)))),
    CONSTRAINT automation_runs_looks CHECK (((status = 'active'::text) OR ((looks_at IS NULL) AND (parked_at IS NULL)))),
    CONSTRAINT automation_runs_reentry CHECK ((reentry = ANY (ARRAY['once'::text, 'after_exit'::text, 'always'::text]))),
    CONSTRAINT automation_runs_status CHECK ((status = ANY (ARRAY['active'::text, 'completed'::text, 'exited'::text, 'failed'::text])))
);
CREATE TABLE automation_step_changes (
    version_id uuid NOT NULL,
    seq bigint NOT NULL,
    step_id text NOT NULL,
    entered integer DEFAULT 0 NOT NULL,
    departed integer DEFAULT 0 NOT NULL,
    sent integer DEFAULT 0 NOT NULL,
    opened integer DEFAULT 0 NOT NULL,
    clicked integer DEFAULT 0 NOT NULL
);
CREATE SEQUENCE automation_step_changes_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE automation_step_changes_seq_seq OWNED BY automation_step_changes.seq;
CREATE TABLE automation_step_tallies (
    version_id uuid NOT NULL,
    step_id text NOT NULL,
    entered integer NOT NULL,
    departed integer NOT NULL,
    sent integer NOT NULL,
    opened integer NOT NULL,
    clicked integer NOT NULL
);
CREATE TABLE automation_versions (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    automation_id uuid NOT NULL,
    number integer NOT NULL,
    language smallint DEFAULT '1'::smallint NOT NULL,
    trigger_kind text NOT NULL,
    definition jsonb NOT NULL,
    compiled jsonb NOT NULL,
    published_at timestamp with time zone NOT NULL,
    CONSTRAINT automation_versions_number CHECK ((number > 0)),
    CONSTRAINT automation_versions_trigger_kind CHECK ((trigger_kind = ANY (ARRAY['student_created'::text, 'access_granted'::text, 'access_revoked'::text, 'purchase_paid'::text, 'purchase_refunded'::text, 'subscription_past_due'::text, 'subscription_canceled'::text, 'lesson_completed'::text, 'course_completed'::text, 'certificate_issued'::text, 'student_tagged'::text, 'student_untagged'::text, 'student_level_reached'::text, 'manual'::text])))
);
CREATE TABLE automations (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    name text NOT NULL,
    status text DEFAULT 'draft'::text NOT NULL,
    draft jsonb NOT NULL,
    revision integer DEFAULT 1 NOT NULL,
    published_id uuid,
    version_count integer DEFAULT 0 NOT NULL,
    trigger_kind text,
    gate_looks_at timestamp with time zone,
    gate_page smallint DEFAULT '1'::smallint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT automations_published CHECK (((published_id IS NULL) = (trigger_kind IS NULL))),
    CONSTRAINT automations_running CHECK (((status <> ALL (ARRAY['active'::text, 'paused'::text])) OR (published_id IS NOT NULL))),
    CONSTRAINT automations_status CHECK ((status = ANY (ARRAY['draft'::text, 'active'::text, 'paused'::text, 'archived'::text]))),
    CONSTRAINT automations_trigger_kind CHECK ((trigger_kind = ANY (ARRAY['student_created'::text, 'access_granted'::text, 'access_revoked'::text, 'purchase_paid'::text, 'purchase_refunded'::text, 'subscription_past_due'::text, 'subscription_canceled'::text, 'lesson_completed'::text, 'course_completed'::text, 'certificate_issued'::text, 'student_tagged'::text, 'student_untagged'::text, 'student_level_reached'::text, 'manual'::text])))
);
CREATE TABLE billing_events (
    id text NOT NULL,
    club_id uuid,
    type text NOT NULL,
    created timestamp with time zone NOT NULL,
    received_at timestamp with time zone NOT NULL,
    customer_id text,
    subscription_id text,
    plan text,
    status text,
    current_period_end timestamp with time zone,
    outcome text NOT NULL,
    CONSTRAINT billing_events_outcome CHECK ((outcome = ANY (ARRAY['applied'::text, 'outdated'::text, 'ignored'::text, 'unknown_club'::text, 'unknown_price'::text, 'customer_of_another_club'::text])))
);
CREATE TABLE campaigns (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    name text NOT NULL,
    status text DEFAULT 'draft'::text NOT NULL,
    content jsonb NOT NULL,
    audience jsonb NOT NULL,
    window_from smallint,
    window_to smallint,
    pause_reason text,
    scheduled_at timestamp with time zone,
    compiled jsonb,
    frozen_at timestamp with time zone,
    recipients integer DEFAULT 0 NOT NULL,
    ended_at timestamp with time zone,
    refusals integer DEFAULT 0 NOT NULL,
    looks_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    judged_sent integer DEFAULT 0 NOT NULL,
    judged_bounced integer DEFAULT 0 NOT NULL,
    judged_complained integer DEFAULT 0 NOT NULL,
    final_statistics jsonb,
    rows_removed_at timestamp with time zone,
    CONSTRAINT campaigns_minutes CHECK (window_from BETWEEN 0 AND 1439 AND window_to BETWEEN 0 AND 1439),
    CONSTRAINT campaigns_pause_reason CHECK ((pause_reason = ANY (ARRAY['by_hand'::text, 'provider'::text, 'bounces'::text, 'complaints'::text, 'plan'::text, 'problems'::text, 'missed_start'::text]))),
    CONSTRAINT campaigns_paused CHECK (((status = 'paused'::text) = (pause_reason IS NOT NULL))),
    CONSTRAINT campaigns_status CHECK ((status = ANY (ARRAY['draft'::text, 'scheduled'::text, 'sending'::text, 'paused'::text, 'sent'::text, 'canceled'::text]))),
    CONSTRAINT campaigns_window CHECK (((window_from IS NULL) = (window_to IS NULL)))
);
CREATE TABLE certificate_files (
    object_key text NOT NULL,
    certificate_id uuid NOT NULL,
    put_at timestamp with time zone NOT NULL,
    erases_at timestamp with time zone
);
CREATE TABLE certificates (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    student_id uuid NOT NULL,
    course_id uuid NOT NULL,
    code text NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    student_name text,
    student_email text,
    course_title text NOT NULL,
    club_name text NOT NULL,
    lesson_count integer NOT NULL,
    hours smallint,
    verify_url text NOT NULL,
    completed_at timestamp with time zone,
    issued_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    revoked_reason text,
    withdrawn_at timestamp with time zone,
    CONSTRAINT certificates_revoked CHECK (((revoked_reason IS NOT NULL) = ((revoked_at IS NOT NULL) AND (withdrawn_at IS NULL)))),
    CONSTRAINT certificates_version CHECK ((version >= 1)),
    CONSTRAINT certificates_withdrawn_is_anonymous CHECK ((((withdrawn_at IS NULL) = (student_name IS NOT NULL)) AND ((withdrawn_at IS NULL) = (student_email IS NOT NULL))))
);
CREATE TABLE club_ai_months (
    club_id uuid NOT NULL,
    month date NOT NULL,
    spent_micros bigint DEFAULT '0'::bigint NOT NULL,
    reserved_micros bigint DEFAULT '0'::bigint NOT NULL,
    CONSTRAINT club_ai_months_amounts CHECK (((spent_micros >= 0) AND (reserved_micros >= 0)))
);
CREATE TABLE club_bulk_days (
    club_id uuid NOT NULL,
    day date NOT NULL,
    mails integer NOT NULL
);
CREATE TABLE club_feature_changes (
    club_id uuid NOT NULL,
    changed_at timestamp with time zone NOT NULL
);
CREATE TABLE club_mail_days (
    club_id uuid NOT NULL,
    day date NOT NULL,
    mails integer NOT NULL
);
CREATE TABLE club_plans (
    club_id uuid NOT NULL,
    plan text NOT NULL,
    status text NOT NULL,
    customer_id text,
    subscription_id text,
    current_period_end timestamp with time zone,
    changed_at timestamp with time zone,
    CONSTRAINT club_plans_plan CHECK ((plan = ANY (ARRAY['trial'::text, 'starter'::text, 'professional'::text, 'business'::text]))),
    CONSTRAINT club_plans_status CHECK ((status = ANY (ARRAY['active'::text, 'past_due'::text, 'canceled'::text])))
);
CREATE TABLE club_storage (
    club_id uuid NOT NULL,
    kind text NOT NULL,
    bytes bigint DEFAULT '0'::bigint NOT NULL,
    files bigint DEFAULT '0'::bigint NOT NULL,
    held bigint DEFAULT '0'::bigint NOT NULL,
    CONSTRAINT club_storage_kind CHECK ((kind = ANY (ARRAY['video'::text, 'audio'::text, 'image'::text, 'document'::text])))
);
CREATE TABLE club_storage_changes (
    club_id uuid NOT NULL,
    seq bigint NOT NULL,
    kind text NOT NULL,
    bytes bigint NOT NULL,
    files bigint NOT NULL,
    held bigint NOT NULL,
    CONSTRAINT club_storage_changes_kind CHECK ((kind = ANY (ARRAY['video'::text, 'audio'::text, 'image'::text, 'document'::text])))
);
CREATE SEQUENCE club_storage_changes_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE club_storage_changes_seq_seq OWNED BY club_storage_changes.seq;
CREATE TABLE club_student_changes (
    club_id uuid NOT NULL,
    seq bigint NOT NULL,
    students integer NOT NULL
);
CREATE SEQUENCE club_student_changes_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE club_student_changes_seq_seq OWNED BY club_student_changes.seq;
CREATE TABLE club_student_counts (
    club_id uuid NOT NULL,
    students integer NOT NULL
);
CREATE TABLE clubs (
    id uuid NOT NULL,
    name text NOT NULL,
    slug text NOT NULL,
    time_zone text DEFAULT 'UTC'::text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    language text DEFAULT 'en'::text NOT NULL,
    ai_monthly_limit integer,
    opening_plan text DEFAULT 'professional'::text NOT NULL,
    CONSTRAINT clubs_ai_monthly_limit CHECK ((ai_monthly_limit >= 0)),
    CONSTRAINT clubs_language CHECK ((language = ANY (ARRAY['en'::text, 'pt'::text, 'es'::text, 'fr'::text, 'de'::text, 'it'::text]))),
    CONSTRAINT clubs_opening_plan CHECK ((opening_plan = ANY (ARRAY['trial'::text, 'starter'::text, 'professional'::text, 'business'::text])))
);
CREATE TABLE code_failure_counts (
    address_key bytea NOT NULL,
    day date NOT NULL,
    failures integer NOT NULL
);
CREATE TABLE cohorts (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    course_id uuid NOT NULL,
    name text NOT NULL,
    starts_at timestamp with time zone,
    ends_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT cohorts_dates CHECK ((ends_at > starts_at))
);
CREATE TABLE community_comments (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    post_id uuid NOT NULL,
    reply_to uuid,
    student_id uuid,
    administrator_id uuid,
    body text,
    state text DEFAULT 'published'::text NOT NULL,
    hidden_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    edited_at timestamp with time zone,
    CONSTRAINT community_comments_author CHECK ((num_nonnulls(student_id, administrator_id) <= 1)),
    CONSTRAINT community_comments_state CHECK ((state = ANY (ARRAY['published'::text, 'emptied'::text, 'deleted'::text]))),
    CONSTRAINT community_comments_words CHECK (((state = 'published'::text) = (body IS NOT NULL)))
);
CREATE TABLE community_memberships (
    space_id uuid NOT NULL,
    student_id uuid NOT NULL,
    club_id uuid NOT NULL,
    joined_at timestamp with time zone NOT NULL,
    left_at timestamp with time zone,
    banned_at timestamp with time zone,
    read_at timestamp with time zone NOT NULL,
    muted boolean DEFAULT false NOT NULL,
    digest boolean NOT NULL,
    counted boolean NOT NULL,
    looks_at timestamp with time zone,
    digest_left boolean DEFAULT false NOT NULL,
    CONSTRAINT community_memberships_digest_left CHECK ((NOT (digest AND digest_left))),
    CONSTRAINT community_memberships_stands CHECK ((((left_at IS NULL) AND (banned_at IS NULL)) OR ((NOT counted) AND (looks_at IS NULL))))
);
CREATE TABLE community_moderations (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    post_id uuid NOT NULL,
    comment_id uuid,
    administrator_id uuid,
    action text NOT NULL,
    reason text,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT community_moderations_action CHECK ((action = ANY (ARRAY['hide'::text, 'restore'::text, 'delete'::text, 'pin'::text, 'unpin'::text, 'lock'::text, 'unlock'::text])))
);
CREATE TABLE community_post_files (
    media_id uuid NOT NULL,
    post_id uuid NOT NULL,
    "position" smallint NOT NULL
);
CREATE TABLE community_posts (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    space_id uuid NOT NULL,
    public_id text NOT NULL,
    student_id uuid,
    administrator_id uuid,
    title text,
    body text,
    state text DEFAULT 'published'::text NOT NULL,
    pinned boolean DEFAULT false NOT NULL,
    locked boolean DEFAULT false NOT NULL,
    hidden_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    edited_at timestamp with time zone,
    CONSTRAINT community_posts_author CHECK ((num_nonnulls(student_id, administrator_id) <= 1)),
    CONSTRAINT community_posts_state CHECK ((state = ANY (ARRAY['published'::text, 'emptied'::text, 'deleted'::text]))),
    CONSTRAINT community_posts_words CHECK ((((state = 'published'::text) = (body IS NOT NULL)) AND ((title IS NULL) OR (state = 'published'::text))))
);
CREATE TABLE community_reactions (
    target_id uuid NOT NULL,
    author_id uuid NOT NULL,
    kind text NOT NULL,
    club_id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT community_reactions_kind CHECK ((kind = ANY (ARRAY['like'::text, 'love'::text, 'celebrate'::text, 'insightful'::text, 'support'::text, 'laugh'::text])))
);
CREATE TABLE community_reports (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    student_id uuid NOT NULL,
    target_id uuid NOT NULL,
    post_id uuid NOT NULL,
    comment_id uuid,
    reason text,
    created_at timestamp with time zone NOT NULL,
    settled_at timestamp with time zone,
    outcome text,
    CONSTRAINT community_reports_outcome CHECK ((outcome = ANY (ARRAY['upheld'::text, 'dismissed'::text]))),
    CONSTRAINT community_reports_settled CHECK (((settled_at IS NULL) = (outcome IS NULL)))
);
CREATE TABLE community_spaces (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    public_id text NOT NULL,
    name text NOT NULL,
    description text,
    posting text DEFAULT 'members'::text NOT NULL,
    private boolean DEFAULT false NOT NULL,
    hidden boolean DEFAULT false NOT NULL,
    auto_join boolean DEFAULT false NOT NULL,
    digest_by_default boolean DEFAULT false NOT NULL,
    "position" integer NOT NULL,
    archived_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    fill_looks_at timestamp with time zone,
    fill_after uuid,
    fill_barrier text,
    CONSTRAINT community_spaces_posting CHECK ((posting = ANY (ARRAY['members'::text, 'admins'::text])))
);
CREATE TABLE course_completions (
    student_id uuid NOT NULL,
    course_id uuid NOT NULL,
    club_id uuid NOT NULL,
    completed_at timestamp with time zone NOT NULL
);
CREATE TABLE courses (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    public_id text NOT NULL,
    title text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    status text DEFAULT 'draft'::text NOT NULL,
    hours smallint,
    certificate_on_completion boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    published_at timestamp with time zone,
    CONSTRAINT courses_status CHECK ((status = ANY (ARRAY['draft'::text, 'published'::text, 'archived'::text])))
);
CREATE TABLE enrollments (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    student_id uuid NOT NULL,
    delivery_id uuid NOT NULL,
    cohort_id uuid,
    source text NOT NULL,
    origin_id uuid,
    starts_at timestamp with time zone NOT NULL,
    ends_at timestamp with time zone,
    revoked_at timestamp with time zone,
    revoked_reason text,
    superseded_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT enrollments_origin CHECK (((origin_id IS NOT NULL) = (source = ANY (ARRAY['purchase'::text, 'subscription'::text])))),
    CONSTRAINT enrollments_revoked CHECK (((revoked_at IS NULL) = (revoked_reason IS NULL))),
    CONSTRAINT enrollments_revoked_reason CHECK ((revoked_reason = ANY (ARRAY['refund'::text, 'cancellation'::text, 'revocation'::text, 'removal'::text]))),
    CONSTRAINT enrollments_source CHECK ((source = ANY (ARRAY['purchase'::text, 'subscription'::text, 'grant'::text, 'invite'::text, 'import'::text, 'registration_link'::text, 'free'::text])))
);
CREATE TABLE facts (
    id uuid NOT NULL,
    seq bigint NOT NULL,
    club_id uuid NOT NULL,
    type text NOT NULL,
    student_id uuid NOT NULL,
    occurred_at timestamp with time zone NOT NULL,
    lease_until timestamp with time zone,
    subject_id uuid,
    details jsonb,
    attempt_count smallint DEFAULT '0'::smallint NOT NULL,
    due_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    priority smallint DEFAULT '1'::smallint NOT NULL,
    recorded_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
)
WITH (vacuum_truncate=off);
CREATE SEQUENCE facts_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE facts_seq_seq OWNED BY facts.seq;
CREATE TABLE failing_steps (
    workflow_id text NOT NULL,
    workflow_type text NOT NULL,
    fault_count integer NOT NULL,
    error_code text NOT NULL,
    failing_since timestamp with time zone NOT NULL,
    retry_at timestamp with time zone NOT NULL
);
CREATE TABLE invitations (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    email text NOT NULL,
    role text NOT NULL,
    invited_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT invitations_role CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'editor'::text, 'support'::text])))
);
CREATE TABLE leftover_objects (
    object_key text NOT NULL,
    club_id uuid NOT NULL,
    erases_at timestamp with time zone NOT NULL,
    arrives_until timestamp with time zone
);
CREATE TABLE lesson_comments (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    lesson_id uuid NOT NULL,
    student_id uuid NOT NULL,
    body text NOT NULL,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE lesson_progress (
    student_id uuid NOT NULL,
    lesson_id uuid NOT NULL,
    club_id uuid NOT NULL,
    first_completed_at timestamp with time zone NOT NULL,
    completed boolean NOT NULL,
    updated_at timestamp with time zone NOT NULL
);
CREATE TABLE lessons (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    course_id uuid NOT NULL,
    module_id uuid,
    public_id text NOT NULL,
    title text NOT NULL,
    content text DEFAULT ''::text NOT NULL,
    "position" integer NOT NULL,
    points integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    published_at timestamp with time zone,
    removed_at timestamp with time zone
);
CREATE TABLE levels (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    name text NOT NULL,
    points integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    removed_at timestamp with time zone
);
CREATE TABLE list_tallies (
    club_id uuid NOT NULL,
    list text NOT NULL,
    subject_id uuid NOT NULL,
    marked boolean NOT NULL,
    records integer NOT NULL,
    CONSTRAINT list_tallies_list CHECK ((list = ANY (ARRAY['students'::text, 'enrollments'::text, 'certificates'::text, 'mails_open'::text, 'mails_sent'::text, 'mails_skipped'::text, 'mails_failed'::text, 'mails_skipped_suppressed'::text, 'mails_skipped_unsubscribed'::text, 'mails_skipped_bounced'::text, 'mails_skipped_complained'::text, 'mails_skipped_invalid_email'::text, 'mails_skipped_no_longer_eligible'::text, 'mails_skipped_student_removed'::text, 'mails_skipped_canceled'::text, 'mails_delivered'::text, 'mails_bounced'::text, 'mails_complained'::text, 'mails_opened'::text, 'mails_clicked'::text, 'mails_links_clicked'::text, 'automation_runs_active'::text, 'automation_runs_completed'::text, 'automation_runs_exited'::text, 'automation_runs_failed'::text, 'submissions_submitted'::text, 'submissions_approved'::text, 'submissions_changes_requested'::text, 'media_video'::text, 'media_image'::text, 'media_audio'::text, 'media_pdf'::text, 'media_file'::text, 'media_embed'::text, 'space_members'::text, 'space_posts'::text, 'post_comments'::text, 'reactions_like'::text, 'reactions_love'::text, 'reactions_celebrate'::text, 'reactions_insightful'::text, 'reactions_support'::text, 'reactions_laugh'::text, 'reports_open'::text, 'moderations'::text, 'sessions_booked'::text, 'sessions_canceled'::text, 'sessions_no_show'::text])))
);
CREATE TABLE list_tally_changes (
    club_id uuid NOT NULL,
    list text NOT NULL,
    seq bigint NOT NULL,
    subject_id uuid NOT NULL,
    marked boolean NOT NULL,
    records integer NOT NULL
);
CREATE SEQUENCE list_tally_changes_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE list_tally_changes_seq_seq OWNED BY list_tally_changes.seq;
CREATE TABLE mail_clicks (
    mail_id uuid NOT NULL,
    link_id uuid NOT NULL,
    machine boolean NOT NULL,
    at timestamp with time zone NOT NULL,
    last_at timestamp with time zone NOT NULL
);
CREATE TABLE mail_domains (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    domain text NOT NULL,
    local_part text NOT NULL,
    selector text NOT NULL,
    public_key text NOT NULL,
    sealed_private_key bytea NOT NULL,
    status text DEFAULT 'unproven'::text NOT NULL,
    status_since timestamp with time zone NOT NULL,
    first_proven_at timestamp with time zone,
    found jsonb DEFAULT '{}'::jsonb NOT NULL,
    answered_at timestamp with time zone,
    checked_at timestamp with time zone,
    looks_at timestamp with time zone NOT NULL,
    CONSTRAINT mail_domains_proven CHECK (((status = 'unproven'::text) OR (first_proven_at IS NOT NULL))),
    CONSTRAINT mail_domains_status CHECK ((status = ANY (ARRAY['unproven'::text, 'proven'::text, 'lapsed'::text])))
);
CREATE TABLE mail_links (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    cause_id uuid NOT NULL,
    "position" smallint NOT NULL,
    url text NOT NULL
);
CREATE TABLE mail_senders (
    club_id uuid NOT NULL,
    from_name text NOT NULL,
    reply_to text,
    postal_address text NOT NULL,
    tracking text DEFAULT 'all'::text NOT NULL,
    mails_per_minute integer DEFAULT 600 NOT NULL,
    allowance double precision DEFAULT '0'::double precision NOT NULL,
    allowance_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT mail_senders_rate CHECK ((mails_per_minute > 0)),
    CONSTRAINT mail_senders_tracking CHECK ((tracking = ANY (ARRAY['all'::text, 'clicks'::text, 'none'::text])))
);
CREATE TABLE mail_soft_bounces (
    mail_id uuid NOT NULL,
    at timestamp with time zone NOT NULL
);
CREATE TABLE mail_suppressions (
    club_id uuid NOT NULL,
    address_key bytea NOT NULL,
    reason text,
    left_campaigns_at timestamp with time zone,
    left_automations_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    left_digests_at timestamp with time zone,
    CONSTRAINT mail_suppressions_reason CHECK ((reason = ANY (ARRAY['bounce'::text, 'complaint'::text, 'manual'::text]))),
    CONSTRAINT mail_suppressions_says_something CHECK ((num_nonnulls(reason, left_campaigns_at, left_automations_at, left_digests_at) > 0))
);
CREATE TABLE mails (
    id uuid NOT NULL,
    seq bigint NOT NULL,
    club_id uuid NOT NULL,
    campaign_id uuid,
    run_id uuid,
    step_id text,
    student_id uuid NOT NULL,
    student_name text NOT NULL,
    student_email text NOT NULL,
    address_key bytea,
    status text DEFAULT 'pending'::text NOT NULL,
    skip_reason text,
    last_error text,
    attempt_count smallint DEFAULT '0'::smallint NOT NULL,
    next_attempt_at timestamp with time zone NOT NULL,
    fence integer DEFAULT 0 NOT NULL,
    lease_until timestamp with time zone,
    sent_at timestamp with time zone,
    delivered_at timestamp with time zone,
    bounced_at timestamp with time zone,
    complained_at timestamp with time zone,
    opened_at timestamp with time zone,
    clicked_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    machine_opened_at timestamp with time zone,
    machine_clicked_at timestamp with time zone,
    provider_id text,
    soft_bounced_at timestamp with time zone,
    digest_id text,
    CONSTRAINT mails_cause CHECK (((num_nonnulls(campaign_id, run_id, digest_id) = 1) AND ((run_id IS NULL) = (step_id IS NULL)))),
    CONSTRAINT mails_skip_reason CHECK ((skip_reason = ANY (ARRAY['suppressed'::text, 'unsubscribed'::text, 'bounced'::text, 'complained'::text, 'invalid_email'::text, 'no_longer_eligible'::text, 'student_removed'::text, 'canceled'::text]))),
    CONSTRAINT mails_skipped CHECK (((status = 'skipped'::text) = (skip_reason IS NOT NULL))),
    CONSTRAINT mails_status CHECK ((status = ANY (ARRAY['pending'::text, 'sending'::text, 'sent'::text, 'skipped'::text, 'failed'::text])))
);
CREATE SEQUENCE mails_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE mails_seq_seq OWNED BY mails.seq;
CREATE TABLE media (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    purpose text NOT NULL,
    owner_id uuid,
    kind text NOT NULL,
    title text NOT NULL,
    provider text NOT NULL,
    status text NOT NULL,
    visibility text DEFAULT 'private'::text NOT NULL,
    archived boolean DEFAULT false NOT NULL,
    file_name text,
    mime text,
    size_bytes bigint,
    width integer,
    height integer,
    error text,
    object_key text,
    upload_expires_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    removed_at timestamp with time zone,
    erases_at timestamp with time zone,
    fence integer DEFAULT 0 NOT NULL,
    lease_until timestamp with time zone,
    fault_count smallint DEFAULT 0 NOT NULL,
    held_bytes bigint,
    erased_at timestamp with time zone,
    external_id text,
    folder_id uuid,
    expires_at timestamp with time zone,
    type text GENERATED ALWAYS AS (
CASE
    WHEN (provider = ANY (ARRAY['videosite1'::text, 'videosite2'::text, 'external'::text])) THEN 'embed'::text
    WHEN (provider = ANY (ARRAY['hostedvideo_stream'::text, 'protectedvideo'::text])) THEN 'video'::text
    WHEN (kind <> 'document'::text) THEN kind
    WHEN ((mime = 'application/pdf'::text) OR ((COALESCE(mime, 'application/octet-stream'::text) = 'application/octet-stream'::text) AND (lower("right"(file_name, 4)) = '.pdf'::text))) THEN 'pdf'::text
    ELSE 'file'::text
END) STORED,
    expiry_looks_at timestamp with time zone,
    expiry_warned_at timestamp with time zone,
    looks_at timestamp with time zone,
    processed_at timestamp with time zone,
    sha256 bytea,
    crc32 bigint,
    duration_ms integer,
    renditions_due_at timestamp with time zone,
    CONSTRAINT media_bucket CHECK (((object_key IS NULL) OR ((object_key ~~ 'public/%'::text) = (visibility = 'public'::text)))),
    CONSTRAINT media_crc32 CHECK (((crc32 >= 0) AND (crc32 <= '4294967295'::bigint))),
    CONSTRAINT media_erased CHECK (((erases_at IS NULL) OR (object_key IS NOT NULL))),
    CONSTRAINT media_error CHECK (((error IS NOT NULL) = (status = 'failed'::text))),
    CONSTRAINT media_expires CHECK (((expiry_looks_at IS NULL) OR (expires_at IS NOT NULL))),
    CONSTRAINT media_held CHECK ((held_bytes >= 0)),
    CONSTRAINT media_kind CHECK ((kind = ANY (ARRAY['video'::text, 'audio'::text, 'image'::text, 'document'::text]))),
    CONSTRAINT media_provider CHECK ((provider = ANY (ARRAY['hostedvideo_stream'::text, 'objstore'::text, 'videosite1'::text, 'videosite2'::text, 'external'::text, 'protectedvideo'::text]))),
    CONSTRAINT media_published CHECK (((visibility = 'private'::text) OR (purpose = 'library'::text))),
    CONSTRAINT media_purpose CHECK ((((purpose = 'library'::text) AND (owner_id IS NULL)) OR ((purpose = ANY (ARRAY['agent_image'::text, 'assignment'::text, 'post'::text, 'avatar'::text])) AND (owner_id IS NOT NULL)))),
    CONSTRAINT media_reference CHECK (((external_id IS NOT NULL) = (provider = ANY (ARRAY['videosite1'::text, 'videosite2'::text, 'external'::text, 'protectedvideo'::text])))),
    CONSTRAINT media_reference_stored CHECK (((external_id IS NULL) OR ((purpose = 'library'::text) AND (object_key IS NULL)))),
    CONSTRAINT media_sha256 CHECK ((octet_length(sha256) = 32)),
    CONSTRAINT media_status CHECK ((status = ANY (ARRAY['uploading'::text, 'processing'::text, 'ready'::text, 'failed'::text]))),
    CONSTRAINT media_visibility CHECK ((visibility = ANY (ARRAY['private'::text, 'public'::text])))
);
CREATE TABLE media_favorites (
    administrator_id uuid NOT NULL,
    media_id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE media_folders (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    parent_id uuid,
    name text NOT NULL,
    folded_name text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT media_folders_parent CHECK ((parent_id <> id))
);
CREATE TABLE media_moves (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    visibility text NOT NULL,
    target_key text,
    looks_at timestamp with time zone NOT NULL,
    fence integer DEFAULT 0 NOT NULL,
    lease_until timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT media_moves_visibility CHECK ((visibility = ANY (ARRAY['private'::text, 'public'::text])))
);
CREATE TABLE media_renditions (
    media_id uuid NOT NULL,
    version smallint NOT NULL,
    role text NOT NULL,
    object_key text NOT NULL,
    mime text NOT NULL,
    size_bytes bigint NOT NULL,
    width integer NOT NULL,
    height integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT media_renditions_role CHECK ((role = ANY (ARRAY['preview'::text, 'thumbnail'::text, 'video'::text])))
);
CREATE TABLE media_uploads (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    multipart_id text,
    fence integer DEFAULT 0 NOT NULL,
    lease_until timestamp with time zone
);
CREATE TABLE media_uses (
    media_id uuid NOT NULL,
    kind text NOT NULL,
    place_id uuid NOT NULL,
    CONSTRAINT media_uses_kind CHECK ((kind = ANY (ARRAY['lesson'::text, 'course'::text, 'agent'::text, 'campaign'::text, 'automation'::text, 'automation_version'::text, 'assignment'::text, 'assignment_review'::text, 'repository'::text, 'space'::text, 'post'::text])))
);
CREATE TABLE memberships (
    club_id uuid NOT NULL,
    administrator_id uuid NOT NULL,
    role text NOT NULL,
    joined_at timestamp with time zone NOT NULL,
    CONSTRAINT memberships_role CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'editor'::text, 'support'::text])))
);
CREATE TABLE mentorship_deliveries (
    mentorship_id uuid NOT NULL,
    delivery_id uuid NOT NULL
);
CREATE TABLE mentorship_sessions (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    mentorship_id uuid NOT NULL,
    mentor_id uuid NOT NULL,
    student_id uuid NOT NULL,
    status text DEFAULT 'booked'::text NOT NULL,
    starts_at timestamp with time zone NOT NULL,
    ends_at timestamp with time zone NOT NULL,
    busy_until timestamp with time zone NOT NULL,
    sequence integer DEFAULT 0 NOT NULL,
    agenda text DEFAULT ''::text NOT NULL,
    booked_at timestamp with time zone NOT NULL,
    canceled_at timestamp with time zone,
    canceled_by text,
    cancel_reason text DEFAULT ''::text NOT NULL,
    rating smallint,
    rating_comment text DEFAULT ''::text NOT NULL,
    rated_at timestamp with time zone,
    looks_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT mentorship_sessions_canceled CHECK (((status = 'canceled'::text) = (canceled_at IS NOT NULL))),
    CONSTRAINT mentorship_sessions_canceler CHECK ((canceled_by = ANY (ARRAY['student'::text, 'club'::text]))),
    CONSTRAINT mentorship_sessions_rating CHECK (((rating >= 1) AND (rating <= 5))),
    CONSTRAINT mentorship_sessions_status CHECK ((status = ANY (ARRAY['booked'::text, 'canceled'::text, 'no_show'::text]))),
    CONSTRAINT mentorship_sessions_times CHECK (((starts_at < ends_at) AND (ends_at <= busy_until)))
);
CREATE TABLE mentorships (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    public_id text NOT NULL,
    title text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    status text DEFAULT 'draft'::text NOT NULL,
    mentor_id uuid NOT NULL,
    duration_minutes smallint NOT NULL,
    buffer_minutes smallint DEFAULT 0 NOT NULL,
    time_zone text NOT NULL,
    weekly_hours jsonb NOT NULL,
    exceptions jsonb NOT NULL,
    notice_minutes integer DEFAULT 0 NOT NULL,
    horizon_days smallint NOT NULL,
    max_upcoming smallint NOT NULL,
    cancel_deadline_minutes integer DEFAULT 0 NOT NULL,
    meeting_url text,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    published_at timestamp with time zone,
    CONSTRAINT mentorships_buffer CHECK (((buffer_minutes >= 0) AND (buffer_minutes <= 240))),
    CONSTRAINT mentorships_duration CHECK (((duration_minutes >= 15) AND (duration_minutes <= 240))),
    CONSTRAINT mentorships_horizon CHECK (((horizon_days >= 1) AND (horizon_days <= 180))),
    CONSTRAINT mentorships_status CHECK ((status = ANY (ARRAY['draft'::text, 'published'::text, 'archived'::text])))
);
CREATE TABLE modules (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    course_id uuid NOT NULL,
    title text NOT NULL,
    "position" integer NOT NULL,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE one_time_tokens (
    id uuid NOT NULL,
    purpose text NOT NULL,
    token_hash bytea,
    student_id uuid,
    administrator_id uuid,
    invitation_id uuid,
    password_hash text,
    tries_left smallint,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT one_time_tokens_owner CHECK ((num_nonnulls(student_id, administrator_id, invitation_id) = 1))
);
CREATE TABLE overage_turns (
    club_id uuid NOT NULL,
    turns_at timestamp with time zone NOT NULL
);
CREATE TABLE overages (
    club_id uuid NOT NULL,
    resource text NOT NULL,
    month date NOT NULL,
    excess bigint NOT NULL,
    reached_at timestamp with time zone NOT NULL,
    CONSTRAINT overages_excess CHECK ((excess > 0)),
    CONSTRAINT overages_resource CHECK ((resource = ANY (ARRAY['students'::text, 'storage_bytes'::text, 'ai_budget'::text])))
);
CREATE TABLE point_awards (
    student_id uuid NOT NULL,
    cause_kind text NOT NULL,
    cause_id uuid NOT NULL,
    points integer NOT NULL,
    note text,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT point_awards_kind CHECK ((cause_kind = ANY (ARRAY['lesson'::text, 'manual'::text, 'automation'::text]))),
    CONSTRAINT point_awards_points CHECK ((points <> 0))
);
CREATE TABLE product_deliveries (
    product_id uuid NOT NULL,
    delivery_id uuid NOT NULL
);
CREATE TABLE products (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    platform text NOT NULL,
    external_id text NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT products_platform CHECK ((platform ~ '^[a-z0-9][a-z0-9_-]{0,63}$'::text))
);
CREATE TABLE purchases (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    student_id uuid NOT NULL,
    product_id uuid NOT NULL,
    subscription_id uuid,
    platform text NOT NULL,
    external_id text NOT NULL,
    status text DEFAULT 'paid'::text NOT NULL,
    amount bigint NOT NULL,
    currency text NOT NULL,
    terms_rank smallint NOT NULL,
    terms_at timestamp with time zone NOT NULL,
    paid_at timestamp with time zone NOT NULL,
    refunded_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT purchases_amount CHECK ((amount >= 0)),
    CONSTRAINT purchases_status CHECK ((status = ANY (ARRAY['paid'::text, 'refunded'::text, 'chargeback'::text])))
);
CREATE UNLOGGED TABLE rate_limit_counters (
    key character varying(255) NOT NULL,
    points integer DEFAULT 0 NOT NULL,
    expire bigint
);
CREATE TABLE registration_link_claims (
    link_id uuid NOT NULL,
    student_id uuid NOT NULL,
    delivery_ids uuid[] NOT NULL,
    claimed_at timestamp with time zone NOT NULL
);
CREATE TABLE registration_link_deliveries (
    link_id uuid NOT NULL,
    delivery_id uuid NOT NULL
);
CREATE TABLE registration_links (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    code text NOT NULL,
    folded_code text NOT NULL,
    name text NOT NULL,
    max_uses integer,
    uses integer DEFAULT 0 NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT registration_links_code CHECK (((code ~ '^[A-Za-z0-9_-]{1,64}$'::text) AND (folded_code = lower(code)))),
    CONSTRAINT registration_links_uses CHECK (((uses >= 0) AND (max_uses > 0)))
);
CREATE TABLE repositories (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    public_id text NOT NULL,
    title text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    instructor_name text DEFAULT ''::text NOT NULL,
    cover_media_id uuid,
    status text DEFAULT 'draft'::text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    published_at timestamp with time zone,
    CONSTRAINT repositories_status CHECK ((status = ANY (ARRAY['draft'::text, 'published'::text, 'archived'::text])))
);
CREATE TABLE repository_items (
    repository_id uuid NOT NULL,
    media_id uuid NOT NULL,
    "position" smallint NOT NULL,
    added_at timestamp with time zone NOT NULL
);
CREATE TABLE sales_connections (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    platform text NOT NULL,
    name text NOT NULL,
    token_hash bytea NOT NULL,
    secret bytea,
    created_at timestamp with time zone NOT NULL,
    rotated_at timestamp with time zone NOT NULL,
    deleted_at timestamp with time zone,
    CONSTRAINT sales_connections_platform CHECK ((platform = ANY (ARRAY['generic'::text, 'hotmart'::text, 'kiwify'::text])))
);
CREATE TABLE sales_notices (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    connection_id uuid NOT NULL,
    platform text NOT NULL,
    body bytea,
    proof bytea,
    addresses text[] DEFAULT '{}'::text[] NOT NULL,
    student_id uuid,
    status text DEFAULT 'pending'::text NOT NULL,
    error_code text,
    error_path text,
    attempt_count integer DEFAULT 0 NOT NULL,
    next_attempt_at timestamp with time zone NOT NULL,
    fence integer DEFAULT 0 NOT NULL,
    lease_until timestamp with time zone,
    received_at timestamp with time zone NOT NULL,
    processed_at timestamp with time zone,
    CONSTRAINT sales_notices_status CHECK ((status = ANY (ARRAY['pending'::text, 'processed'::text, 'ignored'::text, 'failed'::text])))
);
CREATE TABLE space_digests (
    id text NOT NULL,
    club_id uuid NOT NULL,
    date date NOT NULL,
    takes_until timestamp with time zone NOT NULL,
    ends_at timestamp with time zone NOT NULL,
    members integer NOT NULL,
    pages integer DEFAULT 0 NOT NULL,
    paged_to uuid,
    all_paged boolean DEFAULT false NOT NULL,
    recipients integer DEFAULT 0 NOT NULL,
    looks_at timestamp with time zone,
    ended_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT space_digests_ended CHECK (((ended_at IS NULL) = (looks_at IS NOT NULL))),
    CONSTRAINT space_digests_id CHECK ((id = (((club_id)::text || '/'::text) || to_char((date)::timestamp with time zone, 'YYYY-MM-DD'::text))))
);
CREATE TABLE student_import_addresses (
    import_id uuid NOT NULL,
    address_key bytea NOT NULL,
    student_id uuid NOT NULL
);
CREATE TABLE student_import_rows (
    import_id uuid NOT NULL,
    "row" integer NOT NULL,
    outcome text NOT NULL,
    code text,
    column_name text,
    student_id uuid,
    CONSTRAINT student_import_rows_code CHECK (((outcome = 'failed'::text) = (code IS NOT NULL))),
    CONSTRAINT student_import_rows_outcomes CHECK ((outcome = ANY (ARRAY['created'::text, 'existing'::text, 'failed'::text]))),
    CONSTRAINT student_import_rows_who CHECK (((outcome = 'failed'::text) = (student_id IS NULL)))
);
CREATE TABLE student_imports (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    status text NOT NULL,
    file_name text,
    delivery_ids uuid[] NOT NULL,
    invite boolean NOT NULL,
    format jsonb NOT NULL,
    ignored_columns text[] NOT NULL,
    file_bytes integer,
    rows_total integer,
    cursor integer NOT NULL,
    next_row integer NOT NULL,
    created_count integer DEFAULT 0 NOT NULL,
    existing_count integer DEFAULT 0 NOT NULL,
    failed_count integer DEFAULT 0 NOT NULL,
    error text,
    looks_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    completed_at timestamp with time zone,
    CONSTRAINT student_imports_ended CHECK (((completed_at IS NOT NULL) = (status = ANY (ARRAY['completed'::text, 'failed'::text, 'canceled'::text])))),
    CONSTRAINT student_imports_error CHECK (((error IS NOT NULL) = (status = 'failed'::text))),
    CONSTRAINT student_imports_status CHECK ((status = ANY (ARRAY['uploading'::text, 'pending'::text, 'running'::text, 'completed'::text, 'failed'::text, 'canceled'::text])))
);
CREATE TABLE student_levels (
    student_id uuid NOT NULL,
    level_id uuid NOT NULL,
    reached_at timestamp with time zone NOT NULL
);
CREATE TABLE student_sessions (
    token_hash bytea NOT NULL,
    student_id uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL
);
CREATE TABLE student_tags (
    student_id uuid NOT NULL,
    tag_id uuid NOT NULL,
    tagged_at timestamp with time zone NOT NULL
);
CREATE TABLE students (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    name text NOT NULL,
    email text,
    password_hash text,
    verified_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    removed_at timestamp with time zone,
    points bigint DEFAULT '0'::bigint NOT NULL,
    opened_by text DEFAULT 'club'::text NOT NULL,
    email_key bytea,
    avatar_key text,
    CONSTRAINT students_opened_by CHECK ((opened_by = ANY (ARRAY['sign_up'::text, 'club'::text, 'sale'::text]))),
    CONSTRAINT students_removed_has_no_key CHECK (((email IS NOT NULL) OR (email_key IS NULL))),
    CONSTRAINT students_removed_is_anonymous CHECK (((removed_at IS NULL) = (email IS NOT NULL)))
);
CREATE TABLE subscription_marks (
    subscription_id uuid NOT NULL,
    kind text NOT NULL,
    key text NOT NULL,
    at timestamp with time zone NOT NULL,
    period_end timestamp with time zone,
    CONSTRAINT subscription_marks_kind CHECK ((kind = ANY (ARRAY['late'::text, 'canceled'::text])))
);
CREATE TABLE subscriptions (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    student_id uuid NOT NULL,
    product_id uuid NOT NULL,
    platform text NOT NULL,
    external_id text NOT NULL,
    status text DEFAULT 'active'::text NOT NULL,
    current_period_end timestamp with time zone,
    period_stated_at timestamp with time zone,
    past_due_since timestamp with time zone,
    canceled_at timestamp with time zone,
    steps_taken smallint DEFAULT '0'::smallint NOT NULL,
    ends_before jsonb DEFAULT '{}'::jsonb NOT NULL,
    end_looks_at timestamp with time zone,
    access_ended_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    access_target jsonb DEFAULT '{"kind": "open"}'::jsonb NOT NULL,
    CONSTRAINT subscriptions_status CHECK ((status = ANY (ARRAY['active'::text, 'past_due'::text, 'canceled'::text])))
);
CREATE TABLE tags (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    name text NOT NULL,
    folded_name text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    removed_at timestamp with time zone
);
CREATE TABLE test_mails (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    campaign_id uuid NOT NULL,
    administrator_id uuid NOT NULL,
    status text DEFAULT 'pending'::text NOT NULL,
    last_error text,
    attempt_count smallint DEFAULT '0'::smallint NOT NULL,
    next_attempt_at timestamp with time zone NOT NULL,
    fence integer DEFAULT 0 NOT NULL,
    lease_until timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    sent_at timestamp with time zone,
    CONSTRAINT test_mails_status CHECK ((status = ANY (ARRAY['pending'::text, 'sent'::text, 'failed'::text, 'canceled'::text])))
);
CREATE TABLE transactional_mails (
    id uuid NOT NULL,
    club_id uuid,
    template text NOT NULL,
    student_id uuid,
    administrator_id uuid,
    invitation_id uuid,
    address_key bytea NOT NULL,
    token_id uuid,
    status text DEFAULT 'pending'::text NOT NULL,
    attempt_count smallint DEFAULT '0'::smallint NOT NULL,
    next_attempt_at timestamp with time zone NOT NULL,
    fence integer DEFAULT 0 NOT NULL,
    lease_until timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    sent_at timestamp with time zone,
    endpoint_id uuid,
    priority smallint DEFAULT '1'::smallint NOT NULL,
    sealed_address bytea,
    placed_on date,
    review_id uuid,
    session_id uuid,
    session_sequence integer,
    former_starts_at timestamp with time zone,
    former_ends_at timestamp with time zone,
    CONSTRAINT transactional_mails_recipient CHECK ((num_nonnulls(student_id, administrator_id, invitation_id) <= 1)),
    CONSTRAINT transactional_mails_status CHECK ((status = ANY (ARRAY['pending'::text, 'sent'::text, 'failed'::text, 'canceled'::text])))
);
CREATE TABLE IF NOT EXISTS typeorm_metadata (
    type character varying NOT NULL,
    database character varying,
    schema character varying,
    "table" character varying,
    name character varying,
    value text
);
CREATE TABLE upkeep_rounds (
    name text NOT NULL,
    completed_at timestamp with time zone NOT NULL
);
CREATE TABLE wakes (
    workflow_id text NOT NULL,
    seq bigint NOT NULL,
    workflow_type text NOT NULL,
    subject_id text NOT NULL,
    club_id uuid NOT NULL,
    attributes jsonb NOT NULL,
    recorded_at timestamp with time zone NOT NULL,
    lease_until timestamp with time zone,
    raised boolean DEFAULT false NOT NULL,
    attempt_count smallint DEFAULT '0'::smallint NOT NULL,
    due_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    priority smallint DEFAULT '1'::smallint NOT NULL
)
WITH (vacuum_truncate=off);
CREATE SEQUENCE wakes_seq_seq
    START WITH 1000000000
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE wakes_seq_seq OWNED BY wakes.seq;
CREATE TABLE webhook_attempts (
    delivery_id uuid NOT NULL,
    fence integer NOT NULL,
    number smallint NOT NULL,
    trigger text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    outcome text,
    duration_ms integer,
    response_status smallint,
    response_excerpt text,
    retry_after_seconds integer,
    CONSTRAINT webhook_attempts_trigger CHECK ((trigger = ANY (ARRAY['schedule'::text, 'manual'::text, 'recovery'::text, 'test'::text])))
);
CREATE TABLE webhook_deliveries (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    event_id uuid NOT NULL,
    event_type text NOT NULL,
    student_id uuid,
    status text DEFAULT 'pending'::text NOT NULL,
    cancel_reason text,
    payload_purged_at timestamp with time zone,
    attempt_count smallint DEFAULT '0'::smallint NOT NULL,
    next_attempt_at timestamp with time zone NOT NULL,
    fence integer DEFAULT 0 NOT NULL,
    lease_until timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    completed_at timestamp with time zone,
    schedule_position smallint DEFAULT '0'::smallint NOT NULL,
    requested text,
    in_flight text,
    parked_at timestamp with time zone,
    CONSTRAINT webhook_deliveries_cancel_reason CHECK ((cancel_reason = ANY (ARRAY['expired'::text, 'student_removed'::text]))),
    CONSTRAINT webhook_deliveries_in_flight CHECK ((in_flight = ANY (ARRAY['manual'::text, 'recovery'::text, 'test'::text]))),
    CONSTRAINT webhook_deliveries_requested CHECK ((requested = ANY (ARRAY['manual'::text, 'recovery'::text, 'test'::text]))),
    CONSTRAINT webhook_deliveries_schedule CHECK (((schedule_position >= 0) AND (schedule_position <= 8))),
    CONSTRAINT webhook_deliveries_status CHECK ((status = ANY (ARRAY['pending'::text, 'succeeded'::text, 'failed'::text, 'canceled'::text])))
);
CREATE TABLE webhook_endpoints (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    url text NOT NULL,
    description text,
    event_types text[] NOT NULL,
    status text DEFAULT 'enabled'::text NOT NULL,
    disabled_reason text,
    disabled_at timestamp with time zone,
    consecutive_failures integer DEFAULT 0 NOT NULL,
    failing_since timestamp with time zone,
    hold_until timestamp with time zone,
    last_success_at timestamp with time zone,
    secret bytea NOT NULL,
    previous_secret bytea,
    previous_secret_expires_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    breaker_step smallint DEFAULT '0'::smallint NOT NULL,
    breaker_epoch integer DEFAULT 0 NOT NULL,
    admitted_delivery_id uuid,
    gate_looks_at timestamp with time zone,
    release_page smallint DEFAULT '0'::smallint NOT NULL,
    enabled_at timestamp with time zone,
    deleted_at timestamp with time zone,
    CONSTRAINT webhook_endpoints_disabled_reason CHECK ((disabled_reason = ANY (ARRAY['manual'::text, 'failing'::text]))),
    CONSTRAINT webhook_endpoints_status CHECK ((status = ANY (ARRAY['enabled'::text, 'paused'::text, 'disabled'::text])))
);
CREATE TABLE webhook_events (
    id uuid NOT NULL,
    club_id uuid NOT NULL,
    type text NOT NULL,
    student_id uuid,
    occurred_at timestamp with time zone NOT NULL,
    body text,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE webhook_tallies (
    endpoint_id uuid NOT NULL,
    span text NOT NULL,
    starts_at timestamp with time zone NOT NULL,
    event_type text NOT NULL,
    pending integer NOT NULL,
    succeeded integer NOT NULL,
    failed integer NOT NULL,
    canceled integer NOT NULL,
    CONSTRAINT webhook_tallies_span CHECK ((span = ANY (ARRAY['day'::text, 'hour'::text])))
);
CREATE TABLE webhook_tally_changes (
    endpoint_id uuid NOT NULL,
    seq bigint NOT NULL,
    hour timestamp with time zone NOT NULL,
    event_type text NOT NULL,
    pending integer NOT NULL,
    succeeded integer NOT NULL,
    failed integer NOT NULL,
    canceled integer NOT NULL
);
CREATE SEQUENCE webhook_tally_changes_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE webhook_tally_changes_seq_seq OWNED BY webhook_tally_changes.seq;
ALTER TABLE ONLY agent_words ALTER COLUMN seq SET DEFAULT nextval('agent_words_seq_seq'::regclass);
ALTER TABLE ONLY automation_step_changes ALTER COLUMN seq SET DEFAULT nextval('automation_step_changes_seq_seq'::regclass);
ALTER TABLE ONLY club_storage_changes ALTER COLUMN seq SET DEFAULT nextval('club_storage_changes_seq_seq'::regclass);
ALTER TABLE ONLY club_student_changes ALTER COLUMN seq SET DEFAULT nextval('club_student_changes_seq_seq'::regclass);
ALTER TABLE ONLY facts ALTER COLUMN seq SET DEFAULT nextval('facts_seq_seq'::regclass);
ALTER TABLE ONLY list_tally_changes ALTER COLUMN seq SET DEFAULT nextval('list_tally_changes_seq_seq'::regclass);
ALTER TABLE ONLY mails ALTER COLUMN seq SET DEFAULT nextval('mails_seq_seq'::regclass);
ALTER TABLE ONLY wakes ALTER COLUMN seq SET DEFAULT nextval('wakes_seq_seq'::regclass);
ALTER TABLE ONLY webhook_tally_changes ALTER COLUMN seq SET DEFAULT nextval('webhook_tally_changes_seq_seq'::regclass);
`;

/** Keys. */
const keys = String.raw`
ALTER TABLE ONLY webhook_endpoints
    ADD CONSTRAINT "PK_054c4cfb95223732f5939d2d546" PRIMARY KEY (id);
ALTER TABLE ONLY community_reactions
    ADD CONSTRAINT "PK_058405d0871c6e9394d2c7ec55b" PRIMARY KEY (target_id, author_id, kind);
ALTER TABLE ONLY transactional_mails
    ADD CONSTRAINT "PK_05dbed6bdac7bf50801a57d8bd2" PRIMARY KEY (id);
ALTER TABLE ONLY levels
    ADD CONSTRAINT "PK_05f8dd8f715793c64d49e3f1901" PRIMARY KEY (id);
ALTER TABLE ONLY products
    ADD CONSTRAINT "PK_0806c755e0aca124e67c0cf6d7d" PRIMARY KEY (id);
ALTER TABLE ONLY registration_links
    ADD CONSTRAINT "PK_08c3b2b77de8419b7dce0bb4b1f" PRIMARY KEY (id);
ALTER TABLE ONLY webhook_attempts
    ADD CONSTRAINT "PK_0a177e17d7a2eda73b96b5ffaeb" PRIMARY KEY (delivery_id, fence);
ALTER TABLE ONLY community_spaces
    ADD CONSTRAINT "PK_0c899458d2f1693e9a2106c46e2" PRIMARY KEY (id);
ALTER TABLE ONLY assignment_submissions
    ADD CONSTRAINT "PK_0caedc49d0357bedac05ca5a806" PRIMARY KEY (id);
ALTER TABLE ONLY course_completions
    ADD CONSTRAINT "PK_0cf778be161f0731d9e5211844f" PRIMARY KEY (student_id, course_id);
ALTER TABLE ONLY automation_course_watches
    ADD CONSTRAINT "PK_13fbc6faf226b2e7e851f233ae3" PRIMARY KEY (course_id, run_id);
ALTER TABLE ONLY add_ons
    ADD CONSTRAINT "PK_16b0b20fb9aec455ea78e6065cb" PRIMARY KEY (id);
ALTER TABLE ONLY webhook_tallies
    ADD CONSTRAINT "PK_176e5db83328bccb24ad7531f55" PRIMARY KEY (endpoint_id, span, starts_at, event_type);
ALTER TABLE ONLY agent_calls
    ADD CONSTRAINT "PK_1780a1d8ca46544c6fc0cb190d7" PRIMARY KEY (answer_id, call_no);
ALTER TABLE ONLY purchases
    ADD CONSTRAINT "PK_1d55032f37a34c6eceacbbca6b8" PRIMARY KEY (id);
ALTER TABLE ONLY sales_connections
    ADD CONSTRAINT "PK_1de689a0e17382400a4406a1216" PRIMARY KEY (id);
ALTER TABLE ONLY community_memberships
    ADD CONSTRAINT "PK_20ad09dbe8c449ab71ca795f444" PRIMARY KEY (space_id, student_id);
ALTER TABLE ONLY mails
    ADD CONSTRAINT "PK_218248d7dfe1b739f06e2309349" PRIMARY KEY (id);
ALTER TABLE ONLY media_folders
    ADD CONSTRAINT "PK_219645188a391081a10cd4004ce" PRIMARY KEY (id);
ALTER TABLE ONLY agent_conversations
    ADD CONSTRAINT "PK_2680ac7af80219a718cf98a1d21" PRIMARY KEY (id);
ALTER TABLE ONLY automation_runs
    ADD CONSTRAINT "PK_273137fa78ff9340128ab98445f" PRIMARY KEY (id);
ALTER TABLE ONLY assignment_attempt_files
    ADD CONSTRAINT "PK_3405a0a2294037b5059da17a605" PRIMARY KEY (media_id);
ALTER TABLE ONLY automations
    ADD CONSTRAINT "PK_34c2cc382fc780ea36f7c478192" PRIMARY KEY (id);
ALTER TABLE ONLY access_deliveries
    ADD CONSTRAINT "PK_36f9e4c996d07791f4d1eeda740" PRIMARY KEY (id);
ALTER TABLE ONLY club_storage_changes
    ADD CONSTRAINT "PK_3ccdbe8ba908b1e3bd22a0744c8" PRIMARY KEY (club_id, seq);
ALTER TABLE ONLY overages
    ADD CONSTRAINT "PK_3d35a16ecc375a455aba9e0fd19" PRIMARY KEY (club_id, resource, month);
ALTER TABLE ONLY courses
    ADD CONSTRAINT "PK_3f70a487cc718ad8eda4e6d58c9" PRIMARY KEY (id);
ALTER TABLE ONLY agent_charges
    ADD CONSTRAINT "PK_447ddfab5cf19de0cac58d8169c" PRIMARY KEY (answer_id);
ALTER TABLE ONLY agent_citations
    ADD CONSTRAINT "PK_45a9dfea8bd9b86ce6a9bd4b3bd" PRIMARY KEY (answer_id, "position");
ALTER TABLE ONLY student_tags
    ADD CONSTRAINT "PK_46d7addb771b485233e7348f924" PRIMARY KEY (student_id, tag_id);
ALTER TABLE ONLY overage_turns
    ADD CONSTRAINT "PK_487a1ea0c23b51338994bc0ea56" PRIMARY KEY (club_id);
ALTER TABLE ONLY webhook_events
    ADD CONSTRAINT "PK_4cba37e6a0acb5e1fc49c34ebfd" PRIMARY KEY (id);
ALTER TABLE ONLY webhook_deliveries
    ADD CONSTRAINT "PK_535dd409947fb6d8fc6dfc0112a" PRIMARY KEY (id);
ALTER TABLE ONLY mentorships
    ADD CONSTRAINT "PK_57c594aeb4b0aed94a827f82c48" PRIMARY KEY (id);
ALTER TABLE ONLY agent_months
    ADD CONSTRAINT "PK_57d732b09604713f982bed34139" PRIMARY KEY (agent_id, month);
ALTER TABLE ONLY invitations
    ADD CONSTRAINT "PK_5dec98cfdfd562e4ad3648bbb07" PRIMARY KEY (id);
ALTER TABLE ONLY list_tally_changes
    ADD CONSTRAINT "PK_5ef7e8bb90f2c12cb3e042a31e9" PRIMARY KEY (club_id, list, seq);
ALTER TABLE ONLY media_favorites
    ADD CONSTRAINT "PK_5f536a1b71eaee20e4fa50894bc" PRIMARY KEY (administrator_id, media_id);
ALTER TABLE ONLY student_levels
    ADD CONSTRAINT "PK_676006226bbd7200c007a85410b" PRIMARY KEY (student_id, level_id);
ALTER TABLE ONLY product_deliveries
    ADD CONSTRAINT "PK_6bf55245c709dc5a9cde772511a" PRIMARY KEY (product_id, delivery_id);
ALTER TABLE ONLY certificate_files
    ADD CONSTRAINT "PK_73b38108bc3126ea09255d77aac" PRIMARY KEY (object_key);
ALTER TABLE ONLY mentorship_sessions
    ADD CONSTRAINT "PK_73d52f1505acf4ef387eaa5adb5" PRIMARY KEY (id);
ALTER TABLE ONLY media_uses
    ADD CONSTRAINT "PK_76c9e3b26c4ce0a31b09b5dbfca" PRIMARY KEY (media_id, kind, place_id);
ALTER TABLE ONLY club_plans
    ADD CONSTRAINT "PK_7721b12abbcfc7f89b02a2c957d" PRIMARY KEY (club_id);
ALTER TABLE ONLY student_import_rows
    ADD CONSTRAINT "PK_79d253b4bce5cb499b7dad1e8aa" PRIMARY KEY (import_id, "row");
ALTER TABLE ONLY club_student_counts
    ADD CONSTRAINT "PK_7a09d9eea78d2a3c0c8cd88e1e8" PRIMARY KEY (club_id);
ALTER TABLE ONLY enrollments
    ADD CONSTRAINT "PK_7c0f752f9fb68bf6ed7367ab00f" PRIMARY KEY (id);
ALTER TABLE ONLY assignment_reviews
    ADD CONSTRAINT "PK_7c1823f477d3e4e157b3f55a2fd" PRIMARY KEY (id);
ALTER TABLE ONLY students
    ADD CONSTRAINT "PK_7d7f07271ad4ce999880713f05e" PRIMARY KEY (id);
ALTER TABLE ONLY modules
    ADD CONSTRAINT "PK_7dbefd488bd96c5bf31f0ce0c95" PRIMARY KEY (id);
ALTER TABLE ONLY space_digests
    ADD CONSTRAINT "PK_7dd7ce0b69005a92e4682b73f48" PRIMARY KEY (id);
ALTER TABLE ONLY student_sessions
    ADD CONSTRAINT "PK_7e391628e6e2e3dba267b977bfd" PRIMARY KEY (token_hash);
ALTER TABLE ONLY mentorship_deliveries
    ADD CONSTRAINT "PK_7eae4a3a5d1f1567891339fea81" PRIMARY KEY (mentorship_id, delivery_id);
ALTER TABLE ONLY assignment_attempts
    ADD CONSTRAINT "PK_803b15e8f276c652eb0606220fe" PRIMARY KEY (id);
ALTER TABLE ONLY campaigns
    ADD CONSTRAINT "PK_831e3fcd4fc45b4e4c3f57a9ee4" PRIMARY KEY (id);
ALTER TABLE ONLY wakes
    ADD CONSTRAINT "PK_88686e8d50f743f6d7e0972d202" PRIMARY KEY (workflow_id);
ALTER TABLE ONLY memberships
    ADD CONSTRAINT "PK_8accdedc23520c21bbfb75633f0" PRIMARY KEY (club_id, administrator_id);
ALTER TABLE ONLY one_time_tokens
    ADD CONSTRAINT "PK_8e470cc9ffc1b2afa054304db17" PRIMARY KEY (id);
ALTER TABLE ONLY lesson_progress
    ADD CONSTRAINT "PK_92ed7bfa98a32eab1a62f206dd9" PRIMARY KEY (student_id, lesson_id);
ALTER TABLE ONLY club_storage
    ADD CONSTRAINT "PK_9410ee20197da8a7dd58d5e9af5" PRIMARY KEY (club_id, kind);
ALTER TABLE ONLY repository_items
    ADD CONSTRAINT "PK_96ee18f81836aebc6def092456e" PRIMARY KEY (repository_id, media_id);
ALTER TABLE ONLY billing_events
    ADD CONSTRAINT "PK_9a4a4a1b1f55bbc868f6a76a597" PRIMARY KEY (id);
ALTER TABLE ONLY lessons
    ADD CONSTRAINT "PK_9b9a8d455cac672d262d7275730" PRIMARY KEY (id);
ALTER TABLE ONLY automation_references
    ADD CONSTRAINT "PK_9c6058c6b499f0ed02809a23143" PRIMARY KEY (version_id, referred_id);
ALTER TABLE ONLY agents
    ADD CONSTRAINT "PK_9c653f28ae19c5884d5baf6a1d9" PRIMARY KEY (id);
ALTER TABLE ONLY mail_suppressions
    ADD CONSTRAINT "PK_9e29c357a6b9c8edf17255b376d" PRIMARY KEY (club_id, address_key);
ALTER TABLE ONLY agent_answer_deltas
    ADD CONSTRAINT "PK_9f0c980d6e51de10971f10ea762" PRIMARY KEY (answer_id, starts_at);
ALTER TABLE ONLY lesson_comments
    ADD CONSTRAINT "PK_a1c4f2a0bc6e05767dd98f60e2a" PRIMARY KEY (id);
ALTER TABLE ONLY agent_question_images
    ADD CONSTRAINT "PK_a2ac79e8dba726d30925516272e" PRIMARY KEY (question_id, "position");
ALTER TABLE ONLY community_post_files
    ADD CONSTRAINT "PK_a5a67826f4e8fbde95fea856065" PRIMARY KEY (media_id);
ALTER TABLE ONLY subscriptions
    ADD CONSTRAINT "PK_a87248d73155605cf782be9ee5e" PRIMARY KEY (id);
ALTER TABLE ONLY administrators
    ADD CONSTRAINT "PK_aaa48522d99c3b6b33fdea7dc2f" PRIMARY KEY (id);
ALTER TABLE ONLY rate_limit_counters
    ADD CONSTRAINT "PK_ad665f1998311a7bd0e8265365d" PRIMARY KEY (key);
ALTER TABLE ONLY community_posts
    ADD CONSTRAINT "PK_af0c0b33e03b933e3e48119f2e3" PRIMARY KEY (id);
ALTER TABLE ONLY student_import_addresses
    ADD CONSTRAINT "PK_af1b6d12b105bb8a28450acca72" PRIMARY KEY (import_id, address_key, student_id);
ALTER TABLE ONLY media_uploads
    ADD CONSTRAINT "PK_af36cb16c5cc7d6bab1f6d4d289" PRIMARY KEY (id);
ALTER TABLE ONLY agent_words
    ADD CONSTRAINT "PK_agent_words" PRIMARY KEY (seq);
ALTER TABLE ONLY community_moderations
    ADD CONSTRAINT "PK_b2f1adcfe48980f5b387a98ba88" PRIMARY KEY (id);
ALTER TABLE ONLY facts
    ADD CONSTRAINT "PK_b35218a44dc3d5dd2f0f54d7e3f" PRIMARY KEY (id);
ALTER TABLE ONLY list_tallies
    ADD CONSTRAINT "PK_b6bab86bed67660a12afc6f6e1d" PRIMARY KEY (club_id, list, subject_id, marked);
ALTER TABLE ONLY mail_senders
    ADD CONSTRAINT "PK_b8a4df588ff84a19ec782f0d5ad" PRIMARY KEY (club_id);
ALTER TABLE ONLY clubs
    ADD CONSTRAINT "PK_bb09bd0c8d5238aeaa8f86ee0d4" PRIMARY KEY (id);
ALTER TABLE ONLY community_reports
    ADD CONSTRAINT "PK_bc0b51d10de08f80c750268a7c0" PRIMARY KEY (id);
ALTER TABLE ONLY community_comments
    ADD CONSTRAINT "PK_bddaf18297fe4a6d1cd539586b3" PRIMARY KEY (id);
ALTER TABLE ONLY registration_link_deliveries
    ADD CONSTRAINT "PK_bfb55e743d91f1fd2dd3d2dd277" PRIMARY KEY (link_id, delivery_id);
ALTER TABLE ONLY assignments
    ADD CONSTRAINT "PK_c54ca359535e0012b04dcbd80ee" PRIMARY KEY (id);
ALTER TABLE ONLY agent_materials
    ADD CONSTRAINT "PK_ca74122f3453fac894030070b1d" PRIMARY KEY (id);
ALTER TABLE ONLY automation_step_tallies
    ADD CONSTRAINT "PK_cb832848461a19399360c7f59df" PRIMARY KEY (version_id, step_id);
ALTER TABLE ONLY agent_sources
    ADD CONSTRAINT "PK_d1b8edeaee0e9aba6ffa2e42070" PRIMARY KEY (id);
ALTER TABLE ONLY webhook_tally_changes
    ADD CONSTRAINT "PK_d3535c22ea721ec3edb8ea89a2f" PRIMARY KEY (endpoint_id, seq);
ALTER TABLE ONLY club_ai_months
    ADD CONSTRAINT "PK_d9034c90c72c0a12a217f2ff2ec" PRIMARY KEY (club_id, month);
ALTER TABLE ONLY automation_step_changes
    ADD CONSTRAINT "PK_dce961d7adb87ba0dca5e0d7984" PRIMARY KEY (version_id, seq);
ALTER TABLE ONLY point_awards
    ADD CONSTRAINT "PK_df4090dacb21d87661a00dd730c" PRIMARY KEY (student_id, cause_kind, cause_id);
ALTER TABLE ONLY student_imports
    ADD CONSTRAINT "PK_e0a64834e477075a9b0923c79bb" PRIMARY KEY (id);
ALTER TABLE ONLY agent_passages
    ADD CONSTRAINT "PK_e0e6ad6e46d6783bef3ae34a652" PRIMARY KEY (id);
ALTER TABLE ONLY agent_answers
    ADD CONSTRAINT "PK_e1e4cfd8e1dadbd2f91684e3ee6" PRIMARY KEY (id);
ALTER TABLE ONLY sales_notices
    ADD CONSTRAINT "PK_e2c77d95b159d0f8eda04ba1c98" PRIMARY KEY (id);
ALTER TABLE ONLY certificates
    ADD CONSTRAINT "PK_e4c7e31e2144300bea7d89eb165" PRIMARY KEY (id);
ALTER TABLE ONLY registration_link_claims
    ADD CONSTRAINT "PK_e4f1dbb2de62ff585c121223328" PRIMARY KEY (link_id, student_id);
ALTER TABLE ONLY tags
    ADD CONSTRAINT "PK_e7dc17249a1148a1970748eda99" PRIMARY KEY (id);
ALTER TABLE ONLY club_feature_changes
    ADD CONSTRAINT "PK_e8d8537326bb3fe68215d897a0f" PRIMARY KEY (club_id);
ALTER TABLE ONLY automation_course_looks
    ADD CONSTRAINT "PK_e958d20fb3970044c75de4c3769" PRIMARY KEY (course_id);
ALTER TABLE ONLY subscription_marks
    ADD CONSTRAINT "PK_e9dbcb038b9b04b2ef2da03616b" PRIMARY KEY (subscription_id, kind, key);
ALTER TABLE ONLY assignment_extensions
    ADD CONSTRAINT "PK_eaf8539347d4d617753f51cd9aa" PRIMARY KEY (assignment_id, student_id);
ALTER TABLE ONLY media_renditions
    ADD CONSTRAINT "PK_ec59dd8c5d954763ca2abb18758" PRIMARY KEY (media_id, version, role);
ALTER TABLE ONLY club_student_changes
    ADD CONSTRAINT "PK_ecd96486e93d3a2d549f2dad757" PRIMARY KEY (club_id, seq);
ALTER TABLE ONLY repositories
    ADD CONSTRAINT "PK_ef0c358c04b4f4d29b8ca68ddff" PRIMARY KEY (id);
ALTER TABLE ONLY automation_run_steps
    ADD CONSTRAINT "PK_ef2bf6baebc27a48edb57439dc3" PRIMARY KEY (id);
ALTER TABLE ONLY administrator_sessions
    ADD CONSTRAINT "PK_f0e73958878054e9cfd44142168" PRIMARY KEY (token_hash);
ALTER TABLE ONLY media
    ADD CONSTRAINT "PK_f4e0fcac36e050de337b670d8bd" PRIMARY KEY (id);
ALTER TABLE ONLY automation_versions
    ADD CONSTRAINT "PK_fa1aa22126ed3f167f655bc8e81" PRIMARY KEY (id);
ALTER TABLE ONLY failing_steps
    ADD CONSTRAINT "PK_failing_steps" PRIMARY KEY (workflow_id);
ALTER TABLE ONLY cohorts
    ADD CONSTRAINT "PK_fd38f76b135e907b834fda1e752" PRIMARY KEY (id);
ALTER TABLE ONLY upkeep_rounds
    ADD CONSTRAINT "PK_upkeep_rounds" PRIMARY KEY (name);
ALTER TABLE ONLY agent_answers
    ADD CONSTRAINT "REL_1a165d8398969e22bc6317d269" UNIQUE (question_id);
ALTER TABLE ONLY clubs
    ADD CONSTRAINT "UQ_11a81774605896dbb29c9e53605" UNIQUE (slug);
ALTER TABLE ONLY administrators
    ADD CONSTRAINT "UQ_4ee5216a00cb99b2dede98509c1" UNIQUE (email);
ALTER TABLE ONLY agent_passages
    ADD CONSTRAINT agent_passages_source UNIQUE (source_id, "position") DEFERRABLE;
ALTER TABLE ONLY agent_questions
    ADD CONSTRAINT agent_questions_id PRIMARY KEY (id);
ALTER TABLE ONLY club_bulk_days
    ADD CONSTRAINT club_bulk_days_key PRIMARY KEY (club_id, day);
ALTER TABLE ONLY club_mail_days
    ADD CONSTRAINT club_mail_days_key PRIMARY KEY (club_id, day);
ALTER TABLE ONLY code_failure_counts
    ADD CONSTRAINT code_failure_counts_key PRIMARY KEY (address_key);
ALTER TABLE ONLY leftover_objects
    ADD CONSTRAINT leftover_objects_pkey PRIMARY KEY (object_key);
ALTER TABLE ONLY mail_clicks
    ADD CONSTRAINT mail_clicks_key PRIMARY KEY (mail_id, link_id, machine);
ALTER TABLE ONLY mail_domains
    ADD CONSTRAINT mail_domains_key PRIMARY KEY (id);
ALTER TABLE ONLY mail_links
    ADD CONSTRAINT mail_links_key PRIMARY KEY (id);
ALTER TABLE ONLY mail_soft_bounces
    ADD CONSTRAINT mail_soft_bounces_key PRIMARY KEY (mail_id, at);
ALTER TABLE ONLY media_moves
    ADD CONSTRAINT media_moves_pkey PRIMARY KEY (id);
ALTER TABLE ONLY mentorship_sessions
    ADD CONSTRAINT mentorship_sessions_mentor EXCLUDE USING gist (mentor_id WITH =, tstzrange(starts_at, busy_until) WITH &&) WHERE ((status <> 'canceled'::text));
ALTER TABLE ONLY mentorship_sessions
    ADD CONSTRAINT mentorship_sessions_student EXCLUDE USING gist (student_id WITH =, tstzrange(starts_at, ends_at) WITH &&) WHERE ((status <> 'canceled'::text));
ALTER TABLE ONLY test_mails
    ADD CONSTRAINT test_mails_key PRIMARY KEY (id);
`;

/** Indexes. */
const indexes = String.raw`
CREATE INDEX access_deliveries_agent ON access_deliveries USING btree (agent_id);
CREATE INDEX access_deliveries_club ON access_deliveries USING btree (club_id, created_at, id);
CREATE INDEX access_deliveries_cohort ON access_deliveries USING btree (cohort_id);
CREATE INDEX access_deliveries_course ON access_deliveries USING btree (course_id);
CREATE INDEX access_deliveries_free ON access_deliveries USING btree (club_id) WHERE (free AND (archived_at IS NULL));
CREATE INDEX access_deliveries_repository ON access_deliveries USING btree (repository_id);
CREATE INDEX access_deliveries_space ON access_deliveries USING btree (space_id);
CREATE INDEX add_ons_club ON add_ons USING btree (club_id, created_at, id);
CREATE INDEX add_ons_due ON add_ons USING btree (next_attempt_at) WHERE (status = 'pending'::text);
CREATE INDEX administrator_sessions_administrator ON administrator_sessions USING btree (administrator_id);
CREATE INDEX administrator_sessions_expiry ON administrator_sessions USING btree (expires_at);
CREATE INDEX agent_answers_agent ON agent_answers USING btree (agent_id, created_at);
CREATE INDEX agent_answers_conversation ON agent_answers USING btree (conversation_id);
CREATE INDEX agent_answers_logs_to_fold ON agent_answers USING btree (completed_at) WHERE ((log_folded_at IS NULL) AND (completed_at IS NOT NULL));
CREATE INDEX agent_answers_looks_at ON agent_answers USING btree (looks_at) WHERE (status = 'generating'::text);
CREATE UNIQUE INDEX agent_answers_one_at_a_time ON agent_answers USING btree (conversation_id) WHERE (status = 'generating'::text);
CREATE UNIQUE INDEX agent_answers_question ON agent_answers USING btree (question_id);
CREATE INDEX agent_charges_month ON agent_charges USING btree (club_id, month, agent_id);
CREATE INDEX agent_charges_open ON agent_charges USING btree (answer_id) WHERE (settled_at IS NULL);
CREATE INDEX agent_citations_source ON agent_citations USING btree (source_id);
CREATE INDEX agent_conversations_agent ON agent_conversations USING btree (agent_id, last_message_at, id) WHERE (deleted_at IS NULL);
CREATE INDEX agent_conversations_student ON agent_conversations USING btree (student_id, agent_id, last_message_at, id) WHERE (deleted_at IS NULL);
CREATE INDEX agent_materials_agent ON agent_materials USING btree (agent_id);
CREATE UNIQUE INDEX agent_materials_course ON agent_materials USING btree (course_id, agent_id);
CREATE UNIQUE INDEX agent_materials_lesson ON agent_materials USING btree (lesson_id, agent_id);
CREATE UNIQUE INDEX agent_materials_media ON agent_materials USING btree (media_id, agent_id);
CREATE INDEX agent_months_club ON agent_months USING btree (club_id, month, cost_micros);
CREATE INDEX agent_passages_search ON agent_passages USING gin (agent_lexemes(club_id, search)) WITH (gin_pending_list_limit='256');
CREATE INDEX agent_question_images_media ON agent_question_images USING btree (media_id);
CREATE INDEX agent_questions_conversation ON agent_questions USING btree (conversation_id, asked_at, id);
CREATE INDEX agent_questions_counted ON agent_questions USING btree (agent_id, student_id, asked_at);
CREATE INDEX agent_sources_club ON agent_sources USING btree (club_id, created_at, id);
CREATE UNIQUE INDEX agent_sources_lesson ON agent_sources USING btree (lesson_id);
CREATE INDEX agent_sources_looks_at ON agent_sources USING btree (looks_at) WHERE (looks_at IS NOT NULL);
CREATE UNIQUE INDEX agent_sources_media ON agent_sources USING btree (media_id);
CREATE INDEX agent_words_lexeme ON agent_words USING btree (club_id, lexeme);
CREATE INDEX agent_words_spelling ON agent_words USING btree (club_id, initial, size);
CREATE INDEX agent_words_stem ON agent_words USING btree (club_id, stem);
CREATE INDEX agent_words_to_fold ON agent_words USING btree (seq) WHERE (NOT folded);
CREATE INDEX agents_club_created ON agents USING btree (club_id, created_at, id);
CREATE UNIQUE INDEX agents_club_public_id ON agents USING btree (club_id, public_id);
CREATE UNIQUE INDEX assignment_attempt_files_attempt ON assignment_attempt_files USING btree (attempt_id, "position");
CREATE UNIQUE INDEX assignment_attempts_number ON assignment_attempts USING btree (submission_id, number);
CREATE INDEX assignment_extensions_student ON assignment_extensions USING btree (student_id);
CREATE UNIQUE INDEX assignment_reviews_attempt ON assignment_reviews USING btree (attempt_id);
CREATE INDEX assignment_reviews_reviewer ON assignment_reviews USING btree (reviewer_id);
CREATE INDEX assignment_submissions_assignment ON assignment_submissions USING btree (assignment_id);
CREATE INDEX assignment_submissions_by_status ON assignment_submissions USING btree (club_id, status, submitted_at, id);
CREATE INDEX assignment_submissions_club ON assignment_submissions USING btree (club_id, submitted_at, id);
CREATE UNIQUE INDEX assignment_submissions_student_assignment ON assignment_submissions USING btree (student_id, assignment_id);
CREATE INDEX assignments_lesson ON assignments USING btree (lesson_id, "position", id);
CREATE INDEX automation_course_looks_changed ON automation_course_looks USING btree (changed_at);
CREATE INDEX automation_course_watches_run ON automation_course_watches USING btree (run_id);
CREATE INDEX automation_references_referred ON automation_references USING btree (referred_id);
CREATE UNIQUE INDEX automation_run_steps_run ON automation_run_steps USING btree (run_id, step_id);
CREATE UNIQUE INDEX automation_runs_after_exit ON automation_runs USING btree (automation_id, student_id) WHERE ((reentry = 'after_exit'::text) AND (status = 'active'::text));
CREATE UNIQUE INDEX automation_runs_cause ON automation_runs USING btree (automation_id, cause_id, student_id);
CREATE INDEX automation_runs_due ON automation_runs USING btree (looks_at) WHERE (looks_at IS NOT NULL);
CREATE INDEX automation_runs_ended_at ON automation_runs USING btree (ended_at) WHERE (path_kept AND (ended_at IS NOT NULL));
CREATE INDEX automation_runs_held ON automation_runs USING btree (automation_id, looks_at) WHERE (status = 'active'::text);
CREATE INDEX automation_runs_list ON automation_runs USING btree (automation_id, entered_at, id);
CREATE UNIQUE INDEX automation_runs_once ON automation_runs USING btree (automation_id, student_id) WHERE (reentry = 'once'::text);
CREATE INDEX automation_runs_status_list ON automation_runs USING btree (automation_id, status, entered_at, id);
CREATE INDEX automation_runs_step_list ON automation_runs USING btree (automation_id, cursor, entered_at, id) WHERE (status = 'active'::text);
CREATE INDEX automation_runs_student ON automation_runs USING btree (student_id);
CREATE INDEX automation_runs_student_active ON automation_runs USING btree (student_id) WHERE (status = 'active'::text);
CREATE INDEX automation_runs_student_list ON automation_runs USING btree (automation_id, student_id, entered_at, id);
CREATE INDEX automation_runs_version_active ON automation_runs USING btree (version_id) WHERE (status = 'active'::text);
CREATE INDEX automation_runs_version_list ON automation_runs USING btree (version_id, entered_at, id);
CREATE UNIQUE INDEX automation_versions_of ON automation_versions USING btree (automation_id, number);
CREATE INDEX automations_club ON automations USING btree (club_id, created_at, id);
CREATE INDEX automations_club_status ON automations USING btree (club_id, status, created_at, id);
CREATE INDEX automations_gate ON automations USING btree (gate_looks_at) WHERE (gate_looks_at IS NOT NULL);
CREATE INDEX automations_trigger ON automations USING btree (club_id, trigger_kind) WHERE (status = 'active'::text);
CREATE INDEX billing_events_club ON billing_events USING btree (club_id, created);
CREATE INDEX billing_events_customer ON billing_events USING btree (customer_id) WHERE (club_id IS NULL);
CREATE INDEX campaigns_club ON campaigns USING btree (club_id, created_at, id);
CREATE INDEX campaigns_club_status ON campaigns USING btree (club_id, status, created_at, id);
CREATE INDEX campaigns_due ON campaigns USING btree (looks_at) WHERE (looks_at IS NOT NULL);
CREATE INDEX campaigns_ended ON campaigns USING btree (ended_at) WHERE ((ended_at IS NOT NULL) AND (rows_removed_at IS NULL));
CREATE INDEX certificate_files_certificate ON certificate_files USING btree (certificate_id);
CREATE INDEX certificate_files_erases_at ON certificate_files USING btree (erases_at) WHERE (erases_at IS NOT NULL);
CREATE INDEX certificates_club ON certificates USING btree (club_id, issued_at, id);
CREATE INDEX certificates_club_revoked ON certificates USING btree (club_id, issued_at, id) WHERE (revoked_at IS NOT NULL);
CREATE INDEX certificates_club_valid ON certificates USING btree (club_id, issued_at, id) WHERE (revoked_at IS NULL);
CREATE UNIQUE INDEX certificates_code ON certificates USING btree (code);
CREATE INDEX certificates_course ON certificates USING btree (course_id, issued_at, id);
CREATE INDEX certificates_course_revoked ON certificates USING btree (course_id, issued_at, id) WHERE (revoked_at IS NOT NULL);
CREATE INDEX certificates_course_valid ON certificates USING btree (course_id, issued_at, id) WHERE (revoked_at IS NULL);
CREATE INDEX certificates_search ON certificates USING gin (student_name gin_trgm_ops, student_email gin_trgm_ops, code gin_trgm_ops) WITH (gin_pending_list_limit='256');
CREATE UNIQUE INDEX certificates_student_course ON certificates USING btree (student_id, course_id);
CREATE INDEX club_bulk_days_day ON club_bulk_days USING btree (day);
CREATE INDEX club_feature_changes_at ON club_feature_changes USING btree (changed_at);
CREATE INDEX club_mail_days_day ON club_mail_days USING btree (day);
CREATE UNIQUE INDEX club_plans_customer ON club_plans USING btree (customer_id) WHERE (customer_id IS NOT NULL);
CREATE INDEX code_failure_counts_day ON code_failure_counts USING btree (day);
CREATE INDEX cohorts_course ON cohorts USING btree (course_id, created_at, id);
CREATE INDEX community_comments_administrator ON community_comments USING btree (administrator_id);
CREATE INDEX community_comments_hidden ON community_comments USING btree (student_id, post_id) WHERE ((hidden_at IS NOT NULL) AND (state <> 'deleted'::text));
CREATE INDEX community_comments_listed ON community_comments USING btree (post_id, created_at, id) WHERE (state <> 'deleted'::text);
CREATE INDEX community_comments_replies ON community_comments USING btree (reply_to) WHERE (reply_to IS NOT NULL);
CREATE INDEX community_comments_student ON community_comments USING btree (student_id, post_id) WHERE (student_id IS NOT NULL);
CREATE INDEX community_memberships_banned ON community_memberships USING btree (space_id, banned_at, student_id) WHERE (banned_at IS NOT NULL);
CREATE INDEX community_memberships_digest ON community_memberships USING btree (club_id, student_id) WHERE digest;
CREATE INDEX community_memberships_looks_at ON community_memberships USING btree (looks_at) WHERE (looks_at IS NOT NULL);
CREATE INDEX community_memberships_members ON community_memberships USING btree (space_id, joined_at, student_id) WHERE ((left_at IS NULL) AND (banned_at IS NULL));
CREATE INDEX community_memberships_student ON community_memberships USING btree (student_id);
CREATE INDEX community_moderations_administrator ON community_moderations USING btree (administrator_id);
CREATE INDEX community_moderations_club ON community_moderations USING btree (club_id, created_at, id);
CREATE INDEX community_moderations_comment ON community_moderations USING btree (comment_id);
CREATE INDEX community_moderations_created ON community_moderations USING btree (created_at);
CREATE INDEX community_moderations_post ON community_moderations USING btree (post_id);
CREATE UNIQUE INDEX community_post_files_post ON community_post_files USING btree (post_id, "position");
CREATE INDEX community_posts_administrator ON community_posts USING btree (administrator_id);
CREATE UNIQUE INDEX community_posts_club_public_id ON community_posts USING btree (club_id, public_id);
CREATE INDEX community_posts_hidden ON community_posts USING btree (student_id, space_id) WHERE ((hidden_at IS NOT NULL) AND (state <> 'deleted'::text));
CREATE INDEX community_posts_listed ON community_posts USING btree (space_id, pinned, created_at, id) WHERE (state <> 'deleted'::text);
CREATE INDEX community_posts_student ON community_posts USING btree (student_id, space_id) WHERE (student_id IS NOT NULL);
CREATE INDEX community_posts_visible ON community_posts USING btree (space_id, created_at) WHERE ((state = 'published'::text) AND (hidden_at IS NULL));
CREATE INDEX community_reactions_author ON community_reactions USING btree (author_id);
CREATE INDEX community_reports_comment ON community_reports USING btree (comment_id);
CREATE INDEX community_reports_created ON community_reports USING btree (created_at);
CREATE UNIQUE INDEX community_reports_once ON community_reports USING btree (student_id, target_id);
CREATE INDEX community_reports_open ON community_reports USING btree (club_id, created_at, id) WHERE (settled_at IS NULL);
CREATE INDEX community_reports_post ON community_reports USING btree (post_id);
CREATE INDEX community_reports_target ON community_reports USING btree (target_id);
CREATE UNIQUE INDEX community_spaces_club_public_id ON community_spaces USING btree (club_id, public_id);
CREATE INDEX community_spaces_fill ON community_spaces USING btree (fill_looks_at) WHERE (fill_looks_at IS NOT NULL);
CREATE INDEX course_completions_course ON course_completions USING btree (course_id);
CREATE INDEX courses_club_created ON courses USING btree (club_id, created_at, id);
CREATE UNIQUE INDEX courses_club_public_id ON courses USING btree (club_id, public_id);
CREATE INDEX enrollments_club ON enrollments USING btree (club_id, created_at, id);
CREATE INDEX enrollments_club_revoked ON enrollments USING btree (club_id, created_at, id) WHERE ((revoked_at IS NOT NULL) AND (revoked_reason IS DISTINCT FROM 'removal'::text));
CREATE INDEX enrollments_club_valid ON enrollments USING btree (club_id, created_at, id) WHERE (revoked_at IS NULL);
CREATE INDEX enrollments_cohort ON enrollments USING btree (cohort_id);
CREATE UNIQUE INDEX enrollments_current ON enrollments USING btree (student_id, delivery_id) WHERE ((origin_id IS NULL) AND (revoked_at IS NULL) AND (superseded_at IS NULL));
CREATE INDEX enrollments_delivery ON enrollments USING btree (delivery_id, created_at, id);
CREATE INDEX enrollments_delivery_revoked ON enrollments USING btree (delivery_id, created_at, id) WHERE ((revoked_at IS NOT NULL) AND (revoked_reason IS DISTINCT FROM 'removal'::text));
CREATE INDEX enrollments_delivery_valid ON enrollments USING btree (delivery_id, created_at, id) WHERE (revoked_at IS NULL);
CREATE UNIQUE INDEX enrollments_of_sale ON enrollments USING btree (origin_id, delivery_id) WHERE (origin_id IS NOT NULL);
CREATE INDEX enrollments_student ON enrollments USING btree (student_id, created_at, id);
CREATE INDEX facts_failing ON facts USING btree (recorded_at) WHERE (attempt_count > 0);
CREATE INDEX facts_leased ON facts USING btree (club_id, lease_until) WHERE (lease_until IS NOT NULL);
CREATE INDEX facts_turn ON facts USING btree (club_id, priority, due_at, seq);
CREATE INDEX failing_steps_retry ON failing_steps USING btree (retry_at);
CREATE UNIQUE INDEX invitations_club_email ON invitations USING btree (club_id, email);
CREATE INDEX leftover_objects_erases_at ON leftover_objects USING btree (erases_at);
CREATE INDEX lesson_comments_lesson ON lesson_comments USING btree (lesson_id, created_at, id);
CREATE INDEX lesson_comments_student ON lesson_comments USING btree (student_id);
CREATE INDEX lesson_progress_lesson ON lesson_progress USING btree (lesson_id);
CREATE UNIQUE INDEX lessons_club_public_id ON lessons USING btree (club_id, public_id);
CREATE INDEX lessons_course ON lessons USING btree (course_id);
CREATE INDEX lessons_module ON lessons USING btree (module_id, "position", id);
CREATE UNIQUE INDEX levels_club_points ON levels USING btree (club_id, points) WHERE (removed_at IS NULL);
CREATE INDEX mail_clicks_at ON mail_clicks USING btree (at);
CREATE UNIQUE INDEX mail_domains_club ON mail_domains USING btree (club_id);
CREATE INDEX mail_domains_due ON mail_domains USING btree (looks_at);
CREATE UNIQUE INDEX mail_links_cause ON mail_links USING btree (cause_id, "position");
CREATE INDEX mail_links_club ON mail_links USING btree (club_id);
CREATE INDEX mail_soft_bounces_at ON mail_soft_bounces USING btree (at);
CREATE INDEX mail_suppressions_club ON mail_suppressions USING btree (club_id, created_at, address_key);
CREATE INDEX mails_campaign ON mails USING btree (campaign_id, seq) WHERE (campaign_id IS NOT NULL);
CREATE UNIQUE INDEX mails_campaign_address ON mails USING btree (campaign_id, address_key) WHERE ((campaign_id IS NOT NULL) AND (address_key IS NOT NULL));
CREATE INDEX mails_campaign_due ON mails USING btree (campaign_id, next_attempt_at, seq) WHERE ((campaign_id IS NOT NULL) AND (status = 'pending'::text));
CREATE INDEX mails_campaign_open ON mails USING btree (campaign_id, lease_until) WHERE ((campaign_id IS NOT NULL) AND (status = 'sending'::text));
CREATE INDEX mails_campaign_status ON mails USING btree (campaign_id, status, seq) WHERE (campaign_id IS NOT NULL);
CREATE UNIQUE INDEX mails_campaign_student ON mails USING btree (campaign_id, student_id) WHERE (campaign_id IS NOT NULL);
CREATE INDEX mails_digest_due ON mails USING btree (digest_id, next_attempt_at, seq) WHERE ((digest_id IS NOT NULL) AND (status = 'pending'::text));
CREATE INDEX mails_digest_open ON mails USING btree (digest_id, lease_until) WHERE ((digest_id IS NOT NULL) AND (status = 'sending'::text));
CREATE UNIQUE INDEX mails_digest_student ON mails USING btree (digest_id, student_id) WHERE (digest_id IS NOT NULL);
CREATE INDEX mails_provider ON mails USING btree (provider_id) WHERE (provider_id IS NOT NULL);
CREATE INDEX mails_run_open ON mails USING btree (lease_until) WHERE ((run_id IS NOT NULL) AND (status = 'sending'::text));
CREATE UNIQUE INDEX mails_run_step ON mails USING btree (run_id, step_id) WHERE (run_id IS NOT NULL);
CREATE INDEX mails_student ON mails USING btree (student_id);
CREATE UNIQUE INDEX media_avatar ON media USING btree (owner_id) WHERE ((purpose = 'avatar'::text) AND (status = 'ready'::text) AND (removed_at IS NULL));
CREATE INDEX media_erases_at ON media USING btree (erases_at) WHERE (erases_at IS NOT NULL);
CREATE INDEX media_expiry ON media USING btree (expiry_looks_at) WHERE ((expiry_looks_at IS NOT NULL) AND (removed_at IS NULL));
CREATE INDEX media_favorites_media ON media_favorites USING btree (media_id);
CREATE INDEX media_folder ON media USING btree (folder_id, archived, type, created_at, id) WHERE (folder_id IS NOT NULL);
CREATE INDEX media_folders_club ON media_folders USING btree (club_id, folded_name, id);
CREATE UNIQUE INDEX media_folders_name ON media_folders USING btree (parent_id, folded_name) WHERE (parent_id IS NOT NULL);
CREATE UNIQUE INDEX media_folders_top_name ON media_folders USING btree (club_id, folded_name) WHERE (parent_id IS NULL);
CREATE INDEX media_library ON media USING btree (club_id, archived, created_at, id) WHERE ((purpose = 'library'::text) AND (removed_at IS NULL));
CREATE INDEX media_library_top ON media USING btree (club_id, archived, type, created_at, id) WHERE ((purpose = 'library'::text) AND (removed_at IS NULL) AND (folder_id IS NULL));
CREATE INDEX media_library_type ON media USING btree (club_id, archived, type, created_at, id) WHERE ((purpose = 'library'::text) AND (removed_at IS NULL));
CREATE INDEX media_looks_at ON media USING btree (looks_at) WHERE (looks_at IS NOT NULL);
CREATE INDEX media_moves_looks_at ON media_moves USING btree (looks_at);
CREATE INDEX media_owner ON media USING btree (owner_id) WHERE (owner_id IS NOT NULL);
CREATE INDEX media_renditions_due ON media USING btree (renditions_due_at) WHERE ((renditions_due_at IS NOT NULL) AND (removed_at IS NULL));
CREATE INDEX media_search ON media USING gin (title gin_trgm_ops, file_name gin_trgm_ops) WITH (gin_pending_list_limit='256') WHERE ((purpose = 'library'::text) AND (removed_at IS NULL));
CREATE INDEX media_unprocessed ON media USING btree (id) WHERE ((status = 'ready'::text) AND (processed_at IS NULL) AND (looks_at IS NULL) AND (removed_at IS NULL) AND (object_key IS NOT NULL));
CREATE INDEX media_uploads_club ON media_uploads USING btree (club_id);
CREATE INDEX media_uses_place ON media_uses USING btree (kind, place_id);
CREATE INDEX media_videos ON media USING btree (club_id, id) WHERE ((kind = 'video'::text) AND (purpose = 'library'::text) AND (removed_at IS NULL));
CREATE INDEX media_warned ON media USING btree (club_id, expiry_warned_at) WHERE (expiry_warned_at IS NOT NULL);
CREATE INDEX memberships_administrator ON memberships USING btree (administrator_id);
CREATE INDEX mentorship_deliveries_delivery ON mentorship_deliveries USING btree (delivery_id);
CREATE INDEX mentorship_sessions_canceled_ones ON mentorship_sessions USING btree (club_id, starts_at, id) WHERE (status = 'canceled'::text);
CREATE INDEX mentorship_sessions_club ON mentorship_sessions USING btree (club_id, starts_at, id);
CREATE INDEX mentorship_sessions_due ON mentorship_sessions USING btree (looks_at) WHERE (looks_at IS NOT NULL);
CREATE INDEX mentorship_sessions_mentorship ON mentorship_sessions USING btree (mentorship_id, starts_at, id);
CREATE INDEX mentorship_sessions_no_shows ON mentorship_sessions USING btree (club_id, starts_at, id) WHERE (status = 'no_show'::text);
CREATE INDEX mentorship_sessions_of_mentor ON mentorship_sessions USING btree (club_id, mentor_id, starts_at, id);
CREATE INDEX mentorship_sessions_of_student ON mentorship_sessions USING btree (student_id, starts_at, id);
CREATE INDEX mentorships_club_created ON mentorships USING btree (club_id, created_at, id);
CREATE UNIQUE INDEX mentorships_club_public_id ON mentorships USING btree (club_id, public_id);
CREATE INDEX modules_course ON modules USING btree (course_id, "position", id);
CREATE INDEX one_time_tokens_administrator ON one_time_tokens USING btree (administrator_id);
CREATE INDEX one_time_tokens_expiry ON one_time_tokens USING btree (expires_at);
CREATE UNIQUE INDEX one_time_tokens_hash ON one_time_tokens USING btree (token_hash);
CREATE INDEX one_time_tokens_invitation ON one_time_tokens USING btree (invitation_id);
CREATE INDEX one_time_tokens_student ON one_time_tokens USING btree (student_id);
CREATE INDEX overage_turns_due ON overage_turns USING btree (turns_at);
CREATE INDEX point_awards_student ON point_awards USING btree (student_id, created_at, cause_id);
CREATE INDEX product_deliveries_delivery ON product_deliveries USING btree (delivery_id);
CREATE INDEX products_club ON products USING btree (club_id, created_at, id);
CREATE UNIQUE INDEX products_identity ON products USING btree (club_id, platform, external_id);
CREATE INDEX purchases_club ON purchases USING btree (club_id, created_at, id);
CREATE UNIQUE INDEX purchases_identity ON purchases USING btree (club_id, platform, external_id);
CREATE INDEX purchases_product ON purchases USING btree (product_id);
CREATE INDEX purchases_student ON purchases USING btree (student_id, created_at, id);
CREATE INDEX purchases_subscription ON purchases USING btree (subscription_id, paid_at) WHERE (subscription_id IS NOT NULL);
CREATE INDEX rate_limit_counters_expiry ON rate_limit_counters USING btree (expire);
CREATE INDEX registration_link_claims_student ON registration_link_claims USING btree (student_id);
CREATE INDEX registration_link_deliveries_delivery ON registration_link_deliveries USING btree (delivery_id);
CREATE INDEX registration_links_club ON registration_links USING btree (club_id, created_at, id);
CREATE UNIQUE INDEX registration_links_club_code ON registration_links USING btree (club_id, folded_code);
CREATE INDEX repositories_club_created ON repositories USING btree (club_id, created_at, id);
CREATE UNIQUE INDEX repositories_club_public_id ON repositories USING btree (club_id, public_id);
CREATE INDEX repository_items_media ON repository_items USING btree (media_id);
CREATE UNIQUE INDEX repository_items_position ON repository_items USING btree (repository_id, "position");
CREATE INDEX sales_connections_club ON sales_connections USING btree (club_id, created_at, id);
CREATE UNIQUE INDEX sales_connections_token ON sales_connections USING btree (token_hash);
CREATE INDEX sales_notices_addresses ON sales_notices USING gin (addresses) WITH (gin_pending_list_limit='256');
CREATE INDEX sales_notices_club ON sales_notices USING btree (club_id, received_at, id);
CREATE INDEX sales_notices_club_status ON sales_notices USING btree (club_id, status, received_at, id);
CREATE INDEX sales_notices_connection ON sales_notices USING btree (connection_id, received_at, id);
CREATE INDEX sales_notices_kept ON sales_notices USING btree (received_at) WHERE (body IS NOT NULL);
CREATE INDEX sales_notices_overdue ON sales_notices USING btree (next_attempt_at) WHERE (status = 'pending'::text);
CREATE INDEX sales_notices_student ON sales_notices USING btree (student_id) WHERE (student_id IS NOT NULL);
CREATE UNIQUE INDEX space_digests_club ON space_digests USING btree (club_id, date);
CREATE INDEX space_digests_due ON space_digests USING btree (looks_at) WHERE (looks_at IS NOT NULL);
CREATE INDEX space_digests_over ON space_digests USING btree (ended_at) WHERE (ended_at IS NOT NULL);
CREATE INDEX student_import_rows_outcome ON student_import_rows USING btree (import_id, outcome, "row");
CREATE UNIQUE INDEX student_import_rows_student ON student_import_rows USING btree (import_id, student_id) WHERE (student_id IS NOT NULL);
CREATE INDEX student_imports_club ON student_imports USING btree (club_id, created_at, id);
CREATE INDEX student_imports_looks_at ON student_imports USING btree (looks_at) WHERE (looks_at IS NOT NULL);
CREATE INDEX student_imports_turn ON student_imports USING btree (club_id, created_at, id) WHERE (status = ANY (ARRAY['pending'::text, 'running'::text]));
CREATE INDEX student_levels_level ON student_levels USING btree (level_id);
CREATE INDEX student_sessions_expiry ON student_sessions USING btree (expires_at);
CREATE INDEX student_sessions_student ON student_sessions USING btree (student_id);
CREATE INDEX student_tags_tag ON student_tags USING btree (tag_id);
CREATE INDEX students_club_created ON students USING btree (club_id, created_at, id) WHERE (removed_at IS NULL);
CREATE UNIQUE INDEX students_club_email ON students USING btree (club_id, email);
CREATE INDEX students_club_unverified ON students USING btree (club_id, created_at, id) WHERE ((removed_at IS NULL) AND (verified_at IS NULL));
CREATE INDEX students_club_verified ON students USING btree (club_id, created_at, id) WHERE ((removed_at IS NULL) AND (verified_at IS NOT NULL));
CREATE INDEX students_pending_sign_ups ON students USING btree (created_at) WHERE ((removed_at IS NULL) AND (verified_at IS NULL) AND (opened_by = 'sign_up'::text));
CREATE INDEX students_search ON students USING gin (name gin_trgm_ops, email gin_trgm_ops) WITH (gin_pending_list_limit='256');
CREATE INDEX students_without_key ON students USING btree (id) WHERE ((email_key IS NULL) AND (email IS NOT NULL));
CREATE INDEX subscriptions_club ON subscriptions USING btree (club_id, created_at, id);
CREATE INDEX subscriptions_end ON subscriptions USING btree (end_looks_at) WHERE (end_looks_at IS NOT NULL);
CREATE UNIQUE INDEX subscriptions_identity ON subscriptions USING btree (club_id, platform, external_id);
CREATE INDEX subscriptions_product ON subscriptions USING btree (product_id);
CREATE INDEX subscriptions_student ON subscriptions USING btree (student_id, created_at, id);
CREATE UNIQUE INDEX tags_club_name ON tags USING btree (club_id, folded_name) WHERE (removed_at IS NULL);
CREATE INDEX test_mails_campaign ON test_mails USING btree (campaign_id, created_at, id);
CREATE INDEX test_mails_due ON test_mails USING btree (next_attempt_at) WHERE (status = 'pending'::text);
CREATE INDEX transactional_mails_address ON transactional_mails USING btree (address_key, template, created_at);
CREATE INDEX transactional_mails_administrator ON transactional_mails USING btree (administrator_id);
CREATE INDEX transactional_mails_invitation ON transactional_mails USING btree (invitation_id);
CREATE INDEX transactional_mails_overdue ON transactional_mails USING btree (next_attempt_at) WHERE (status = 'pending'::text);
CREATE UNIQUE INDEX transactional_mails_review ON transactional_mails USING btree (review_id);
CREATE UNIQUE INDEX transactional_mails_session ON transactional_mails USING btree (session_id, template, session_sequence);
CREATE INDEX transactional_mails_student ON transactional_mails USING btree (student_id);
CREATE INDEX transactional_mails_token ON transactional_mails USING btree (token_id);
CREATE INDEX wakes_failing ON wakes USING btree (recorded_at) WHERE (attempt_count > 0);
CREATE INDEX wakes_leased ON wakes USING btree (club_id, lease_until) WHERE (lease_until IS NOT NULL);
CREATE INDEX wakes_of_runs ON wakes USING btree (club_id) WHERE (workflow_type = 'automationRun'::text);
CREATE INDEX wakes_turn ON wakes USING btree (club_id, priority, due_at);
CREATE INDEX webhook_attempts_started ON webhook_attempts USING btree (started_at);
CREATE INDEX webhook_deliveries_asked ON webhook_deliveries USING btree (endpoint_id) WHERE ((status <> 'pending'::text) AND ((requested IS NOT NULL) OR (in_flight IS NOT NULL)));
CREATE INDEX webhook_deliveries_history ON webhook_deliveries USING btree (endpoint_id, created_at, id);
CREATE UNIQUE INDEX webhook_deliveries_once ON webhook_deliveries USING btree (event_id, endpoint_id);
CREATE INDEX webhook_deliveries_overdue ON webhook_deliveries USING btree (next_attempt_at) WHERE ((parked_at IS NULL) AND ((status = 'pending'::text) OR (requested IS NOT NULL) OR (in_flight IS NOT NULL)));
CREATE INDEX webhook_deliveries_parked ON webhook_deliveries USING btree (endpoint_id, next_attempt_at, id) WHERE ((parked_at IS NOT NULL) AND (requested IS DISTINCT FROM 'recovery'::text));
CREATE INDEX webhook_deliveries_pending ON webhook_deliveries USING btree (endpoint_id, parked_at, next_attempt_at) WHERE (status = 'pending'::text);
CREATE INDEX webhook_deliveries_recovering ON webhook_deliveries USING btree (endpoint_id, next_attempt_at, id) WHERE ((parked_at IS NOT NULL) AND (requested = 'recovery'::text));
CREATE INDEX webhook_deliveries_statuses ON webhook_deliveries USING btree (endpoint_id, status, created_at, id);
CREATE INDEX webhook_deliveries_student ON webhook_deliveries USING btree (student_id);
CREATE INDEX webhook_deliveries_types ON webhook_deliveries USING btree (endpoint_id, event_type, status, created_at, id);
CREATE INDEX webhook_endpoints_club ON webhook_endpoints USING btree (club_id, created_at, id);
CREATE INDEX webhook_endpoints_deleted ON webhook_endpoints USING btree (deleted_at) WHERE (deleted_at IS NOT NULL);
CREATE INDEX webhook_endpoints_gate ON webhook_endpoints USING btree (gate_looks_at) WHERE (gate_looks_at IS NOT NULL);
CREATE INDEX webhook_endpoints_rotated ON webhook_endpoints USING btree (previous_secret_expires_at) WHERE (previous_secret IS NOT NULL);
CREATE INDEX webhook_events_bodies ON webhook_events USING btree (created_at) WHERE (body IS NOT NULL);
CREATE INDEX webhook_events_created ON webhook_events USING btree (created_at);
CREATE INDEX webhook_events_student ON webhook_events USING btree (student_id);
`;

/** Triggers. */
const triggers = String.raw`
CREATE TRIGGER agent_passages_counted_in AFTER INSERT ON agent_passages REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION agent_passages_counted();
CREATE TRIGGER agent_passages_counted_out AFTER DELETE ON agent_passages REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION agent_passages_counted();
CREATE TRIGGER agent_passages_recounted AFTER UPDATE ON agent_passages REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION agent_passages_counted();
CREATE TRIGGER agent_passages_searched BEFORE INSERT OR UPDATE ON agent_passages FOR EACH ROW EXECUTE FUNCTION agent_passages_searched();
CREATE TRIGGER assignment_submissions_retallied AFTER UPDATE OF status ON assignment_submissions FOR EACH ROW WHEN ((old.status <> new.status)) EXECUTE FUNCTION assignment_submissions_retallied();
CREATE TRIGGER assignment_submissions_tallied_in AFTER INSERT ON assignment_submissions REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION assignment_submissions_tallied();
CREATE TRIGGER assignment_submissions_tallied_out AFTER DELETE ON assignment_submissions REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION assignment_submissions_tallied();
CREATE TRIGGER automation_mails_retallied AFTER UPDATE OF status, opened_at, clicked_at ON mails FOR EACH ROW WHEN (((new.run_id IS NOT NULL) AND (((old.status = 'sent'::text) <> (new.status = 'sent'::text)) OR (num_nonnulls(old.opened_at, old.clicked_at) <> num_nonnulls(new.opened_at, new.clicked_at))))) EXECUTE FUNCTION automation_mails_retallied();
CREATE TRIGGER automation_run_steps_retallied AFTER UPDATE OF left_at ON automation_run_steps FOR EACH ROW WHEN (((old.left_at IS NULL) <> (new.left_at IS NULL))) EXECUTE FUNCTION automation_run_steps_retallied();
CREATE TRIGGER automation_run_steps_tallied AFTER INSERT ON automation_run_steps REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION automation_run_steps_tallied();
CREATE TRIGGER automation_runs_retallied AFTER UPDATE OF status ON automation_runs FOR EACH ROW WHEN ((old.status <> new.status)) EXECUTE FUNCTION automation_runs_retallied();
CREATE TRIGGER automation_runs_tallied_in AFTER INSERT ON automation_runs REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION automation_runs_tallied();
CREATE TRIGGER automation_runs_tallied_out AFTER DELETE ON automation_runs REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION automation_runs_tallied();
CREATE TRIGGER certificates_retallied AFTER UPDATE OF club_id, course_id, revoked_at ON certificates FOR EACH ROW WHEN ((old.club_id, old.course_id, old.revoked_at) IS DISTINCT FROM (new.club_id, new.course_id, new.revoked_at)) EXECUTE FUNCTION certificates_retallied();
CREATE TRIGGER certificates_tallied_in AFTER INSERT ON certificates REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION certificates_tallied();
CREATE TRIGGER certificates_tallied_out AFTER DELETE ON certificates REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION certificates_tallied();
CREATE TRIGGER community_comments_retallied AFTER UPDATE OF state, hidden_at ON community_comments FOR EACH ROW WHEN (((old.state IS DISTINCT FROM new.state) OR (old.hidden_at IS DISTINCT FROM new.hidden_at))) EXECUTE FUNCTION community_comments_retallied();
CREATE TRIGGER community_comments_tallied_in AFTER INSERT ON community_comments REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION community_comments_tallied();
CREATE TRIGGER community_comments_tallied_out AFTER DELETE ON community_comments REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION community_comments_tallied();
CREATE TRIGGER community_memberships_retallied AFTER UPDATE OF left_at, banned_at, counted ON community_memberships FOR EACH ROW WHEN ((old.left_at, old.banned_at, old.counted) IS DISTINCT FROM (new.left_at, new.banned_at, new.counted)) EXECUTE FUNCTION community_memberships_retallied();
CREATE TRIGGER community_memberships_tallied_in AFTER INSERT ON community_memberships REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION community_memberships_tallied();
CREATE TRIGGER community_memberships_tallied_out AFTER DELETE ON community_memberships REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION community_memberships_tallied();
CREATE TRIGGER community_moderations_tallied_in AFTER INSERT ON community_moderations REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION community_moderations_tallied();
CREATE TRIGGER community_moderations_tallied_out AFTER DELETE ON community_moderations REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION community_moderations_tallied();
CREATE TRIGGER community_posts_retallied AFTER UPDATE OF state, hidden_at ON community_posts FOR EACH ROW WHEN (((old.state IS DISTINCT FROM new.state) OR (old.hidden_at IS DISTINCT FROM new.hidden_at))) EXECUTE FUNCTION community_posts_retallied();
CREATE TRIGGER community_posts_tallied_in AFTER INSERT ON community_posts REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION community_posts_tallied();
CREATE TRIGGER community_posts_tallied_out AFTER DELETE ON community_posts REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION community_posts_tallied();
CREATE TRIGGER community_reactions_tallied_in AFTER INSERT ON community_reactions REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION community_reactions_tallied();
CREATE TRIGGER community_reactions_tallied_out AFTER DELETE ON community_reactions REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION community_reactions_tallied();
CREATE TRIGGER community_reports_retallied AFTER UPDATE OF settled_at ON community_reports FOR EACH ROW WHEN ((old.settled_at IS DISTINCT FROM new.settled_at)) EXECUTE FUNCTION community_reports_retallied();
CREATE TRIGGER community_reports_tallied_in AFTER INSERT ON community_reports REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION community_reports_tallied();
CREATE TRIGGER community_reports_tallied_out AFTER DELETE ON community_reports REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION community_reports_tallied();
CREATE TRIGGER enrollments_retallied AFTER UPDATE OF club_id, delivery_id, revoked_at, revoked_reason ON enrollments FOR EACH ROW WHEN ((old.club_id, old.delivery_id, old.revoked_at, old.revoked_reason) IS DISTINCT FROM (new.club_id, new.delivery_id, new.revoked_at, new.revoked_reason)) EXECUTE FUNCTION enrollments_retallied();
CREATE TRIGGER enrollments_tallied_in AFTER INSERT ON enrollments REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION enrollments_tallied();
CREATE TRIGGER enrollments_tallied_out AFTER DELETE ON enrollments REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION enrollments_tallied();
CREATE TRIGGER mails_retallied AFTER UPDATE ON mails REFERENCING OLD TABLE AS former NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION mails_retallied();
CREATE TRIGGER mails_tallied_in AFTER INSERT ON mails REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION mails_tallied();
CREATE TRIGGER mails_tallied_out AFTER DELETE ON mails REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION mails_tallied();
CREATE TRIGGER media_counted_in AFTER INSERT ON media REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION media_added();
CREATE TRIGGER media_counted_out AFTER DELETE ON media REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION media_deleted();
CREATE TRIGGER media_recounted AFTER UPDATE OF club_id, kind, status, size_bytes, held_bytes, object_key, erased_at, removed_at ON media FOR EACH ROW
  WHEN ((old.club_id, old.kind,
    CASE WHEN (old.size_bytes IS NOT NULL AND old.object_key IS NOT NULL AND old.erased_at IS NULL) THEN old.size_bytes ELSE 0 END,
    (old.size_bytes IS NOT NULL AND old.object_key IS NOT NULL AND old.erased_at IS NULL)::int,
    CASE WHEN (old.size_bytes IS NULL AND old.removed_at IS NULL AND old.status IN ('uploading', 'processing')) THEN coalesce(old.held_bytes, 0) ELSE 0 END) IS DISTINCT FROM (new.club_id, new.kind,
    CASE WHEN (new.size_bytes IS NOT NULL AND new.object_key IS NOT NULL AND new.erased_at IS NULL) THEN new.size_bytes ELSE 0 END,
    (new.size_bytes IS NOT NULL AND new.object_key IS NOT NULL AND new.erased_at IS NULL)::int,
    CASE WHEN (new.size_bytes IS NULL AND new.removed_at IS NULL AND new.status IN ('uploading', 'processing')) THEN coalesce(new.held_bytes, 0) ELSE 0 END))
  EXECUTE FUNCTION media_changed();
CREATE TRIGGER media_retallied AFTER UPDATE ON media FOR EACH ROW WHEN ((old.archived, old.type, old.folder_id, old.removed_at) IS DISTINCT FROM (new.archived, new.type, new.folder_id, new.removed_at)) EXECUTE FUNCTION media_retallied();
CREATE TRIGGER media_tallied_in AFTER INSERT ON media REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION media_tallied();
CREATE TRIGGER media_tallied_out AFTER DELETE ON media REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION media_tallied();
CREATE TRIGGER mentorship_sessions_retallied AFTER UPDATE OF status, starts_at ON mentorship_sessions FOR EACH ROW WHEN (((old.status IS DISTINCT FROM new.status) OR (old.starts_at IS DISTINCT FROM new.starts_at))) EXECUTE FUNCTION mentorship_sessions_retallied();
CREATE TRIGGER mentorship_sessions_tallied_in AFTER INSERT ON mentorship_sessions REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION mentorship_sessions_tallied();
CREATE TRIGGER mentorship_sessions_tallied_out AFTER DELETE ON mentorship_sessions REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION mentorship_sessions_tallied();
CREATE TRIGGER students_counted_in AFTER INSERT ON students REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION students_added();
CREATE TRIGGER students_counted_out AFTER DELETE ON students REFERENCING OLD TABLE AS deleted FOR EACH STATEMENT EXECUTE FUNCTION students_deleted();
CREATE TRIGGER students_forget_key BEFORE UPDATE OF email ON students FOR EACH ROW WHEN (((new.email IS DISTINCT FROM old.email) AND (NOT (new.email_key IS DISTINCT FROM old.email_key)))) EXECUTE FUNCTION students_forget_key();
CREATE TRIGGER students_recounted AFTER UPDATE OF removed_at, club_id, verified_at, opened_by ON students FOR EACH ROW WHEN (((old.club_id IS DISTINCT FROM new.club_id) OR (((old.removed_at IS NULL) AND ((old.verified_at IS NOT NULL) OR (old.opened_by <> 'sign_up'::text))) IS DISTINCT FROM ((new.removed_at IS NULL) AND ((new.verified_at IS NOT NULL) OR (new.opened_by <> 'sign_up'::text)))))) EXECUTE FUNCTION students_changed();
CREATE TRIGGER students_retallied AFTER UPDATE OF club_id, verified_at, removed_at ON students FOR EACH ROW WHEN ((old.club_id, old.verified_at, old.removed_at) IS DISTINCT FROM (new.club_id, new.verified_at, new.removed_at)) EXECUTE FUNCTION students_retallied();
CREATE TRIGGER students_tallied_in AFTER INSERT ON students REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION students_tallied();
CREATE TRIGGER students_tallied_out AFTER DELETE ON students REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION students_tallied();
CREATE TRIGGER webhook_deliveries_deleted AFTER DELETE ON webhook_deliveries REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION webhook_deliveries_counted();
CREATE TRIGGER webhook_deliveries_inserted AFTER INSERT ON webhook_deliveries REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION webhook_deliveries_counted();
CREATE TRIGGER webhook_deliveries_updated AFTER UPDATE OF status, endpoint_id, event_type, created_at ON webhook_deliveries FOR EACH ROW WHEN ((old.status, old.endpoint_id, old.event_type, old.created_at) IS DISTINCT FROM (new.status, new.endpoint_id, new.event_type, new.created_at)) EXECUTE FUNCTION webhook_deliveries_recounted();
`;

/** References. */
const references = String.raw`
ALTER TABLE ONLY course_completions
    ADD CONSTRAINT "FK_01d7441678dbe5ba3ae5e236276" FOREIGN KEY (course_id) REFERENCES courses(id) ON DELETE CASCADE;
ALTER TABLE ONLY administrator_sessions
    ADD CONSTRAINT "FK_02fa803059e459b10dc9151fd8f" FOREIGN KEY (administrator_id) REFERENCES administrators(id) ON DELETE CASCADE;
ALTER TABLE ONLY agent_sources
    ADD CONSTRAINT "FK_0316889a4de00cf394c7088dd99" FOREIGN KEY (lesson_id) REFERENCES lessons(id) ON DELETE CASCADE;
ALTER TABLE ONLY agent_materials
    ADD CONSTRAINT "FK_049cbda726ab2677e5a7d1a33be" FOREIGN KEY (course_id) REFERENCES courses(id) ON DELETE CASCADE;
ALTER TABLE ONLY purchases
    ADD CONSTRAINT "FK_04db0dd166ed70c148b929214c8" FOREIGN KEY (student_id) REFERENCES students(id) ON DELETE CASCADE;
ALTER TABLE ONLY product_deliveries
    ADD CONSTRAINT "FK_09a4616ce481ab90f82b7a190ec" FOREIGN KEY (delivery_id) REFERENCES access_deliveries(id);
ALTER TABLE ONLY mail_suppressions
    ADD CONSTRAINT "FK_09b45b075e5b36170a5eaca0bb8" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY modules
    ADD CONSTRAINT "FK_0a00005552998b16b7e89340843" FOREIGN KEY (course_id) REFERENCES courses(id) ON DELETE CASCADE;
ALTER TABLE ONLY assignment_attempt_files
    ADD CONSTRAINT "FK_0a3bce188c655747de70a141a06" FOREIGN KEY (attempt_id) REFERENCES assignment_attempts(id) ON DELETE CASCADE;
ALTER TABLE ONLY student_levels
    ADD CONSTRAINT "FK_0b19991f7044b7694e5f34f64a2" FOREIGN KEY (student_id) REFERENCES students(id) ON DELETE CASCADE;
ALTER TABLE ONLY webhook_deliveries
    ADD CONSTRAINT "FK_0b882c26a9b91c26e6e86b4867c" FOREIGN KEY (endpoint_id) REFERENCES webhook_endpoints(id) ON DELETE CASCADE;
ALTER TABLE ONLY assignment_submissions
    ADD CONSTRAINT "FK_0c62b946a9e40285ac33fe970bb" FOREIGN KEY (assignment_id) REFERENCES assignments(id) ON DELETE CASCADE;
ALTER TABLE ONLY webhook_attempts
    ADD CONSTRAINT "FK_0d56d91d61b827bb2079c256538" FOREIGN KEY (delivery_id) REFERENCES webhook_deliveries(id) ON DELETE CASCADE;
ALTER TABLE ONLY student_tags
    ADD CONSTRAINT "FK_0d5a61ad10a04ee6853183d9985" FOREIGN KEY (student_id) REFERENCES students(id) ON DELETE CASCADE;
ALTER TABLE ONLY agent_passages
    ADD CONSTRAINT "FK_0e588396cb9d7d336b157e32724" FOREIGN KEY (source_id) REFERENCES agent_sources(id) ON DELETE CASCADE DEFERRABLE;
ALTER TABLE ONLY certificates
    ADD CONSTRAINT "FK_0eec5e698012751d8a518b77aa4" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY purchases
    ADD CONSTRAINT "FK_12dc9ccc432f0ab25a481877eba" FOREIGN KEY (subscription_id) REFERENCES subscriptions(id);
ALTER TABLE ONLY community_reactions
    ADD CONSTRAINT "FK_1392abb141b0029138b8445d523" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY mentorship_sessions
    ADD CONSTRAINT "FK_15541eb6eebb71a7d0ae196ba76" FOREIGN KEY (mentor_id) REFERENCES administrators(id) ON DELETE CASCADE;
ALTER TABLE ONLY levels
    ADD CONSTRAINT "FK_15865c35ba77f458319d3eabaac" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY sales_connections
    ADD CONSTRAINT "FK_19be848476d34e516c4ace56cc3" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY agent_answers
    ADD CONSTRAINT "FK_1a165d8398969e22bc6317d2697" FOREIGN KEY (question_id) REFERENCES agent_questions(id) ON DELETE CASCADE;
ALTER TABLE ONLY student_levels
    ADD CONSTRAINT "FK_1a91a3bce5fd73acff477473a68" FOREIGN KEY (level_id) REFERENCES levels(id);
ALTER TABLE ONLY purchases
    ADD CONSTRAINT "FK_1ce91bd87ddfcecde930deeaab9" FOREIGN KEY (product_id) REFERENCES products(id);
ALTER TABLE ONLY community_moderations
    ADD CONSTRAINT "FK_2030d7b4b06436eb1803294daa6" FOREIGN KEY (post_id) REFERENCES community_posts(id) ON DELETE CASCADE;
ALTER TABLE ONLY sales_notices
    ADD CONSTRAINT "FK_203ae8de606a58914fa740f9ab3" FOREIGN KEY (connection_id) REFERENCES sales_connections(id) ON DELETE CASCADE;
ALTER TABLE ONLY agent_conversations
    ADD CONSTRAINT "FK_2108fd043719b2262a73327cf6b" FOREIGN KEY (agent_id) REFERENCES agents(id) ON DELETE CASCADE;
ALTER TABLE ONLY community_moderations
    ADD CONSTRAINT "FK_26c1e7c2febf1bf48a17ab9181c" FOREIGN KEY (comment_id) REFERENCES community_comments(id) ON DELETE CASCADE;
ALTER TABLE ONLY webhook_deliveries
    ADD CONSTRAINT "FK_27d1ee90033bdafe0ffe8f1be6f" FOREIGN KEY (event_id) REFERENCES webhook_events(id) ON DELETE CASCADE;
ALTER TABLE ONLY agents
    ADD CONSTRAINT "FK_29f312b0d14a7b5db0ab3841dce" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY space_digests
    ADD CONSTRAINT "FK_2dda33cd10158f3addfa6c9fbe7" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY enrollments
    ADD CONSTRAINT "FK_307813fe255896d6ebf3e6cd55c" FOREIGN KEY (student_id) REFERENCES students(id) ON DELETE CASCADE;
ALTER TABLE ONLY certificate_files
    ADD CONSTRAINT "FK_3176733cf516f65dfa9cffe7dc3" FOREIGN KEY (certificate_id) REFERENCES certificates(id) ON DELETE CASCADE;
ALTER TABLE ONLY assignment_attempt_files
    ADD CONSTRAINT "FK_3405a0a2294037b5059da17a605" FOREIGN KEY (media_id) REFERENCES media(id) ON DELETE CASCADE;
ALTER TABLE ONLY lessons
    ADD CONSTRAINT "FK_35fb2307535d90a6ed290af1f4a" FOREIGN KEY (module_id) REFERENCES modules(id) ON DELETE SET NULL;
ALTER TABLE ONLY community_comments
    ADD CONSTRAINT "FK_3616a96a8f3e6522a674a3c6691" FOREIGN KEY (administrator_id) REFERENCES administrators(id) ON DELETE SET NULL;
ALTER TABLE ONLY community_memberships
    ADD CONSTRAINT "FK_380b6291505cf39b7af19af0dc9" FOREIGN KEY (student_id) REFERENCES students(id) ON DELETE CASCADE;
ALTER TABLE ONLY certificates
    ADD CONSTRAINT "FK_3b6a412073ea28153dc20a843b4" FOREIGN KEY (course_id) REFERENCES courses(id);
ALTER TABLE ONLY enrollments
    ADD CONSTRAINT "FK_3c4d56a0acfc0cbbdbf7437edf6" FOREIGN KEY (delivery_id) REFERENCES access_deliveries(id);
ALTER TABLE ONLY lessons
    ADD CONSTRAINT "FK_3c4e299cf8ed04093935e2e22fe" FOREIGN KEY (course_id) REFERENCES courses(id) ON DELETE CASCADE;
ALTER TABLE ONLY lesson_progress
    ADD CONSTRAINT "FK_4012564b73cc5b98b48d31685b9" FOREIGN KEY (student_id) REFERENCES students(id) ON DELETE CASCADE;
ALTER TABLE ONLY campaigns
    ADD CONSTRAINT "FK_42b99c681f195f6d2950d0c52e3" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY student_import_addresses
    ADD CONSTRAINT "FK_43427aecdaadfd66a75b6c44a28" FOREIGN KEY (student_id) REFERENCES students(id) ON DELETE CASCADE;
ALTER TABLE ONLY media_folders
    ADD CONSTRAINT "FK_43ff389c80b4187ad60b4d5deb3" FOREIGN KEY (parent_id) REFERENCES media_folders(id);
ALTER TABLE ONLY agent_charges
    ADD CONSTRAINT "FK_447ddfab5cf19de0cac58d8169c" FOREIGN KEY (answer_id) REFERENCES agent_answers(id) ON DELETE CASCADE;
ALTER TABLE ONLY assignment_submissions
    ADD CONSTRAINT "FK_45b95e9a93646e79972f824a93f" FOREIGN KEY (student_id) REFERENCES students(id) ON DELETE CASCADE;
ALTER TABLE ONLY repository_items
    ADD CONSTRAINT "FK_4860d377ed9cc9180fe5c1601b0" FOREIGN KEY (media_id) REFERENCES media(id) ON DELETE CASCADE;
ALTER TABLE ONLY overage_turns
    ADD CONSTRAINT "FK_487a1ea0c23b51338994bc0ea56" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY course_completions
    ADD CONSTRAINT "FK_4ada5af2756631fb97ccd711c6f" FOREIGN KEY (student_id) REFERENCES students(id) ON DELETE CASCADE;
ALTER TABLE ONLY transactional_mails
    ADD CONSTRAINT "FK_4cd97c1015b3a1155cb8bfb685a" FOREIGN KEY (invitation_id) REFERENCES invitations(id) ON DELETE SET NULL;
ALTER TABLE ONLY community_reports
    ADD CONSTRAINT "FK_4da2fb139eb0614516392c41e97" FOREIGN KEY (student_id) REFERENCES students(id) ON DELETE CASCADE;
ALTER TABLE ONLY overages
    ADD CONSTRAINT "FK_4e1fb68bfc7ccdaf904a54dba22" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY products
    ADD CONSTRAINT "FK_4f6096503d83fe1567485ce8a88" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY mentorship_sessions
    ADD CONSTRAINT "FK_4fd75c86d4a46ca77a618f7073a" FOREIGN KEY (student_id) REFERENCES students(id) ON DELETE CASCADE;
ALTER TABLE ONLY student_import_addresses
    ADD CONSTRAINT "FK_518b6ec9afde5a0a6094fd2dcfa" FOREIGN KEY (import_id) REFERENCES student_imports(id) ON DELETE CASCADE;
ALTER TABLE ONLY agent_conversations
    ADD CONSTRAINT "FK_51b5029d84a3d82e133ea490ebc" FOREIGN KEY (student_id) REFERENCES students(id) ON DELETE CASCADE;
ALTER TABLE ONLY agent_question_images
    ADD CONSTRAINT "FK_5243cec36f4cdcce5ddfa019ac2" FOREIGN KEY (question_id) REFERENCES agent_questions(id) ON DELETE CASCADE;
ALTER TABLE ONLY agent_materials
    ADD CONSTRAINT "FK_549a0221ee45d2f7beb1f354c64" FOREIGN KEY (media_id) REFERENCES media(id) ON DELETE CASCADE;
ALTER TABLE ONLY invitations
    ADD CONSTRAINT "FK_54dca5b29a692647e49a40d9754" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY mentorships
    ADD CONSTRAINT "FK_54ff14b29432a4b4a78df075b90" FOREIGN KEY (mentor_id) REFERENCES administrators(id) ON DELETE CASCADE;
ALTER TABLE ONLY agent_answers
    ADD CONSTRAINT "FK_56e65ab3c341e18bdf50d8a9bce" FOREIGN KEY (conversation_id) REFERENCES agent_conversations(id) ON DELETE CASCADE;
ALTER TABLE ONLY one_time_tokens
    ADD CONSTRAINT "FK_577160e8d0bc8ca1a5847c029bb" FOREIGN KEY (administrator_id) REFERENCES administrators(id) ON DELETE CASCADE;
ALTER TABLE ONLY media_moves
    ADD CONSTRAINT "FK_5abc24e0a45356e4e8875e73e45" FOREIGN KEY (id) REFERENCES media(id) ON DELETE CASCADE;
ALTER TABLE ONLY students
    ADD CONSTRAINT "FK_5c05e293297dbf56317cf5420c1" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY registration_links
    ADD CONSTRAINT "FK_5df77b5630377c76e5cc229e48f" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY certificates
    ADD CONSTRAINT "FK_5fc025803a5eb21001b77ed6b1a" FOREIGN KEY (student_id) REFERENCES students(id) ON DELETE CASCADE;
ALTER TABLE ONLY point_awards
    ADD CONSTRAINT "FK_607582ca578c972202230e0de6b" FOREIGN KEY (student_id) REFERENCES students(id) ON DELETE CASCADE;
ALTER TABLE ONLY agent_sources
    ADD CONSTRAINT "FK_626d9ba065b45a1fee78cea80b9" FOREIGN KEY (media_id) REFERENCES media(id) ON DELETE CASCADE;
ALTER TABLE ONLY community_posts
    ADD CONSTRAINT "FK_633e5f9b766fd1a17cbea98d189" FOREIGN KEY (student_id) REFERENCES students(id) ON DELETE CASCADE;
ALTER TABLE ONLY enrollments
    ADD CONSTRAINT "FK_66dbba19e66e25c3814f80b6478" FOREIGN KEY (cohort_id) REFERENCES cohorts(id);
ALTER TABLE ONLY agent_calls
    ADD CONSTRAINT "FK_69cc8f3cdb07d4a99ef3e332934" FOREIGN KEY (answer_id) REFERENCES agent_answers(id) ON DELETE CASCADE;
ALTER TABLE ONLY community_reports
    ADD CONSTRAINT "FK_6c7f1c9d673f8a1bf0ea337e84c" FOREIGN KEY (comment_id) REFERENCES community_comments(id) ON DELETE CASCADE;
ALTER TABLE ONLY automation_run_steps
    ADD CONSTRAINT "FK_6cc6a4ff7bb9f5488f9f2948ef2" FOREIGN KEY (run_id) REFERENCES automation_runs(id) ON DELETE CASCADE;
ALTER TABLE ONLY webhook_events
    ADD CONSTRAINT "FK_6ccbe457f954a451029961f7b1f" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY access_deliveries
    ADD CONSTRAINT "FK_6d9a244e60c83960ff1583945cd" FOREIGN KEY (cohort_id) REFERENCES cohorts(id);
ALTER TABLE ONLY access_deliveries
    ADD CONSTRAINT "FK_6e4318b9b6bb60feba313c76105" FOREIGN KEY (agent_id) REFERENCES agents(id);
ALTER TABLE ONLY transactional_mails
    ADD CONSTRAINT "FK_6ed1dcfb8f3a7ee3f4a9028a9d3" FOREIGN KEY (token_id) REFERENCES one_time_tokens(id) ON DELETE SET NULL;
ALTER TABLE ONLY media_favorites
    ADD CONSTRAINT "FK_6ef99d4442aa5c6ae5324c0e830" FOREIGN KEY (administrator_id) REFERENCES administrators(id) ON DELETE CASCADE;
ALTER TABLE ONLY mentorship_deliveries
    ADD CONSTRAINT "FK_737b0d51853eafcf675d9d13bb9" FOREIGN KEY (delivery_id) REFERENCES access_deliveries(id);
ALTER TABLE ONLY assignment_submissions
    ADD CONSTRAINT "FK_7402b5d4dd51f7eb7aa4150dc16" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY registration_link_claims
    ADD CONSTRAINT "FK_75b829a34b53eec82c0c7d68b0e" FOREIGN KEY (link_id) REFERENCES registration_links(id) ON DELETE CASCADE;
ALTER TABLE ONLY webhook_endpoints
    ADD CONSTRAINT "FK_764a822ec95bc4988b6baf51891" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY club_plans
    ADD CONSTRAINT "FK_7721b12abbcfc7f89b02a2c957d" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY community_spaces
    ADD CONSTRAINT "FK_77487b2ad1a390f3eb2b86e5e4a" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY access_deliveries
    ADD CONSTRAINT "FK_7ca02b6dc1eaf1a820c571b6ffa" FOREIGN KEY (repository_id) REFERENCES repositories(id);
ALTER TABLE ONLY agent_citations
    ADD CONSTRAINT "FK_830d7940aa1fb56d1e88b177d75" FOREIGN KEY (source_id) REFERENCES agent_sources(id) ON DELETE SET NULL;
ALTER TABLE ONLY one_time_tokens
    ADD CONSTRAINT "FK_84dd23ebadb6931be411c9c4646" FOREIGN KEY (invitation_id) REFERENCES invitations(id) ON DELETE CASCADE;
ALTER TABLE ONLY agent_citations
    ADD CONSTRAINT "FK_86f7bcb5e307aafe77ebdac5526" FOREIGN KEY (answer_id) REFERENCES agent_answers(id) ON DELETE CASCADE;
ALTER TABLE ONLY memberships
    ADD CONSTRAINT "FK_876414d7f41f3c6f07c3354caed" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY mentorship_sessions
    ADD CONSTRAINT "FK_87ec14678aa3c1bb9c4f6ad46bd" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY media
    ADD CONSTRAINT "FK_87f6a68a1bff088457d57929bb0" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY automations
    ADD CONSTRAINT "FK_89ec91512efb429f4af57c5df08" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY transactional_mails
    ADD CONSTRAINT "FK_8be78ae443b44f1fd02fa38c9fa" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY automation_course_watches
    ADD CONSTRAINT "FK_8cc34934dd7454da36a7e4ca74d" FOREIGN KEY (run_id) REFERENCES automation_runs(id) ON DELETE CASCADE;
ALTER TABLE ONLY registration_link_deliveries
    ADD CONSTRAINT "FK_8d3122657df2a8d81c204a90fcb" FOREIGN KEY (link_id) REFERENCES registration_links(id) ON DELETE CASCADE;
ALTER TABLE ONLY courses
    ADD CONSTRAINT "FK_91125b44ad1b00daf352f097f25" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY registration_link_deliveries
    ADD CONSTRAINT "FK_9167df70917e925dd3e2861cea3" FOREIGN KEY (delivery_id) REFERENCES access_deliveries(id);
ALTER TABLE ONLY mentorship_deliveries
    ADD CONSTRAINT "FK_92a20c2df444e5866254896a50e" FOREIGN KEY (mentorship_id) REFERENCES mentorships(id) ON DELETE CASCADE;
ALTER TABLE ONLY assignments
    ADD CONSTRAINT "FK_95112ae591b98b43dab0df90974" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY lesson_progress
    ADD CONSTRAINT "FK_980e74721039ebe210fee2eeca2" FOREIGN KEY (lesson_id) REFERENCES lessons(id) ON DELETE CASCADE;
ALTER TABLE ONLY community_moderations
    ADD CONSTRAINT "FK_982f9a06576bb6f2a88724e7166" FOREIGN KEY (administrator_id) REFERENCES administrators(id) ON DELETE SET NULL;
ALTER TABLE ONLY automation_versions
    ADD CONSTRAINT "FK_99db1615326fbcbddd3359a45e2" FOREIGN KEY (automation_id) REFERENCES automations(id) ON DELETE CASCADE;
ALTER TABLE ONLY media_favorites
    ADD CONSTRAINT "FK_9aa758778407040069ac51eaebf" FOREIGN KEY (media_id) REFERENCES media(id) ON DELETE CASCADE;
ALTER TABLE ONLY transactional_mails
    ADD CONSTRAINT "FK_9bb81cdd653ca3c20d36485b9f5" FOREIGN KEY (review_id) REFERENCES assignment_reviews(id) ON DELETE SET NULL;
ALTER TABLE ONLY transactional_mails
    ADD CONSTRAINT "FK_9c57170987dbdd190aa0ccad74f" FOREIGN KEY (session_id) REFERENCES mentorship_sessions(id) ON DELETE SET NULL;
ALTER TABLE ONLY repository_items
    ADD CONSTRAINT "FK_9f665e5e8f64c803c18bff271b6" FOREIGN KEY (repository_id) REFERENCES repositories(id) ON DELETE CASCADE;
ALTER TABLE ONLY club_ai_months
    ADD CONSTRAINT "FK_9fd49b89d416e67ff1b2812e016" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY student_sessions
    ADD CONSTRAINT "FK_a29d416d6170214a76eb156eedb" FOREIGN KEY (student_id) REFERENCES students(id) ON DELETE CASCADE;
ALTER TABLE ONLY community_comments
    ADD CONSTRAINT "FK_a33d7ff95c8e9cffddc6ec8452d" FOREIGN KEY (post_id) REFERENCES community_posts(id) ON DELETE CASCADE;
ALTER TABLE ONLY student_tags
    ADD CONSTRAINT "FK_a475217cda7cdd00fbeb5a06bd5" FOREIGN KEY (tag_id) REFERENCES tags(id);
ALTER TABLE ONLY assignment_extensions
    ADD CONSTRAINT "FK_a54679995ff1fcb2ffc9465a9ef" FOREIGN KEY (student_id) REFERENCES students(id) ON DELETE CASCADE;
ALTER TABLE ONLY community_post_files
    ADD CONSTRAINT "FK_a5a67826f4e8fbde95fea856065" FOREIGN KEY (media_id) REFERENCES media(id) ON DELETE CASCADE;
ALTER TABLE ONLY automation_runs
    ADD CONSTRAINT "FK_a61ba11dea20d2eb0166b97e5a8" FOREIGN KEY (automation_id) REFERENCES automations(id) ON DELETE CASCADE;
ALTER TABLE ONLY agent_question_images
    ADD CONSTRAINT "FK_a6c6f1a9130ba6111a31bee2f02" FOREIGN KEY (media_id) REFERENCES media(id) ON DELETE CASCADE;
ALTER TABLE ONLY assignment_reviews
    ADD CONSTRAINT "FK_a7124e5d02836418631efb0b2e1" FOREIGN KEY (reviewer_id) REFERENCES administrators(id) ON DELETE SET NULL;
ALTER TABLE ONLY memberships
    ADD CONSTRAINT "FK_aa16e3329616dbdc280bd8081c7" FOREIGN KEY (administrator_id) REFERENCES administrators(id) ON DELETE CASCADE;
ALTER TABLE ONLY mentorship_sessions
    ADD CONSTRAINT "FK_aad809cc53cbf6297f6b174cc71" FOREIGN KEY (mentorship_id) REFERENCES mentorships(id) ON DELETE CASCADE;
ALTER TABLE ONLY media_uploads
    ADD CONSTRAINT "FK_af36cb16c5cc7d6bab1f6d4d289" FOREIGN KEY (id) REFERENCES media(id) ON DELETE CASCADE;
ALTER TABLE ONLY media_renditions
    ADD CONSTRAINT "FK_b374af0bf18ee063b0bc5e32da2" FOREIGN KEY (media_id) REFERENCES media(id) ON DELETE CASCADE;
ALTER TABLE ONLY add_ons
    ADD CONSTRAINT "FK_b6135119d2a32dbeb2d4d429783" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY agent_answer_deltas
    ADD CONSTRAINT "FK_b71af6bad1d50f4d5c745214018" FOREIGN KEY (answer_id) REFERENCES agent_answers(id) ON DELETE CASCADE;
ALTER TABLE ONLY subscriptions
    ADD CONSTRAINT "FK_b7f78362e96be1edd6203e047f6" FOREIGN KEY (product_id) REFERENCES products(id);
ALTER TABLE ONLY mail_senders
    ADD CONSTRAINT "FK_b8a4df588ff84a19ec782f0d5ad" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY assignment_extensions
    ADD CONSTRAINT "FK_bb915886214c6ee4f8e40c91ab4" FOREIGN KEY (assignment_id) REFERENCES assignments(id) ON DELETE CASCADE;
ALTER TABLE ONLY agent_questions
    ADD CONSTRAINT "FK_bbd173e1e4fc3020cda8de5f4a5" FOREIGN KEY (conversation_id) REFERENCES agent_conversations(id) ON DELETE CASCADE;
ALTER TABLE ONLY tags
    ADD CONSTRAINT "FK_be1e14e5629d80dc6a8dd87abfd" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY assignment_attempts
    ADD CONSTRAINT "FK_be4a2468ad6b511f2cefb7bb792" FOREIGN KEY (submission_id) REFERENCES assignment_submissions(id) ON DELETE CASCADE;
ALTER TABLE ONLY community_comments
    ADD CONSTRAINT "FK_bff423059e6f04ded4cfbceebaf" FOREIGN KEY (student_id) REFERENCES students(id) ON DELETE CASCADE;
ALTER TABLE ONLY one_time_tokens
    ADD CONSTRAINT "FK_c0a34d6c549430a09aaa98da8ee" FOREIGN KEY (student_id) REFERENCES students(id) ON DELETE CASCADE;
ALTER TABLE ONLY assignments
    ADD CONSTRAINT "FK_c0fda9de424e0e719787f6b5764" FOREIGN KEY (lesson_id) REFERENCES lessons(id) ON DELETE CASCADE;
ALTER TABLE ONLY access_deliveries
    ADD CONSTRAINT "FK_c3a3ccb163a5ac35889901660f6" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY community_posts
    ADD CONSTRAINT "FK_c400b03defd22e536564723549a" FOREIGN KEY (administrator_id) REFERENCES administrators(id) ON DELETE SET NULL;
ALTER TABLE ONLY mails
    ADD CONSTRAINT "FK_c5548d5f2bfc2ba11e35715993d" FOREIGN KEY (student_id) REFERENCES students(id) ON DELETE CASCADE;
ALTER TABLE ONLY media
    ADD CONSTRAINT "FK_c6889397830b5ed0f2a30362065" FOREIGN KEY (owner_id) REFERENCES students(id) ON DELETE CASCADE;
ALTER TABLE ONLY access_deliveries
    ADD CONSTRAINT "FK_c6ecca55ea831a09ebb066339df" FOREIGN KEY (course_id) REFERENCES courses(id);
ALTER TABLE ONLY community_comments
    ADD CONSTRAINT "FK_cdc40c4694a3fe9fb372e45bfea" FOREIGN KEY (reply_to) REFERENCES community_comments(id) ON DELETE CASCADE;
ALTER TABLE ONLY repositories
    ADD CONSTRAINT "FK_cf80080b92a4a9e6e816873500b" FOREIGN KEY (cover_media_id) REFERENCES media(id) ON DELETE SET NULL;
ALTER TABLE ONLY transactional_mails
    ADD CONSTRAINT "FK_d52b69f91b1ba83aa5c989304e0" FOREIGN KEY (administrator_id) REFERENCES administrators(id) ON DELETE CASCADE;
ALTER TABLE ONLY community_post_files
    ADD CONSTRAINT "FK_d724f740dfd3eeade9c2db5cad5" FOREIGN KEY (post_id) REFERENCES community_posts(id) ON DELETE CASCADE;
ALTER TABLE ONLY media_folders
    ADD CONSTRAINT "FK_db899c7f4153b2c733c1a713f53" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY lesson_comments
    ADD CONSTRAINT "FK_dc67fd739158ef884682c7cf717" FOREIGN KEY (student_id) REFERENCES students(id) ON DELETE CASCADE;
ALTER TABLE ONLY community_reports
    ADD CONSTRAINT "FK_dcfa7008c0d203136c8db8d7ea8" FOREIGN KEY (post_id) REFERENCES community_posts(id) ON DELETE CASCADE;
ALTER TABLE ONLY agent_materials
    ADD CONSTRAINT "FK_dd2210140b93d38a52b4eb9083e" FOREIGN KEY (lesson_id) REFERENCES lessons(id) ON DELETE CASCADE;
ALTER TABLE ONLY subscriptions
    ADD CONSTRAINT "FK_dee89f47ca621f441b655c282b4" FOREIGN KEY (student_id) REFERENCES students(id) ON DELETE CASCADE;
ALTER TABLE ONLY agent_sources
    ADD CONSTRAINT "FK_dfa0eccf587ad380955948e132b" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY student_imports
    ADD CONSTRAINT "FK_e0bb8521fb2c4d4478cb5ccab3e" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY lesson_comments
    ADD CONSTRAINT "FK_e120712049addd4650b9f2b2579" FOREIGN KEY (lesson_id) REFERENCES lessons(id) ON DELETE CASCADE;
ALTER TABLE ONLY automation_runs
    ADD CONSTRAINT "FK_e253781f1d3b6baef91ff84fde3" FOREIGN KEY (version_id) REFERENCES automation_versions(id) ON DELETE CASCADE;
ALTER TABLE ONLY media
    ADD CONSTRAINT "FK_e4f16e3dcba4e4995197e36e707" FOREIGN KEY (folder_id) REFERENCES media_folders(id);
ALTER TABLE ONLY media_uses
    ADD CONSTRAINT "FK_e56a42647466e8bbf96b5ec121f" FOREIGN KEY (media_id) REFERENCES media(id) ON DELETE CASCADE;
ALTER TABLE ONLY assignment_reviews
    ADD CONSTRAINT "FK_e5783fae02f9628067093d078b3" FOREIGN KEY (attempt_id) REFERENCES assignment_attempts(id) ON DELETE CASCADE;
ALTER TABLE ONLY product_deliveries
    ADD CONSTRAINT "FK_e5de542e3f1025b6a8b9c2399a2" FOREIGN KEY (product_id) REFERENCES products(id) ON DELETE CASCADE;
ALTER TABLE ONLY agent_months
    ADD CONSTRAINT "FK_e80f92c5ef8a30b3a3390aac321" FOREIGN KEY (agent_id) REFERENCES agents(id) ON DELETE CASCADE;
ALTER TABLE ONLY repositories
    ADD CONSTRAINT "FK_e8bcd88221c1269683bdd3d63a8" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY club_feature_changes
    ADD CONSTRAINT "FK_e8d8537326bb3fe68215d897a0f" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY mentorships
    ADD CONSTRAINT "FK_ea0074bf29f8d7de827058599fd" FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY automation_runs
    ADD CONSTRAINT "FK_ea3f346b61d75e62242f89ebb24" FOREIGN KEY (student_id) REFERENCES students(id) ON DELETE CASCADE;
ALTER TABLE ONLY mails
    ADD CONSTRAINT "FK_eca0184f05302122265bb7e180d" FOREIGN KEY (digest_id) REFERENCES space_digests(id) ON DELETE CASCADE;
ALTER TABLE ONLY automation_references
    ADD CONSTRAINT "FK_ee1974037347e96e8931a7b7701" FOREIGN KEY (version_id) REFERENCES automation_versions(id) ON DELETE CASCADE;
ALTER TABLE ONLY agent_materials
    ADD CONSTRAINT "FK_efa81cd6f0559246c1d0eaa12b4" FOREIGN KEY (agent_id) REFERENCES agents(id) ON DELETE CASCADE;
ALTER TABLE ONLY subscription_marks
    ADD CONSTRAINT "FK_f15ad1df2bc7d87302466c13e67" FOREIGN KEY (subscription_id) REFERENCES subscriptions(id) ON DELETE CASCADE;
ALTER TABLE ONLY mails
    ADD CONSTRAINT "FK_f1ef354404da1599945d24976c2" FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
ALTER TABLE ONLY cohorts
    ADD CONSTRAINT "FK_f4228ff8a867fe9bdc7fe5d07ee" FOREIGN KEY (course_id) REFERENCES courses(id) ON DELETE CASCADE;
ALTER TABLE ONLY registration_link_claims
    ADD CONSTRAINT "FK_f5e78dcf332238160a9ae33b4a4" FOREIGN KEY (student_id) REFERENCES students(id) ON DELETE CASCADE;
ALTER TABLE ONLY community_memberships
    ADD CONSTRAINT "FK_f7654154aeaa6b739fe71c4f7c6" FOREIGN KEY (space_id) REFERENCES community_spaces(id) ON DELETE CASCADE;
ALTER TABLE ONLY student_import_rows
    ADD CONSTRAINT "FK_f9d424992ae36ba5e1288f4e6c1" FOREIGN KEY (import_id) REFERENCES student_imports(id) ON DELETE CASCADE;
ALTER TABLE ONLY community_posts
    ADD CONSTRAINT "FK_fa961b3b1435e0e38c2c99372d3" FOREIGN KEY (space_id) REFERENCES community_spaces(id) ON DELETE CASCADE;
ALTER TABLE ONLY transactional_mails
    ADD CONSTRAINT "FK_facd1a4569fed6e322dd173be6f" FOREIGN KEY (student_id) REFERENCES students(id) ON DELETE CASCADE;
ALTER TABLE ONLY access_deliveries
    ADD CONSTRAINT "FK_fd58574b0575d93c58b907d72d4" FOREIGN KEY (space_id) REFERENCES community_spaces(id);
ALTER TABLE ONLY club_bulk_days
    ADD CONSTRAINT club_bulk_days_club FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY club_mail_days
    ADD CONSTRAINT club_mail_days_club FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY mail_clicks
    ADD CONSTRAINT mail_clicks_mail FOREIGN KEY (mail_id) REFERENCES mails(id) ON DELETE CASCADE;
ALTER TABLE ONLY mail_domains
    ADD CONSTRAINT mail_domains_of_club FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY mail_links
    ADD CONSTRAINT mail_links_club_key FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY mail_soft_bounces
    ADD CONSTRAINT mail_soft_bounces_mail FOREIGN KEY (mail_id) REFERENCES mails(id) ON DELETE CASCADE;
ALTER TABLE ONLY test_mails
    ADD CONSTRAINT test_mails_administrator FOREIGN KEY (administrator_id) REFERENCES administrators(id) ON DELETE CASCADE;
ALTER TABLE ONLY test_mails
    ADD CONSTRAINT test_mails_club FOREIGN KEY (club_id) REFERENCES clubs(id) ON DELETE CASCADE;
ALTER TABLE ONLY test_mails
    ADD CONSTRAINT test_mails_of_campaign FOREIGN KEY (campaign_id) REFERENCES campaigns(id) ON DELETE CASCADE;
`;

/** Which expression a generated column has: TypeORM reads it from its own table. */
const generatedColumns = String.raw`
INSERT INTO typeorm_metadata VALUES ('GENERATED_COLUMN', current_database(), 'public', 'media', 'type', 'CASE WHEN provider IN (''videosite1'', ''videosite2'', ''external'') THEN ''embed'' WHEN provider IN (''hostedvideo_stream'', ''protectedvideo'') THEN ''video'' WHEN kind <> ''document'' THEN kind WHEN mime = ''application/pdf'' OR (coalesce(mime, ''application/octet-stream'') = ''application/octet-stream'' AND lower(right(file_name, 4)) = ''.pdf'') THEN ''pdf'' ELSE ''file'' END');
`;

export class BaselineOfRelease1795451900000 implements MigrationInterface {
  /** @throws Error if the database is older than release 0.2.0 */
  async up(queryRunner: QueryRunner): Promise<void> {
    const [done] = (await queryRunner.query(
      `SELECT EXISTS (SELECT FROM migrations WHERE name = '${lastOfRelease}') AS "isRelease", to_regclass('clubs') IS NOT NULL AS "hasTables"`,
    )) as { isRelease: boolean; hasTables: boolean }[];
    if (done?.isRelease) return;
    if (done?.hasTables)
      throw new Error('The database is older than release 0.2.0. Upgrade it to release 0.2.0 first.');
    await requireExtension(queryRunner, 'btree_gist');
    await requireExtension(queryRunner, 'pg_trgm');
    await requireExtension(queryRunner, 'unaccent');
    await queryRunner.query('SET LOCAL check_function_bodies = false'); // functions name tables that follow
    for (const part of [searchConfigurations, functions, tables, keys, indexes, triggers, references, generatedColumns])
      await queryRunner.query(part);
  }

  /** Removes all tables, functions and sequences but those of TypeORM and of extensions. */
  async down(queryRunner: QueryRunner): Promise<void> {
    await queryRunner.query(`
      DO $$
      DECLARE
        statement text;
      BEGIN
        FOR statement IN
          SELECT format('DROP TABLE IF EXISTS %s CASCADE', oid::regclass) FROM pg_class
           WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
             AND relname NOT IN ('migrations', 'typeorm_metadata')
          UNION ALL
          SELECT format('DROP FUNCTION IF EXISTS %s CASCADE', oid::regprocedure) FROM pg_proc
           WHERE pronamespace = 'public'::regnamespace
             AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_proc.oid AND deptype = 'e')
          UNION ALL
          SELECT format('DROP TEXT SEARCH CONFIGURATION %I', cfgname) FROM pg_ts_config WHERE cfgnamespace = 'public'::regnamespace
        LOOP
          EXECUTE statement;
        END LOOP;
      END $$;
      DELETE FROM typeorm_metadata`);
  }
}
