/**
 * A furnished club with several rows in each list. The additional rows are copies. Some copies have equal times, and some times differ by
 * only a microsecond, which a JavaScript Date cannot hold.
 */
import { randomBytes } from 'node:crypto';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { testDatabase } from '../stack/database.ts';
import { buildStudent } from './clubs.ts';
import { buildFurnishedClub, type FurnishedClub } from './furnished-club.ts';

const copyCount = 4;

/** The order of these names depends on the collation. */
const names = ['éclair', 'Zulu', 'apple', '日本語'];

/** Times, of which two are equal, and two differ by a microsecond. */
const times = [
  '2026-03-01T10:00:00.000001Z',
  '2026-03-01T10:00:00.000001Z',
  '2026-03-01T10:00:00.000002Z',
  '2026-03-02Z',
];

interface Copying {
  /** `id` if absent. */
  key?: string;
  time?: string;
  /** The columns that differ, for the copy with this number from 0. */
  changes?: (copy: number) => Readonly<Record<string, unknown>>;
}

async function copy(table: string, id: Id, { key = 'id', time, changes }: Copying = {}): Promise<Id[]> {
  const source = await testDatabase();
  const columns = await source.query<{ name: string }[]>(
    `SELECT quote_ident(column_name) AS name FROM information_schema.columns
      WHERE table_schema = 'public' AND table_name = $1 AND is_generated = 'NEVER'`,
    [table],
  );
  const list = columns.map(({ name }) => name).join(', ');
  const shifted =
    time === undefined ? `'{}'::jsonb` : `jsonb_build_object('${time}', self.${time} + $3 * interval '1 microsecond')`;
  const ids = Array.from({ length: copyCount }, newId);
  for (const [number, copied] of ids.entries()) {
    const changed = JSON.stringify({ ...(key === 'id' && { id: copied }), ...changes?.(number) });
    const inserted = await source.query<unknown[]>(
      `INSERT INTO ${table} (${list})
       SELECT ${list} FROM jsonb_populate_record(NULL::${table}, (
         SELECT to_jsonb(self) || ${shifted} || $2::jsonb FROM ${table} self WHERE ${key} = $1 LIMIT 1)) RETURNING 1`,
      [id, changed, ...(time === undefined ? [] : [Math.floor(number / 2) - 1])],
    );
    if (inserted.length !== 1) throw new Error(`The row ${id} of ${table} was not copied.`);
  }
  return ids;
}

async function add(table: string, columns: Readonly<Record<string, unknown>>): Promise<void> {
  const source = await testDatabase();
  const row = Object.entries(columns);
  await source.query(
    `INSERT INTO ${table} (${row.map(([name]) => `"${name}"`).join(', ')}) VALUES (${row.map((_, index) => `$${index + 1}`).join(', ')})`,
    row.map(([, value]) => value),
  );
}

const text = () => newId().slice(-12);
const created = { time: 'created_at' } as const;
const publicly = { ...created, changes: () => ({ public_id: text() }) };

/** @returns a furnished club with at least five rows in each list of the contract that takes a cursor, except a list of usage */
export async function buildFullLists(): Promise<FurnishedClub> {
  const club = await buildFurnishedClub();
  await Promise.all([
    fillPeople(club),
    fillLearning(club),
    fillMail(club),
    fillSales(club),
    fillWebhooks(club),
    fillMedia(club),
  ]);
  // The export has the files that were stored before it was ready.
  await (await testDatabase()).query('UPDATE club_exports SET ready_at = now() WHERE club_id = $1', [club.id]);
  return club;
}

