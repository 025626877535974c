/**
 * The community's reads for students and administrators, with 1,000 and 1,000,000 posts, comments, reactions, memberships and acts of
 * moderation. All posts are in one space, all comments below one post. The reader is the author of a third of them.
 */
import pg from 'pg';
import { readConfig } from '../../config.ts';
import { listVisibleSpaces, readVisibleSpace } from '../../domain/community/classroom.ts';
import { listComments } from '../../domain/community/comments.ts';
import { studentsWithNews, newsOf } from '../../domain/community/digests/news.ts';
import { listMembers } from '../../domain/community/members.ts';
import { listModerations } from '../../domain/community/moderation.ts';
import { listPosts, readVisiblePost } from '../../domain/community/posts.ts';
import { listReports } from '../../domain/community/reports.ts';
import { listSpaces } from '../../domain/community/spaces.ts';
import type { Id } from '../../platform/core/ids.ts';
import { newId } from '../../platform/core/ids.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import { createObjectStore, type ObjectStore } from '../../platform/infra/store/object-store.ts';
import { onTwoSizes, type Read } from '../two-sizes.ts';

const spaces = 20;
const first = { page: 1, page_size: 20 };
const publicId = 'busy';

interface Club {
  clubId: Id;
  administratorId: Id;
  /** This space contains all posts, and every student has joined it. */
  spaceId: Id;
  readerId: Id;
}

