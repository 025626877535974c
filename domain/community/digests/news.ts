/**
 * Finds the new posts for students, in the spaces for which they get the daily mail. The result depends on the memberships, the access and
 * the posts at the time of the query (COMM-18).
 */
import type { SpaceDigest } from '../../../entities/community/space-digest.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import { hasAccessToSpace } from '../../access/enrollments/entitlement.ts';
import { outcomeUnknown } from '../../mail/sending/recipients.policy.ts';
import { digestRules } from './digests.policy.ts';

export type DigestWindow = Pick<SpaceDigest, 'id' | 'clubId' | 'takesUntil'>;

export interface NewPost {
  id: Id;
  publicId: string;
  title: string | null;
  /** The beginning of the post's Markdown. */
  body: string;
  author: string | null;
  at: Date;
}

export interface NewsOfSpace {
  id: Id;
  name: string;
  /** At most `digestRules.counted`. */
  count: number;
  /** The newest of the new posts, in order from new to old. */
  posts: readonly NewPost[];
}

export interface News {
  /** The spaces, in the order that administrators have set. The list is never empty. */
  spaces: readonly NewsOfSpace[];
  /** Further spaces with new posts. */
  moreSpaces: number;
}

/**
 * Two expressions for a `WITH` clause. `told`: for each student, the time up to which the last digest has reported posts. `wanted`: the
 * spaces of each student, with the time after which a post is new.
 */
function wantedSpaces({ id, clubId, takesUntil }: DigestWindow, studentIds: readonly Id[], now: Date): Sql {
  const since = new Date(takesUntil.getTime() - digestRules.lookBackMs);
  return sql`
    told AS MATERIALIZED (
      SELECT student.id AS student_id, coalesce((
        SELECT max(earlier.takes_until) FROM space_digests earlier
          JOIN mails mail ON mail.digest_id = earlier.id AND mail.student_id = student.id
         WHERE earlier.club_id = ${clubId} AND earlier.id <> ${id} AND earlier.takes_until > ${since}
           AND (mail.status IN ('sending', 'sent') OR mail.last_error = ${outcomeUnknown})), ${since}) AS until
        FROM unnest(${studentIds}::uuid[]) AS student (id)),
    wanted AS MATERIALIZED (
      SELECT membership.student_id, space.id, space.name, space.position, greatest(membership.read_at, told.until) AS new_from
        FROM told JOIN community_memberships membership ON membership.student_id = told.student_id
        JOIN community_spaces space ON space.id = membership.space_id
       WHERE membership.digest AND NOT membership.muted AND membership.left_at IS NULL AND membership.banned_at IS NULL
         AND space.club_id = ${clubId} AND space.archived_at IS NULL
         AND (NOT space.private OR ${hasAccessToSpace(sql`space.id`, sql`membership.student_id`, now)}))`;
}

/**
 * Returns an SQL condition that is true if the post in the row `post` is new for the row `wanted`. The statement must order by
 * `created_at`. Postgres then starts to read the index at the time `new_from`, even if its statistics are wrong.
 */
const isNew = ({
  takesUntil,
}: DigestWindow): Sql => sql`post.space_id = wanted.id AND post.state = 'published' AND post.hidden_at IS NULL
  AND post.created_at > wanted.new_from AND post.created_at <= ${takesUntil} AND post.student_id IS DISTINCT FROM wanted.student_id`;

/** @returns the students who have new posts */
export async function studentsWithNews(
  db: Queries,
  digest: DigestWindow,
  studentIds: readonly Id[],
  now: Date,
): Promise<Id[]> {
  const rows = await db.rows<{ id: Id }>(sql`
    WITH ${wantedSpaces(digest, studentIds, now)}
    SELECT DISTINCT wanted.student_id AS id FROM wanted
     WHERE (SELECT true FROM community_posts post WHERE ${isNew(digest)} ORDER BY post.created_at LIMIT 1)`);
  return rows.map(({ id }) => id);
}

/** The excerpt of a post's Markdown needs no more characters. */
const readCharacters = 2_000;

interface Row extends NewPost {
  studentId: Id;
  spaceId: Id;
  name: string;
  count: number;
  spaces: number;
}

/** @returns the new posts for each student, by the student's id. The result has no entry for a student without new posts. */
export async function newsOf(
  db: Queries,
  digest: DigestWindow,
  studentIds: readonly Id[],
  now: Date,
): Promise<ReadonlyMap<Id, News>> {
  const rows = await db.rows<Row>(sql`
    WITH ${wantedSpaces(digest, studentIds, now)},
    counted AS MATERIALIZED (
      SELECT wanted.*, found.posts AS new_posts,
             row_number() OVER (PARTITION BY wanted.student_id ORDER BY wanted.position, wanted.id) AS place,
             count(*) OVER (PARTITION BY wanted.student_id) AS spaces
        FROM wanted CROSS JOIN LATERAL (
          SELECT count(*)::int AS posts FROM (
            SELECT FROM community_posts post WHERE ${isNew(digest)} ORDER BY post.created_at LIMIT ${digestRules.counted}) AS news) AS found
       WHERE found.posts > 0)
    SELECT wanted.student_id AS "studentId", wanted.id AS "spaceId", wanted.name, wanted.new_posts AS count, wanted.spaces::int AS spaces,
           news.id, news.public_id AS "publicId", news.title, news.body, news.author, news.created_at AS at
      FROM counted wanted CROSS JOIN LATERAL (
        SELECT post.id, post.public_id, post.title, left(post.body, ${readCharacters}) AS body, post.created_at,
               coalesce(author.name, administrator.name) AS author
          FROM community_posts post
          LEFT JOIN students author ON author.id = post.student_id
          LEFT JOIN administrators administrator ON administrator.id = post.administrator_id AND administrator.removed_at IS NULL
         WHERE ${isNew(digest)} ORDER BY post.created_at DESC, post.id DESC LIMIT ${digestRules.posts}) AS news
     WHERE wanted.place <= ${digestRules.spaces}
     ORDER BY wanted.student_id, wanted.place, news.created_at DESC, news.id DESC`);
  const byStudent = Map.groupBy(rows, ({ studentId }) => studentId);
  return new Map([...byStudent].map(([studentId, own]) => [studentId, newsFrom(own)]));
}

function newsFrom(rows: readonly Row[]): News {
  const spaces = [...Map.groupBy(rows, ({ spaceId }) => spaceId)].map(([id, posts]) => ({
    id,
    name: posts[0]?.name ?? '',
    count: posts[0]?.count ?? 0,
    posts: posts.map(({ id: postId, publicId, title, body, author, at }) => ({
      id: postId,
      publicId,
      title,
      body,
      author,
      at,
    })),
  }));
  return { spaces, moreSpaces: (rows[0]?.spaces ?? spaces.length) - spaces.length };
}
