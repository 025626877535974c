/**
 * Reads the author of a post or a comment for its readers: the name, the picture, and whether the author is a student or an administrator.
 */
import type { RecordOf } from '../../contract/contract.ts';
import type { ObjectStore } from '../../platform/infra/store/object-store.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { avatarOf } from '../identity/avatars.ts';

export interface AuthorRow {
  studentName: string | null;
  studentAvatarKey: string | null;
  administratorName: string | null;
}

/** The columns of an author. The statement must contain the joins of `authors`. */
export const authorColumns = sql`student.name AS "studentName", student.avatar_key AS "studentAvatarKey", administrator.name AS "administratorName"`;

/** Joins the authors to the table `posts` or `comments`. The statement must give this table the alias `written`. */
export const authors = sql`LEFT JOIN students student ON student.id = written.student_id
  LEFT JOIN administrators administrator ON administrator.id = written.administrator_id`;

/** @returns undefined if the administrator's account was deleted */
export async function presentAuthor(
  storage: ObjectStore,
  row: AuthorRow,
): Promise<RecordOf<'CommunityAuthor'> | undefined> {
  if (row.studentName !== null)
    return { kind: 'student', name: row.studentName, ...(await avatarOf(storage, row.studentAvatarKey)) };
  return row.administratorName === null ? undefined : { kind: 'administrator', name: row.administratorName };
}