async function fillPeople({ id: clubId, student, records }: FurnishedClub): Promise<void> {
  const students = await copy('students', student.id, {
    ...created,
    changes: () => ({ email: `${newId()}@example.com` }),
  });
  await copy('invitations', records.invitation, { changes: (number) => ({ email: `${number}${text()}@example.com` }) });
  await copy('api_keys', records.apiKey, {
    ...created,
    changes: () => ({ secret_hash: `\\x${randomBytes(32).toString('hex')}` }),
  });
  for (const [number, at] of times.entries())
    await add('audit_entries', {
      id: newId(),
      club_id: clubId,
      created_at: at,
      actor_kind: 'administrator',
      actor_id: newId(),
      operation: 'createTag',
      records: '[]',
      fields: [],
      request_id: `request-${number}`,
      network: '203.0.113.0/24',
    });
  await copy('tags', records.tag, { changes: (number) => ({ name: names[number], folded_name: names[number] }) });
  await copy('levels', records.level, { changes: (number) => ({ name: names[number], points: 100 * (number + 1) }) });
  await copy('point_awards', records.award, { ...created, key: 'cause_id', changes: () => ({ cause_id: newId() }) });
  await copy('student_imports', records.import, created);
  const source = await testDatabase();
  for (let row = 2; row < 8; row++)
    await add('student_import_rows', { import_id: records.import, row, outcome: 'failed', code: 'row_too_long' });
  await source.query('UPDATE student_imports SET failed_count = 6 WHERE id = $1', [records.import]);
  await copy('bulk_jobs', records.bulkJob, created);
  await copy('club_exports', records.clubExport, created);
  await copy('student_exports', records.export, created);
  for (const row of [1, 2, 3, 4, 5, 6])
    await add('bulk_job_rows', { job_id: records.bulkJob, row, outcome: 'failed', code: 'student_not_found' });
  await copy('assignment_extensions', records.assignment, {
    ...created,
    key: 'assignment_id',
    changes: (number) => ({ student_id: students[number] }),
  });
  await copy('community_memberships', student.id, {
    key: 'student_id',
    time: 'joined_at',
    changes: (number) => ({ student_id: students[number] }),
  });
  const banned = await copy('students', student.id, { changes: () => ({ email: `${newId()}@example.com` }) });
  await copy('community_memberships', student.id, {
    key: 'student_id',
    changes: (number) => ({ student_id: banned[number], banned_at: times[number], counted: false, looks_at: null }),
  });
  await copy('community_reports', records.report, {
    ...created,
    changes: (number) => ({ student_id: students[number] }),
  });
  await copy('community_moderations', clubId, { key: 'club_id', ...created, changes: () => ({ id: newId() }) });
  await copy('community_spaces', records.space, { changes: (number) => ({ public_id: text(), position: number }) });
  await copy('community_posts', records.post, {
    ...created,
    changes: (number) => ({ public_id: text(), pinned: number > 2 }),
  });
  await copy('community_comments', records.postComment, created);
  await copy('community_comments', records.ownersComment, created);
  await copy('lesson_comments', records.comment, created);
}

async function fillLearning({ student, records }: FurnishedClub): Promise<void> {
  const courses = await copy('courses', records.course, publicly);
  await copy('cohorts', records.cohort, created);
  await copy('certificates', records.certificate, {
    time: 'issued_at',
    changes: (number) => ({ code: randomBytes(6).toString('hex').toUpperCase(), course_id: courses[number] }),
  });
  const assignments = await copy('assignments', records.assignment, { changes: (number) => ({ position: number }) });
  await copy('assignment_submissions', records.submission, {
    time: 'submitted_at',
    changes: (number) => ({ assignment_id: assignments[number] }),
  });
  await copy('mentorships', records.mentorship, publicly);
  const start = Date.now() + 30 * 86_400_000;
  await copy('mentorship_sessions', records.mentorshipSession, {
    changes: (number) => {
      const at = (hours: number) => new Date(start + (number * 24 + hours) * 3_600_000).toISOString();
      return { starts_at: at(0), ends_at: at(1), busy_until: at(1) };
    },
  });
  await copy('agents', records.agent, publicly);
  await copy('repositories', records.repository, publicly);
  await grant(student.id, { column: 'course_id', original: records.course });
  await grant(student.id, { column: 'agent_id', original: records.agent });
  await grant(student.id, { column: 'repository_id', original: records.repository });
}

