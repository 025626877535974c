/** Compares one submission with a small model after random acts. */
import { expect } from 'chai';
import fc from 'fast-check';
import { updateAssignment } from '../../../domain/assignments/assignments.ts';
import { removeExtension, setExtension } from '../../../domain/assignments/extensions.ts';
import { reviewSubmission } from '../../../domain/assignments/reviews.ts';
import { submitAssignment, withdrawSubmission } from '../../../domain/assignments/sending.ts';
import { listSubmissions, readSubmission } from '../../../domain/assignments/submissions.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { Queries } from '../../../platform/infra/postgres/database.ts';
import { buildLearner, buildOpenCourse } from '../../toolkit/builders/access.ts';
import { buildAssignment } from '../../toolkit/builders/assignments.ts';
import { buildClub } from '../../toolkit/builders/clubs.ts';
import { mediaDeps } from '../../toolkit/drive/media.ts';
import { testDeps } from '../../toolkit/stack/database.ts';

const acts = fc.array(
  fc.record({
    kind: fc.oneof(
      { weight: 4, arbitrary: fc.constant('send' as const) },
      { weight: 6, arbitrary: fc.constantFrom('withdraw', 'approve', 'return', 'return') },
      { weight: 4, arbitrary: fc.constantFrom('extend', 'take back', 'move') },
    ),
    /** Hours that pass before the act. */
    hours: fc.nat({ max: 3 }),
    /** True if the act names an attempt that is not the last attempt. */
    stale: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
    /** The hour to which a date is moved. */
    to: fc.oneof(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 40 })),
  }),
  { minLength: 4, maxLength: 18 },
);
type Act = typeof acts extends fc.Arbitrary<(infer One)[]> ? One : never;

/** In hours, between the deadline and the closing time. */
const open = 6;

/** A model of ASG-6 to ASG-12. Times are in hours since the beginning. */
class Model {
  status: 'none' | 'submitted' | 'changes_requested' | 'approved' = 'none';
  attempts: number[] = [];
  /** A deletion of the submission also deletes its attempts. */
  #numbers = 0;
  #own = 5;
  #extension: number | undefined;
  #first = { sentHour: 0, due: 0 };
  #lateAtApproval = false;

  get #due() {
    return Math.max(this.#own, this.#extension ?? 0);
  }
  get #closing() {
    return Math.max(this.#own + open, this.#due);
  }
  get last() {
    return this.attempts.at(-1) ?? 1;
  }
  get late() {
    if (this.status === 'approved') return this.#lateAtApproval;
    return this.#first.sentHour > Math.max(this.#first.due, this.#due);
  }

  do({ kind, stale, to }: Act, hour: number): string {
    if (kind === 'move') this.#own = to;
    else if (kind === 'extend') {
      if (to <= this.#own) return 'invalid_request';
      this.#extension = to;
    } else if (kind === 'take back') {
      if (this.#extension === undefined) return 'not_found';
      this.#extension = undefined;
    } else if (kind === 'send') return this.#send(hour);
    else if (this.status === 'none') return 'not_found';
    else if (this.status !== 'submitted' || stale) return 'submission_changed';
    else if (kind === 'withdraw') {
      this.attempts.pop();
      this.status = this.attempts.length > 0 ? 'changes_requested' : 'none';
    } else {
      this.#lateAtApproval = this.late;
      this.status = kind === 'approve' ? 'approved' : 'changes_requested';
    }
    return 'done';
  }

  #send(hour: number): string {
    if (hour >= this.#closing) return 'assignment_closed';
    if (this.status === 'submitted' || this.status === 'approved') return 'submission_state';
    if (this.status === 'none') {
      this.#first = { sentHour: hour, due: this.#due };
      this.#numbers = 0;
    }
    this.#numbers += 1;
    this.attempts.push(this.#numbers);
    this.status = 'submitted';
    return 'done';
  }
}

describe('a submission', function () {
  this.timeout(120_000);

  it('matches the model after any sequence of acts (ASG-6 to ASG-12)', async () => {
    const deps = { ...(await testDeps()), ...(await mediaDeps()) };
    const db = new Queries(deps.db.source.manager);
    const club = await buildClub();
    const course = await buildOpenCourse(club.id, { lessons: 1 });
    const begin = Date.now();
    const at = (hour: number) => new Date(begin + hour * 3_600_000);
    const dates = (hour: number) => ({ due_at: at(hour).toISOString(), closes_at: at(hour + open).toISOString() });

    await fc.assert(
      fc.asyncProperty(acts, async (sequence) => {
        const learner = await buildLearner(course);
        const reader = { clubId: club.id, id: learner.id };
        const first = { dueAt: at(5), closesAt: at(5 + open) };
        const { id: assignment } = await buildAssignment({ clubId: club.id, id: course.lessons[0]?.id ?? '' }, first);
        const extended = { clubId: club.id, assignmentId: assignment, studentId: learner.id };
        const model = new Model();
        let submission: Id = newId();
        let hour = 0;

        const really = async ({ kind, stale, to }: Act, now: Date): Promise<unknown> => {
          const attempt = stale ? model.last + 1 : model.last;
          const which = { clubId: club.id, submissionId: submission, reviewerId: club.owner.id };
          if (kind === 'send') {
            submission = (await submitAssignment(deps, reader, assignment, { text: 'Here.' }, now)).id;
            return undefined;
          }
          if (kind === 'withdraw') return withdrawSubmission(deps, reader, submission, attempt, now);
          if (kind === 'extend') return setExtension(deps, extended, { due_at: dates(to).due_at }, now);
          if (kind === 'take back') return removeExtension(deps, extended);
          if (kind === 'move') return updateAssignment(deps, club.id, assignment, dates(to), now);
          const outcome = kind === 'approve' ? 'approved' : 'changes_requested';
          return reviewSubmission(deps, which, { attempt, outcome, comment: 'Well.' }, now);
        };

        for (const act of sequence) {
          hour += act.hours;
          const happened = JSON.stringify(act);
          const outcome = await really(act, at(hour)).then(
            () => 'done',
            (error: unknown) => (error instanceof DomainError ? error.code : Promise.reject(error)),
          );
          expect(outcome, happened).to.equal(model.do(act, hour));
          const filter = { page: 1, page_size: 20, student_id: learner.id };
          const { rows, total, counts } = await listSubmissions(db, club.id, filter);
          const isThere = model.status !== 'none';
          expect([total, rows.length, Object.values(counts).reduce((sum, one) => sum + one)]).to.deep.equal(
            Array(3).fill(isThere ? 1 : 0),
          );
          if (!isThere) continue;
          const read = await readSubmission(db, deps.storage, club.id, submission);
          expect([read.status, read.late, read.attempts.map(({ number }) => number)], happened).to.deep.equal([
            model.status,
            model.late,
            model.attempts,
          ]);
          expect(rows[0]).to.include({ status: model.status, late: model.late });
          expect('reviewed_at' in read, happened).to.equal(model.status !== 'submitted');
          expect(counts[read.status]).to.equal(1);
        }
      }),
      { numRuns: 40 },
    );

    // The tallies of the club must agree with the remaining rows.
    const { counts } = await listSubmissions(db, club.id, { page: 1, page_size: 1 });
    const rows = await deps.db.source.query<{ status: string; n: number }[]>(
      `SELECT status, count(*)::int AS n FROM assignment_submissions WHERE club_id = $1 GROUP BY 1`,
      [club.id],
    );
    const counted = { submitted: 0, approved: 0, changes_requested: 0 };
    expect(counts).to.deep.equal({ ...counted, ...Object.fromEntries(rows.map(({ status, n }) => [status, n])) });
  });
});
