/** Compares the result of conditions in SQL with their evaluation in memory (CAMP-11). */
import { expect } from 'chai';
import * as fc from 'fast-check';
import { meets, ruleKinds, type Condition, type Rule } from '../../../domain/conditions/conditions.ts';
import { Enrollment } from '../../../entities/access/enrollment.ts';
import { CourseCompletion } from '../../../entities/learning/course-completion.ts';
import { LessonProgress } from '../../../entities/learning/lesson-progress.ts';
import { StudentTag } from '../../../entities/learning/student-tag.ts';
import { Tag } from '../../../entities/learning/tag.ts';
import { Mail } from '../../../entities/mail/mail.ts';
import { Product } from '../../../entities/sales/product.ts';
import { Purchase } from '../../../entities/sales/purchase.ts';
import { purchaseStatuses } from '../../../entities/sales/values.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { buildAccessDelivery } from '../../toolkit/builders/access.ts';
import { buildClub, buildStudent } from '../../toolkit/builders/clubs.ts';
import { buildCohort, buildCourse, buildLesson } from '../../toolkit/builders/courses.ts';
import { testDeps } from '../../toolkit/stack/database.ts';

const now = new Date('2026-03-02T12:00:00Z');
const day = 86_400_000;
/** Times near the limits, because SQL and the evaluation in memory could differ there. */
const times = [-2 * day, -1, 0, 1, 2 * day].map((ms) => new Date(now.getTime() + ms));
const steps = ['welcome', 'later'];

interface World {
  students: Id[];
  deliveries: { id: Id; courseId: Id }[];
  cohorts: Id[];
  products: Id[];
  tags: { id: Id; isRemoved: boolean }[];
  lessons: { id: Id; courseId: Id; isPublished: boolean }[];
  courses: Id[];
  runs: Id[];
  enrollments: {
    studentId: Id;
    deliveryId: Id;
    cohortId: Id | null;
    startsAt: Date;
    endsAt: Date | null;
    isRevoked: boolean;
  }[];
  purchases: { studentId: Id; productId: Id; status: (typeof purchaseStatuses)[number] }[];
  tagged: { studentId: Id; tagId: Id }[];
  progress: { studentId: Id; lessonId: Id; completed: boolean }[];
  completions: { studentId: Id; courseId: Id }[];
  mails: { studentId: Id; runId: Id; stepId: string; openedAt: Date | null; clickedAt: Date | null }[];
}

/** An absent or empty list matches everything. */
const isOneOf = (ids: readonly string[] | undefined, id: string | null) =>
  ids === undefined || ids.length === 0 || (id !== null && ids.includes(id));

function holds(world: World, rule: Rule, student: Id, runId: Id | undefined): boolean {
  const own = <T extends { studentId: Id }>(records: readonly T[]) =>
    records.filter(({ studentId }) => studentId === student);
  switch (rule.kind) {
    case 'has_access':
      return own(world.enrollments).some(({ deliveryId, cohortId, startsAt, endsAt, isRevoked }) => {
        const courseId = world.deliveries.find(({ id }) => id === deliveryId)?.courseId;
        const isValid = !isRevoked && startsAt <= now && (endsAt === null || endsAt > now);
        const fits = isOneOf(rule.delivery_ids, deliveryId) && isOneOf(rule.cohort_ids, cohortId);
        return isValid && fits && (rule.course_id === undefined || rule.course_id === courseId);
      });
    case 'has_purchased':
      return own(world.purchases).some(
        ({ productId, status }) => status === 'paid' && isOneOf(rule.product_ids, productId),
      );
    case 'has_tag':
      return own(world.tagged).some(
        ({ tagId }) =>
          isOneOf(rule.tag_ids, tagId) && world.tags.some(({ id, isRemoved }) => id === tagId && !isRemoved),
      );
    case 'lesson_completed':
      return own(world.progress).some(({ lessonId, completed }) => lessonId === rule.lesson_id && completed);
    case 'course_completed':
      return own(world.completions).some(({ courseId }) => courseId === rule.course_id);
    case 'course_progress': {
      const lessons = world.lessons.filter(({ courseId, isPublished }) => courseId === rule.course_id && isPublished);
      const completedLessons = own(world.progress).filter(
        ({ lessonId, completed }) => completed && lessons.some(({ id }) => id === lessonId),
      );
      const percent = lessons.length === 0 ? 0 : Math.floor((100 * completedLessons.length) / lessons.length);
      return percent >= (rule.percent ?? Number.NaN);
    }
    case 'email_opened':
    case 'email_clicked':
      return world.mails.some(
        ({ runId: run, stepId, openedAt, clickedAt }) =>
          run === runId && stepId === rule.step_id && (rule.kind === 'email_opened' ? openedAt : clickedAt) !== null,
      );
  }
}

