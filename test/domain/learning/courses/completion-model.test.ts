/** Compares a course with a small model after random acts. */
import { Queries } from '../../../../platform/infra/postgres/database.ts';
import { expect } from 'chai';
import fc from 'fast-check';
import { DomainError } from '../../../../platform/core/errors.ts';
import { listCourses } from '../../../../domain/learning/courses/classroom.ts';
import { completeLesson, undoCompletion } from '../../../../domain/learning/courses/completion.ts';
import { updateCourse } from '../../../../domain/learning/courses/courses.ts';
import { removeLesson, updateLesson } from '../../../../domain/learning/courses/lessons.ts';
import { completionsOf } from '../../../toolkit/assert/facts.ts';
import { judge } from '../../../toolkit/drive/completions.ts';
import { testDeps } from '../../../toolkit/stack/database.ts';
import { buildLearner, buildOpenCourse } from '../../../toolkit/builders/access.ts';
import { buildClub } from '../../../toolkit/builders/clubs.ts';

const lessons = 3;

const acts = fc.array(
  fc.record({
    kind: fc.oneof(
      { weight: 4, arbitrary: fc.constant('complete' as const) },
      { weight: 5, arbitrary: fc.constantFrom('undo', 'publish', 'unpublish', 'remove', 'open', 'close') },
    ),
    /** An act on the whole course ignores this value. */
    lesson: fc.nat({ max: lessons - 1 }),
  }),
  { minLength: 4, maxLength: 16 },
);
type Act = typeof acts extends fc.Arbitrary<(infer One)[]> ? One : never;

/** In this model, the run ends before the next act begins (EVT-14, EVT-15, DEC-153). */
class Model {
  readonly facts: string[] = [];
  #open = true;
  #courseCompleted = false;
  #lessons = Array.from({ length: lessons }, () => ({ state: 'published', completed: false, told: false }));

  do(act: Act): boolean {
    if (act.kind === 'open' || act.kind === 'close') {
      this.#open = act.kind === 'open';
      this.#judgeCourse();
      return false;
    }
    const lesson = this.#lessons[act.lesson];
    if (!lesson) throw new Error('The lesson is missing');
    if (act.kind === 'complete' || act.kind === 'undo') {
      if (!this.#open || lesson.state !== 'published') return true;
      lesson.completed = act.kind === 'complete';
      if (lesson.completed && !lesson.told) {
        this.facts.push(`lesson ${act.lesson}`);
        lesson.told = true;
      }
      this.#judgeCourse();
      return false;
    }
    if (lesson.state === 'removed') return true;
    lesson.state = { publish: 'published', unpublish: 'hidden', remove: 'removed' }[act.kind];
    this.#judgeCourse();
    return false;
  }

  #judgeCourse(): void {
    const { published } = this;
    if (!this.#open || this.#courseCompleted) return;
    if (published.length === 0 || published.some(({ completed }) => !completed)) return;
    this.#courseCompleted = true;
    this.facts.push('course');
  }

  get published() {
    return this.#lessons.filter(({ state }) => state === 'published');
  }

  /** Undefined while the student has no access to the course. */
  get progress() {
    const { published } = this;
    if (!this.#open) return [];
    return [[published.length, published.filter(({ completed }) => completed).length, this.#courseCompleted]];
  }
}

describe('a course that is completed and edited at the same time', function () {
  this.timeout(120_000);

  it('has the same facts and progress as the model after any sequence of acts', async () => {
    const deps = await testDeps();
    const { db } = deps;
    const { manager } = db.source;
    const club = await buildClub();
    let now = Date.now();

    await fc.assert(
      fc.asyncProperty(acts, async (sequence) => {
        const course = await buildOpenCourse(club.id, { lessons });
        const learner = await buildLearner(course);
        const reader = { clubId: club.id, id: learner.id };
        const model = new Model();
        const lessonOf = (index: number) => course.lessons[index] ?? { id: '', publicId: '' };

        const really = async (act: Act, at: Date): Promise<unknown> => {
          if (act.kind === 'open' || act.kind === 'close')
            return updateCourse(
              { db },
              club.id,
              course.id,
              { status: act.kind === 'open' ? 'published' : 'draft' },
              at,
            );
          const { id, publicId } = lessonOf(act.lesson);
          if (act.kind === 'complete') return completeLesson(deps, reader, publicId, at);
          if (act.kind === 'undo') return undoCompletion({ db }, reader, publicId, at);
          if (act.kind === 'remove') return removeLesson({ db }, club.id, id, at);
          return updateLesson({ db }, club.id, id, { published: act.kind === 'publish' }, at);
        };

        for (const act of sequence) {
          const outcome = await really(act, new Date((now += 1_000))).then(
            () => false,
            (error: unknown) => error instanceof DomainError && error.code === 'not_found',
          );
          expect(outcome, JSON.stringify(act)).to.equal(model.do(act));
          expect(await judge(course.id, now)).to.deep.equal({ done: true, outcome: 'judged' });
          const { rows } = await listCourses(new Queries(manager), reader, { page: 1, page_size: 20 }, new Date(now));
          expect(
            rows.map((row) => [row.lesson_count, row.completed_lesson_count, row.completed_at !== undefined]),
            JSON.stringify(act),
          ).to.deep.equal(model.progress);
        }

        const named = (fact: string) =>
          fact === 'course'
            ? `course.completed ${course.id}`
            : `lesson.completed ${lessonOf(Number(fact.slice(-1))).id}`;
        expect(await completionsOf(learner.id)).to.deep.equal(model.facts.map(named));
      }),
      {
        numRuns: 60,
        examples: [
          // A lesson that the student completed is published again in a course that has no other published lesson.
          [
            [
              { kind: 'complete', lesson: 1 },
              { kind: 'unpublish', lesson: 1 },
              { kind: 'remove', lesson: 2 },
              { kind: 'remove', lesson: 0 },
              { kind: 'publish', lesson: 1 },
            ],
          ],
        ],
      },
    );
  });
});
