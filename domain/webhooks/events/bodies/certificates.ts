/** The data of `certificate.issued`: the certificate at the time of the fan-out, and its course. */
import type { EventBodyOf } from '../../../../contract/contract.ts';
import { Certificate } from '../../../../entities/learning/certificate.ts';
import { Course } from '../../../../entities/learning/course.ts';
import { columns, sql } from '../../../../platform/infra/postgres/sql.ts';
import { recordsOf, type DataReader } from './reading.ts';
import { studentRecord } from './student.ts';

const certificateColumns = columns(Certificate, ['id', 'code', 'version', 'issuedAt', 'verifyUrl'], 'certificate').and(
  columns(Course, { courseId: 'id', coursePublicId: 'publicId', courseTitle: 'title' }, 'course'),
);

const certificateData: DataReader<EventBodyOf<'certificate.issued'>['data']> = async (tx, subjects) => {
  const records = await recordsOf(
    tx,
    subjects,
    certificateColumns,
    sql`JOIN certificates certificate ON certificate.id = fact.subject_id AND certificate.club_id = fact.club_id
         JOIN courses course ON course.id = certificate.course_id`,
  );
  return records.map(({ row, student }) => ({
    certificate: {
      id: row.id,
      code: row.code,
      version: row.version,
      issued_at: row.issuedAt.toISOString(),
      verify_url: row.verifyUrl,
    },
    course: { id: row.courseId, public_id: row.coursePublicId, title: row.courseTitle },
    ...studentRecord(student),
  }));
};

export const certificateBodies = { 'certificate.issued': certificateData };
