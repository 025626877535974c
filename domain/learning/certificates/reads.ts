/** Certificates as they are read: one, a page of a club's, a student's own, and the one of a code. */
import type { RecordOf } from '../../../contract/contract.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { countListed } from '../../../platform/infra/postgres/lists/counts.ts';
import { windowOf, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { pageOfIds, search } from '../../../platform/infra/postgres/lists/search.ts';
import { likePattern } from '../../../platform/core/text.policy.ts';
import { readCode, readPartOfCode } from './code.policy.ts';
import {
  presentCertificate,
  presentVerification,
  type CertificateRow,
  type CertificateVerification,
} from './records.ts';

export type { CertificateRow } from './records.ts';

const columns = `certificate.id, certificate.code, certificate.student_id AS "studentId", certificate.student_name AS "studentName",
  certificate.student_email AS "studentEmail", certificate.course_id AS "courseId", certificate.course_title AS "courseTitle",
  course.public_id AS "coursePublicId", certificate.club_name AS "clubName", club.time_zone AS "timeZone", certificate.lesson_count AS "lessonCount",
  certificate.hours, certificate.version, certificate.issued_at AS "issuedAt", certificate.completed_at AS "completedAt",
  certificate.revoked_at AS "revokedAt", certificate.revoked_reason AS "revokedReason",
  certificate.withdrawn_at AS "withdrawnAt", certificate.verify_url AS "verifyUrl"`;

const withCourse = `certificates certificate JOIN courses course ON course.id = certificate.course_id
  JOIN clubs club ON club.id = certificate.club_id`;

async function select(db: Queries, rest: string, parameters: unknown[]): Promise<CertificateRow[]> {
  return db.query<CertificateRow[]>(`SELECT ${columns} FROM ${withCourse} WHERE ${rest}`, parameters);
}

/** @throws DomainError not_found, also for one of another club */
export async function findCertificate(db: Queries, clubId: Id, certificateId: Id): Promise<CertificateRow> {
  const [found] = await select(db, 'certificate.id = $1 AND certificate.club_id = $2', [certificateId, clubId]);
  if (!found) throw notFound('certificate');
  return found;
}

/** @returns the certificate as the contract shows it @throws DomainError not_found, also for one of another club */
export async function readCertificate(db: Queries, clubId: Id, certificateId: Id): Promise<RecordOf<'Certificate'>> {
  return presentCertificate(await findCertificate(db, clubId, certificateId));
}

/** @throws DomainError not_found, also for one of another student */
export async function findOwnCertificate(db: Queries, studentId: Id, certificateId: Id): Promise<CertificateRow> {
  const [found] = await select(db, 'certificate.id = $1 AND certificate.student_id = $2', [certificateId, studentId]);
  if (!found) throw notFound('certificate');
  return found;
}

export interface CertificateFilter extends PageRequest {
  /** Searched in name, e-mail and code, without regard to case; the code as printed, run together, or a part of it. */
  q?: string;
  course_id?: Id;
  student_id?: Id;
  revoked?: boolean;
}

/** @returns a page of the club's certificates, the withdrawn among them, newest first; with `q`, of the newest 1,000 that fit */
export async function listCertificates(
  db: Queries,
  clubId: Id,
  filter: CertificateFilter,
): Promise<Page<RecordOf<'Certificate'>>> {
  const parameters: unknown[] = [clubId];
  const given = (value: unknown) => `$${parameters.push(value)}`;
  const conditions = ['certificate.club_id = $1'];
  if (filter.course_id !== undefined) conditions.push(`certificate.course_id = ${given(filter.course_id)}`);
  if (filter.student_id !== undefined) conditions.push(`certificate.student_id = ${given(filter.student_id)}`);
  if (filter.revoked !== undefined)
    conditions.push(`certificate.revoked_at IS ${filter.revoked ? 'NOT NULL' : 'NULL'}`);

  const shown = conditions.join(' AND ');
  const q = filter.q?.trim() ?? '';
  if (q !== '') {
    const ids = await search(db, q, {
      from: 'certificates certificate',
      alias: 'certificate',
      orderedBy: 'issued_at',
      conditions: shown,
      matching: matches(q, given),
      parameters,
    });
    const rows = await select(db, `certificate.id = ANY ($1) ORDER BY ${newestFirst}`, [pageOfIds(ids, filter)]);
    return { rows: rows.map(presentCertificate), total: ids.length };
  }
  const { limit, offset } = windowOf(filter);
  const rows = await select(db, `${shown} ORDER BY ${newestFirst} LIMIT ${limit} OFFSET ${offset}`, parameters);
  return { rows: rows.map(presentCertificate), total: await countCertificates(db, clubId, filter, shown, parameters) };
}

const newestFirst = 'certificate.issued_at DESC, certificate.id DESC';

/** One student's are few, and counted one by one. */
async function countCertificates(
  db: Queries,
  clubId: Id,
  filter: CertificateFilter,
  shown: string,
  parameters: unknown[],
): Promise<number> {
  if (filter.student_id === undefined)
    return countListed(db, { list: 'certificates', clubId, subjectId: filter.course_id, marked: filter.revoked });
  const [counted] = await db.query<{ total: number }[]>(
    `SELECT count(*)::int AS total FROM certificates certificate WHERE ${shown}`,
    parameters,
  );
  return counted?.total ?? 0;
}

/** @param given takes a value of the statement, and says what stands for it */
function matches(q: string, given: (value: unknown) => string): string {
  const text = given(likePattern(q));
  const part = readPartOfCode(q);
  const ways = [`certificate.student_name ILIKE ${text}`, `certificate.student_email ILIKE ${text}`];
  if (part !== undefined) ways.push(`certificate.code LIKE ${given(`%${part}%`)}`);
  return `(${ways.join(' OR ')})`;
}

/** @returns a page of a student's own certificates, newest first */
export async function listOwnCertificates(
  db: Queries,
  studentId: Id,
  page: PageRequest,
): Promise<Page<RecordOf<'Certificate'>>> {
  const { limit, offset } = windowOf(page);
  const counted = await db.one<{ total: number }>(
    sql`SELECT count(*)::int AS total FROM certificates WHERE student_id = ${studentId}`,
  );
  const rows = await select(
    db,
    `certificate.student_id = $1 ORDER BY certificate.issued_at DESC, certificate.id DESC LIMIT ${limit} OFFSET ${offset}`,
    [studentId],
  );
  return { rows: rows.map(presentCertificate), total: counted?.total ?? 0 };
}

/** @returns what anyone may know who has the code @throws DomainError not_found, as `findCertificateByCode` */
export async function verifyCertificate(db: Queries, typed: string): Promise<CertificateVerification> {
  return presentVerification(await findCertificateByCode(db, typed));
}

/**
 * @param typed the code in any spelling. What can be no code is looked for like every other, so that its answer takes as long
 * @throws DomainError not_found, the same for a mistyped and for an unknown code
 */
export async function findCertificateByCode(db: Queries, typed: string): Promise<CertificateRow> {
  const [found] = await select(db, 'certificate.code = $1', [readCode(typed) ?? 'no code']);
  if (!found) throw new DomainError('not_found', 'No certificate has this code.');
  return found;
}
