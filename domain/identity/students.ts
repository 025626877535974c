/** Students as administrators see them: list and read. */
import type { RecordOf } from '../../contract/contract.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import { countListed } from '../../platform/infra/postgres/lists/counts.ts';
import { windowOf, type Page, type PageRequest } from '../../platform/infra/postgres/lists/page.ts';
import { pageOfIds, search } from '../../platform/infra/postgres/lists/search.ts';
import { likePattern } from '../../platform/core/text.policy.ts';
import { presentStudent, type StudentIdentity } from './student-identity.ts';

const columns = `student.id, student.name, student.email, student.verified_at AS "verifiedAt",
  student.password_hash IS NOT NULL AS "hasPassword", student.created_at AS "createdAt",
  student.avatar_url AS "avatarUrl", student.club_id AS "clubId", club.slug AS "clubSlug"`;

/** @throws Error if there is none: the caller has just seen or made it */
export async function getStudent(db: Queries, studentId: Id): Promise<StudentIdentity> {
  const student = await findOne(db, 'student.id = $1', [studentId]);
  if (!student) throw new Error('A student vanished inside a transaction that holds it');
  return student;
}

/** @throws DomainError not_found, also for a student of another club and a removed one */
export async function findStudent(db: Queries, clubId: Id, studentId: Id): Promise<StudentIdentity> {
  const student = await findOne(db, 'student.id = $1 AND student.club_id = $2', [studentId, clubId]);
  if (!student) throw notFound('student');
  return student;
}

/** @returns the student as the contract shows them @throws DomainError not_found */
export async function readStudent(db: Queries, clubId: Id, studentId: Id): Promise<RecordOf<'Student'>> {
  return presentStudent(await findStudent(db, clubId, studentId));
}

async function findOne(db: Queries, condition: string, parameters: unknown[]): Promise<StudentIdentity | undefined> {
  const [student] = await select(db, `${condition} AND student.removed_at IS NULL`, parameters);
  return student;
}

async function select(db: Queries, rest: string, parameters: unknown[]): Promise<StudentIdentity[]> {
  return db.query<StudentIdentity[]>(
    `SELECT ${columns} FROM students student JOIN clubs club ON club.id = student.club_id WHERE ${rest}`,
    parameters,
  );
}

export interface StudentFilter extends PageRequest {
  /** Searched in name and e-mail, without regard to case. */
  q?: string;
  verified?: boolean;
}

/** @returns a page of the club's students, newest first; with `q`, of the newest 1,000 who fit */
export async function listStudents(db: Queries, clubId: Id, filter: StudentFilter): Promise<Page<RecordOf<'Student'>>> {
  const q = filter.q?.trim() ?? '';
  if (q !== '') return searchStudents(db, clubId, q, filter);
  const { limit, offset } = windowOf(filter);
  const rows = await select(db, `${shown(filter)} ORDER BY ${newestFirst} LIMIT ${limit} OFFSET ${offset}`, [clubId]);
  const total = await countListed(db, { list: 'students', clubId, marked: filter.verified });
  return { rows: rows.map(presentStudent), total };
}

const newestFirst = 'student.created_at DESC, student.id DESC';

/** The condition under which the list of the club `$1` shows a student. */
function shown({ verified }: StudentFilter): string {
  const confirmed = verified === undefined ? '' : ` AND student.verified_at IS ${verified ? 'NOT NULL' : 'NULL'}`;
  return `student.club_id = $1 AND student.removed_at IS NULL${confirmed}`;
}

async function searchStudents(
  db: Queries,
  clubId: Id,
  q: string,
  filter: StudentFilter,
): Promise<Page<RecordOf<'Student'>>> {
  const ids = await search(db, q, {
    from: 'students student',
    alias: 'student',
    orderedBy: 'created_at',
    conditions: shown(filter),
    matching: '(student.name ILIKE $2 OR student.email ILIKE $2)',
    parameters: [clubId, likePattern(q)],
  });
  const rows = await select(db, `student.id = ANY ($1) ORDER BY ${newestFirst}`, [pageOfIds(ids, filter)]);
  return { rows: rows.map(presentStudent), total: ids.length };
}
