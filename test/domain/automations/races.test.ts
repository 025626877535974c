/** Tests two concurrent transactions on one automation (AUTO-9, AUTO-10, AUTO-17, AUTO-18). */
import { expect } from 'chai';
import { deleteCohort } from '../../../domain/access/enrollments/cohorts.ts';
import { createAutomation, updateAutomation } from '../../../domain/automations/versions/drafts.ts';
import type { Definition, Step, Trigger } from '../../../domain/automations/versions/definition.policy.ts';
import { enrollByFacts } from '../../../domain/automations/entering/by-facts.ts';
import { publishAutomation } from '../../../domain/automations/versions/publishing.ts';
import { listRuns } from '../../../domain/automations/runs.ts';
import { takeStep } from '../../../domain/automations/running/run-step.ts';
import { archiveAutomation, pauseAutomation } from '../../../domain/automations/states.ts';
import { removeLesson } from '../../../domain/learning/courses/lessons.ts';
import { deleteLevel } from '../../../domain/learning/engagement/levels.ts';
import { deleteTag } from '../../../domain/learning/engagement/tags.ts';
import { openingToken } from '../../../domain/mail/tracking/tokens.ts';
import { recordOpening } from '../../../domain/mail/tracking/visits.ts';
import { deleteProduct } from '../../../domain/sales/purchases/products.ts';
import { removeStudent } from '../../../domain/students/students.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { raw, sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import { sqlStateOf } from '../../../platform/infra/postgres/errors.ts';
import { factRecordsOf } from '../../toolkit/assert/facts.ts';
import { buildAutomation, buildTag, email } from '../../toolkit/builders/automations.ts';
import { buildClub, buildStudent, type TestClub, type TestStudent } from '../../toolkit/builders/clubs.ts';
import { buildCohort, buildCourse, buildLesson } from '../../toolkit/builders/courses.ts';
import { buildProduct } from '../../toolkit/builders/sales.ts';
import { playAutomations, type AutomationPlay } from '../../toolkit/drive/automations.ts';
import { inThisOrder } from '../../toolkit/drive/races.ts';
import { testDeps } from '../../toolkit/stack/database.ts';

const start = new Date('2026-03-02T12:00:00Z');
const minute = 60_000;

async function outcomeOf<T>(work: Promise<T>): Promise<T | string> {
  return work.catch((error: unknown) => {
    if (error instanceof DomainError) return error.code;
    throw error;
  });
}

