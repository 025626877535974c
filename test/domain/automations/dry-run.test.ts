/** Compares dry runs with real runs, for each kind of rule (AUTO-19). */
import { expect } from 'chai';
import type { RecordOf } from '../../../contract/contract.ts';
import type { Definition, Step } from '../../../domain/automations/versions/definition.policy.ts';
import { dryRun } from '../../../domain/automations/dry-runs/dry-run.ts';
import type { Rule, RuleKind } from '../../../domain/conditions/conditions.ts';
import { addSuppression } from '../../../domain/mail/suppressions/suppressions.ts';
import { wakeRunsOf } from '../../../domain/watches/watches.ts';
import { CourseCompletion } from '../../../entities/learning/course-completion.ts';
import { LessonProgress } from '../../../entities/learning/lesson-progress.ts';
import { Purchase } from '../../../entities/sales/purchase.ts';
import type { EventType } from '../../../platform/core/event-types.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import { buildAccessDelivery, buildEnrollment } from '../../toolkit/builders/access.ts';
import { buildAutomation, buildTag, email } from '../../toolkit/builders/automations.ts';
import { buildClub, buildStudent, type TestClub } from '../../toolkit/builders/clubs.ts';
import { buildCohort, buildCourse, buildLesson } from '../../toolkit/builders/courses.ts';
import { buildProduct } from '../../toolkit/builders/sales.ts';
import { playAutomations, type AutomationPlay } from '../../toolkit/drive/automations.ts';
import { rowCounts, testDeps } from '../../toolkit/stack/database.ts';

const start = new Date('2026-03-02T12:00:00Z');
const day = 86_400_000;
const after = (days: number) => new Date(start.getTime() + days * day);
type Fact = RecordOf<'AutomationSupposedFact'>;

