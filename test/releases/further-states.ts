/** Adds rows that no scenario creates. Then every table has a row, and every value that a CHECK allows occurs in a row. */
import type { DataSource } from 'typeorm';
import { coverageOf } from './states.ts';

/** Statements that create rows in empty tables from the existing rows of other tables. */
const firstRows: readonly string[] = [
  `INSERT INTO agent_questions SELECT (jsonb_populate_record(NULL::agent_questions, to_jsonb(one) || jsonb_build_object('id', gen_random_uuid()))).*
     FROM (SELECT * FROM agent_questions LIMIT 1) AS one, generate_series(1, 2)`,
  `INSERT INTO agent_question_images SELECT question.id, 0, media.id FROM agent_questions question, media WHERE media.purpose = 'agent_image' LIMIT 1`,
  `INSERT INTO automation_course_watches SELECT course.id, run.id FROM automation_runs run JOIN courses course USING (club_id) LIMIT 1`,
  `INSERT INTO automation_course_watches SELECT course.id, run.id FROM automation_runs run, courses course WHERE run.ended_at IS NULL LIMIT 1 ON CONFLICT DO NOTHING`,
  `INSERT INTO automation_course_looks SELECT course_id, run_id, now() FROM automation_course_watches LIMIT 1`,
  `INSERT INTO automation_step_changes (version_id, step_id, entered) SELECT version_id, cursor, 1 FROM automation_runs WHERE cursor IS NOT NULL LIMIT 1`,
  `INSERT INTO billing_events SELECT 'evt_1', club_id, 'customer.subscription.updated', now(), now(), 'cus_further', 'sub_1', plan, status, now() + interval '1 month', 'applied' FROM club_plans LIMIT 1`,
  `INSERT INTO certificate_files SELECT 'certificates/' || id || '.pdf', id, now(), NULL FROM certificates LIMIT 1`,
  `INSERT INTO club_bulk_days SELECT id, current_date, 7 FROM clubs LIMIT 1`,
  `INSERT INTO club_mail_days SELECT id, current_date, 7 FROM clubs LIMIT 1`,
  `INSERT INTO club_feature_changes SELECT club_id, now() FROM club_plans LIMIT 1`,
  `INSERT INTO code_failure_counts VALUES ('\\x01', current_date, 2)`,
  `INSERT INTO community_post_files SELECT media.id, post.id, 0 FROM media JOIN community_posts post ON post.student_id = media.owner_id WHERE purpose = 'post' LIMIT 1`,
  `INSERT INTO mail_clicks SELECT mail.id, link.id, false, now(), now() FROM mails mail JOIN mail_links link ON link.club_id = mail.club_id LIMIT 1`,
  `INSERT INTO mail_soft_bounces SELECT id, now() FROM mails LIMIT 1`,
  `INSERT INTO media_favorites SELECT administrator_id, media.id, now() FROM media JOIN memberships USING (club_id) WHERE purpose = 'library' LIMIT 1`,
  `INSERT INTO mentorship_deliveries SELECT mentorship.id, delivery.id FROM mentorships mentorship JOIN access_deliveries delivery USING (club_id) LIMIT 1`,
  `INSERT INTO overages SELECT club_id, 'students', date_trunc('month', now())::date, 3, now() FROM club_plans LIMIT 1`,
  `INSERT INTO overage_turns SELECT club_id, date_trunc('month', now()) FROM overages LIMIT 1 ON CONFLICT DO NOTHING`,
  `INSERT INTO billing_customers SELECT club_id, 'cus_1', now() FROM club_plans LIMIT 1`,
  `INSERT INTO overage_charges (id, club_id, resource, month, excess, packs, plan, status, reason, created_at, next_attempt_at, settled_at, item_id, charged_at, invoice_id, customer_id, amount, currency, keyed_at, key_number)
   SELECT gen_random_uuid(), (SELECT club_id FROM club_plans LIMIT 1), resource, ('2020-01-01'::date + row_number() OVER () * interval '1 month')::date, 117, 2, plan, status, reason, now(), now(),
          CASE WHEN status <> 'pending' THEN now() END, 'ii_1', now(), 'in_1', 'cus_1', 2000, 'usd', now(), 1
     FROM unnest('{students,storage_bytes}'::text[]) AS resource, unnest('{trial,starter,professional,business}'::text[]) AS plan,
          unnest('{pending,invoiced,waived,failed}'::text[]) AS status,
          unnest('{no_customer,customer_deleted,item_removed,not_configured,currency_without_price,amount_too_large,refused_by_processor,processor_unreachable}'::text[]) AS reason`,
  `INSERT INTO registration_link_claims SELECT link.id, student.id, '{}', now() FROM registration_links link JOIN students student USING (club_id) LIMIT 1`,
  `INSERT INTO student_import_addresses SELECT import.id, '\\x01', student.id FROM student_imports import JOIN students student USING (club_id) LIMIT 1`,
  `INSERT INTO student_levels SELECT student.id, level.id, now() FROM levels level JOIN students student USING (club_id) LIMIT 1`,
];

