/** Issues, through the API, the certificates with which tests begin. */
import { expect } from 'chai';
import type { RecordOf } from '../../../contract/contract.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { buildStudent, type TestClub, type TestStudent } from '../builders/clubs.ts';
import { buildCourse } from '../builders/courses.ts';
import { call } from './api.ts';

export type CertificateRecord = RecordOf<'Certificate'>;

export const certificatesPath = (club: TestClub) => `/v1/clubs/${club.id}/certificates`;

/** Issues a certificate by hand, by default for a new student and a new course. */
export async function issueCertificateByHand(
  club: TestClub,
  { student, courseId }: { student?: TestStudent; courseId?: Id } = {},
): Promise<CertificateRecord> {
  const body = {
    student_id: (student ?? (await buildStudent(club.id))).id,
    course_id: courseId ?? (await buildCourse(club.id)).id,
  };
  const answer = await call('POST', certificatesPath(club), { token: club.owner.token, body });
  expect(answer.status).to.equal(201);
  return answer.body.data;
}

export const certificateCalls = (club: TestClub, id: Id, token = club.owner.token) => ({
  read: () => call('GET', `${certificatesPath(club)}/${id}`, { token }),
  reissue: () => call('POST', `${certificatesPath(club)}/${id}/reissue`, { token }),
  revoke: (reason: unknown = 'Issued by mistake.') =>
    call('POST', `${certificatesPath(club)}/${id}/revoke`, { token, body: { reason } }),
  print: () => call('GET', `${certificatesPath(club)}/${id}/pdf`, { token }),
});