describe('an automation with concurrent changes', () => {
  let deps: Awaited<ReturnType<typeof testDeps>>;
  let club: TestClub;
  let ada: TestStudent;
  let tag: Id;
  let play: AutomationPlay;
  before(async () => {
    deps = await testDeps();
  });
  beforeEach(async () => {
    club = await buildClub();
    ada = await buildStudent(club.id);
    tag = await buildTag(club.id);
    play = await playAutomations(club.id, start);
  });
  const wait: Step = { id: 'wait', kind: 'wait', wait: { kind: 'delay', amount: 10, unit: 'minutes' } };
  const onTag = (parts: Partial<Definition> = {}) =>
    buildAutomation(club.id, { trigger: { kind: 'student_tagged', tag_ids: [tag] }, steps: [wait], ...parts }, start);
  const fact = () => ({
    id: newId(),
    clubId: club.id,
    type: 'student.tagged' as const,
    studentId: ada.id,
    subjectId: tag,
    details: null,
    occurredAt: start,
    priority: 1 as const,
  });
  const tell = (factToSend = fact()) => enrollByFacts(deps.db, [factToSend], start);
  const entered = async (automationId: Id) =>
    (await listRuns(deps.db, club.id, automationId, { page: 1, page_size: 5 })).total;
  const studentRow = () => sql`SELECT FROM students WHERE id = ${ada.id} FOR NO KEY UPDATE`;
  const automationRow = (id: Id) => sql`SELECT FROM automations WHERE id = ${id} FOR UPDATE`;
  const publishing = { images: undefined as never };
  const publish = (id: Id) => publishAutomation({ ...deps, ...publishing }, club.id, id, '*', start);
  const draft = async (parts: Partial<Definition>) => {
    const definition = {
      trigger: { kind: 'manual' } as Trigger,
      reentry: 'always',
      exit_on_access_lost: false,
      steps: [wait],
      ...parts,
    };
    return (await createAutomation(deps, club.id, { name: 'A', draft: definition as never }, start)).record.id;
  };

  for (const reentry of ['once', 'after_exit'] as const)
    it(`starts one run for the first of two concurrent facts if reentry is ${reentry}`, async () => {
      const automationId = await onTag({ reentry });
      const [one, other] = [fact(), fact()];
      await inThisOrder(
        studentRow(),
        () => tell(one),
        () => tell(other),
      );
      const runs = await deps.db.rows(
        sql`SELECT cause_id AS cause FROM automation_runs WHERE automation_id = ${automationId}`,
      );
      expect(runs).to.deep.equal([{ cause: one.id }]);
    });

  it('admits a student to the old version before a publication, and to the new version after it', async () => {
    const automationId = await onTag({ steps: [{ id: 'old', kind: 'exit' }] });
    const next = { steps: [{ id: 'new', kind: 'exit' as const }] };
    const trigger = { kind: 'student_tagged', tag_ids: [tag] };
    const definition = { trigger, reentry: 'always', exit_on_access_lost: false, ...next };
    await updateAutomation(deps, club.id, automationId, { draft: definition as never }, '*', start);
    await inThisOrder(
      automationRow(automationId),
      () => tell(),
      () => publish(automationId),
    );
    await tell();
    const runs = await deps.db.rows(sql`SELECT version.number, run.cursor FROM automation_runs run
      JOIN automation_versions version ON version.id = run.version_id WHERE run.automation_id = ${automationId} ORDER BY 1`);
    expect(runs).to.deep.equal([
      { number: 1, cursor: 'old' },
      { number: 2, cursor: 'new' },
    ]);
  });

  it('admits a student to the new version if the admission waited for the publication', async () => {
    const automationId = await onTag({ steps: [{ id: 'old', kind: 'exit' }] });
    const trigger = { kind: 'student_tagged', tag_ids: [tag] };
    const definition = { trigger, reentry: 'always', exit_on_access_lost: false, steps: [{ id: 'new', kind: 'exit' }] };
    await updateAutomation(deps, club.id, automationId, { draft: definition as never }, '*', start);
    await inThisOrder(
      automationRow(automationId),
      () => publish(automationId),
      () => tell(),
    );
    const found = await deps.db.rows(sql`SELECT cursor FROM automation_runs WHERE automation_id = ${automationId}`);
    expect(found).to.deep.equal([{ cursor: 'new' }]);
  });

  it('numbers versions without gaps if several publications run at the same time', async () => {
    const automationId = await draft({});
    for (let round = 1; round <= 3; round++) {
      const steps = [{ ...wait, note: `round ${round}` }];
      const definition = { trigger: { kind: 'manual' }, reentry: 'always', exit_on_access_lost: false, steps };
      await updateAutomation(deps, club.id, automationId, { draft: definition as never }, '*', start);
      const answers = await inThisOrder(
        automationRow(automationId),
        ...Array.from({ length: 3 }, () => () => outcomeOf(publish(automationId))),
      );
      expect(answers.filter((answer) => answer === 'nothing_to_publish')).to.have.length(2);
    }
    const numbers = await deps.db.rows<{ number: number }>(
      sql`SELECT number FROM automation_versions WHERE automation_id = ${automationId} ORDER BY number`,
    );
    expect(numbers.map(({ number }) => number)).to.deep.equal([1, 2, 3]);
  });

  for (const [state, change, status] of [
    ['pause', pauseAutomation, 'active'],
    ['archive', archiveAutomation, 'exited'],
  ] as const) {
    const begin = async () => {
      const steps: Step[] = [{ id: 'tag', kind: 'add_tag', tag_id: tag }, wait];
      const automationId = await buildAutomation(club.id, { steps }, start);
      return { automationId, runId: await play.enroll(automationId, ada.id) };
    };
    const found = async (runId: Id) => {
      const run = await deps.db.one(sql`SELECT status, cursor FROM automation_runs WHERE id = ${runId}`);
      const factTypes = (await factRecordsOf(club.id)).map(({ type }) => type);
      return { ...(run as { status: string; cursor: string }), factTypes };
    };

    it(`does not execute a step after \`${state}\``, async () => {
      const { automationId, runId } = await begin();
      await inThisOrder(
        automationRow(automationId),
        () => change(deps, club.id, automationId, start),
        () => takeStep(play.deps, runId, start.getTime()),
      );
      expect(await found(runId)).to.deep.equal({ status, cursor: 'tag', factTypes: [] });
    });

    it(`executes a step before \`${state}\`, and then stops at the next step`, async () => {
      const { automationId, runId } = await begin();
      await inThisOrder(
        automationRow(automationId),
        () => takeStep(play.deps, runId, start.getTime()),
        () => change(deps, club.id, automationId, start),
      );
      expect(await found(runId)).to.deep.equal({ status: 'active', cursor: 'wait', factTypes: ['student.tagged'] });
      await play.settle();
      expect(await found(runId)).to.include({ status, cursor: 'wait' });
    });

    it(`admits a student before \`${state}\`, and no student after it`, async () => {
      const automationId = await onTag();
      await inThisOrder(
        automationRow(automationId),
        () => tell(),
        () => change(deps, club.id, automationId, start),
      );
      expect(await entered(automationId)).to.equal(1);
      const second = await onTag();
      await inThisOrder(
        automationRow(second),
        () => change(deps, club.id, second, start),
        () => tell(),
      );
      expect(await entered(second)).to.equal(0);
    });
  }

  it('has no partial effect on a student who is removed', async () => {
    const steps: Step[] = [
      { id: 'points', kind: 'award_points', points: 5 },
      { id: 'tag', kind: 'add_tag', tag_id: tag },
    ];
    const automationId = await buildAutomation(club.id, { steps }, start);
    for (const isFirst of [true, false]) {
      ada = await buildStudent(club.id);
      const runId = await play.enroll(automationId, ada.id);
      const step = () => takeStep(play.deps, runId, start.getTime());
      const removal = () => removeStudent(deps, club.id, ada.id, start);
      await inThisOrder(studentRow(), ...(isFirst ? [removal, step] : [step, removal]));
      await play.settle();
      const remainder = await deps.db.one(sql`SELECT
        (SELECT exit_reason FROM automation_runs WHERE id = ${runId}) AS reason,
        (SELECT count(*)::int FROM automation_run_steps WHERE run_id = ${runId}) AS path,
        (SELECT count(*)::int FROM student_tags WHERE student_id = ${ada.id}) AS tags`);
      expect(remainder).to.deep.equal({ reason: 'student_removed', path: 0, tags: 0 });
    }
  });

  it('applies a step once if two workers execute it at the same time', async () => {
    const steps: Step[] = [{ id: 'points', kind: 'award_points', points: 5 }, wait];
    const automationId = await buildAutomation(club.id, { steps }, start);
    const runId = await play.enroll(automationId, ada.id);
    const step = () => takeStep(play.deps, runId, start.getTime());
    await inThisOrder(studentRow(), step, step, step);
    const [student] = await deps.db.rows(sql`SELECT points::int FROM students WHERE id = ${ada.id}`);
    expect(student).to.deep.equal({ points: 5 });
    expect(await play.story(automationId, runId)).to.equal('active: points awarded, wait …');
  });

  it('sends an e-mail once if two workers reach its step at the same time', async () => {
    const automationId = await buildAutomation(club.id, { steps: [{ id: 'mail', kind: 'send_email', email }] }, start);
    const runId = await play.enroll(automationId, ada.id);
    const step = () => takeStep(play.deps, runId, start.getTime());
    await inThisOrder(studentRow(), step, step, step);
    await play.settle();
    expect(play.given).to.have.length(1);
    expect(await play.story(automationId, runId)).to.equal('completed: mail sent');
  });

  it('does not deadlock if a person opens an e-mail while the run executes a step', async () => {
    const automationId = await buildAutomation(club.id, { steps: [{ id: 'mail', kind: 'send_email', email }] }, start);
    const runId = await play.enroll(automationId, ada.id);
    play.answer = () => ({ kind: 'refused', permanent: false, reply: '451 later' });
    await play.settle();
    play.answer = () => ({ kind: 'accepted', reply: '250 ok' });
    const [mail] = await deps.db.rows<{ id: Id }>(sql`SELECT id FROM mails WHERE run_id = ${runId}`);
    const visit = {
      method: 'GET',
      header: (name: string) => (name === 'user-agent' ? 'Mozilla/5.0 (X11) Firefox' : ''),
    };
    const { source } = deps.db;
    const transaction = source.transaction;
    const circles: unknown[] = [];
    source.transaction = (async (...work: Parameters<typeof transaction>) =>
      transaction.apply(source, work).catch((error: unknown) => {
        if (sqlStateOf(error) === '40P01') circles.push(error);
        throw error;
      })) as typeof transaction;
    try {
      await inThisOrder(
        sql`SELECT FROM automation_runs WHERE id = ${runId} FOR UPDATE`,
        () => takeStep(play.deps, runId, start.getTime() + 30 * minute),
        () => recordOpening(deps, openingToken(deps.vault, mail?.id ?? ''), visit, start),
      );
    } finally {
      source.transaction = transaction;
    }
    expect(circles).to.deep.equal([]);
    await play.pass(60 * minute);
    expect(await play.story(automationId, runId)).to.equal('completed: mail sent');
  });

  describe('a publication during the deletion of a record in the draft', () => {
    interface Named {
      id: Id;
      table: string;
      parts: Partial<Definition>;
      remove: () => Promise<unknown>;
    }
    const condition = (rule: object): Partial<Definition> => ({
      exit_when: { match: 'all', rules: [{ negate: false, ...rule } as never] },
    });
    const named: Readonly<Record<string, () => Promise<Named>>> = {
      tag: async () => ({
        id: tag,
        table: 'tags',
        parts: { steps: [{ id: 'tag', kind: 'remove_tag', tag_id: tag }] },
        remove: () => deleteTag(deps, club.id, tag, start),
      }),
      level: async () => {
        const id = newId();
        await deps.db.run(
          sql`INSERT INTO levels (id, club_id, name, points, created_at) VALUES (${id}, ${club.id}, 'Bosun', 10, ${start})`,
        );
        const parts: Partial<Definition> = { trigger: { kind: 'student_level_reached', level_ids: [id] } };
        return { id, table: 'levels', parts, remove: () => deleteLevel(deps, club.id, id, start) };
      },
      product: async () => {
        const { id } = await buildProduct(club.id);
        const parts = condition({ kind: 'has_purchased', product_ids: [id] });
        return { id, table: 'products', parts, remove: () => deleteProduct(deps, club.id, id) };
      },
      cohort: async () => {
        const course = await buildCourse(club.id);
        const { id } = await buildCohort(club.id, course.id);
        const parts = condition({ kind: 'has_access', cohort_ids: [id] });
        return { id, table: 'cohorts', parts, remove: () => deleteCohort(deps, club.id, id) };
      },
      lesson: async () => {
        const course = await buildCourse(club.id);
        const { id } = await buildLesson(course);
        const parts = condition({ kind: 'lesson_completed', lesson_id: id });
        return { id, table: 'lessons', parts, remove: () => removeLesson(deps, club.id, id, start) };
      },
    };
    const lockOf = ({ table, id }: Named): Sql => sql`SELECT FROM ${raw(table)} WHERE id = ${id} FOR UPDATE`;

    for (const [what, build] of Object.entries(named)) {
      it(`keeps the ${what} in use until the automation is archived`, async () => {
        const one = await build();
        const automationId = await draft(one.parts);
        const [published, removed] = await inThisOrder(
          lockOf(one),
          () => outcomeOf(publish(automationId)),
          () => outcomeOf(one.remove()),
        );
        expect([typeof published, removed]).to.deep.equal(['object', 'in_use']);
        await archiveAutomation(deps, club.id, automationId, start);
        expect(await outcomeOf(one.remove())).not.to.equal('in_use');
      });

      it(`is refused if the ${what} is deleted first`, async () => {
        const one = await build();
        const automationId = await draft(one.parts);
        const [removed, published] = await inThisOrder(
          lockOf(one),
          () => outcomeOf(one.remove()),
          () => outcomeOf(publish(automationId)),
        );
        expect([removed === 'in_use', published]).to.deep.equal([false, 'invalid_definition']);
        const versions = await deps.db.rows(sql`SELECT FROM automation_versions WHERE automation_id = ${automationId}`);
        expect(versions).to.deep.equal([]);
      });
    }

    it('keeps a tag in use until the last run of the old version ends', async () => {
      const steps: Step[] = [wait, { id: 'tag', kind: 'add_tag', tag_id: tag }];
      const automationId = await buildAutomation(club.id, { steps }, start);
      const runId = await play.enroll(automationId, ada.id);
      const definition = { trigger: { kind: 'manual' }, reentry: 'always', exit_on_access_lost: false, steps: [wait] };
      await updateAutomation(deps, club.id, automationId, { draft: definition as never }, '*', start);
      await publish(automationId);
      expect(await outcomeOf(deleteTag(deps, club.id, tag, start))).to.equal('in_use');
      await deps.db.run(
        sql`UPDATE automation_runs SET status = 'failed', error_code = 'fault', ended_at = ${start}, looks_at = NULL WHERE id = ${runId}`,
      );
      expect(await outcomeOf(deleteTag(deps, club.id, tag, start))).to.equal(undefined);
    });
  });

  it('keeps a tag in use while a step adds the tag, and the step succeeds', async () => {
    const steps: Step[] = [{ id: 'tag', kind: 'add_tag', tag_id: tag }];
    const automationId = await buildAutomation(club.id, { steps }, start);
    const runId = await play.enroll(automationId, ada.id);
    const [removed] = await inThisOrder(
      sql`SELECT FROM tags WHERE id = ${tag} FOR UPDATE`,
      () => outcomeOf(deleteTag(deps, club.id, tag, start)),
      () => takeStep(play.deps, runId, start.getTime()),
    );
    expect(removed).to.equal('in_use');
    expect(await play.story(automationId, runId)).to.equal('completed: tag tagged');
  });
});
