import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { withClockStopped } from '../toolkit/fakes/timers.ts';
import { newId } from '../../platform/core/ids.ts';
import { codeAlphabet, completeCode, formatCode } from '../../domain/learning/certificates/code.policy.ts';
import { issueCertificate } from '../../domain/learning/certificates/certificates.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildClub, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildCourse } from '../toolkit/builders/courses.ts';
import { call, clock, expectError } from '../toolkit/drive/api.ts';
import { certificateCalls, certificatesPath, issueCertificateByHand } from '../toolkit/drive/certificates.ts';
import { factsOf, rowCounts, testDatabase, testDeps } from '../toolkit/stack/database.ts';

const issue = (club: TestClub, body: unknown) =>
  call('POST', certificatesPath(club), { token: club.owner.token, body });

/** Renames the student, the course and the club of an issued certificate, and gives the course another lesson and other hours. */
async function renameEverything(club: TestClub, ids: { student: string; course: string }): Promise<void> {
  const source = await testDatabase();
  await source.query(`UPDATE students SET name = 'Renamed Student' WHERE id = $1`, [ids.student]);
  await source.query(`UPDATE courses SET title = 'Renamed course', hours = 3 WHERE id = $1`, [ids.course]);
  await source.query(`UPDATE clubs SET name = 'Renamed club' WHERE id = $1`, [club.id]);
  await source.query(
    `UPDATE lessons SET published_at = NULL WHERE id = (SELECT id FROM lessons WHERE course_id = $1 LIMIT 1)`,
    [ids.course],
  );
}

