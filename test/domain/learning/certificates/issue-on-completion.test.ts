import { Transaction } from '../../../../platform/infra/postgres/database.ts';
import { expect } from 'chai';
import { newId } from '../../../../platform/core/ids.ts';
import { issueOnCompletion } from '../../../../domain/learning/certificates/certificates.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import { buildClub, buildStudent } from '../../../toolkit/builders/clubs.ts';
import { buildCourse } from '../../../toolkit/builders/courses.ts';
import { factsOf, rowCounts, testDeps, depsOn } from '../../../toolkit/stack/database.ts';

const completedAt = new Date('2026-03-02T09:14:58.000Z');
const now = new Date('2026-03-02T09:15:00.000Z');

async function complete(completion: { clubId: string; studentId: string; courseId: string }): Promise<void> {
  const { db } = await testDeps();
  await db.source.transaction((tx) =>
    issueOnCompletion(new Transaction(tx), 'https://club.example', { ...completion, completedAt }, now),
  );
}

async function certificatesOf(clubId: string) {
  const { db } = await testDeps();
  return db.source.query<Record<string, unknown>[]>(`SELECT * FROM certificates WHERE club_id = $1`, [clubId]);
}

describe('certificates on course completion', () => {
  it('are issued and record a fact if the course has certificates switched on', async () => {
    const club = await buildClub();
    const student = await buildStudent(club.id, { name: 'Żaneta Öz' });
    const course = await buildCourse(club.id, { certificateOnCompletion: true, hours: 9, title: 'Knots' });
    const ids = { clubId: club.id, studentId: student.id, courseId: course.id };
    await complete(ids);
    const [row, ...others] = await certificatesOf(club.id);
    expect(others).to.deep.equal([]);
    expect(row).to.deep.include({
      student_id: student.id,
      course_id: course.id,
      version: 1,
      student_name: 'Żaneta Öz',
      student_email: student.email,
      course_title: 'Knots',
      club_name: `Club ${club.owner.id}`,
      lesson_count: 4,
      hours: 9,
      completed_at: completedAt,
      issued_at: now,
      revoked_at: null,
      revoked_reason: null,
      withdrawn_at: null,
      verify_url: `https://club.example/certificates/${String(row?.['code'])}`,
    });
    expect(await factsOf(club.id)).to.deep.equal([{ type: 'certificate.issued', studentId: student.id }]);
  });

  it('are not issued and record no fact if the course has certificates switched off', async () => {
    const club = await buildClub();
    const student = await buildStudent(club.id);
    const course = await buildCourse(club.id);
    await complete({ clubId: club.id, studentId: student.id, courseId: course.id });
    expect([await certificatesOf(club.id), await factsOf(club.id)]).to.deep.equal([[], []]);
  });

  it('are issued once for three concurrent requests', async () => {
    const club = await buildClub();
    const student = await buildStudent(club.id);
    const course = await buildCourse(club.id, { certificateOnCompletion: true });
    const ids = { clubId: club.id, studentId: student.id, courseId: course.id };
    await Promise.all([1, 2, 3].map(() => complete(ids)));
    expect((await certificatesOf(club.id)).map(({ version }) => version)).to.deep.equal([1]);
    expect(await factsOf(club.id)).to.deep.equal([{ type: 'certificate.issued', studentId: student.id }]);
  });

  it('are refused for an unknown student or course, and leave no row', async () => {
    const { db } = await testDeps();
    const [club, other] = [await buildClub(), await buildClub()];
    const [student, removed] = [await buildStudent(club.id), await buildStudent(club.id)];
    await removeStudent(depsOn(db), club.id, removed.id, now);
    const course = await buildCourse(club.id, { certificateOnCompletion: true });
    const foreign = await buildCourse(other.id, { certificateOnCompletion: true });
    const before = await rowCounts();
    for (const [name, studentId, courseId] of [
      ['unknown student', newId(), course.id],
      ['removed student', removed.id, course.id],
      ['foreign course', student.id, foreign.id],
      ['unknown course', student.id, newId()],
    ] as const) {
      const error: unknown = await complete({ clubId: club.id, studentId, courseId }).catch(
        (reason: unknown) => reason,
      );
      expect(error, name).to.have.property('code', 'not_found');
    }
    expect(await rowCounts()).to.deep.equal(before);
  });
});