const studentId = (n: string) => `('01900001-0000-7000-8000-' || lpad(to_hex(${n}), 12, '0'))::uuid`;
const spaceId = (n: string) => `('01900002-0000-7000-8000-' || lpad(to_hex(${n}), 12, '0'))::uuid`;
const nth = (kind: number, n: number): Id => `0190000${kind}-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;

const reader = ({ clubId, readerId }: Club) => ({ clubId, id: readerId });
const student = (club: Club) => ({ kind: 'student' as const, ...reader(club) });
const admin = ({ clubId, administratorId }: Club) => ({ kind: 'admin' as const, clubId, id: administratorId });

const readsWith = (storage: ObjectStore): Readonly<Record<string, Read<Club>>> => ({
  'spaces of a student': (db, club) => listVisibleSpaces(db, storage, reader(club), first, new Date()),
  'a space of a student': (db, club) => readVisibleSpace(db, storage, reader(club), club.spaceId, new Date()),
  'spaces of the dashboard': (db, { clubId }) => listSpaces(db, storage, clubId, first),
  'members of a space': (db, { clubId, spaceId: space }) =>
    listMembers(db, { clubId, spaceId: space }, first, new Date()),
  'posts, student': (db, club) => listPosts(db, storage, student(club), club.spaceId, first, new Date()),
  'posts, dashboard': (db, club) => listPosts(db, storage, admin(club), club.spaceId, first, new Date()),
  'a post': (db, club) => readVisiblePost(db, storage, student(club), publicId, new Date()),
  'comments, student': (db, club) => listComments(db, storage, student(club), publicId, first, new Date()),
  'comments, dashboard': (db, club) => listComments(db, storage, admin(club), publicId, first, new Date()),
  reports: (db, { clubId }) => listReports(db, clubId, first),
  moderations: (db, { clubId }) => listModerations(db, clubId, first),
  'news of a student, for a digest': (db, { clubId, readerId }) => newsOf(db, window(clubId), [readerId], new Date()),
  'who of 50 members has news, for a digest': (db, { clubId }) =>
    studentsWithNews(
      db,
      window(clubId),
      Array.from({ length: 50 }, (_, n) => nth(1, n + 1)),
      new Date(),
    ),
});

/** The last 360 posts are in the last hour. */
const window = (clubId: Id) => ({ id: `${clubId}/2026-01-01`, clubId, takesUntil: new Date() });

export async function measureLists(): Promise<void> {
  // This store is never used: no space has a cover and no post has a file.
  const storage = createObjectStore(
    readConfig({
      DATABASE_URL: 'postgres://nobody',
      MASTER_KEY: Buffer.alloc(32).toString('base64'),
      SMTP_URL: 'smtp://127.0.0.1:9',
      S3_ENDPOINT: 'http://127.0.0.1:9',
      S3_ACCESS_KEY_ID: 'unused',
      S3_SECRET_ACCESS_KEY: 'unused',
    }).storage,
  );
  await onTwoSizes('community', load, async ({ sizes: compare }) => {
    for (const [what, read] of Object.entries(readsWith(storage))) await compare(what, read);
  });
  storage.close();
}

const tables = [
  'students',
  'community_spaces',
  'community_memberships',
  'community_posts',
  'community_comments',
  'community_reactions',
  'community_reports',
  'community_moderations',
  'list_tallies',
] as const;

/** Indexes stay during the load, which takes some minutes. */
async function load(_db: Database, url: string, records: number): Promise<Club> {
  const clubId = newId();
  const administratorId = newId();
  const club = { clubId, administratorId, spaceId: nth(2, 1), readerId: nth(1, 1) };
  const students = Math.max(50, records / spaces);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const run = (statement: string, ...values: unknown[]) => client.query(statement, values);
  try {
    // Foreign keys and tally triggers are off, and the load writes the tallies.
    await run(`SET session_replication_role = replica`);
    await run(`INSERT INTO clubs (id, name, slug, created_at) VALUES ($1, 'Club', 'club', now())`, clubId);
    await run(
      `INSERT INTO administrators (id, name, email, verified_at, created_at) VALUES ($1, 'Ada', 'ada@example.com', now(), now())`,
      administratorId,
    );
    await run(
      `INSERT INTO students (id, club_id, name, email, verified_at, created_at)
       SELECT ${studentId('n')}, $1, 'Student ' || n, n || '@example.com', now(), now() FROM generate_series(1::bigint, $2::bigint) AS n`,
      clubId,
      students,
    );
    await run(
      `INSERT INTO community_spaces (id, club_id, public_id, name, position, created_at, updated_at)
       SELECT ${spaceId('n')}, $1, 'space-' || n, 'Space ' || n, n, now(), now() FROM generate_series(1::bigint, ${spaces}::bigint) AS n`,
      clubId,
    );
    await run(
      `INSERT INTO community_memberships (space_id, student_id, club_id, joined_at, read_at, digest, counted)
       SELECT ${spaceId('space')}, ${studentId('n')}, $1, now() - interval '2 years', now() - interval '1 hour', true, true
         FROM generate_series(1::bigint, $2::bigint) AS n, generate_series(1::bigint, ${spaces}::bigint) AS space`,
      clubId,
      students,
    );
    // Ten seconds apart, the newest from now. A third belongs to the reader. About one in fifty of the others is hidden, and one in a
    // hundred is deleted.
    await run(
      `INSERT INTO community_posts (id, club_id, space_id, public_id, student_id, title, body, state, hidden_at, created_at)
       SELECT gen_random_uuid(), $1, $2, CASE WHEN n = 7 THEN '${publicId}' ELSE 'post-' || n END,
              CASE WHEN n % 3 = 0 THEN $3::uuid ELSE ${studentId('1 + n % $4::bigint')} END, CASE WHEN n % 100 > 0 THEN 'Knots' END,
              CASE WHEN n % 100 > 0 THEN 'Some words about boats, knots and the wind.' END,
              CASE WHEN n % 100 > 0 THEN 'published' ELSE 'deleted' END, CASE WHEN n % 50 = 1 AND n % 3 > 0 THEN now() END, now() - n * interval '10 seconds'
         FROM generate_series(1::bigint, $5::bigint) AS n`,
      clubId,
      club.spaceId,
      club.readerId,
      students,
      records,
    );
    const busy = `(SELECT id FROM community_posts WHERE club_id = $1 AND public_id = '${publicId}')`;
    await run(
      `INSERT INTO community_comments (id, club_id, post_id, student_id, body, hidden_at, created_at)
       SELECT gen_random_uuid(), $1, ${busy}, CASE WHEN n % 3 = 0 THEN $2::uuid ELSE ${studentId('1 + n % $3::bigint')} END, 'Aye',
              CASE WHEN n % 50 = 1 AND n % 3 > 0 THEN now() END, now() - n * interval '10 seconds' FROM generate_series(1::bigint, $4::bigint) AS n`,
      clubId,
      club.readerId,
      students,
      records,
    );
    await run(
      `INSERT INTO community_reactions (target_id, author_id, kind, club_id, created_at)
       SELECT ${busy}, CASE WHEN n = 1 THEN $2::uuid ELSE gen_random_uuid() END, 'like', $1, now() FROM generate_series(1::bigint, $3::bigint) AS n`,
      clubId,
      club.readerId,
      records,
    );
    await run(
      `INSERT INTO community_reports (id, club_id, student_id, target_id, post_id, created_at, settled_at, outcome)
       SELECT gen_random_uuid(), $1, $2, gen_random_uuid(), ${busy}, now() - n * interval '10 seconds', CASE WHEN n % 10 > 0 THEN now() END,
              CASE WHEN n % 10 > 0 THEN 'upheld' END FROM generate_series(1::bigint, $3::bigint) AS n`,
      clubId,
      club.readerId,
      records,
    );
    await run(
      `INSERT INTO community_moderations (id, club_id, post_id, administrator_id, action, created_at)
       SELECT gen_random_uuid(), $1, ${busy}, $2, 'pin', now() - n * interval '10 seconds' FROM generate_series(1::bigint, $3::bigint) AS n`,
      clubId,
      administratorId,
      records,
    );
    await run(
      `INSERT INTO list_tallies (club_id, list, subject_id, marked, records)
       SELECT club_id, 'space_members', space_id, true, count(*) FROM community_memberships GROUP BY 1, 3
       UNION ALL SELECT club_id, 'space_posts', space_id, hidden_at IS NOT NULL, count(*) FROM community_posts WHERE state <> 'deleted' GROUP BY 1, 3, 4
       UNION ALL SELECT club_id, 'post_comments', post_id, hidden_at IS NOT NULL, count(*) FROM community_comments GROUP BY 1, 3, 4
       UNION ALL SELECT club_id, 'reactions_like', target_id, false, count(*) FROM community_reactions GROUP BY 1, 3
       UNION ALL SELECT club_id, 'reports_open', '00000000-0000-0000-0000-000000000000', false, count(*) FROM community_reports WHERE settled_at IS NULL GROUP BY 1
       UNION ALL SELECT club_id, 'moderations', '00000000-0000-0000-0000-000000000000', false, count(*) FROM community_moderations GROUP BY 1`,
    );
    // VACUUM puts the tables into the state in which autovacuum keeps them in production.
    await run(`VACUUM ANALYZE ${tables.join(', ')}`);
    await run(`CHECKPOINT`);
  } finally {
    await client.end();
  }
  return club;
}