function isMet(world: World, { match, rules }: Condition, student: Id, runId: Id | undefined): boolean {
  const answers = rules.map((rule) => holds(world, rule, student, runId) !== rule.negate);
  return match === 'all' ? !answers.includes(false) : answers.includes(true);
}

const some = <T>(values: readonly T[]): fc.Arbitrary<T[]> => fc.subarray([...values]);
const oneOf = <T>(values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);

/** Each kind of rule has its own fields. */
function ruleIn(world: World): fc.Arbitrary<Rule> {
  const ids = (records: readonly { id: Id }[]) => records.map(({ id }) => id);
  const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
  const fields: Record<Rule['kind'], Record<string, fc.Arbitrary<unknown>>> = {
    has_access: {
      delivery_ids: optional(some(ids(world.deliveries))),
      cohort_ids: optional(some(world.cohorts)),
      course_id: optional(oneOf(world.courses)),
    },
    has_purchased: { product_ids: optional(some(world.products)) },
    has_tag: { tag_ids: fc.subarray(ids(world.tags), { minLength: 1 }) },
    lesson_completed: { lesson_id: oneOf(ids(world.lessons)) },
    course_completed: { course_id: oneOf(world.courses) },
    course_progress: { course_id: oneOf(world.courses), percent: oneOf([0, 1, 33, 34, 50, 66, 67, 100]) },
    email_opened: { step_id: oneOf(steps) },
    email_clicked: { step_id: oneOf(steps) },
  };
  return oneOf(ruleKinds).chain((kind) =>
    fc
      .record({ kind: fc.constant(kind), negate: fc.boolean(), ...fields[kind] })
      .map(
        (rule) => Object.fromEntries(Object.entries(rule).filter(([, value]) => value !== undefined)) as never as Rule,
      ),
  );
}

const conditionIn = (world: World): fc.Arbitrary<Condition> =>
  fc.record({ match: oneOf(['all', 'any'] as const), rules: fc.array(ruleIn(world), { maxLength: 4 }) });