describe('POST /v1/clubs/{clubId}/certificates', () => {
  describe('201', () => {
    it('returns the complete record, with the printed values and the verification address', async () => {
      const club = await buildClub();
      const student = await buildStudent(club.id, { name: 'Zoë Ōtsuka' });
      const course = await buildCourse(club.id, { title: 'Knots', hours: 9 });
      const { publicUrl } = await testDeps();
      const [answer, now] = await withClockStopped(
        async (stopped) => [await issue(club, { student_id: student.id, course_id: course.id }), stopped] as const,
      );
      const { id, code, issued_at: issuedAt } = answer.body.data;
      expect(answer.status).to.equal(201);
      expect(answer.body.data).to.deep.equal({
        id,
        code,
        code_formatted: formatCode(code),
        student_id: student.id,
        student_name: 'Zoë Ōtsuka',
        student_email: student.email,
        course_id: course.id,
        course_title: 'Knots',
        course_public_id: course.publicId,
        club_name: `Club ${club.owner.id}`,
        lesson_count: 4,
        version: 1,
        issued_at: issuedAt,
        revoked: false,
        verify_url: `${publicUrl}/certificates/${code}`,
        hours: 9,
      });
      expect(completeCode(code.slice(0, -1))).to.equal(code);
      expect(Date.parse(issuedAt)).to.equal(now);
    });

    it('raises one certificate.issued', async () => {
      const club = await buildClub();
      const certificate = await issueCertificateByHand(club);
      const source = await testDatabase();
      const facts = await source.query<unknown[]>(
        `SELECT type, student_id, subject_id, details, occurred_at FROM facts WHERE club_id = $1`,
        [club.id],
      );
      expect(facts).to.deep.equal([
        {
          type: 'certificate.issued',
          student_id: certificate.student_id,
          subject_id: certificate.id,
          details: null,
          occurred_at: new Date(certificate.issued_at),
        },
      ]);
    });

    it('counts only published lessons, and omits hours if the course has none', async () => {
      const club = await buildClub();
      const course = await buildCourse(club.id);
      const source = await testDatabase();
      const [first, second] = course.lessons;
      await source.query(`UPDATE lessons SET published_at = NULL WHERE id = $1`, [first?.id]);
      await source.query(`UPDATE lessons SET removed_at = now(), module_id = NULL WHERE id = $1`, [second?.id]);
      const certificate = await issueCertificateByHand(club, { courseId: course.id });
      expect(certificate.lesson_count).to.equal(2);
      expect(certificate).to.not.have.any.keys('hours', 'completed_at', 'revoked_at', 'revoked_reason');
    });

    it('generates a second code if the first code is already in use', async () => {
      const club = await buildClub();
      const first = await issueCertificateByHand(club);
      const student = await buildStudent(club.id);
      const fresh = completeCode(
        Array.from(randomBytes(11), (byte) => codeAlphabet[byte % codeAlphabet.length]).join(''),
      );
      const draws = [first.code, first.code, fresh];
      const issued = await issueCertificate(
        await testDeps(),
        club.id,
        { student_id: student.id, course_id: first.course_id },
        new Date(),
        () => draws.shift() ?? '',
      );
      expect([issued.code, draws]).to.deep.equal([fresh, []]);
      expect(await factsOf(club.id)).to.have.length(2);
    });
  });

  it('returns 404 if the student or the course is unknown, removed or of another club', async () => {
    const [club, other] = [await buildClub(), await buildClub()];
    const [student, removed, foreign] = [
      await buildStudent(club.id),
      await buildStudent(club.id),
      await buildStudent(other.id),
    ];
    await call('DELETE', `/v1/clubs/${club.id}/students/${removed.id}`, { token: club.owner.token });
    const [course, foreignCourse] = [await buildCourse(club.id), await buildCourse(other.id)];
    const before = await rowCounts();
    await eachCase(
      [
        [newId(), course.id],
        [foreign.id, course.id],
        [removed.id, course.id],
        [student.id, newId()],
        [student.id, foreignCourse.id],
      ],
      async ([studentId, courseId]) =>
        expectError(await issue(club, { student_id: studentId, course_id: courseId }), 'not_found'),
    );
    expect(await rowCounts()).to.deep.equal(before);
  });

  it('returns 409 for a student’s second certificate of a course, even after a revocation', async () => {
    const club = await buildClub();
    const student = await buildStudent(club.id);
    const course = await buildCourse(club.id);
    const body = { student_id: student.id, course_id: course.id };
    const answers = await Promise.all([1, 2, 3].map(() => issue(club, body)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).to.deep.equal([201, 409, 409]);
    const created = answers.find(({ status }) => status === 201);
    await certificateCalls(club, created?.body.data.id).revoke();
    expectError(await issue(club, body), 'certificate_exists');
    expect((await factsOf(club.id)).map(({ type }) => type)).to.deep.equal(['certificate.issued']);
  });
});

describe('GET /v1/clubs/{clubId}/certificates/{certificateId}', () => {
  it('returns the record with the values at the time of issue', async () => {
    const club = await buildClub();
    const certificate = await issueCertificateByHand(club);
    const answer = await certificateCalls(club, certificate.id).read();
    expect([answer.status, answer.body]).to.deep.equal([200, { data: certificate }]);
  });

  it('returns 404, like every operation on a certificate, if it is unknown or of another club', async () => {
    const [club, other] = [await buildClub(), await buildClub()];
    const foreign = await issueCertificateByHand(other);
    const before = await rowCounts();
    await eachCase([newId(), foreign.id], async (id) =>
      eachCase(Object.values(certificateCalls(club, id)), async (ask) => expectError(await ask(), 'not_found')),
    );
    expect(await rowCounts()).to.deep.equal(before);
    expect((await certificateCalls(other, foreign.id).read()).body.data).to.deep.equal(foreign);
  });
});

describe('POST /v1/clubs/{clubId}/certificates/{certificateId}/reissue', () => {
  it('keeps the code, prints the current names as a new version, and raises no second certificate.issued', async () => {
    const club = await buildClub();
    const course = await buildCourse(club.id, { hours: 9 });
    const before = await issueCertificateByHand(club, { courseId: course.id });
    await renameEverything(club, { student: before.student_id, course: course.id });
    expect((await certificateCalls(club, before.id).read()).body.data).to.deep.equal(before);
    clock.advance(3_600_000);
    const answer = await certificateCalls(club, before.id).reissue();
    expect([answer.status, answer.body.data]).to.deep.equal([
      200,
      {
        ...before,
        version: 2,
        student_name: 'Renamed Student',
        course_title: 'Renamed course',
        club_name: 'Renamed club',
        lesson_count: 3,
        hours: 3,
      },
    ]);
    expect((await factsOf(club.id)).map(({ type }) => type)).to.deep.equal(['certificate.issued']);
  });

  it('makes a revoked certificate valid again', async () => {
    const club = await buildClub();
    const before = await issueCertificateByHand(club);
    const { revoke, reissue } = certificateCalls(club, before.id);
    await revoke();
    expect((await reissue()).body.data).to.deep.equal({ ...before, version: 2 });
  });

  it('creates versions 2 and 3 for two simultaneous requests', async () => {
    const club = await buildClub();
    const { reissue } = certificateCalls(club, (await issueCertificateByHand(club)).id);
    const answers = await Promise.all([reissue(), reissue()]);
    expect(answers.map(({ body }) => body.data.version)).to.have.members([2, 3]);
  });
});

describe('POST /v1/clubs/{clubId}/certificates/{certificateId}/revoke', () => {
  it('stores the time and the reason of the revocation, but raises no fact', async () => {
    const club = await buildClub();
    const before = await issueCertificateByHand(club);
    const { revoke, read } = certificateCalls(club, before.id);
    const [{ status, body }, now] = await withClockStopped(
      async (stopped) => [await revoke('Issued to the wrong person.'), stopped] as const,
    );
    const revokedAt = body.data.revoked_at;
    expect(Date.parse(revokedAt)).to.equal(now);
    const after = { ...before, revoked: true, revoked_at: revokedAt, revoked_reason: 'Issued to the wrong person.' };
    expect([status, body.data]).to.deep.equal([200, after]);
    expect((await read()).body.data).to.deep.equal(after);
    expect(await factsOf(club.id)).to.have.length(1);
  });

  it('returns 409 if the certificate is already revoked, and keeps the first reason', async () => {
    const club = await buildClub();
    const { revoke, read } = certificateCalls(club, (await issueCertificateByHand(club)).id);
    const answers = await Promise.all(['First', 'Second'].map(revoke));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).to.deep.equal([200, 409]);
    const reason = answers.find(({ status }) => status === 200)?.body.data.revoked_reason;
    expectError(await revoke('Third'), 'certificate_revoked');
    expect((await read()).body.data.revoked_reason).to.equal(reason);
  });

  it('returns 422 for an empty, blank or too long reason, and 400 if the reason is not a text', async () => {
    const club = await buildClub();
    const certificate = await issueCertificateByHand(club);
    const { revoke, read } = certificateCalls(club, certificate.id);
    await eachCase(['', ' \n', 'x'.repeat(501)], async (reason) =>
      expectError(await revoke(reason), 'invalid_request'),
    );
    expectError(await revoke(7), 'malformed_request');
    expect((await read()).body.data).to.deep.equal(certificate);
    expect((await revoke('x'.repeat(500))).status).to.equal(200);
  });
});