describe('a dry run', () => {
  let deps: Awaited<ReturnType<typeof testDeps>>;
  let club: TestClub;
  let play: AutomationPlay;
  before(async () => {
    deps = await testDeps();
  });
  beforeEach(async () => {
    club = await buildClub();
    play = await playAutomations(club.id, start);
  });
  const tryOut = (
    automationId: Id,
    studentId: Id,
    facts: Fact[] = [],
    more: Partial<RecordOf<'AutomationDryRunRequest'>> = {},
  ) =>
    dryRun(
      deps,
      club.id,
      automationId,
      { student_id: studentId, starts_at: start.toISOString(), facts, version: 1, ...more },
      start,
    );
  const comparable = ({ status, exit_reason, step_id, path, ended_at }: Partial<RecordOf<'AutomationRunPath'>>) => ({
    status,
    exit_reason,
    step_id,
    path,
    ended_at,
  });

  /**
   * After a day, the change makes a rule true (`on`), and after another day false (`off`). A run reads the changed rows, and a dry run gets
   * a supposed fact.
   */
  interface Turn {
    kind: Fact['kind'];
    type: EventType | undefined;
    row: (studentId: Id, runId: Id) => Sql | (() => Promise<unknown>);
  }
  interface Case {
    rule: Omit<Rule, 'kind' | 'negate'>;
    about: Partial<Fact>;
    on: Turn;
    off?: Turn;
  }

  async function caseOf(kind: RuleKind): Promise<Case> {
    const { manager } = deps.db;
    switch (kind) {
      case 'has_tag': {
        const tag = await buildTag(club.id);
        return {
          rule: { tag_ids: [tag] },
          about: { tag_id: tag },
          on: {
            kind: 'student_tagged',
            type: 'student.tagged',
            row: (id) => sql`INSERT INTO student_tags VALUES (${id}, ${tag}, ${start})`,
          },
          off: {
            kind: 'student_untagged',
            type: 'student.untagged',
            row: (id) => sql`DELETE FROM student_tags WHERE student_id = ${id}`,
          },
        };
      }
      case 'has_access': {
        const course = await buildCourse(club.id);
        const { id: cohort } = await buildCohort(club.id, course.id);
        const { id: deliveryId } = await buildAccessDelivery(club.id, { courseId: course.id });
        return {
          rule: { delivery_ids: [deliveryId], cohort_ids: [cohort], course_id: course.id },
          about: { delivery_id: deliveryId },
          on: {
            kind: 'access_granted',
            type: 'access.granted',
            row: (studentId) => () =>
              buildEnrollment(club.id, { studentId, deliveryId, cohortId: cohort, startsAt: after(1) }),
          },
          off: {
            kind: 'access_revoked',
            type: 'access.revoked',
            row: (id) => sql`DELETE FROM enrollments WHERE student_id = ${id}`,
          },
        };
      }
      case 'has_purchased': {
        const { id: productId } = await buildProduct(club.id);
        const sale = { id: newId(), clubId: club.id, productId, platform: 'generic', externalId: newId() } as const;
        const at = { termsAt: start, paidAt: start, createdAt: start, updatedAt: start };
        return {
          rule: { product_ids: [productId] },
          about: { product_id: productId },
          on: {
            kind: 'purchase_paid',
            type: 'purchase.paid',
            row: (studentId) => () =>
              manager.insert(Purchase, { ...sale, ...at, studentId, amount: '1', currency: 'EUR', termsRank: 0 }),
          },
          off: {
            kind: 'purchase_refunded',
            type: 'purchase.refunded',
            row: (id) => sql`UPDATE purchases SET status = 'refunded' WHERE student_id = ${id}`,
          },
        };
      }
      case 'lesson_completed':
      case 'course_progress': {
        const course = await buildCourse(club.id);
        const { id: lessonId } = await buildLesson(course);
        return {
          rule: kind === 'course_progress' ? { course_id: course.id, percent: 1 } : { lesson_id: lessonId },
          about: { lesson_id: lessonId },
          on: {
            kind: 'lesson_completed',
            type: 'lesson.completed',
            row: (studentId) => () =>
              manager.insert(LessonProgress, {
                studentId,
                lessonId,
                clubId: club.id,
                firstCompletedAt: start,
                completed: true,
                updatedAt: start,
              }),
          },
          off: {
            kind: 'lesson_undone',
            type: 'lesson.completed',
            row: (id) => sql`UPDATE lesson_progress SET completed = false WHERE student_id = ${id}`,
          },
        };
      }
      case 'course_completed': {
        const { id: courseId } = await buildCourse(club.id);
        return {
          rule: { course_id: courseId },
          about: { course_id: courseId },
          on: {
            kind: 'course_completed',
            type: 'course.completed',
            row: (studentId) => () =>
              manager.insert(CourseCompletion, { studentId, courseId, clubId: club.id, completedAt: start }),
          },
        };
      }
      case 'email_opened':
      case 'email_clicked':
        return {
          rule: { step_id: 'mail' },
          about: { step_id: 'mail' },
          on: {
            kind,
            type: undefined,
            row: (_, runId) =>
              kind === 'email_opened'
                ? sql`UPDATE mails SET opened_at = ${after(1)} WHERE run_id = ${runId}`
                : sql`UPDATE mails SET clicked_at = ${after(1)} WHERE run_id = ${runId}`,
          },
        };
    }
  }

  for (const kind of [
    'has_access',
    'has_purchased',
    'has_tag',
    'lesson_completed',
    'course_completed',
    'course_progress',
    'email_opened',
    'email_clicked',
  ] as const)
    it(`reacts to a supposed fact as a run reacts to the real fact: ${kind}`, async () => {
      const { rule, about, on, off } = await caseOf(kind);
      const until = (id: string, negate: boolean): Step => ({
        id,
        kind: 'wait',
        wait: { kind: 'until_condition', days: 9 },
        condition: { match: 'all', rules: [{ kind, negate, ...rule }] },
      });
      const steps: Step[] = [{ id: 'mail', kind: 'send_email', email }, until('on', false), until('off', true)];
      const automationId = await buildAutomation(club.id, { steps }, start);
      const { id: studentId } = await buildStudent(club.id);
      const { cohort_ids: [cohort] = [] } = rule;
      const facts = [on, off].flatMap((turn, place): Fact[] =>
        turn
          ? [
              {
                ...about,
                kind: turn.kind,
                at: after(place + 1).toISOString(),
                ...(turn.kind === 'access_granted' && cohort !== undefined && { cohort_id: cohort }),
              },
            ]
          : [],
      );
      const supposed = await tryOut(automationId, studentId, facts);
      const runId = await play.enroll(automationId, studentId);
      for (const turn of [on, off]) {
        await play.pass(day);
        if (!turn) continue;
        const row = turn.row(studentId, runId);
        await (typeof row === 'function' ? row() : deps.db.run(row));
        await deps.db.transaction((tx) => wakeRunsOf(tx, studentId, turn.type ? [turn.type] : [], play.now()));
        if (turn.type === undefined)
          await deps.db.run(sql`UPDATE automation_runs SET looks_at = ${play.now()} WHERE id = ${runId}`);
        await play.settle();
      }
      await play.pass(20 * day);
      expect(comparable(supposed)).to.deep.equal(comparable(await play.read(automationId, runId)));
      const turned = supposed.path.map(({ step_id: id, outcome, left_at: at }) => `${id} ${outcome} ${at}`);
      expect(turned).to.deep.equal([
        `mail sent ${start.toISOString()}`,
        `on then ${after(1).toISOString()}`,
        off ? `off then ${after(2).toISOString()}` : `off else ${after(10).toISOString()}`,
      ]);
    });

  it('ends like a run if access expires or is revoked', async () => {
    const { id: deliveryId } = await buildAccessDelivery(club.id);
    const { id: studentId } = await buildStudent(club.id);
    await buildEnrollment(club.id, { studentId, deliveryId, startsAt: start, endsAt: after(5) });
    const definition: Partial<Definition> = {
      exit_on_access_lost: true,
      steps: [
        { id: 'mail', kind: 'send_email', email },
        { id: 'long', kind: 'wait', wait: { kind: 'delay', amount: 90, unit: 'days' } },
      ],
    };
    const automationId = await buildAutomation(club.id, definition, start);
    const runId = await play.enroll(automationId, studentId);
    const supposed = await tryOut(automationId, studentId);
    await play.pass(90 * day);
    expect(comparable(supposed)).to.deep.equal(comparable(await play.read(automationId, runId)));
    expect(supposed).to.include({ exit_reason: 'access_lost', ended_at: after(5).toISOString() });
    expect(supposed.looks.map(({ because, decision }) => `${because} ${decision}`)).to.deep.equal([
      'entered act',
      'access exit',
    ]);
    const loss = await tryOut(automationId, studentId, [
      { kind: 'access_revoked', delivery_id: deliveryId, at: after(2).toISOString() },
    ]);
    expect(loss).to.include({ exit_reason: 'access_lost', ended_at: after(2).toISOString() });
    const other = await buildAccessDelivery(club.id);
    const elsewhere = await tryOut(automationId, studentId, [], { about: { kind: 'delivery', id: other.id } });
    expect(elsewhere, 'the student had no access to the delivery of the run, so the student lost no access').to.include(
      { status: 'completed' },
    );
  });

  it('lists each evaluation with its cause, rule results and decision', async () => {
    const [tag, doneTag] = [await buildTag(club.id), await buildTag(club.id)];
    const has = (one: Id) => ({ kind: 'has_tag' as const, negate: false, tag_ids: [one] });
    const definition: Partial<Definition> = {
      exit_when: { match: 'all', rules: [has(doneTag)] },
      steps: [
        {
          id: 'until',
          kind: 'wait',
          wait: { kind: 'until_condition', days: 3 },
          condition: { match: 'any', rules: [{ kind: 'has_purchased', negate: false }, has(tag)] },
          then: [{ id: 'tag', kind: 'add_tag', tag_id: doneTag }],
        },
        { id: 'never', kind: 'award_points', points: 1 },
      ],
    };
    const automationId = await buildAutomation(club.id, definition, start);
    const { id: studentId } = await buildStudent(club.id);
    const facts: Fact[] = [{ kind: 'student_tagged', tag_id: tag, at: after(1).toISOString() }];
    expect(await tryOut(automationId, studentId, facts, { version: undefined as never })).to.deep.equal({
      entry: 'entered',
      status: 'exited',
      exit_reason: 'exit_when',
      step_id: 'never',
      entered_at: start.toISOString(),
      ended_at: after(1).toISOString(),
      path: [
        {
          step_id: 'until',
          kind: 'wait',
          entered_at: start.toISOString(),
          waits_until: after(3).toISOString(),
          left_at: after(1).toISOString(),
          outcome: 'then',
          answers: [false, true],
        },
        {
          step_id: 'tag',
          kind: 'add_tag',
          entered_at: after(1).toISOString(),
          left_at: after(1).toISOString(),
          outcome: 'tagged',
        },
      ],
      looks: [
        {
          at: start.toISOString(),
          step_id: 'until',
          because: 'entered',
          exit_answers: [false],
          answers: [false, false],
          decision: 'wait',
        },
        {
          at: after(1).toISOString(),
          step_id: 'until',
          because: 'fact',
          exit_answers: [false],
          answers: [false, true],
          decision: 'pass',
        },
        { at: after(1).toISOString(), step_id: 'tag', because: 'arrived', exit_answers: [false], decision: 'act' },
        { at: after(1).toISOString(), step_id: 'never', because: 'arrived', exit_answers: [true], decision: 'exit' },
      ],
    });
  });

  it('writes nothing: no run, tag, fact, wake or e-mail', async () => {
    const tag = await buildTag(club.id);
    const steps: Step[] = [
      { id: 'tag', kind: 'add_tag', tag_id: tag },
      { id: 'points', kind: 'award_points', points: 9 },
      { id: 'mail', kind: 'send_email', email },
      { id: 'wait', kind: 'wait', wait: { kind: 'until_time', amount: 540, unit: 'minutes' } },
      { id: 'untag', kind: 'remove_tag', tag_id: tag },
    ];
    const automationId = await buildAutomation(club.id, { steps }, start);
    const { id: studentId, email: address } = await buildStudent(club.id);
    const before = await rowCounts();
    const outcomes = async () =>
      (await tryOut(automationId, studentId)).path.map(({ step_id: id, outcome }) => `${id} ${outcome}`);
    const expectedOutcomes = ['tag tagged', 'points awarded', 'mail sent', 'wait time_over', 'untag untagged'];
    expect(await outcomes()).to.deep.equal(expectedOutcomes);
    expect(await rowCounts()).to.deep.equal(before);
    await addSuppression(deps, club.id, address, start);
    expect(await outcomes()).to.deep.equal(expectedOutcomes.with(2, 'mail suppressed'));
  });

  it('reports whether `reentry` would admit the student, and continues in any case', async () => {
    const automationId = await buildAutomation(
      club.id,
      { reentry: 'once', steps: [{ id: 'points', kind: 'award_points', points: 1 }] },
      start,
    );
    const { id: studentId } = await buildStudent(club.id);
    expect(await tryOut(automationId, studentId)).to.include({ entry: 'entered', status: 'completed', version: 1 });
    await play.enroll(automationId, studentId);
    expect(await tryOut(automationId, studentId)).to.include({ entry: 'not_again', status: 'completed' });
  });

  it('fails like a run at a step of an unknown kind', async () => {
    const automationId = await buildAutomation(
      club.id,
      { steps: [{ id: 'future', kind: 'award_points', points: 1 }] },
      start,
    );
    const { id: studentId } = await buildStudent(club.id);
    const [version] = await deps.db.rows<{ definition: unknown }>(sql`
      UPDATE automation_versions SET definition = jsonb_set(definition, '{steps,0,kind}', '"teleport"') WHERE automation_id = ${automationId} RETURNING definition`);
    expect(version).not.to.equal(undefined);
    expect(await tryOut(automationId, studentId)).to.deep.include({
      status: 'failed',
      error_code: 'unknown_step_kind',
      step_id: 'future',
    });
    const late = await buildAutomation(club.id, { steps: [{ id: 'a', kind: 'award_points', points: 1 }] }, start);
    await deps.db.run(sql`UPDATE automation_versions SET language = 2 WHERE automation_id = ${late}`);
    expect(await tryOut(late, studentId)).to.deep.include({
      status: 'failed',
      error_code: 'unknown_language',
      looks: [],
    });
  });

  it('stops after 500 evaluations', async () => {
    const { id: deliveryId } = await buildAccessDelivery(club.id);
    const { id: studentId } = await buildStudent(club.id);
    await buildEnrollment(club.id, { studentId, deliveryId, startsAt: start });
    const ends = Array.from({ length: 100 }, () => buildAccessDelivery(club.id));
    const deliveries = await Promise.all(ends);
    const facts = deliveries.map(({ id }, place): Fact => ({
      kind: 'access_granted',
      delivery_id: id,
      at: after(place / 100).toISOString(),
      ends_at: after(2 + place / 100).toISOString(),
    }));
    const waits = Array.from({ length: 199 }, (_, place): Step => ({
      id: `wait ${place}`,
      kind: 'wait',
      wait: { kind: 'until_condition', days: 1 },
      condition: { match: 'all', rules: [{ kind: 'has_access', negate: true, delivery_ids: [deliveryId] }] },
    }));
    const automationId = await buildAutomation(club.id, { steps: waits }, start);
    const { status, looks, ...rest } = await tryOut(automationId, studentId, facts);
    expect([status, looks.length, 'ended_at' in rest]).to.deep.equal(['active', 500, false]);
  });
});
