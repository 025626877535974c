/** Tests people who act on one submission, file or deadline at the same time. */
import { expect } from 'chai';
import { updateAssignment } from '../../../domain/assignments/assignments.ts';
import { completeLesson } from '../../../domain/assignments/completion.ts';
import { reviewSubmission } from '../../../domain/assignments/reviews.ts';
import { submitAssignment, withdrawSubmission } from '../../../domain/assignments/sending.ts';
import { removeUnsentFile } from '../../../domain/media/purposes/assignment-files.ts';
import { eraseFile } from '../../../domain/media/erasure/erasure.ts';
import { removeStudent } from '../../../domain/students/students.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { buildLearner, buildOpenCourse, type Learner, type OpenCourse } from '../../toolkit/builders/access.ts';
import { buildAssignment, buildAssignmentFile } from '../../toolkit/builders/assignments.ts';
import { buildClub, type TestClub } from '../../toolkit/builders/clubs.ts';
import { mediaDeps } from '../../toolkit/drive/media.ts';
import { inThisOrder } from '../../toolkit/drive/races.ts';
import { mailsTo, testDatabase, testDeps } from '../../toolkit/stack/database.ts';

type Work = Parameters<typeof submitAssignment>[3];

let club: TestClub;
let course: OpenCourse;
let learner: Learner;
let assignment: Id;

const now = () => new Date();
const assign = async () => {
  assignment = (await buildAssignment({ clubId: club.id, id: course.lessons[0]?.id ?? '' }, { maxFiles: 2 })).id;
};
const depsOfAll = async () => ({ ...(await testDeps()), ...(await mediaDeps()) });
const reader = () => ({ clubId: club.id, id: learner.id });
const publicId = () => course.lessons[0]?.publicId ?? '';

async function outcomeOf<T>(act: Promise<T>): Promise<T | string> {
  return act.catch((error: unknown) => {
    if (error instanceof DomainError) return error.code;
    throw error;
  });
}
const idOf = (outcome: unknown) => (outcome as { id: Id }).id;

const send = async (work: Work = { text: 'Here it is.' }, at = now()) =>
  outcomeOf(submitAssignment(await depsOfAll(), reader(), assignment, work, at));
const withdraw = async (submissionId: Id, attempt = 1) =>
  outcomeOf(withdrawSubmission(await depsOfAll(), reader(), submissionId, attempt, now()));
const review = async (submissionId: Id, outcome: 'approved' | 'changes_requested', attempt = 1) => {
  const which = { clubId: club.id, submissionId, reviewerId: club.owner.id };
  return outcomeOf(reviewSubmission(await depsOfAll(), which, { attempt, outcome, comment: 'Well.' }, now()));
};
const statusOf = (outcome: unknown) => (typeof outcome === 'string' ? outcome : (outcome as { status: string }).status);

const student = () => sql`SELECT 1 FROM students WHERE id = ${learner.id} FOR NO KEY UPDATE`;
const courseRow = () => sql`SELECT 1 FROM courses WHERE id = ${course.id} FOR NO KEY UPDATE`;

const attemptsOf = async (): Promise<number[]> => {
  const rows = await (
    await testDatabase()
  ).query<{ number: number }[]>(
    `SELECT number FROM assignment_attempts JOIN assignment_submissions submission ON submission.id = submission_id
      WHERE student_id = $1 ORDER BY 1`,
    [learner.id],
  );
  return rows.map(({ number }) => number);
};

