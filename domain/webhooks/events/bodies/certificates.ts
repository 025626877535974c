/** What `certificate.issued` says: the certificate as it is when the body is assembled, and its course. */
import type { EventBodyOf } from '../../../../contract/contract.ts';
import { Certificate } from '../../../../entities/learning/certificate.ts';
import { Course } from '../../../../entities/learning/course.ts';
import { columns, sql, type RowOf } from '../../../../platform/infra/postgres/sql.ts';
import { oneRow, type DataReader } from './reading.ts';
import { studentRecord } from './student.ts';

const certificateColumns = columns(Certificate, ['id', 'code', 'version', 'issuedAt', 'verifyUrl'], 'certificate').and(
  columns(Course, { courseId: 'id', coursePublicId: 'publicId', courseTitle: 'title' }, 'course'),
);

const certificateData: DataReader<EventBodyOf<'certificate.issued'>['data']> = async (tx, fact, student) => {
  const row = oneRow(
    await tx.rows<RowOf<typeof certificateColumns>>(
      sql`SELECT ${certificateColumns}
         FROM certificates certificate JOIN courses course ON course.id = certificate.course_id
        WHERE certificate.id = ${fact.subjectId} AND certificate.club_id = ${fact.clubId}`,
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
