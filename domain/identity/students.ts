/** Lets administrators list and read students. */
import { Club } from '../../entities/clubs/club.ts';
import { Student } from '../../entities/identity/student.ts';
import type { RecordOf } from '../../contract/contract.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import type { ObjectStore } from '../../platform/infra/store/object-store.ts';
import { all, columns, sql, type Sql } from '../../platform/infra/postgres/sql.ts';
import { notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import { countListed } from '../../platform/infra/postgres/lists/counts.ts';
import { nameMatches } from '../../platform/infra/postgres/lists/folded-names.ts';
import { newestFirst } from '../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../platform/infra/postgres/lists/page.ts';
import { pageOfFound, search } from '../../platform/infra/postgres/lists/search.ts';
import { emailPattern, tidyName } from '../../platform/core/text/text.policy.ts';
import { presentStudent, type StudentIdentity } from './student-identity.ts';

/** Every listed student has an e-mail address, because only a removal deletes it. */
const studentColumns = columns(
  Student,
  ['id', 'name', 'verifiedAt', 'createdAt', 'avatarKey', 'language', 'clubId'],
  'student',
)
  .and(columns(Club, { clubSlug: 'slug', clubLanguage: 'language' }, 'club'))
  .and<{ email: string; hasPassword: boolean }>(sql`student.email, student.password_hash IS NOT NULL AS "hasPassword"`);
const studentsWithClub = sql`FROM students student JOIN clubs club ON club.id = student.club_id`;

/** @throws Error if there is no such student, because the caller has just read or created the student */
export async function getStudent(db: Queries, studentId: Id): Promise<StudentIdentity> {
  const student = await findOne(db, sql`student.id = ${studentId}`);
  if (!student) throw new Error(`There is no student ${studentId}`);
  return student;
}

/** @throws DomainError not_found (also for a removed student and a student of another club) */
export async function findStudent(db: Queries, clubId: Id, studentId: Id): Promise<StudentIdentity> {
  const student = await findOne(db, sql`student.id = ${studentId} AND student.club_id = ${clubId}`);
  if (!student) throw notFound('student');
  return student;
}

/** @returns the student's record @throws DomainError not_found */
export async function readStudent(
  db: Queries,
  storage: ObjectStore,
  clubId: Id,
  studentId: Id,
): Promise<RecordOf<'Student'>> {
  return presentStudent(await findStudent(db, clubId, studentId), storage);
}

function findOne(db: Queries, condition: Sql): Promise<StudentIdentity | undefined> {
  return db.one<StudentIdentity>(
    sql`SELECT ${studentColumns} ${studentsWithClub} WHERE ${condition} AND student.removed_at IS NULL`,
  );
}

export interface StudentFilter extends PageRequest {
  /** Finds students whose name or e-mail address contains this text, in upper or lower case. */
  q?: string;
  verified?: boolean;
}

/** @returns a page of the club's students, newest first. A search (`q`) finds only the newest 1,000 matches */
export async function listStudents(
  db: Queries,
  storage: ObjectStore,
  clubId: Id,
  filter: StudentFilter,
): Promise<Page<RecordOf<'Student'>>> {
  const q = filter.q?.trim() ?? '';
  if (q !== '') return searchStudents(db, storage, clubId, q, filter);
  const { rows, total, next } = await listPage(db, filter, {
    columns: studentColumns,
    from: sql`${studentsWithClub} WHERE ${isListed(clubId, filter)}`,
    orderBy: order,
    changedAt,
    total: () => countListed(db, { list: 'students', clubId, marked: filter.verified }),
  });
  return { rows: await Promise.all(rows.map((row) => presentStudent(row, storage))), total, next };
}

const order = newestFirst('student');
const changedAt = 'student.changed_at';

/** An SQL condition that is true if the list of the club's students contains the student. */
function isListed(clubId: Id, { verified }: StudentFilter): Sql {
  return all([
    sql`student.club_id = ${clubId} AND student.removed_at IS NULL`,
    verified === undefined
      ? undefined
      : verified
        ? sql`student.verified_at IS NOT NULL`
        : sql`student.verified_at IS NULL`,
  ]);
}

async function searchStudents(
  db: Queries,
  storage: ObjectStore,
  clubId: Id,
  q: string,
  filter: StudentFilter,
): Promise<Page<RecordOf<'Student'>>> {
  const ids = await search(db, q, {
    from: 'students student',
    alias: 'student',
    orderedBy: 'created_at',
    conditions: isListed(clubId, filter),
    matching: sql`(${nameMatches('student.name', tidyName(q))} OR student.email ILIKE ${emailPattern(q)})`,
  });
  const { rows, total, next } = await pageOfFound(db, filter, ids, (read) => ({
    columns: studentColumns,
    from: sql`${studentsWithClub} WHERE student.id = ANY (${read}) AND student.removed_at IS NULL`,
    orderBy: order,
    changedAt,
  }));
  return { rows: await Promise.all(rows.map((row) => presentStudent(row, storage))), total, next };
}