describe('conditions', () => {
  let deps: Awaited<ReturnType<typeof testDeps>>;
  let world: World;
  let clubId: Id;

  before(async () => {
    deps = await testDeps();
    ({ id: clubId } = await buildClub());
    world = await build();
  });

  async function build(): Promise<World> {
    const courses = [
      await buildCourse(clubId, { modules: 1, lessons: 3 }),
      await buildCourse(clubId, { modules: 1, lessons: 2 }),
      await buildCourse(clubId, { modules: 1, lessons: 0 }),
    ];
    const [first] = courses;
    if (!first) throw new Error('The club has no courses');
    const hidden = await buildLesson(first, { published: false });
    const students = await several(12, () => buildStudent(clubId));
    const deliveries = [];
    for (const { id: courseId } of [...courses, first])
      deliveries.push(await buildAccessDelivery(clubId, { courseId }));
    const things = {
      students: students.map(({ id }) => id),
      deliveries: deliveries.map(({ id, courseId }) => ({ id, courseId })),
      cohorts: [(await buildCohort(clubId, first.id)).id, (await buildCohort(clubId, first.id)).id],
      products: [newId(), newId(), newId()],
      tags: [false, false, true].map((isRemoved) => ({ id: newId(), isRemoved })),
      lessons: [
        ...courses.flatMap(({ id: courseId, lessons }) =>
          lessons.map(({ id }) => ({ id, courseId, isPublished: true })),
        ),
        { id: hidden.id, courseId: first.id, isPublished: false },
      ],
      courses: courses.map(({ id }) => id),
      runs: [newId(), newId()],
    };
    const pairs = <A, B>(firsts: readonly A[], seconds: readonly B[]) =>
      firsts.flatMap((a) => seconds.map((b) => [a, b] as const));
    const studentId = oneOf(things.students);
    const [records] = fc.sample(
      fc.record({
        enrollments: fc.array(
          fc.record({
            studentId,
            deliveryId: oneOf(things.deliveries.map(({ id }) => id)),
            cohortId: fc.option(oneOf(things.cohorts)),
            startsAt: oneOf(times),
            endsAt: fc.option(oneOf(times)),
            isRevoked: fc.boolean(),
          }),
          { minLength: 40, maxLength: 40 },
        ),
        purchases: fc.array(
          fc.record({ studentId, productId: oneOf(things.products), status: oneOf(purchaseStatuses) }),
          { minLength: 15, maxLength: 15 },
        ),
        tagged: some(pairs(things.students, things.tags)),
        progress: some(pairs(things.students, things.lessons)),
        undone: fc.array(fc.boolean(), { minLength: 100, maxLength: 100 }),
        completions: some(pairs(things.students, things.courses)),
        mails: fc.array(fc.record({ openedAt: fc.option(oneOf(times)), clickedAt: fc.option(oneOf(times)) }), {
          minLength: 4,
          maxLength: 4,
        }),
      }),
      { numRuns: 1, seed: 20_260_302 },
    );
    if (!records) throw new Error('fast-check gave no sample');
    const sampleWorld: World = {
      ...things,
      ...records,
      tagged: records.tagged.map(([student, { id }]) => ({ studentId: student, tagId: id })),
      progress: records.progress.map(([student, { id }], at) => ({
        studentId: student,
        lessonId: id,
        completed: records.undone[at % records.undone.length] ?? true,
      })),
      completions: records.completions.map(([student, courseId]) => ({ studentId: student, courseId })),
      mails: records.mails.map((mail, at) => ({
        ...mail,
        studentId: things.students[0] ?? '',
        runId: things.runs[at % 2] ?? '',
        stepId: steps[at >> 1] ?? '',
      })),
    };
    await insert(sampleWorld);
    return sampleWorld;
  }

  async function several<T>(count: number, make: () => Promise<T>): Promise<T[]> {
    const items: T[] = [];
    for (let number = 0; number < count; number++) items.push(await make());
    return items;
  }

  async function insert(records: World): Promise<void> {
    const { manager } = deps.db;
    const at = { createdAt: now, updatedAt: now };
    await manager.insert(
      Product,
      records.products.map((id) => ({ id, clubId, platform: 'acme', externalId: id, name: 'Knots', ...at })),
    );
    await manager.insert(
      Tag,
      records.tags.map(({ id, isRemoved }) => ({
        id,
        clubId,
        name: id,
        foldedName: id,
        createdAt: now,
        removedAt: isRemoved ? now : null,
      })),
    );
    await manager.insert(
      Enrollment,
      records.enrollments.map(({ isRevoked, ...enrollment }) => ({
        ...enrollment,
        ...at,
        id: newId(),
        clubId,
        source: 'purchase' as const,
        originId: newId(),
        revokedAt: isRevoked ? now : null,
        revokedReason: isRevoked ? ('refund' as const) : null,
      })),
    );
    await manager.insert(
      Purchase,
      records.purchases.map((purchase) => ({
        ...purchase,
        ...at,
        id: newId(),
        clubId,
        platform: 'hotmart' as never,
        externalId: newId(),
        amount: '100',
        currency: 'EUR',
        termsRank: 0,
        termsAt: now,
        paidAt: now,
      })),
    );
    await manager.insert(
      StudentTag,
      records.tagged.map((tagged) => ({ ...tagged, taggedAt: now })),
    );
    await manager.insert(
      LessonProgress,
      records.progress.map((progress) => ({ ...progress, clubId, firstCompletedAt: now, updatedAt: now })),
    );
    await manager.insert(
      CourseCompletion,
      records.completions.map((completion) => ({ ...completion, clubId, completedAt: now })),
    );
    await manager.insert(
      Mail,
      records.mails.map((mail) => ({
        ...mail,
        id: newId(),
        clubId,
        studentName: 'Stella',
        studentEmail: 'stella@example.com',
        nextAttemptAt: now,
        createdAt: now,
      })),
    );
  }

  it('give equal results in SQL and in memory', async () => {
    const counts = { met: 0, unmet: 0 };
    await fc.assert(
      fc.asyncProperty(
        conditionIn(world),
        fc.option(oneOf(world.runs), { nil: undefined }),
        async (condition, runId) => {
          const rows = await deps.db.rows<{ id: Id }>(sql`SELECT student.id FROM students student
          WHERE student.club_id = ${clubId} AND ${meets(condition, { student: sql`student.id`, now, ...(runId !== undefined && { runId }) })}`);
          const expected = world.students.filter((student) => isMet(world, condition, student, runId));
          counts.met += expected.length;
          counts.unmet += world.students.length - expected.length;
          expect(rows.map(({ id }) => id).toSorted()).to.deep.equal(expected.toSorted());
        },
      ),
      { numRuns: 250 },
    );
    // A condition that is always true would prove nothing.
    expect(Math.min(counts.met, counts.unmet)).to.be.greaterThan(500);
  });
});
