import { Queries } from '../../../../platform/infra/postgres/database.ts';
import { expect } from 'chai';
import { assembleBody } from '../../../toolkit/drive/facts.ts';
import {
  certificateCalls,
  issueCertificateByHand,
  type CertificateRecord,
} from '../../../toolkit/drive/certificates.ts';
import { eventFaults } from '../../../toolkit/assert/contract-schemas.ts';
import { buildClub, buildStudent, type TestClub } from '../../../toolkit/builders/clubs.ts';
import { buildCourse } from '../../../toolkit/builders/courses.ts';
import { testDatabase } from '../../../toolkit/stack/database.ts';
import type { FactToTell } from '../../../../platform/engine/facts.ts';

async function bodyAbout(club: TestClub, certificate: CertificateRecord): Promise<unknown> {
  const { manager } = await testDatabase();
  const [fact] = await manager.query<FactToTell[]>(
    `SELECT id, club_id AS "clubId", type, student_id AS "studentId", subject_id AS "subjectId", details,
            occurred_at AS "occurredAt" FROM facts WHERE club_id = $1 AND type = 'certificate.issued'`,
    [club.id],
  );
  if (!fact) throw new Error('The issue recorded no fact');
  const student = {
    id: certificate.student_id,
    name: certificate.student_name,
    email: certificate.student_email,
    verified: true,
    createdAt: new Date('2026-02-20T08:00:00.123Z'),
    removed: false,
  };
  return JSON.parse(await assembleBody(new Queries(manager), fact, student, new Date()));
}

describe('certificate.issued', () => {
  it('names certificate, course and student, with the certificate’s version at that time', async () => {
    const club = await buildClub();
    const student = await buildStudent(club.id);
    const course = await buildCourse(club.id, { title: 'Knots' });
    const certificate = await issueCertificateByHand(club, { student, courseId: course.id });
    for (const version of [1, 2]) {
      const body = await bodyAbout(club, certificate);
      expect(eventFaults('certificate.issued', body), `version ${version}`).to.deep.equal([]);
      expect(body, `version ${version}`).to.have.property('occurred_at', certificate.issued_at);
      expect(body).to.have.deep.property('data', {
        certificate: {
          id: certificate.id,
          code: certificate.code,
          version,
          issued_at: certificate.issued_at,
          verify_url: certificate.verify_url,
        },
        course: { id: course.id, public_id: course.publicId, title: 'Knots' },
        student: {
          id: student.id,
          name: 'Stella Student',
          email: student.email,
          verified: true,
          created_at: '2026-02-20T08:00:00.123Z',
        },
      });
      await certificateCalls(club, certificate.id).reissue();
    }
  });
});
