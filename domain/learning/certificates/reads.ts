/** Reads certificates: a single certificate, a page of the certificates of a club or a student, and the certificate with a given code. */
import { Club } from '../../../entities/clubs/club.ts';
import { Certificate } from '../../../entities/learning/certificate.ts';
import { Course } from '../../../entities/learning/course.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import { findBranding } from '../../branding/branding.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { all, columns, sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { countListed } from '../../../platform/infra/postgres/lists/counts.ts';
import { nameMatches } from '../../../platform/infra/postgres/lists/folded-names.ts';
import { newestFirst } from '../../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest, type PagedList } from '../../../platform/infra/postgres/lists/page.ts';
import { pageOfFound, search } from '../../../platform/infra/postgres/lists/search.ts';
import { emailPattern, tidyName } from '../../../platform/core/text/text.policy.ts';
import { readCode, readPartOfCode } from './code.policy.ts';
import {
  presentCertificate,
  presentVerification,
  type CertificateRow,
  type CertificateVerification,
} from './records.ts';

export type { CertificateRow } from './records.ts';

const certificateColumns = columns(
  Certificate,
  [
    'id',
    'clubId',
    'code',
    'studentId',
    'studentName',
    'studentEmail',
    'courseId',
    'courseTitle',
    'clubName',
    'warnings',
    'lessonCount',
    'hours',
    'version',
    'issuedAt',
    'completedAt',
    'revokedAt',
    'revokedReason',
    'withdrawnAt',
    'verifyUrl',
  ],
  'certificate',
)
  .and(columns(Course, { coursePublicId: 'publicId' }, 'course'))
  .and(columns(Club, ['timeZone'], 'club'))
  .and<{ language: string }>(sql`coalesce(certificate.language, club.language) AS "language"`);

const withCourse = sql`FROM certificates certificate JOIN courses course ON course.id = certificate.course_id
  JOIN clubs club ON club.id = certificate.club_id`;

function findOne(db: Queries, condition: Sql): Promise<CertificateRow | undefined> {
  return db.one<CertificateRow>(sql`SELECT ${certificateColumns} ${withCourse} WHERE ${condition}`);
}

/** @throws DomainError not_found, also for the certificate of another club */
export async function findCertificate(db: Queries, clubId: Id, certificateId: Id): Promise<CertificateRow> {
  const row = await findOne(db, sql`certificate.id = ${certificateId} AND certificate.club_id = ${clubId}`);
  if (!row) throw notFound('certificate');
  return row;
}

/** @returns the certificate in the contract's form @throws DomainError not_found, also for the certificate of another club */
export async function readCertificate(db: Queries, clubId: Id, certificateId: Id): Promise<RecordOf<'Certificate'>> {
  return presentCertificate(await findCertificate(db, clubId, certificateId));
}

/** @throws DomainError not_found, also for the certificate of another student */
export async function findOwnCertificate(db: Queries, studentId: Id, certificateId: Id): Promise<CertificateRow> {
  const row = await findOne(db, sql`certificate.id = ${certificateId} AND certificate.student_id = ${studentId}`);
  if (!row) throw notFound('certificate');
  return row;
}

export interface CertificateFilter extends PageRequest {
  /**
   * A text that is searched in the name, the e-mail and the code. The case of letters does not matter. The text may be a printed code, a
   * code without separators, or a part of a code.
   */
  q?: string;
  course_id?: Id;
  student_id?: Id;
  revoked?: boolean;
}

/**
 * @returns a page of the club's certificates, including withdrawn certificates, newest first. If `q` is present, the pages contain only the
 * newest 1,000 matches
 */
export async function listCertificates(
  db: Queries,
  clubId: Id,
  filter: CertificateFilter,
): Promise<Page<RecordOf<'Certificate'>>> {
  const condition = all([
    sql`certificate.club_id = ${clubId}`,
    filter.course_id === undefined ? undefined : sql`certificate.course_id = ${filter.course_id}`,
    filter.student_id === undefined ? undefined : sql`certificate.student_id = ${filter.student_id}`,
    filter.revoked === undefined
      ? undefined
      : filter.revoked
        ? sql`certificate.revoked_at IS NOT NULL`
        : sql`certificate.revoked_at IS NULL`,
  ]);
  const q = filter.q?.trim() ?? '';
  if (q !== '') {
    const ids = await search(db, q, {
      from: 'certificates certificate',
      alias: 'certificate',
      orderedBy: 'issued_at',
      conditions: condition,
      matching: matches(q),
    });
    const found = await pageOfFound(db, filter, ids, (read) => certificatesWhere(sql`certificate.id = ANY (${read})`));
    return { ...found, rows: found.rows.map(presentCertificate) };
  }
  const tallied = { list: 'certificates', clubId, subjectId: filter.course_id, marked: filter.revoked } as const;
  const { rows, total, next } = await listPage(db, filter, {
    ...certificatesWhere(condition),
    // A student has few certificates, so a query counts them. All other lists are counted by tallies.
    ...(filter.student_id === undefined && { total: () => countListed(db, tallied) }),
  });
  return { rows: rows.map(presentCertificate), total, next };
}

const order = newestFirst('certificate', 'issued_at');

const certificatesWhere = (condition: Sql): PagedList<CertificateRow> => ({
  columns: certificateColumns,
  from: sql`${withCourse} WHERE ${condition}`,
  counted: sql`FROM certificates certificate WHERE ${condition}`,
  orderBy: order,
  changedAt: 'certificate.changed_at',
});

function matches(q: string): Sql {
  const part = readPartOfCode(q);
  const inPerson = sql`${nameMatches('certificate.student_name', tidyName(q))} OR certificate.student_email ILIKE ${emailPattern(q)}`;
  return part === undefined ? sql`(${inPerson})` : sql`(${inPerson} OR certificate.code LIKE ${`%${part}%`})`;
}

/** @returns a page of a student's own certificates, newest first */
export async function listOwnCertificates(
  db: Queries,
  studentId: Id,
  page: PageRequest,
): Promise<Page<RecordOf<'Certificate'>>> {
  const { rows, total, next } = await listPage(db, page, certificatesWhere(sql`certificate.student_id = ${studentId}`));
  return { rows: rows.map(presentCertificate), total, next };
}

/** @returns the public data of a certificate @throws DomainError not_found, as `findCertificateByCode` */
export async function verifyCertificate(
  { db, publicUrl }: { db: Queries; publicUrl: string },
  typed: string,
): Promise<CertificateVerification> {
  const certificate = await findCertificateByCode(db, typed);
  return presentVerification(certificate, await findBranding(db, publicUrl, certificate.clubId));
}

/**
 * @param typed the code in any spelling. Even a text that cannot be a code runs the query, so that every answer takes the same time
 * @throws DomainError not_found. A mistyped and an unknown code get the same answer
 */
export async function findCertificateByCode(db: Queries, typed: string): Promise<CertificateRow> {
  const row = await findOne(db, sql`certificate.code = ${readCode(typed) ?? 'no code'} AND club.erasing_at IS NULL`);
  if (!row) throw new DomainError('not_found', 'No certificate has this code.');
  return row;
}
