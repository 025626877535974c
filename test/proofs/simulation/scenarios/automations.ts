/**
 * The scenario of automations and their gates: students enter and leave, versions replace each other, administrators pause automations, and
 * a mail server has faults.
 */
import { v5 } from 'uuid';
import {
  firstOf,
  placedSteps,
  type Definition,
  type PlacedStep,
} from '../../../../domain/automations/versions/definition.policy.ts';
import { createAutomation, updateAutomation } from '../../../../domain/automations/versions/drafts.ts';
import { enrollByHand } from '../../../../domain/automations/entering/by-hand.ts';
import { publishAutomation } from '../../../../domain/automations/versions/publishing.ts';
import { settleLeftMails } from '../../../../domain/automations/running/left-mails.ts';
import { exitRun, readCounts, resumeRun } from '../../../../domain/automations/runs.ts';
import { archiveAutomation, pauseAutomation, resumeAutomation } from '../../../../domain/automations/states.ts';
import { countRuns } from '../../../../domain/automations/tallies.ts';
import { createTag } from '../../../../domain/learning/engagement/tags.ts';
import { tagStudent, untagStudent } from '../../../../domain/learning/engagement/tagging.ts';
import { setSender } from '../../../../domain/mail/sending/sender.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import type { Simulation } from '../simulation.ts';
import { beginning, mustHold, type Command, type Stage } from '../stage.ts';
import { addClub, addStudents, type Footing } from './ground.ts';
import { anyAddress, loadCompiler, MailServer, recipients, type BulkMail } from './mail-server.ts';

const email = { subject: 'News', blocks: [{ kind: 'heading' as const, text: 'Ahoy' }] };
const mostRuns = 6;
const mostVersions = 3;
/** The limit of mails on the first day of the club; the next day has no limit. */
const firstDay = 5;
const dayMs = 86_400_000;

/** The names of the steps and the points differ between versions. */
function versionOf(number: number, { conditionTag, givenTag }: { conditionTag: Id; givenTag: Id }): Definition {
  const of = (name: string) => `${name}${number}`;
  const condition = {
    match: 'all' as const,
    rules: [{ kind: 'has_tag' as const, negate: false, tag_ids: [conditionTag] }],
  };
  return {
    trigger: { kind: 'manual' },
    reentry: 'always',
    exit_on_access_lost: false,
    steps: [
      { id: of('points'), kind: 'award_points', points: number },
      { id: of('mail'), kind: 'send_email', email },
      { id: of('wait'), kind: 'wait', wait: { kind: 'delay', amount: 5, unit: 'minutes' } },
      {
        id: of('asks'),
        kind: 'condition',
        condition,
        then: [{ id: of('more'), kind: 'award_points', points: 10 * number }],
        else: [
          { id: of('watches'), kind: 'wait', wait: { kind: 'until_condition', days: 1 }, condition },
          { id: of('second'), kind: 'send_email', email },
        ],
      },
      { id: of('tag'), kind: 'add_tag', tag_id: givenTag },
      { id: of('last'), kind: 'award_points', points: 100 * number },
    ],
  };
}

const echoOf = (tagId: Id): Definition => ({
  trigger: { kind: 'student_tagged', tag_ids: [tagId] },
  reentry: 'always',
  exit_on_access_lost: false,
  steps: [{ id: 'echo', kind: 'award_points', points: 7_000 }],
});

interface RunRow {
  id: Id;
  automationId: Id;
  causeId: Id;
  studentId: Id;
  versionId: Id;
  status: string;
  reason: string | null;
  code: string | null;
  cursor: string | null;
  parked: boolean;
}

interface PathRow {
  runId: Id;
  versionId: Id;
  stepId: string;
  left: boolean;
  outcome: string | null;
  answers: boolean[] | null;
}