/** Statements that run last, after a row with each value exists. */
const lastRows: readonly string[] = [
  `INSERT INTO media_uploads (id, club_id) SELECT id, club_id FROM media WHERE status = 'uploading' LIMIT 1`,
];

/**
 * How to create a row by copying a row. `where` selects the row to copy. `set` contains the columns that differ in the copy, with their SQL
 * expressions.
 */
interface Copy {
  where?: string;
  set?: Readonly<Record<string, string>>;
}

const freeClub = (table: string) =>
  `(SELECT id FROM clubs WHERE NOT EXISTS (SELECT FROM ${table} taken WHERE taken.club_id = clubs.id) LIMIT 1)`;
const later = `now() + interval '1 day'`;

/** The columns for a mail of the same campaign to a student who has no mail of this campaign. */
const ofCampaign = {
  campaign_id: 'one.campaign_id',
  student_id: `(SELECT id FROM students WHERE NOT EXISTS (
    SELECT FROM mails taken WHERE taken.campaign_id = one.campaign_id AND taken.student_id = students.id) LIMIT 1)`,
  run_id: 'NULL',
  step_id: 'NULL',
  digest_id: 'NULL',
};

/** How to create each missing state. A key is `table.column: value`, `table.column`, or `table`. */
const copies: Readonly<Record<string, Copy>> = {
  agent_answers: {
    where: `status = 'failed' OR status = 'complete'`,
    set: {
      question_id: `(SELECT id FROM agent_questions WHERE NOT EXISTS (SELECT FROM agent_answers taken WHERE taken.question_id = agent_questions.id) LIMIT 1)`,
    },
  },
  agent_calls: { set: { call_no: '(SELECT max(call_no) + 1 FROM agent_calls)' } },
  agent_sources: {
    where: `kind = 'media'`,
    set: {
      media_id: `(SELECT media.id FROM media WHERE purpose = 'library' AND NOT EXISTS (SELECT FROM agent_sources taken WHERE taken.media_id = media.id) LIMIT 1)`,
    },
  },
  assignment_submissions: {
    set: {
      late: 'NULL',
      assignment_id: `(SELECT id FROM assignments WHERE NOT EXISTS (SELECT FROM assignment_submissions taken WHERE taken.assignment_id = assignments.id) LIMIT 1)`,
    },
  },
  automation_runs: {
    where: `status = 'completed' AND reentry = 'always'`,
  },
  'automation_runs.exit_reason': { where: `status = 'exited'` },
  automation_versions: { set: { number: '(SELECT max(number) + 1 FROM automation_versions)' } },
  'campaigns.pause_reason': { where: `status = 'paused'`, set: { looks_at: 'now()' } },
  'campaigns.status: sending': { where: `status = 'sent'`, set: { looks_at: 'now()', completed_at: 'NULL' } },
  club_plans: { set: { club_id: freeClub('club_plans') } },
  community_comments: { set: { body: 'NULL' } },
  community_posts: { set: { title: 'NULL', body: 'NULL' } },
  community_reports: { set: { settled_at: 'now()' } },
  'enrollments.revoked_reason': { set: { revoked_at: 'now()' } },
  'enrollments.source': {
    where: `EXISTS (SELECT FROM students WHERE students.club_id = enrollments.club_id AND NOT EXISTS (
      SELECT FROM enrollments taken WHERE taken.student_id = students.id AND taken.delivery_id = enrollments.delivery_id))`,
    set: {
      origin_id: 'NULL',
      student_id: `(SELECT id FROM students WHERE club_id = one.club_id AND NOT EXISTS (
        SELECT FROM enrollments taken WHERE taken.student_id = students.id AND taken.delivery_id = one.delivery_id) LIMIT 1)`,
    },
  },
  'mail_domains.status': { set: { first_proven_at: 'now()', club_id: freeClub('mail_domains') } },
  mail_senders: { set: { club_id: freeClub('mail_senders') } },
  invitations: { set: { email: `'further-' || gen_random_uuid() || '@example.com'` } },
  mails: { where: 'campaign_id IS NOT NULL', set: ofCampaign },
  'mails.skip_reason': { where: 'campaign_id IS NOT NULL', set: { ...ofCampaign, status: `'skipped'` } },
  'mails.status: skipped': { where: 'campaign_id IS NOT NULL', set: { ...ofCampaign, skip_reason: `'suppressed'` } },
  'media.provider': {
    where: `provider = 'objstore' AND status = 'ready' AND purpose = 'library'`,
    set: { kind: `'video'`, external_id: `'further'`, object_key: 'NULL', looks_at: 'NULL', renditions_due_at: 'NULL' },
  },
  'media.kind': { where: `provider = 'objstore' AND status = 'ready' AND purpose = 'library'` },
  'media.status': {
    where: `provider = 'objstore' AND status = 'ready' AND purpose = 'library'`,
    set: { upload_expires_at: 'now()' },
  },
  media_moves: {
    set: {
      id: `(SELECT id FROM media WHERE NOT EXISTS (SELECT FROM media_moves taken WHERE taken.id = media.id) LIMIT 1)`,
    },
  },
  memberships: {
    set: {
      club_id: `(SELECT id FROM clubs ORDER BY id DESC LIMIT 1)`,
      administrator_id: `(SELECT id FROM administrators ORDER BY id LIMIT 1)`,
    },
  },
  'mentorship_sessions.canceled_by': { where: `status = 'canceled'` },
  'mentorship_sessions.status': {
    set: {
      starts_at: `now() - interval '40 days'`,
      ends_at: `now() - interval '40 days' + interval '1 hour'`,
      busy_until: `now() - interval '40 days' + interval '1 hour'`,
      looks_at: 'NULL',
    },
  },
  student_import_rows: { set: { row: '(SELECT max("row") + 1 FROM student_import_rows)' } },
  'student_import_rows.outcome: failed': {
    set: { row: '(SELECT max("row") + 1 FROM student_import_rows)', code: `'invalid_email'`, student_id: 'NULL' },
  },
  // The copied endpoint is marked as deleted, so that it gets no deliveries. Its secret was sealed for the original endpoint, so the secret
  // cannot be read for the copy.
  webhook_endpoints: { where: `status = 'disabled'`, set: { deleted_at: 'now()' } },
  webhook_deliveries: {
    where: `status = 'succeeded'`,
    set: {
      event_id: `(SELECT event.id FROM webhook_events event WHERE NOT EXISTS (SELECT FROM webhook_deliveries taken WHERE taken.event_id = event.id AND taken.endpoint_id = one.endpoint_id) LIMIT 1)`,
      next_attempt_at: later,
    },
  },
};