async function grant(studentId: Id, { column, original }: { column: string; original: Id }): Promise<void> {
  const source = await testDatabase();
  const table = { course_id: 'courses', agent_id: 'agents', repository_id: 'repositories' }[column];
  const [enrollment] = await source.query<{ id: Id; delivery: Id }[]>(
    `SELECT enrollment.id, delivery_id AS delivery FROM enrollments enrollment JOIN access_deliveries delivery ON delivery.id = delivery_id
      WHERE student_id = $1 AND delivery.${column} = $2`,
    [studentId, original],
  );
  const records = await source.query<{ id: Id }[]>(
    `SELECT id FROM ${table} WHERE id <> $1 AND club_id = (SELECT club_id FROM ${table} WHERE id = $1) ORDER BY id`,
    [original],
  );
  if (!enrollment) throw new Error(`The student has no enrollment for the ${column} ${original}.`);
  const deliveries = await copy('access_deliveries', enrollment.delivery, {
    ...created,
    changes: (number) => ({ [column]: records[number]?.id }),
  });
  await copy('enrollments', enrollment.id, { ...created, changes: (number) => ({ delivery_id: deliveries[number] }) });
}

async function fillMail({ id: clubId, records, owner }: FurnishedClub): Promise<void> {
  await copy('mail_suppressions', clubId, {
    key: 'club_id',
    ...created,
    changes: () => ({ address_key: `\\x${randomBytes(32).toString('hex')}` }),
  });
  await copy('campaigns', records.campaign, created);
  const now = new Date();
  for (let number = 0; number < 5; number++) {
    const mail = { id: newId(), club_id: clubId, campaign_id: records.campaign, next_attempt_at: now, created_at: now };
    await add('test_mails', { ...mail, administrator_id: owner.id });
    await add('mails', {
      ...mail,
      id: newId(),
      student_id: (await buildStudent(clubId)).id,
      student_name: 'Stella',
      student_email: 's@example.com',
    });
  }
  await (await testDatabase()).query('UPDATE campaigns SET recipients = 5 WHERE id = $1', [records.campaign]);
  await copy('automations', records.automation, created);
  await copy('automation_versions', records.automationVersion, { changes: (number) => ({ number: number + 2 }) });
  await (await testDatabase()).query('UPDATE automations SET version_count = 5 WHERE id = $1', [records.automation]);
  await copy('automation_runs', records.run, { time: 'entered_at', changes: () => ({ cause_id: newId() }) });
  await copy('agent_conversations', records.conversation, { time: 'last_message_at' });
  for (let month = 1; month < 6; month++)
    await add('agent_months', { agent_id: records.agent, club_id: clubId, month: `2026-0${month}-01` });
}

async function fillSales({ id: clubId, records }: FurnishedClub): Promise<void> {
  const sold = { ...created, changes: () => ({ id: newId(), external_id: newId() }) };
  await copy('products', records.product, { ...created, changes: () => ({ external_id: newId() }) });
  await copy('registration_links', records.link, {
    ...created,
    changes: (number) => ({ code: `Code-${number}`, folded_code: `code-${number}` }),
  });
  await copy('sales_connections', records.connection, {
    ...created,
    changes: () => ({ token_hash: `\\x${randomBytes(32).toString('hex')}` }),
  });
  await copy('sales_notices', records.notice, { time: 'received_at' });
  await copy('purchases', clubId, { key: 'club_id', ...sold });
  await copy('subscriptions', clubId, { key: 'club_id', ...sold });
  await copy('add_ons', records.addOn, created);
}

async function fillWebhooks({ records }: FurnishedClub): Promise<void> {
  await copy('webhook_endpoints', records.endpoint, created);
  await copy('webhook_deliveries', records.webhookDelivery, {
    ...created,
    changes: (number) => ({
      status: number === 0 ? 'canceled' : 'succeeded',
      cancel_reason: number === 0 ? 'expired' : null,
    }),
  });
}

async function fillMedia({ id: clubId, records }: FurnishedClub): Promise<void> {
  const files = await copy('media', records.file, created);
  // An export of the club lists only stored files.
  await copy('media', records.assignmentFile, {
    ...created,
    changes: () => ({ object_key: `media/${clubId}/${text()}`, size_bytes: 100 }),
  });
  await copy('media_folders', records.folder, {
    changes: (number) => ({ name: names[number], folded_name: names[number] }),
  });
  await copy('agent_sources', records.source, { ...created, changes: (number) => ({ media_id: files[number] }) });
  for (const file of files) await add('agent_materials', { id: newId(), agent_id: records.agent, media_id: file });
}