export async function automations(sim: Simulation, ground: Footing): Promise<Stage> {
  const { vault } = ground;
  await loadCompiler();
  const clubId = await addClub(sim, ground);
  const students = await addStudents(sim, ground, clubId, 3);
  const now = () => new Date(sim.time.now);
  const deps = { db: sim.db, vault };
  await setSender(deps, clubId, { from_name: 'Knots', postal_address: 'Quay 1', mails_per_minute: 30 }, now());
  const tags = {
    conditionTag: (await createTag(deps, clubId, { name: 'Asked' }, now())).id,
    givenTag: (await createTag(deps, clubId, { name: 'Given' }, now())).id,
  };
  const published = {
    publicUrl: 'https://api.example.com',
    ...deps,
    images: { storage: { read: noStore }, publicStorage: { put: noStore }, publicFilesUrl: '' },
  };
  const begin = async (name: string, definition: Definition): Promise<Id> => {
    const { record } = await createAutomation(deps, clubId, { name, draft: definition as never }, now());
    await publishAutomation(published, clubId, record.id, '*', now());
    return record.id;
  };
  const automationId = await begin('Welcome', versionOf(1, tags));
  const echoId = await begin('Echo', echoOf(tags.givenTag));
  const server = new MailServer(sim);
  const people = recipients(sim, ground, { server, clubId, kind: 'automations' });
  const [first = ''] = students;
  const causes = [newId()];
  /** Entries that the API confirmed to an administrator, by student and cause. */
  const entered = new Set<string>();
  let versions = 1;

  const mailsOf = {
    mails: 'run_id IN (SELECT id FROM automation_runs WHERE automation_id = $1)',
    of: automationId,
    to: anyAddress,
  };
  await enroll(first, causes[0] ?? '').run();
  const resume: Command = {
    label: 'resume the automation',
    async run() {
      try {
        await resumeAutomation(deps, clubId, automationId, now());
      } finally {
        server.allow('paused'); // runs even if the commit succeeded and only its answer was lost
      }
    },
  };

  function enroll(studentId: Id, cause: Id): Command {
    return {
      label: `${studentId} enters by ${cause}`,
      async run() {
        if (!causes.includes(cause)) causes.push(cause);
        const enrollment = { id: cause, student_ids: [studentId] };
        const { results } = await enrollByHand(deps, clubId, automationId, enrollment, now());
        if (results[0]?.result.startsWith('entered') === true) entered.add(`${studentId} by ${cause}`);
      },
    };
  }

  function withRun(label: string, lot: number, run: (id: Id, studentId: Id) => Promise<unknown>): Command {
    return {
      label,
      async run() {
        const mailId = lot % 4 === 0 ? undefined : await server.somethingUnderWay();
        const rows = await sim.postgres.ask<{ id: Id; studentId: Id; sends: boolean }>(
          `SELECT run.id, run.student_id AS "studentId", mail.id IS NOT NULL AS sends
             FROM automation_runs run LEFT JOIN mails mail ON mail.run_id = run.id AND mail.id = $1 ORDER BY run.id`,
          [mailId],
        );
        const row = rows.find(({ sends }) => sends) ?? rows[lot % Math.max(1, rows.length)];
        if (row) await run(row.id, row.studentId);
      },
    };
  }

  return {
    types: ['automationRun', 'automationGate'],
    horizonMs: 4 * dayMs,
    depsFor: (db) => ({
      automations: {
        db,
        vault,
        smtp: server.connect(),
        fromAddress: 'news@platform.test',
        marks: { providers: [], returnAddress: undefined },
        warmUps: { clubs: [firstDay], domains: [] },
        publicUrl: 'https://api.test',
        onMail: () => {},
        onStep: () => {},
        failpoint: () => Promise.resolve(),
      },
    }),
    command(decisions) {
      const which = decisions.choose(20);
      const studentId = decisions.pick(students);
      if (which < 5) return enroll(studentId, causes.length < mostRuns ? newId() : decisions.pick(causes));
      if (which < 9) return server.someMood(decisions);
      if (which < 11) return people.command(decisions, studentId);
      if (which === 11)
        return withRun('remove a student with a run', decisions.choose(40), async (_, id) => people.remove(id).run());
      if (which === 12)
        return {
          label: 'pause the automation',
          async run() {
            await pauseAutomation(deps, clubId, automationId, now());
            await server.forbid('paused', 'its automation is paused', mailsOf);
          },
        };
      if (which === 13) return resume;
      if (which === 14 && decisions.happens(2)) {
        return {
          label: 'archive the automation',
          async run() {
            await archiveAutomation(deps, clubId, automationId, now());
            await server.forbid('archived', 'its automation is archived', mailsOf);
          },
        };
      }
      if (which === 15)
        return withRun('end a run', decisions.choose(40), async (id) => {
          await exitRun(deps, clubId, automationId, id, now());
          await server.forbid(`ended ${id}`, 'an administrator ended the run', { mails: 'run_id = $1', of: id });
        });
      if (which === 16)
        return withRun('resume a run', decisions.choose(40), (id) => resumeRun(deps, clubId, automationId, id, now()));
      if (which === 17) {
        if (versions >= mostVersions) return server.turn('accepts');
        const number = ++versions;
        return {
          label: `publish version ${number}`,
          async run() {
            await updateAutomation(deps, clubId, automationId, { draft: versionOf(number, tags) as never }, '*', now());
            await publishAutomation(published, clubId, automationId, '*', now());
          },
        };
      }
      const tagging = { clubId, studentId, tagId: tags.conditionTag };
      if (which === 18) return { label: `tag ${studentId}`, run: () => tagStudent(deps, tagging, now()) };
      return { label: `untag ${studentId}`, run: () => untagStudent(deps, tagging, now()) };
    },
    calm: () => [server.turn('accepts'), resume],
    atRest: async () => server.expectNothingBroken(),
    async atEnd() {
      server.expectNothingBroken();
      await sim.postgres.setClock(sim.time.now + 2 * 60_000); // after this time, no mail has a lease any more
      await settleLeftMails(sim.db); // in a running service, the daily retention makes this call
      const mails = await server.expectStories(() => 0);
      server.expectNoOthers(new Set());
      const removedRows = await sim.postgres.ask<{ id: Id }>('SELECT id FROM students WHERE removed_at IS NOT NULL');
      const removed = new Set(removedRows.map(({ id }) => id));
      const runs = await expectRuns(mails, removed);
      for (const id of [automationId, echoId]) await expectSums(id, runs, mails, removed);
      expectPace();
      await people.expectNoTraces();
      await people.expectReported();
    },
  };

  async function expectRuns(mails: readonly BulkMail[], removed: ReadonlySet<Id>): Promise<RunRow[]> {
    const runs = await sim.postgres.ask<RunRow>(
      `SELECT id, automation_id AS "automationId", cause_id AS "causeId", student_id AS "studentId", version_id AS "versionId", status, exit_reason AS reason, error_code AS code, cursor, parked_at IS NOT NULL AS parked FROM automation_runs ORDER BY id`,
    );
    const path = await sim.postgres.ask<PathRow>(
      `SELECT run_id AS "runId", version_id AS "versionId", step_id AS "stepId", left_at IS NOT NULL AS left, outcome, answers FROM automation_run_steps`,
    );
    const definitions = await sim.postgres.ask<{ id: Id; definition: Definition }>(
      'SELECT id, definition FROM automation_versions',
    );
    const automationRows = await sim.postgres.ask<{ id: Id; status: string }>('SELECT id, status FROM automations');
    const statusOf = new Map(automationRows.map(({ id, status }) => [id, status]));
    const stepsOf = new Map(
      definitions.map(({ id, definition }) => [
        id,
        new Map(placedSteps(definition).map((placed) => [placed.step.id, placed])),
      ]),
    );
    for (const run of runs) {
      const about = (what: string) => () =>
        `run ${run.id} (${run.status} ${run.reason ?? run.code ?? ''} at ${run.cursor ?? 'its end'}): ${what}`;
      const status = statusOf.get(run.automationId);
      mustHold(
        run.status !== 'active' || (status === 'paused' && run.parked),
        'all work ends',
        about(`its automation is ${status}`),
      );
      mustHold(run.status !== 'failed', 'no run of an automation fails', about('it failed'));
      const ofRun = path.filter(({ runId }) => runId === run.id);
      const ofMails = mails.filter(({ runId }) => runId === run.id);
      mustHold(
        run.status === 'active' || ofMails.every((mail) => mail.status !== 'pending'),
        'all work ends',
        about('it has an e-mail that waits'),
      );
      if (removed.has(run.studentId))
        mustHold(ofRun.length === 0, 'no data of removed students remain', about(`its path: ${JSON.stringify(ofRun)}`));
      else expectStory(run, ofRun, stepsOf.get(run.versionId) ?? new Map(), ofMails, about);
    }
    expectEntries(runs, path);
    await expectTags(runs, path);
    await expectPoints(runs, path, stepsOf, removed);
    return runs;
  }

  /** Expects one run for each cause that let a student enter, and one run for each fact. */
  function expectEntries(runs: readonly RunRow[], path: readonly PathRow[]): void {
    const byHand = runs.filter((run) => run.automationId === automationId);
    const keys = byHand.map(({ studentId, causeId }) => `${studentId} by ${causeId}`);
    mustHold(new Set(keys).size === keys.length, 'no effect happens twice', () => `entered twice: ${keys.join(', ')}`);
    for (const key of entered)
      mustHold(keys.includes(key), 'a recorded effect has happened', () => `${key} has no run`);
    const tagged = new Set(path.filter(({ outcome }) => outcome === 'tagged').map(({ runId }) => runId));
    const ofStudent = Map.groupBy(runs, ({ studentId }) => studentId);
    for (const [studentId, own] of ofStudent) {
      const tagCount = own.filter(({ id }) => tagged.has(id)).length;
      const echoes = own.filter((run) => run.automationId === echoId).length;
      mustHold(
        tagCount === 0 || echoes === tagCount,
        'each fact starts one run',
        () => `${studentId} was tagged ${tagCount} times and entered ${echoes} times`,
      );
    }
  }

  async function expectTags(runs: readonly RunRow[], path: readonly PathRow[]): Promise<void> {
    const has = await sim.postgres.ask<{ studentId: Id }>(
      `SELECT student_id AS "studentId" FROM student_tags WHERE tag_id = $1`,
      [tags.givenTag],
    );
    const tagged = new Set(has.map(({ studentId }) => studentId));
    const taggingRuns = new Set(
      path.filter(({ outcome }) => outcome?.startsWith('tagged') === true).map(({ runId }) => runId),
    );
    for (const { id, studentId } of runs)
      mustHold(
        !taggingRuns.has(id) || tagged.has(studentId),
        'each recorded path is true',
        () => `run ${id} tagged no student`,
      );
  }

  /** Checks the daily limit of mails (CAMP-41). A process with a wrong clock may end its day a little later. */
  function expectPace(): void {
    if (sim.slow) return;
    const midnight = Math.ceil(beginning / dayMs) * dayMs;
    const sentCount = server.log.filter(({ at }) => at < midnight).length;
    mustHold(
      sentCount <= firstDay,
      'a club sends no more in a day than it may',
      () => `${sentCount} mails on the first day`,
    );
  }

  /** Expects that each step of the path belongs to the version of the run. The cursor of the run must be at the end of the path. */
  function expectStory(
    run: RunRow,
    path: readonly PathRow[],
    steps: ReadonlyMap<string, PlacedStep>,
    mails: readonly BulkMail[],
    about: (what: string) => () => string,
  ): void {
    const rows = new Map(path.map((row) => [row.stepId, row]));
    mustHold(
      rows.size === path.length && path.every(({ versionId }) => versionId === run.versionId),
      'a run stays in its version',
      about(JSON.stringify(path)),
    );
    let at: string | null = [...steps.keys()][0] ?? null;
    const passed = new Set<string>();
    for (
      let row = rows.get(at ?? '');
      at !== null && row?.left === true && row.outcome !== run.reason;
      row = rows.get(at ?? '')
    ) {
      const placed = steps.get(at);
      if (!placed) break;
      passed.add(at);
      at = nextOf(placed, row);
    }
    const isAtCursor = run.status === 'completed' ? at === null : at === run.cursor;
    mustHold(
      isAtCursor,
      "its path ends at ${at ?? 'the end'}: ${JSON.stringify(path)}",
      about(`its path leads to ${at ?? 'the end'}: ${JSON.stringify(path)}`),
    );
    mustHold(
      path.every(({ stepId }) => passed.has(stepId) || stepId === at),
      'each recorded path is true',
      about(`steps outside its path: ${JSON.stringify(path)}`),
    );
    for (const stepId of passed) {
      if (steps.get(stepId)?.step.kind !== 'send_email') continue;
      const recordedOutcome = rows.get(stepId)?.outcome ?? '';
      const ofStep = mails.filter((mail) => mail.stepId === stepId);
      const [mail] = ofStep;
      mustHold(
        ofStep.length === 1 && mail !== undefined && agrees(recordedOutcome, mail),
        'each recorded path is true',
        about(`${stepId} says ${recordedOutcome}, its mail ${JSON.stringify(ofStep)}`),
      );
    }
  }

  async function expectPoints(
    runs: readonly RunRow[],
    path: readonly PathRow[],
    stepsOf: ReadonlyMap<Id, ReadonlyMap<string, PlacedStep>>,
    removed: ReadonlySet<Id>,
  ): Promise<void> {
    const awards = await sim.postgres.ask<{ studentId: Id; causeId: Id; points: number }>(
      `SELECT student_id AS "studentId", cause_id AS "causeId", points FROM point_awards`,
    );
    const [sums] = await sim.postgres.ask<{ wrong: number }>(
      `SELECT count(*)::int AS wrong FROM students WHERE removed_at IS NULL
         AND points <> (SELECT coalesce(sum(award.points), 0) FROM point_awards award WHERE award.student_id = students.id)`,
    );
    mustHold(
      sums?.wrong === 0,
      'the points of a student differ from the sum of the awards',
      () => 'the points of a student differ from the sum of the awards',
    );
    const owner = new Map(runs.map((run) => [run.id, run]));
    const expected = path
      .filter(({ outcome }) => outcome === 'awarded')
      .map(({ runId, versionId, stepId }) => ({
        studentId: owner.get(runId)?.studentId ?? '',
        causeId: v5(stepId, runId),
        points: stepsOf.get(versionId)?.get(stepId)?.step.points ?? 0,
      }));
    const wordsOf = (list: typeof awards) =>
      list
        .filter(({ studentId }) => !removed.has(studentId))
        .map(({ studentId, causeId, points }) => `${studentId} ${causeId} ${points}`)
        .toSorted();
    mustHold(
      JSON.stringify(wordsOf(expected)) === JSON.stringify(wordsOf(awards)),
      'each award has its step, and each step its award',
      () => `steps ${JSON.stringify(expected)}, awards ${JSON.stringify(awards)}`,
    );
  }

  async function expectSums(
    id: Id,
    all: readonly RunRow[],
    mails: readonly BulkMail[],
    removed: ReadonlySet<Id>,
  ): Promise<void> {
    const runs = all.filter((run) => run.automationId === id);
    const counts = (await countRuns(sim.db, [{ id, clubId }])).get(id) ?? { active: 0, total: 0 };
    const active = runs.filter(({ status }) => status === 'active').length;
    mustHold(
      counts.total === runs.length && counts.active === active,
      'sums are equal',
      () => `${JSON.stringify(counts)} are the counts, but ${active} of ${runs.length} are active`,
    );
    if (runs.some(({ studentId }) => removed.has(studentId))) return; // the counts include removed students, but their runs are deleted
    const numbers = await sim.postgres.ask<{ id: Id; number: number }>(
      'SELECT id, number FROM automation_versions WHERE automation_id = $1',
      [id],
    );
    for (const { id: versionId, number } of numbers) {
      const { steps } = await readCounts(sim.db, clubId, id, number);
      const rows = await sim.postgres.ask<{ stepId: string; entered: number; left: number }>(
        `SELECT step_id AS "stepId", count(*)::int AS entered, count(left_at)::int AS left FROM automation_run_steps WHERE version_id = $1 GROUP BY 1`,
        [versionId],
      );
      const ofVersion = new Set(runs.filter((run) => run.versionId === versionId).map((run) => run.id));
      for (const step of steps) {
        const row = rows.find(({ stepId }) => stepId === step.step_id) ?? { entered: 0, left: 0 };
        const sentCount = mails.filter(
          ({ runId, stepId, status }) => ofVersion.has(runId ?? '') && stepId === step.step_id && status === 'sent',
        ).length;
        mustHold(
          step.entered === row.entered && step.left === row.left && (step.sent ?? 0) === sentCount,
          'sums are equal',
          () => `step ${JSON.stringify(step)} has ${JSON.stringify(row)} and ${sentCount} sent mails`,
        );
      }
    }
  }
}

function nextOf(placed: PlacedStep, { outcome, answers }: PathRow): string | null {
  const asks = placed.step.kind === 'condition' || placed.step.wait?.kind === 'until_condition';
  if (!asks) return placed.following;
  const branch = answers?.every(Boolean) === true ? 'then' : 'else';
  return branch === outcome ? firstOf(placed, branch) : 'a branch that its answers do not lead to';
}

/** Only the row of the mail contains later information, such as a late acceptance or an event of the provider. */
function agrees(outcome: string, { status, reason, error }: BulkMail): boolean {
  if (outcome === 'sent') return status === 'sent';
  if (outcome === 'outcome_unknown' || outcome === 'refused')
    return (
      status === 'sent' || (status === 'failed' && (outcome === 'outcome_unknown') === (error === 'outcome_unknown'))
    );
  return status === 'skipped' && reason === outcome;
}

const noStore = () => Promise.reject(new Error('No mail has an image'));
