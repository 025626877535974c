import { expect } from 'chai';
import { newId } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildClub, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildCourse } from '../toolkit/builders/courses.ts';
import { call, clock } from '../toolkit/drive/api.ts';
import {
  certificateCalls,
  certificatesPath,
  issueCertificateByHand,
  type CertificateRecord,
} from '../toolkit/drive/certificates.ts';

const list = (club: TestClub, query: Record<string, string> = {}) =>
  call('GET', `${certificatesPath(club)}?${new URLSearchParams(query).toString()}`, { token: club.owner.token });

const idsOf = async (club: TestClub, query: Record<string, string>): Promise<string[]> => {
  const { body } = await list(club, query);
  expect(body.total).to.equal(body.data.length);
  return body.data.map(({ id }: CertificateRecord) => id);
};

describe('GET /v1/clubs/{clubId}/certificates', () => {
  describe('200', () => {
    it('returns no data and total 0 for an empty club', async () => {
      const answer = await list(await buildClub());
      expect([answer.status, answer.body]).to.deep.equal([200, { data: [], total: 0 }]);
    });

    it('lists complete records of this club only, newest first, in pages', async () => {
      const [club, other] = [await buildClub(), await buildClub()];
      await issueCertificateByHand(other);
      const certificates: CertificateRecord[] = [];
      for (let count = 0; count < 3; count++) {
        certificates.unshift(await issueCertificateByHand(club));
        clock.advance(1_000);
      }
      expect((await list(club)).body).to.deep.equal({ data: certificates, total: 3 });
      const second = await list(club, { page: '2', page_size: '2' });
      expect(second.body).to.deep.equal({ data: certificates.slice(2), total: 3 });
      expect((await list(club, { page: '3', page_size: '2' })).body).to.deep.equal({ data: [], total: 3 });
    });
  });

  describe('filters', () => {
    let club: TestClub;
    let certificates: Record<'ada' | 'bob' | 'adas', CertificateRecord>;
    before(async () => {
      club = await buildClub();
      const course = await buildCourse(club.id);
      const ada = await buildStudent(club.id);
      certificates = {
        ada: await issueCertificateByHand(club, { student: ada, courseId: course.id }),
        bob: await issueCertificateByHand(club, { courseId: course.id }),
        adas: await issueCertificateByHand(club, { student: ada }),
      };
      await certificateCalls(club, certificates.bob.id).revoke();
    });

    it('select certificates by course_id, by student_id or by both', async () => {
      const { course_id: courseId, student_id: studentId } = certificates.ada;
      expect(await idsOf(club, { course_id: courseId })).to.have.members([certificates.ada.id, certificates.bob.id]);
      expect(await idsOf(club, { student_id: studentId })).to.have.members([certificates.ada.id, certificates.adas.id]);
      expect(await idsOf(club, { student_id: studentId, course_id: courseId })).to.deep.equal([certificates.ada.id]);
      expect(await idsOf(club, { course_id: newId() })).to.deep.equal([]);
    });

    it('select revoked or valid certificates by `revoked`, or all without it', async () => {
      expect(await idsOf(club, { revoked: 'true' })).to.deep.equal([certificates.bob.id]);
      expect(await idsOf(club, { revoked: 'false' })).to.have.members([certificates.ada.id, certificates.adas.id]);
      expect(await idsOf(club, {})).to.have.length(3);
    });

    it('can combine revoked with q', async () => {
      expect(await idsOf(club, { q: certificates.bob.code, revoked: 'true' })).to.deep.equal([certificates.bob.id]);
      expect(await idsOf(club, { q: certificates.bob.code, revoked: 'false' })).to.deep.equal([]);
    });
  });

  describe('q', () => {
    let club: TestClub;
    let certificate: CertificateRecord;
    before(async () => {
      club = await buildClub();
      const student = await buildStudent(club.id, {
        name: 'Zoë 100% O’Neil',
        email: `zoe.${newId()}@elsewhere.example`,
      });
      certificate = await issueCertificateByHand(club, { student });
      await issueCertificateByHand(club, { student: await buildStudent(club.id, { name: 'Bob' }) });
    });

    it('finds a whole or partial code in any letter case, with or without separators and spaces', async () => {
      const { code, code_formatted: printed } = certificate;
      const spellings = [
        code,
        printed,
        code.toLowerCase(),
        printed.toLowerCase(),
        printed.replaceAll('-', ' '),
        `  ${printed}  `,
        printed.replaceAll('-', '–'),
        code.slice(0, 4),
        printed.slice(5),
        printed.slice(0, 7),
      ];
      for (const q of spellings) expect(await idsOf(club, { q }), q).to.deep.equal([certificate.id]);
    });

    it('finds parts of name and e-mail in any letter case, and takes LIKE wildcards literally', async () => {
      for (const q of [
        'zoë',
        'zoe 100%',
        'ＺＯＥ',
        'ZOË 100%',
        '100% o',
        '@ELSEWHERE.example',
        certificate.student_email,
      ]) {
        expect(await idsOf(club, { q }), q).to.deep.equal([certificate.id]);
      }
      for (const q of ['zo_', '1%0', 'nobody', certificate.code.split('').toReversed().join(''), '\\']) {
        expect(await idsOf(club, { q }), q).to.deep.equal([]);
      }
    });

    it('finds all certificates if q is empty or blank', async () => {
      await eachCase(['', '  '], async (q) => expect(await idsOf(club, { q })).to.have.length(2));
    });

    it('finds no certificate of another club', async () => {
      expect(await idsOf(await buildClub(), { q: certificate.code })).to.deep.equal([]);
    });
  });
});

describe('GET /v1/clubs/{clubId}/classroom/certificates', () => {
  it('lists the student’s own certificates newest first, with the reason of each revocation', async () => {
    const club = await buildClub();
    const student = await buildStudent(club.id);
    await issueCertificateByHand(club);
    const older = await issueCertificateByHand(club, { student });
    clock.advance(1_000);
    const newer = await issueCertificateByHand(club, { student });
    const revoked = (await certificateCalls(club, older.id).revoke('A mistake.')).body.data;
    const own = (query = '') =>
      call('GET', `/v1/clubs/${club.id}/classroom/certificates${query}`, { token: student.token });
    expect((await own()).body).to.deep.equal({ data: [newer, revoked], total: 2 });
    expect(revoked.revoked_reason).to.equal('A mistake.');
    expect((await own('?page=2&page_size=1')).body).to.deep.equal({ data: [revoked], total: 2 });
  });
});