/** @returns for each state that could not be created, the reason */
export async function addFurtherStates(source: DataSource): Promise<string[]> {
  const refusals: string[] = [];
  const attempt = (what: string, work: Promise<unknown>) =>
    work.catch((error: Error) => refusals.push(`${what}: ${error.message}`));
  for (const statement of firstRows) await attempt(statement, source.query(statement));
  const { missingStates } = await coverageOf(source, []);
  for (const state of missingStates) {
    const [place = '', value = ''] = state.split(': ');
    const [table = '', column = ''] = place.split('.');
    const copy = copies[state] ?? copies[place] ?? copies[table] ?? {};
    await attempt(state, copyOne(source, table, { column, value }, copy));
  }
  for (const statement of lastRows) await attempt(statement, source.query(statement));
  return refusals;
}

async function copyOne(
  source: DataSource,
  table: string,
  { column, value }: { column: string; value: string },
  { where = 'true', set = {} }: Copy,
): Promise<void> {
  const own = await keysOf(source, table);
  const names = (await columnsOf(source, table)).map((name) => `"${name}"`).join(', ');
  const changes = Object.entries({ ...own, [column]: `'${value}'`, ...set });
  const changed = changes.map(([name, expression]) => `'${name}', ${expression}`).join(', ');
  const copied = await source.query<unknown[]>(
    `INSERT INTO ${table} (${names}) SELECT ${names}
       FROM (SELECT (jsonb_populate_record(NULL::${table}, to_jsonb(one) || jsonb_build_object(${changed}))).*
               FROM (SELECT * FROM ${table} WHERE ${where} LIMIT 1) AS one) AS copy RETURNING 1`,
  );
  if (copied.length === 0) throw new Error('no row to copy');
}

/** @returns the columns of the table whose values Postgres does not generate */
async function columnsOf(source: DataSource, table: string): Promise<string[]> {
  const columns = await source.query<{ name: string }[]>(
    `SELECT attname AS name FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`,
    [table],
  );
  return columns.map(({ name }) => name);
}

/** Returns new values for columns that must be unique and are not references, such as ids, codes and object keys. */
async function keysOf(source: DataSource, table: string): Promise<Record<string, string>> {
  const columns = await source.query<{ name: string; type: string }[]>(
    `SELECT DISTINCT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_index
       JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey)
      WHERE indrelid = $1::regclass AND indisunique AND attgenerated = ''
        AND NOT EXISTS (SELECT FROM pg_constraint WHERE contype IN ('f', 'c') AND conrelid = indrelid AND conkey = ARRAY[attnum])`,
    [table],
  );
  const random: Readonly<Record<string, string>> = {
    uuid: 'gen_random_uuid()',
    text: `'further-' || gen_random_uuid()`,
    bytea: `sha256(gen_random_uuid()::text::bytea)`,
  };
  return Object.fromEntries(columns.flatMap(({ name, type }) => (random[type] ? [[name, random[type]]] : [])));
}