describe('concurrent acts on assignments', () => {
  beforeEach(async () => {
    club = await buildClub();
    course = await buildOpenCourse(club.id, { lessons: 1 });
    learner = await buildLearner(course);
    await assign();
  });

  it('record only one of ten concurrent submissions', async () => {
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => send()));
    expect(outcomes.map(statusOf).toSorted()).to.deep.equal([
      ...Array<string>(9).fill('submission_state'),
      'submitted',
    ]);
    expect(await attemptsOf()).to.deep.equal([1]);
  });

  it('accept a file only once if the student sends it for two assignments at the same time', async () => {
    const other = await buildAssignment({ clubId: club.id, id: course.lessons[0]?.id ?? '' }, { maxFiles: 1 });
    const work = { file_ids: [await buildAssignmentFile(club.id, learner.id)] };
    const elsewhere = async () => outcomeOf(submitAssignment(await depsOfAll(), reader(), other.id, work, now()));
    const outcomes = await inThisOrder(student(), () => send(work), elsewhere);
    expect(outcomes.map(statusOf)).to.deep.equal(['submitted', 'invalid_file']);
  });

  it('refuse a review after a withdrawal, and a withdrawal after a review', async () => {
    const submissionId = idOf(await send());
    const first = await inThisOrder(
      student(),
      () => withdraw(submissionId),
      () => review(submissionId, 'approved'),
    );
    expect(first).to.deep.equal([{}, 'not_found']);
    const id = idOf(await send());
    const [approved, late] = await inThisOrder(
      student(),
      () => review(id, 'approved'),
      () => withdraw(id),
    );
    expect([statusOf(approved), late]).to.deep.equal(['approved', 'submission_changed']);
    expect(await mailsTo(learner.id)).to.deep.equal(['assignment_approved']);
  });

  it('refuse a review of an attempt that the student has replaced', async () => {
    const id = idOf(await send());
    await review(id, 'changes_requested');
    await send({ text: 'The second.' });
    const outcomes = await inThisOrder(
      student(),
      () => withdraw(id, 2),
      () => send({ text: 'Something else.' }),
      () => review(id, 'approved', 2),
    );
    expect(outcomes.map((one, place) => (place === 0 ? 'withdrawn' : statusOf(one)))).to.deep.equal([
      'withdrawn',
      'submitted',
      'submission_changed',
    ]);
    expect(await attemptsOf()).to.deep.equal([1, 3]);
  });

  it('record only one of two concurrent reviews', async () => {
    const id = idOf(await send());
    const outcomes = await inThisOrder(
      student(),
      () => review(id, 'changes_requested'),
      () => review(id, 'approved'),
    );
    expect(outcomes.map(statusOf)).to.deep.equal(['changes_requested', 'submission_changed']);
    expect(await mailsTo(learner.id)).to.deep.equal(['assignment_changes_requested']);
  });

  for (const closedFirst of [true, false]) {
    it(`${closedFirst ? 'refuse a submission after' : 'accept a submission before'} the assignment is closed`, async () => {
      const deps = await depsOfAll();
      const closed = { closes_at: new Date(Date.now() - 1_000).toISOString() };
      const close = () => updateAssignment(deps, club.id, assignment, closed, now());
      const outcomes = closedFirst
        ? await inThisOrder(courseRow(), close, () => send())
        : await inThisOrder(courseRow(), () => send(), close);
      expect(statusOf(outcomes[closedFirst ? 1 : 0])).to.equal(closedFirst ? 'assignment_closed' : 'submitted');
    });
  }

  it('either submit an expired unsent file or delete it, but never do both', async () => {
    const deps = await depsOfAll();
    const source = await testDatabase();
    for (const sentFirst of [true, false]) {
      await assign();
      const file = await buildAssignmentFile(club.id, learner.id);
      await source.query(`UPDATE media SET erases_at = $2 WHERE id = $1`, [file, new Date(Date.now() - 1_000)]);
      const lockOfFile = sql`SELECT 1 FROM media WHERE id = ${file} FOR NO KEY UPDATE`;
      const sending = () => send({ file_ids: [file] });
      const erasing = () => eraseFile(deps, file, now());
      const [one, two] = sentFirst ? [sending, erasing] : [erasing, sending];
      const outcomes: readonly unknown[] = await inThisOrder(lockOfFile, one, two);
      const [row] = await source.query<{ there: boolean }[]>(
        `SELECT removed_at IS NULL AND object_key IS NOT NULL AS there FROM media WHERE id = $1`,
        [file],
      );
      expect([statusOf(outcomes[sentFirst ? 0 : 1]), row?.there]).to.deep.equal(
        sentFirst ? ['submitted', true] : ['invalid_file', false],
      );
    }
  });

  for (const sentFirst of [true, false]) {
    it(
      sentFirst
        ? 'keep a file that was submitted before its deletion'
        : 'refuse a submission after its file was deleted',
      async () => {
        const deps = await depsOfAll();
        const file = await buildAssignmentFile(club.id, learner.id);
        const sending = () => send({ file_ids: [file] });
        const owner = { clubId: club.id, studentId: learner.id };
        const deleting = () => outcomeOf(removeUnsentFile(deps, owner, file, now()));
        const [one, two] = sentFirst ? [sending, deleting] : [deleting, sending];
        const outcomes: readonly unknown[] = await inThisOrder(student(), one, two);
        expect(sentFirst ? statusOf(outcomes[0]) : outcomes[0]).to.equal(sentFirst ? 'submitted' : undefined);
        expect(outcomes[1]).to.equal(sentFirst ? 'in_use' : 'invalid_file');
      },
    );
  }

  it('refuse to complete a lesson before its assignment is approved', async () => {
    const deps = await depsOfAll();
    const complete = () => outcomeOf(completeLesson(deps, reader(), publicId(), now()));
    const id = idOf(await send());
    await updateAssignment(deps, club.id, assignment, { required: true }, now());
    const [refused] = await inThisOrder(student(), complete, () => review(id, 'approved'));
    expect(refused).to.equal('assignment_open');
    expect(await complete()).to.have.property('completed_at');
  });

  it('answer not_found to the submission of a removed student', async () => {
    const deps = await testDeps();
    const [, refused] = await inThisOrder(
      student(),
      () => removeStudent(deps, club.id, learner.id, now()),
      () => send(),
    );
    expect([refused, await attemptsOf()]).to.deep.equal(['not_found', []]);
  });

  it('answer not_found to a review after the student was removed, and send no mail', async () => {
    const id = idOf(await send());
    const deps = await testDeps();
    const [, reviewed] = await inThisOrder(
      student(),
      () => removeStudent(deps, club.id, learner.id, now()),
      () => review(id, 'approved'),
    );
    expect(reviewed).to.equal('not_found');
    expect([await attemptsOf(), await mailsTo(learner.id)]).to.deep.equal([[], []]);
  });
});
