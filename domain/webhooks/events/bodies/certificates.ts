/** What `certificate.issued` says: the certificate as it is when the body is assembled, and its course. */
import type { EventBodyOf } from '../../../../contract/contract.ts';
import type { Id } from '../../../../platform/core/ids.ts';
import { oneRow, type DataReader } from './reading.ts';
import { studentRecord } from './student.ts';

interface CertificateRow {
  id: Id;
  code: string;
  version: number;
  issuedAt: Date;
  verifyUrl: string;
  courseId: Id;
  coursePublicId: string;
  courseTitle: string;
}

const certificateData: DataReader<EventBodyOf<'certificate.issued'>['data']> = async (tx, fact, student) => {
  const row = oneRow(
    await tx.query<CertificateRow[]>(
      `SELECT certificate.id, certificate.code, certificate.version, certificate.issued_at AS "issuedAt",
              certificate.verify_url AS "verifyUrl", course.id AS "courseId", course.public_id AS "coursePublicId",
              course.title AS "courseTitle"
         FROM certificates certificate JOIN courses course ON course.id = certificate.course_id
        WHERE certificate.id = $1 AND certificate.club_id = $2`,
      [fact.subjectId, fact.clubId],
    ),
    fact,
  );
  return {
    certificate: {
      id: row.id,
      code: row.code,
      version: row.version,
      issued_at: row.issuedAt.toISOString(),
      verify_url: row.verifyUrl,
    },
    course: { id: row.courseId, public_id: row.coursePublicId, title: row.courseTitle },
    ...studentRecord(student),
  };
};

export const certificateBodies = { 'certificate.issued': certificateData };
