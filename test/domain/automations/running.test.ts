/** Tests how runs execute their steps (AUTO-10 to AUTO-18). */
import { expect } from 'chai';
import { Readable } from 'node:stream';
import sharp from 'sharp';
import { tagStudent, untagStudent } from '../../../domain/learning/engagement/tagging.ts';
import { archiveAutomation, pauseAutomation, resumeAutomation } from '../../../domain/automations/states.ts';
import { exitRun, listRuns, readCounts, resumeRun } from '../../../domain/automations/runs.ts';
import type { Definition, Step } from '../../../domain/automations/versions/definition.policy.ts';
import { settleLeftMails } from '../../../domain/automations/running/left-mails.ts';
import { takeStep } from '../../../domain/automations/running/run-step.ts';
import { inShort } from '../../toolkit/drive/facts.ts';
import { enrollByFacts } from '../../../domain/automations/entering/by-facts.ts';
import { restoreEnrollment, revokeEnrollment } from '../../../domain/access/enrollments/by-hand.ts';
import { createAutomation } from '../../../domain/automations/versions/drafts.ts';
import { problemsOf } from '../../../domain/automations/versions/problems.ts';
import { publishAutomation } from '../../../domain/automations/versions/publishing.ts';
import { completeLesson, undoCompletion } from '../../../domain/learning/courses/completion.ts';
import { updateLesson } from '../../../domain/learning/courses/lessons.ts';
import { setSender } from '../../../domain/mail/sending/sender.ts';
import { wakeWatchersOfCourses } from '../../../domain/watches/watches.ts';
import { Media } from '../../../entities/media/media.ts';
import { removeStudent } from '../../../domain/students/students.ts';
import { recordOpening } from '../../../domain/mail/tracking/visits.ts';
import { openingToken } from '../../../domain/mail/tracking/tokens.ts';
import { recordEvents } from '../../../domain/mail/notices/record-events.ts';
import { addSuppression } from '../../../domain/mail/suppressions/suppressions.ts';
import { forgetOldPaths } from '../../../domain/automations/student-removal.ts';
import type { DomainError } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { buildAccessDelivery, buildEnrollment, buildOpenCourse } from '../../toolkit/builders/access.ts';
import { buildAutomation, buildTag, buildVersion, email } from '../../toolkit/builders/automations.ts';
import { buildPlan } from '../../toolkit/builders/billing.ts';
import { buildCourse, buildLesson } from '../../toolkit/builders/courses.ts';
import { buildFurnishedClub } from '../../toolkit/builders/furnished-club.ts';
import { buildProduct } from '../../toolkit/builders/sales.ts';
import { buildClub, buildStudent, type TestClub, type TestStudent } from '../../toolkit/builders/clubs.ts';
import { sendingDeps } from '../../toolkit/drive/campaigns.ts';
import { testObjectStore } from '../../toolkit/stack/storage.ts';
import { alter } from '../../toolkit/drive/alter.ts';
import { playAutomations, type AutomationPlay } from '../../toolkit/drive/automations.ts';
import { factRecordsOf } from '../../toolkit/assert/facts.ts';
import { wakesBy } from '../../toolkit/assert/wakes.ts';
import { testDeps } from '../../toolkit/stack/database.ts';
import { workflowIdOf } from '../../../platform/engine/workflow-types.ts';
import { withOpenTransaction } from '../../toolkit/drive/races.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';

const start = new Date('2026-03-02T12:00:00Z');
const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const hasTag = (tag: Id, negate = false) => ({
  match: 'all' as const,
  rules: [{ kind: 'has_tag' as const, negate, tag_ids: [tag] }],
});
const delay = (id: string, amount: number, unit: 'minutes' | 'days' = 'minutes'): Step => ({
  id,
  kind: 'wait',
  wait: { kind: 'delay', amount, unit },
});

describe('a run', () => {
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
    ada = await buildStudent(club.id, { name: 'Ada Example' });
    tag = await buildTag(club.id);
    play = await playAutomations(club.id, start);
  });
  const publish = (parts: Partial<Definition>) => buildAutomation(club.id, parts, start);
  const begin = async (parts: Partial<Definition>) => {
    const automationId = await publish(parts);
    return { automationId, runId: await play.enroll(automationId, ada.id) };
  };
  const storyOf = ({ automationId, runId }: { automationId: Id; runId: Id }) => play.story(automationId, runId);

  it('executes each step once and in order', async () => {
    const run = await begin({
      steps: [
        { id: 'tag', kind: 'add_tag', tag_id: tag },
        { id: 'again', kind: 'add_tag', tag_id: tag },
        { id: 'points', kind: 'award_points', points: 5, note: 'Well done' },
        { id: 'untag', kind: 'remove_tag', tag_id: tag },
      ],
    });
    for (let steps = 0; steps < 4; steps++) await takeStep(play.deps, run.runId, start.getTime());
    const facts = await factRecordsOf(club.id);
    expect(facts.map(({ type, details }) => [type, details])).to.deep.equal([
      ['student.tagged', { links: [start.toISOString()], runId: run.runId }],
      ['student.untagged', { links: [start.toISOString()], runId: run.runId }],
    ]);
    expect(await storyOf(run)).to.equal('completed: tag tagged, again tagged_already, points awarded, untag untagged');
    const awards = await deps.db.source.query(
      `SELECT cause_kind, points, note FROM point_awards WHERE student_id = $1`,
      [ada.id],
    );
    expect(awards).to.deep.equal([{ cause_kind: 'automation', points: 5, note: 'Well done' }]);
  });

  it('is not woken by its own effect, but the student’s other runs are woken', async () => {
    const steps: Step[] = [
      { id: 'tag', kind: 'add_tag', tag_id: tag },
      { id: 'points', kind: 'award_points', points: 1 },
    ];
    const run = await begin({ steps });
    const other = await begin({ steps });
    await deps.db.source.query('DELETE FROM wakes');
    await takeStep(play.deps, run.runId, start.getTime());
    await play.tellFacts();
    const woken = await deps.db.source.query(`SELECT subject_id AS id FROM wakes WHERE club_id = $1`, [club.id]);
    expect(woken).to.deep.equal([{ id: other.runId }]);
  });

  it('ends a wait immediately if an earlier effect of the run makes the condition true', async () => {
    const run = await begin({
      exit_when: hasTag(tag),
      steps: [{ id: 'tag', kind: 'add_tag', tag_id: tag }, delay('long', 90, 'days')],
    });
    await play.settle();
    expect(await storyOf(run)).to.equal('exited exit_when: tag tagged, long exit_when');
  });

  it('is counted up to 1,000 in a list of one step, and exactly in other lists', async () => {
    const automationId = await publish({ steps: [delay('wait', 10)] });
    await deps.db.source.query(
      `INSERT INTO automation_runs (id, club_id, automation_id, version_id, student_id, cause_id, reentry, cursor, looks_at, entered_at)
       SELECT gen_random_uuid(), $1, $2, (SELECT published_id FROM automations WHERE id = $2), $3, gen_random_uuid(), 'always', 'wait', now(), now()
         FROM generate_series(1, 1100)`,
      [club.id, automationId, ada.id],
    );
    const totalOf = async (filter: object) =>
      (await listRuns(deps.db, club.id, automationId, { page: 1, page_size: 100, ...filter })).total;
    const totals = [await totalOf({}), await totalOf({ step_id: 'wait' }), await totalOf({ step_id: 'none' })];
    expect(totals).to.deep.equal([1_100, 1_000, 0]);
    expect(
      await totalOf({ step_id: 'wait', page: 10 }),
      'the total counts one run beyond this page, which shows that another page exists',
    ).to.equal(1_001);
    expect(await totalOf({ step_id: 'wait', page: 11 })).to.equal(1_100);
    await deps.db.source.query('DELETE FROM automations WHERE id = $1', [automationId]);
  });

  it('evaluates a condition when it reaches the step, and stores the answer of each rule', async () => {
    const steps: Step[] = [
      {
        id: 'has',
        kind: 'condition',
        condition: {
          match: 'any',
          rules: [
            { kind: 'has_purchased', negate: false },
            { kind: 'has_tag', negate: false, tag_ids: [tag] },
          ],
        },
        then: [{ id: 'yes', kind: 'award_points', points: 1 }],
        else: [{ id: 'no', kind: 'award_points', points: 2 }],
      },
      { id: 'after', kind: 'award_points', points: 3 },
    ];
    const first = await begin({ steps });
    await play.settle();
    await tagStudent(deps, { clubId: club.id, studentId: ada.id, tagId: tag }, start);
    const second = { ...first, runId: await play.enroll(first.automationId, ada.id) };
    await play.settle();
    expect(await storyOf(first)).to.equal('completed: has else, no awarded, after awarded');
    expect(await storyOf(second)).to.equal('completed: has then, yes awarded, after awarded');
    expect((await play.read(second.automationId, second.runId)).path[0]?.answers).to.deep.equal([false, true]);
  });

  it('waits exactly until its deadline, and evaluates nothing during the wait', async () => {
    const run = await begin({ steps: [delay('pause', 3, 'days'), { id: 'end', kind: 'exit' }] });
    await play.pass(3 * day - 1);
    expect(await storyOf(run)).to.equal('active: pause …');
    await play.pass(1);
    expect(await storyOf(run)).to.equal('exited exit_step: pause time_over, end exit_step');
  });

  it('waits for a condition until a fact makes it true, or until the last day of the wait', async () => {
    const steps: Step[] = [
      {
        id: 'until',
        kind: 'wait',
        wait: { kind: 'until_condition', days: 30 },
        condition: hasTag(tag),
        then: [{ id: 'came', kind: 'award_points', points: 1 }],
        else: [{ id: 'missed', kind: 'award_points', points: 2 }],
      },
    ];
    const run = await begin({ steps });
    await play.pass(10 * day);
    expect(await storyOf(run)).to.equal('active: until …');
    await tagStudent(deps, { clubId: club.id, studentId: ada.id, tagId: tag }, play.now());
    await play.settle();
    expect(await storyOf(run)).to.equal('completed: until then, came awarded');
    await untagStudent(deps, { clubId: club.id, studentId: ada.id, tagId: tag }, play.now());
    const late = { ...run, runId: await play.enroll(run.automationId, ada.id) };
    await play.pass(30 * day);
    expect(await storyOf(late)).to.equal('completed: until else, missed awarded');
  });

  it('ends in the middle of a wait of 90 days when a fact makes exit_when true', async () => {
    const run = await begin({ exit_when: hasTag(tag), steps: [delay('long', 90, 'days')] });
    await play.pass(45 * day);
    await tagStudent(deps, { clubId: club.id, studentId: ada.id, tagId: tag }, play.now());
    await play.settle();
    const { path, ended_at: ended } = await play.read(run.automationId, run.runId);
    expect(await storyOf(run)).to.equal('exited exit_when: long exit_when');
    expect([ended, path[0]?.left_at]).to.deep.equal(
      Array.from({ length: 2 }, () => new Date(start.getTime() + 45 * day).toISOString()),
    );
  });

  it('ends when a required tag is removed', async () => {
    const tagging = { clubId: club.id, studentId: ada.id, tagId: tag };
    await tagStudent(deps, tagging, start);
    const run = await begin({ exit_when: hasTag(tag, true), steps: [delay('long', 90, 'days')] });
    await play.pass(day);
    await untagStudent(deps, tagging, play.now());
    await play.settle();
    expect(await storyOf(run)).to.equal('exited exit_when: long exit_when');
  });

  it('ends when the student’s access expires, although no fact is recorded at that time', async () => {
    const { id: deliveryId, courseId } = await buildAccessDelivery(club.id);
    const endsAt = new Date(start.getTime() + 5 * day);
    await buildEnrollment(club.id, { studentId: ada.id, deliveryId, startsAt: start, endsAt });
    expect(courseId).to.be.a('string');
    const run = await begin({ exit_on_access_lost: true, steps: [delay('long', 90, 'days')] });
    await play.pass(4 * day);
    expect(await storyOf(run)).to.equal('active: long …');
    await play.pass(day);
    expect(await storyOf(run)).to.equal('exited access_lost: long access_lost');
  });

  it('keeps its version after a new publication', async () => {
    const run = await begin({ steps: [delay('wait', 10), { id: 'old', kind: 'award_points', points: 1 }] });
    await play.settle();
    await buildVersion(club.id, run.automationId, { steps: [{ id: 'new', kind: 'award_points', points: 2 }] }, start);
    const second = { ...run, runId: await play.enroll(run.automationId, ada.id) };
    await play.pass(hour);
    expect(await storyOf(run)).to.equal('completed: wait time_over, old awarded');
    expect(await storyOf(second)).to.equal('completed: new awarded');
    expect((await listRuns(deps.db, club.id, run.automationId, { page: 1, page_size: 5, version: 1 })).total).to.equal(
      1,
    );
  });

  it('stays at its step during a pause, even after its deadline', async () => {
    const run = await begin({ steps: [delay('wait', 10), { id: 'points', kind: 'award_points', points: 1 }] });
    await play.settle();
    await pauseAutomation(deps, club.id, run.automationId, play.now());
    await play.pass(hour);
    expect(await storyOf(run)).to.equal('active: wait …');
    await resumeAutomation(deps, club.id, run.automationId, play.now());
    await play.settle();
    expect(await storyOf(run)).to.equal('completed: wait time_over, points awarded');
  });

  it('checks the reasons to exit before the deadline when a pause ends', async () => {
    const run = await begin({
      exit_when: hasTag(tag),
      steps: [delay('wait', 10), { id: 'points', kind: 'award_points', points: 1 }],
    });
    await play.settle();
    await pauseAutomation(deps, club.id, run.automationId, play.now());
    await tagStudent(deps, { clubId: club.id, studentId: ada.id, tagId: tag }, play.now());
    await play.pass(hour);
    await resumeAutomation(deps, club.id, run.automationId, play.now());
    await play.settle();
    expect(await storyOf(run)).to.equal('exited exit_when: wait exit_when');
  });

  it('continues after a pause in pages of 1, 2, 4 … runs, one page a second', async () => {
    const automationId = await publish({ steps: [delay('wait', 10)] });
    for (let count = 0; count < 7; count++) await play.enroll(automationId, ada.id);
    await play.settle();
    await pauseAutomation(deps, club.id, automationId, play.now());
    await play.pass(hour);
    await resumeAutomation(deps, club.id, automationId, play.now());
    const heldCounts: number[] = [];
    for (let seconds = 0; seconds < 4; seconds++) {
      await play.settle();
      heldCounts.push(
        (await listRuns(deps.db, club.id, automationId, { page: 1, page_size: 1, status: 'active' })).total,
      );
      await play.pass(1_000);
    }
    expect(heldCounts).to.deep.equal([6, 4, 0, 0]);
  });

  it('ends in the middle of a wait if the automation is archived', async () => {
    const run = await begin({ steps: [delay('wait', 90, 'days')] });
    await play.settle();
    await archiveAutomation(deps, club.id, run.automationId, play.now());
    await play.settle();
    expect(await storyOf(run)).to.equal('exited archived: wait archived');
  });

  it('sends one mail, personalizes its text, and continues', async () => {
    const run = await begin({ steps: [{ id: 'mail', kind: 'send_email', email }] });
    await play.settle();
    expect(await storyOf(run)).to.equal('completed: mail sent');
    expect(play.given.map(({ to, subject }) => [to, subject])).to.deep.equal([[ada.email, 'Hi Ada']]);
    expect(play.given[0]?.headers['List-Id']).to.equal(`<automations.${club.id}.platform.example>`);
    expect(await readCounts(deps.db, club.id, run.automationId, undefined)).to.deep.equal({
      version: 1,
      steps: [{ step_id: 'mail', kind: 'send_email', entered: 1, waiting: 0, left: 1, sent: 1, opened: 0, clicked: 0 }],
    });
  });

  it('retries a temporary refusal, and no other outcome', async () => {
    const run = await begin({ steps: [{ id: 'mail', kind: 'send_email', email }] });
    play.answer = () => ({ kind: 'refused', permanent: false, reply: '451 later' });
    await play.settle();
    expect(await storyOf(run)).to.equal('active: mail …');
    play.answer = () => ({ kind: 'accepted', reply: '250 ok' });
    await play.pass(minute);
    expect(await storyOf(run)).to.equal('completed: mail sent');
    for (const [answer, outcome] of [
      [{ kind: 'unknown' }, 'outcome_unknown'],
      [{ kind: 'refused', permanent: true, reply: '550 no' }, 'refused'],
    ] as const) {
      play.answer = () => answer;
      const next = { ...run, runId: await play.enroll(run.automationId, ada.id) };
      await play.settle();
      expect(await storyOf(next)).to.equal(`completed: mail ${outcome}`);
    }
    await addSuppression(deps, club.id, ada.email, play.now());
    const suppressed = { ...run, runId: await play.enroll(run.automationId, ada.id) };
    const before = play.given.length;
    await play.settle();
    expect(await storyOf(suppressed)).to.equal('completed: mail suppressed');
    expect(play.given).to.have.length(before);
  });

  it('skips a mail to an invalid address, and continues', async () => {
    await alter('students', ada.id, { email: `${'a'.repeat(65)}@example.com` });
    const run = await begin({ steps: [{ id: 'mail', kind: 'send_email', email }, delay('then', 1, 'days')] });
    await play.settle();
    expect(await storyOf(run)).to.equal('active: mail invalid_email, then …');
    expect(play.given).to.deep.equal([]);
  });

  it('sends no mail to an address that has bounced (CAMP-15)', async () => {
    play.answer = () => ({ kind: 'accepted', reply: '250 2.0.0 Ok: queued as AUTO4F5C11' });
    const run = await begin({ steps: [{ id: 'mail', kind: 'send_email', email }] });
    await play.settle();
    const [message] = play.given;
    expect(message?.messageId).to.equal(`<${message?.headers['X-Club-Mail-Id']}@platform.example>`);
    const bounced = { kind: 'bounced', at: play.now(), mailId: undefined, providerId: 'AUTO4F5C11' } as const;
    expect(await recordEvents(deps.db, [bounced], play.now())).to.deep.equal({ matched: 1, ignored: 0 });
    const next = { ...run, runId: await play.enroll(run.automationId, ada.id) };
    await play.settle();
    expect(await storyOf(next)).to.equal('completed: mail bounced');
  });

  it('continues when a person opens the e-mail, but not when a machine opens the e-mail (CAMP-13)', async () => {
    const opened = {
      match: 'all' as const,
      rules: [{ kind: 'email_opened' as const, negate: false, step_id: 'mail' }],
    };
    const run = await begin({
      steps: [
        { id: 'mail', kind: 'send_email', email },
        { id: 'until', kind: 'wait', wait: { kind: 'until_condition', days: 9 }, condition: opened },
      ],
    });
    await play.settle();
    const [mail] = await deps.db.source.query<{ id: Id }[]>(`SELECT id FROM mails WHERE run_id = $1`, [run.runId]);
    const open = async (agent: string) => {
      const visit = { method: 'GET', header: (name: string) => (name === 'user-agent' ? agent : '') };
      await recordOpening(deps, openingToken(deps.vault, mail?.id ?? ''), visit, play.now());
      await play.settle();
    };
    await open('curl/8');
    expect(await storyOf(run)).to.equal('active: mail sent, until …');
    await open('Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0');
    expect(await storyOf(run)).to.equal('completed: mail sent, until then');
    expect((await readCounts(deps.db, club.id, run.automationId, 1)).steps[0]).to.include({
      sent: 1,
      opened: 1,
      clicked: 0,
    });
  });

  it('records an unknown outcome and sends no second mail if the worker died', async () => {
    const run = await begin({ steps: [{ id: 'mail', kind: 'send_email', email }] });
    play.deps.failpoint = async (name) => {
      if (name === 'run_mail_handed_over') throw new Error('The worker died');
    };
    await expectRejected(takeStep(play.deps, run.runId, start.getTime()));
    play.deps.failpoint = async () => undefined;
    const waits = await takeStep(play.deps, run.runId, start.getTime());
    expect(waits).to.include({ done: false, number: 1, steps: 1 });
    await deps.db.source.query(`UPDATE mails SET lease_until = now() - interval '1 second' WHERE run_id = $1`, [
      run.runId,
    ]);
    await takeStep(play.deps, run.runId, start.getTime());
    expect(await storyOf(run)).to.equal('completed: mail outcome_unknown');
    expect(play.given).to.have.length(1);
  });

  it('records `unknown` after the lease if the worker died and the run ended', async () => {
    const run = await begin({ steps: [{ id: 'mail', kind: 'send_email', email }] });
    play.deps.failpoint = async (name) => {
      if (name === 'run_mail_claimed') throw new Error('The worker died');
    };
    await expectRejected(takeStep(play.deps, run.runId, start.getTime()));
    await exitRun(deps, club.id, run.automationId, run.runId, play.now());
    const settle = async () => (await settleLeftMails(deps.db)).rows.mailsLeft;
    expect(await settle(), 'its lease lasts').to.equal(0);
    await deps.db.source.query(`UPDATE mails SET lease_until = now() - interval '1 second' WHERE run_id = $1`, [
      run.runId,
    ]);
    expect(await settle()).to.equal(1);
    const mails = await deps.db.source.query(`SELECT status, last_error FROM mails WHERE run_id = $1`, [run.runId]);
    expect(mails).to.deep.equal([{ status: 'failed', last_error: 'outcome_unknown' }]);
  });

  it('keeps the outcome `unknown` of a mail, even if its student is removed', async () => {
    const run = await begin({ steps: [{ id: 'mail', kind: 'send_email', email }] });
    play.answer = async () => {
      await removeStudent(deps, club.id, ada.id, play.now());
      return { kind: 'unknown' };
    };
    await play.settle();
    const mails = await deps.db.source.query(`SELECT status, last_error FROM mails WHERE run_id = $1`, [run.runId]);
    expect(mails).to.deep.equal([{ status: 'failed', last_error: 'outcome_unknown' }]);
  });

  for (const [what, reason] of [
    ['ended by hand', 'canceled'],
    ['ended by the student’s removal', 'student_removed'],
  ] as const)
    it(`skips a deferred mail if the run was ${what} before the next try`, async () => {
      const run = await begin({ steps: [{ id: 'mail', kind: 'send_email', email }] });
      play.answer = async () => {
        if (reason === 'canceled') await exitRun(deps, club.id, run.automationId, run.runId, play.now());
        else await removeStudent(deps, club.id, ada.id, play.now());
        return { kind: 'refused', permanent: false, reply: '451 later' };
      };
      await play.settle();
      const mails = await deps.db.source.query(`SELECT status, skip_reason FROM mails WHERE run_id = $1`, [run.runId]);
      expect(mails).to.deep.equal([{ status: 'skipped', skip_reason: reason }]);
    });

  it('waits for the end of a lease by Postgres’s clock, not by the worker’s clock', async () => {
    const run = await begin({ steps: [{ id: 'mail', kind: 'send_email', email }] });
    play.deps.failpoint = async (name) => {
      if (name === 'run_mail_claimed') throw new Error('The worker died');
    };
    await expectRejected(takeStep(play.deps, run.runId, start.getTime()));
    play.deps.failpoint = async () => undefined;
    const [mail] = await deps.db.source.query<{ until: Date }[]>(
      `SELECT lease_until AS until FROM mails WHERE run_id = $1`,
      [run.runId],
    );
    const until = mail?.until.getTime() ?? 0;
    expect(await takeStep(play.deps, run.runId, until + 5_000)).to.include({ done: false, at: until });
  });

  it('is woken after its e-mail is sent, even if the automation was paused during the sending', async () => {
    const run = await begin({ steps: [{ id: 'mail', kind: 'send_email', email }, delay('later', 1, 'days')] });
    play.answer = async () => {
      await pauseAutomation(deps, club.id, run.automationId, play.now());
      expect(await takeStep(play.deps, run.runId, play.now().getTime())).to.include({ held: true });
      return { kind: 'accepted', reply: '250 ok' };
    };
    const woken = await wakesBy(club.id, () => takeStep(play.deps, run.runId, play.now().getTime()));
    expect(woken).to.include(workflowIdOf('automationRun', run.runId));
    expect(await storyOf(run)).to.match(/^active: mail sent/);
  });

  it('skips a mail if its address is suppressed just before the claim', async () => {
    const run = await begin({ steps: [{ id: 'mail', kind: 'send_email', email }] });
    const { smtp } = play.deps;
    let looks = 0;
    play.deps.smtp = {
      ...smtp,
      async onConnectionWithin(_limitMs, work) {
        looks++;
        await addSuppression(deps, club.id, ada.email, play.now());
        return work();
      },
    };
    await play.settle();
    expect([await storyOf(run), looks]).to.deep.equal(['completed: mail suppressed', 1]);
    expect(play.given).to.deep.equal([]);
  });

  it('does not count a mail against the sending limits if a pause stops it', async () => {
    play.deps.warmUps = { clubs: Array<number>(3_650).fill(9), domains: [] };
    const run = await begin({ steps: [{ id: 'mail', kind: 'send_email', email }] });
    const { smtp } = play.deps;
    play.deps.smtp = {
      ...smtp,
      async onConnectionWithin(_limitMs, work) {
        await pauseAutomation(deps, club.id, run.automationId, play.now());
        return work();
      },
    };
    await takeStep(play.deps, run.runId, start.getTime());
    const unused = await deps.db.source.query(
      `SELECT sender.allowance, day.mails FROM mail_senders sender JOIN club_bulk_days day USING (club_id) WHERE club_id = $1`,
      [club.id],
    );
    expect(unused).to.deep.equal([{ allowance: 100, mails: 0 }]);
    expect(play.given).to.deep.equal([]);
  });

  it('waits with growing pauses while the mail server hangs, and then sends one mail (AUTO-13)', async () => {
    play.deps.warmUps = { clubs: Array<number>(3_650).fill(9), domains: [] };
    const run = await begin({ steps: [{ id: 'mail', kind: 'send_email', email }] });
    const { smtp } = play.deps;
    const looks: number[] = [];
    play.deps.smtp = { ...smtp, onConnectionWithin: async () => void looks.push(play.now().getTime()) };
    await play.pass(6 * hour);
    expect(looks.length, 'the run is evaluated again after six hours').to.be.within(30, 120);
    const [row] = await deps.db.source.query(
      `SELECT allowance, day.mails AS taken, mail.status, attempt_count AS attempts FROM mail_senders
         JOIN club_bulk_days day USING (club_id) JOIN mails mail USING (club_id) WHERE club_id = $1`,
      [club.id],
    );
    expect(row).to.deep.equal({ allowance: 100, taken: 0, status: 'pending', attempts: 0 });
    play.deps.smtp = smtp;
    await play.pass(hour);
    expect(await storyOf(run)).to.equal('completed: mail sent');
    expect(play.given).to.have.length(1);
  });

  it('ends when the student loses the access that existed when the first e-mail was sent', async () => {
    const { id: deliveryId } = await buildAccessDelivery(club.id);
    const endsAt = new Date(start.getTime() + 5 * day);
    await buildEnrollment(club.id, { studentId: ada.id, deliveryId, startsAt: start, endsAt });
    const run = await begin({
      exit_on_access_lost: true,
      steps: [{ id: 'mail', kind: 'send_email', email }, delay('long', 90, 'days')],
    });
    await play.pass(5 * day);
    expect(await storyOf(run)).to.equal('exited access_lost: mail sent, long access_lost');
  });

  it('ends when access expires, even while a mail server refuses the mail temporarily', async () => {
    const { id: deliveryId } = await buildAccessDelivery(club.id);
    const endsAt = new Date(start.getTime() + 30_000);
    await buildEnrollment(club.id, { studentId: ada.id, deliveryId, startsAt: start, endsAt });
    const run = await begin({ exit_on_access_lost: true, steps: [{ id: 'mail', kind: 'send_email', email }] });
    play.answer = () => ({ kind: 'refused', permanent: false, reply: '451 later' });
    await play.pass(30_000);
    expect(await storyOf(run)).to.equal('exited access_lost: mail access_lost');
  });

  it('records `sent` if the mail server accepted the e-mail while Postgres was unreachable', async () => {
    const run = await begin({ steps: [{ id: 'mail', kind: 'send_email', email }] });
    const { source } = play.deps.db;
    play.answer = () => {
      const transaction = source.transaction;
      let remainingFailures = 2;
      source.transaction = (async (...work: Parameters<typeof transaction>) => {
        if (remainingFailures-- > 0) throw new Error('Connection terminated unexpectedly');
        source.transaction = transaction;
        return transaction.apply(source, work);
      }) as typeof transaction;
      return { kind: 'accepted', reply: '250 ok' };
    };
    await play.settle();
    expect(await storyOf(run)).to.equal('completed: mail sent');
  });

  it('records `sent` if the server accepts the mail after the run gave it up', async () => {
    const run = await begin({ steps: [{ id: 'mail', kind: 'send_email', email }] });
    play.answer = async () => {
      await deps.db.source.query(
        `UPDATE mails SET status = 'failed', last_error = 'outcome_unknown', lease_until = NULL WHERE run_id = $1`,
        [run.runId],
      );
      return { kind: 'accepted', reply: '250 ok' };
    };
    await play.settle();
    const mails = await deps.db.source.query(`SELECT status, last_error FROM mails WHERE run_id = $1`, [run.runId]);
    expect(mails).to.deep.equal([{ status: 'sent', last_error: null }]);
  });

  it('sends at most the club’s daily number of e-mails (CAMP-41)', async () => {
    play.deps.warmUps = { clubs: Array<number>(3_650).fill(1), domains: [] };
    const automationId = await publish({ steps: [{ id: 'mail', kind: 'send_email', email }] });
    const berta = await buildStudent(club.id, { name: 'Berta Brook' });
    for (const { id } of [ada, berta]) await play.enroll(automationId, id);
    await play.pass(11 * hour);
    expect(play.given).to.have.length(1);
    const [sender] = await deps.db.source.query(`SELECT allowance FROM mail_senders WHERE club_id = $1`, [club.id]);
    expect(sender, 'the allowance was 100, and one mail was sent').to.deep.equal({ allowance: 99 });
    await play.pass(2 * hour);
    expect(new Set(play.given.map(({ to }) => to)).size).to.equal(2);
  });

  it('is not published with an unreadable image', async () => {
    const { images } = await sendingDeps({ ...play.deps.smtp, connections: 1, onConnection: (work) => work() });
    const draft = await draftWithImage(Buffer.from('no image'));
    const { record } = await createAutomation(deps, club.id, { name: 'A', draft }, start);
    const listed = async () =>
      (await problemsOf(deps.db, club.id, draft)).problems.map(({ path, code }) => [path, code]);
    expect(await listed(), 'the image is not processed').to.deep.equal([]);
    for (const when of ['the problem that is found during the publication', 'known before']) {
      const refused = publishAutomation({ ...deps, images }, club.id, record.id, '*', start);
      const message = await refused.catch((error: DomainError) => `${error.code}: ${error.message}`);
      expect(message, when).to.match(
        /^invalid_definition: .* \$\.steps\[0\]\.email\.blocks\[0\]\.media_id: No picture/,
      );
      expect(await listed()).to.deep.equal([['$.steps[0].email.blocks[0].media_id', 'image_unreadable']]);
    }
  });

  const draftWithImage = async (bytes: Buffer, mediaId = newId()) => {
    const objectKey = `library/${newId()}`;
    await (await testObjectStore()).put(objectKey, 'image/png', Readable.from([bytes]));
    const file = {
      purpose: 'library',
      kind: 'image',
      provider: 'objstore',
      status: 'ready',
      mime: 'image/png',
    } as const;
    const times = { createdAt: start, updatedAt: start, sizeBytes: String(bytes.length) };
    await deps.db.manager.insert(Media, {
      id: mediaId,
      clubId: club.id,
      title: 'A knot',
      objectKey,
      ...file,
      ...times,
    });
    await setSender(deps, club.id, { from_name: 'Knots', postal_address: 'Quay 1' }, start);
    const blocks = [{ kind: 'image' as const, media_id: mediaId, alt: 'A knot' }];
    return {
      trigger: { kind: 'manual' as const },
      reentry: 'always' as const,
      exit_on_access_lost: false,
      steps: [{ id: 'mail', kind: 'send_email' as const, email: { subject: 'A knot', blocks } }],
    };
  };

  it('sends an image even if the library lost it after the publication', async () => {
    const png = await sharp({ create: { width: 20, height: 10, channels: 3, background: 'red' } })
      .png()
      .toBuffer();
    const { images } = await sendingDeps({ ...play.deps.smtp, connections: 1, onConnection: (work) => work() });
    const mediaId = newId();
    const draft = await draftWithImage(png, mediaId);
    const { record } = await createAutomation(deps, club.id, { name: 'A', draft }, start);
    await publishAutomation({ ...deps, images }, club.id, record.id, '*', start);
    await deps.db.manager.update(Media, { id: mediaId }, { removedAt: start });
    await play.enroll(record.id, ada.id);
    await play.settle();
    const [, url = ''] = /<img[^>]*src="([^"]+)"/.exec(play.given[0]?.html ?? '') ?? [];
    expect(url).to.match(new RegExp(`^${images.publicFilesUrl}/mail/${club.id}/[0-9a-f]{64}\\.jpg$`));
    expect((await fetch(url)).headers.get('content-type')).to.equal('image/jpeg');
    expect(play.given[0]?.html, 'as wide as the original').to.match(/<img[^>]* width="20"/);
  });

  describe('in a wait', () => {
    const learnerOf = async (lessons: number) => {
      const course = await buildOpenCourse(club.id, { lessons });
      await buildEnrollment(club.id, { studentId: ada.id, deliveryId: course.deliveryId, startsAt: start });
      const { rows } = await listed(course.id);
      return { course, lessons: rows, reader: { clubId: club.id, id: ada.id } };
    };
    const listed = async (courseId: Id) => ({
      rows: await deps.db.source.query<{ id: Id; public_id: string }[]>(
        `SELECT id, public_id FROM lessons WHERE course_id = $1 ORDER BY position`,
        [courseId],
      ),
    });
    const completing = () => ({ db: deps.db, publicUrl: 'https://api.example' });

    it('is evaluated again when a completion is undone or repeated', async () => {
      const { lessons, reader } = await learnerOf(2);
      const { id: lessonId = '', public_id: publicId = '' } = lessons[0] ?? {};
      const condition = (negate: boolean) => ({
        match: 'all' as const,
        rules: [{ kind: 'lesson_completed' as const, negate, lesson_id: lessonId }],
      });
      await completeLesson(completing(), reader, publicId, start);
      const wait = { kind: 'until_condition' as const, days: 9 };
      const run = await begin({
        steps: [
          { id: 'undone', kind: 'wait', wait, condition: condition(true) },
          { id: 'redone', kind: 'wait', wait, condition: condition(false) },
        ],
      });
      await play.settle();
      expect(await storyOf(run)).to.equal('active: undone …');
      await undoCompletion(deps, reader, publicId, play.now());
      await play.settle();
      expect(await storyOf(run)).to.equal('active: undone then, redone …');
      await completeLesson(completing(), reader, publicId, play.now());
      await play.settle();
      expect(await storyOf(run)).to.equal('completed: undone then, redone then');
    });

    it('is evaluated again when a lesson of a watched course is withdrawn or published', async () => {
      const { course, lessons, reader } = await learnerOf(2);
      const [first, second] = lessons;
      await completeLesson(completing(), reader, first?.public_id ?? '', start);
      const wait = { kind: 'until_condition' as const, days: 9 };
      const reaches = (negate: boolean) => ({
        match: 'all' as const,
        rules: [{ kind: 'course_progress' as const, negate, course_id: course.id, percent: 51 }],
      });
      const run = await begin({
        steps: [
          { id: 'over', kind: 'wait', wait, condition: reaches(false) },
          { id: 'under', kind: 'wait', wait, condition: reaches(true) },
        ],
      });
      await play.settle();
      for (const [published, story] of [
        [false, 'active: over then, under …'],
        [true, 'completed: over then, under then'],
      ] as const) {
        await updateLesson(deps, club.id, second?.id ?? '', { published }, play.now());
        await play.settle();
        expect(await storyOf(run), 'not yet').not.to.equal(story);
        while ((await wakeWatchersOfCourses(deps.db, play.now())).more);
        await play.settle();
        expect(await storyOf(run)).to.equal(story);
      }
      const watches = await deps.db.source.query(`SELECT FROM automation_course_watches WHERE run_id = $1`, [
        run.runId,
      ]);
      expect(watches).to.deep.equal([]);
    });

    it('is evaluated again at the time at which access begins', async () => {
      const { id: deliveryId } = await buildAccessDelivery(club.id);
      const startsAt = new Date(start.getTime() + 5 * day);
      await buildEnrollment(club.id, { studentId: ada.id, deliveryId, startsAt });
      const run = await begin({
        steps: [
          {
            id: 'until',
            kind: 'wait',
            wait: { kind: 'until_condition', days: 9 },
            condition: { match: 'all', rules: [{ kind: 'has_access', negate: false, delivery_ids: [deliveryId] }] },
          },
        ],
      });
      await play.pass(9 * day);
      const { ended_at: ended } = await play.read(run.automationId, run.runId);
      expect([await storyOf(run), ended]).to.deep.equal(['completed: until then', startsAt.toISOString()]);
    });
  });

  it('counts each step and the end of the run once in the metrics', async () => {
    const reports: string[] = [];
    play.deps.onStep = ({ completedKind, ended }) => reports.push([completedKind, ended].filter(Boolean).join(' '));
    const run = await begin({
      steps: [
        { id: 'mail', kind: 'send_email', email },
        delay('wait', 10),
        { id: 'points', kind: 'award_points', points: 1 },
      ],
    });
    await play.settle();
    expect(reports.splice(0), 'the run enters the wait in the transaction of the mail').to.deep.equal(['send_email']);
    await takeStep(play.deps, run.runId, play.now().getTime());
    await play.pass(10 * minute);
    await takeStep(play.deps, run.runId, play.now().getTime());
    expect(reports).to.deep.equal(['', 'wait', 'award_points completed', '']);
  });

  it('applies nothing twice if a worker dies before the commit', async () => {
    const run = await begin({ steps: [{ id: 'points', kind: 'award_points', points: 5 }] });
    for (const place of ['run_step_decided', 'run_step_done'] as const) {
      play.deps.failpoint = async (name) => {
        if (name === place) throw new Error('The worker died');
      };
      await expectRejected(takeStep(play.deps, run.runId, start.getTime()));
    }
    play.deps.failpoint = async () => undefined;
    await play.settle();
    const [{ points } = { points: 0 }] = await deps.db.source.query<{ points: string }[]>(
      `SELECT points FROM students WHERE id = $1`,
      [ada.id],
    );
    expect(Number(points)).to.equal(5);
  });

  it('fails at an unknown kind of step, and can be resumed', async () => {
    const automationId = await publish({ steps: [{ id: 'future', kind: 'award_points', points: 1 }] });
    await deps.db.source.query(
      `UPDATE automation_versions SET definition = jsonb_set(definition, '{steps,0,kind}', '"teleport"') WHERE automation_id = $1`,
      [automationId],
    );
    const run = { automationId, runId: await play.enroll(automationId, ada.id) };
    await play.settle();
    expect(await storyOf(run)).to.equal('failed unknown_step_kind: future …unknown_step_kind');
    expect(await resumeRun(deps, club.id, run.automationId, run.runId, play.now())).to.include({ status: 'active' });
    await play.settle();
    expect(await storyOf(run)).to.equal('failed unknown_step_kind: future …unknown_step_kind');
  });

  it('fails if internal errors continue for a day', async () => {
    const run = await begin({ steps: [{ id: 'points', kind: 'award_points', points: 1 }] });
    play.deps.failpoint = async () => {
      throw new Error('An internal error');
    };
    await expectRejected(takeStep(play.deps, run.runId, start.getTime()));
    await deps.db.source.query(
      `INSERT INTO failing_steps (workflow_id, workflow_type, fault_count, error_code, failing_since, retry_at) VALUES ($1, 'automationRun', 9, 'Error', $2, $2)`,
      [`automation-run/${run.runId}`, start],
    );
    const later = start.getTime() + day + 1;
    expect(await takeStep(play.deps, run.runId, later)).to.deep.equal({ done: true, outcome: 'failed' });
    expect(await storyOf(run)).to.equal('failed fault: points …fault');
    play.deps.failpoint = async () => undefined;
    await resumeRun(deps, club.id, run.automationId, run.runId, play.now());
    await play.settle();
    expect(await storyOf(run)).to.equal('completed: points awarded');
  });

  it('fails if the record that its step names was deleted', async () => {
    const run = await begin({ steps: [{ id: 'tag', kind: 'add_tag', tag_id: tag }] });
    await deps.db.source.query(`UPDATE tags SET removed_at = $2 WHERE id = $1`, [tag, start]);
    await play.settle();
    expect(await storyOf(run)).to.equal('failed not_found: tag …not_found');
    expect(await exitRun(deps, club.id, run.automationId, run.runId, play.now())).to.include({ status: 'exited' });
    expect(await storyOf(run)).to.equal('exited by_hand: tag by_hand');
    expect((await readCounts(deps.db, club.id, run.automationId, 1)).steps[0]).to.include({ waiting: 0, left: 1 });
    await expectCode(exitRun(deps, club.id, run.automationId, run.runId, play.now()), 'run_state');
    await expectCode(resumeRun(deps, club.id, run.automationId, run.runId, play.now()), 'run_state');
  });

  for (const [reentry, others] of [
    ['after_exit', 1],
    ['always', 20],
  ] as const)
    it(`cannot be resumed with reentry ${reentry} if the student has ${others} other active run(s)`, async () => {
      const run = await begin({ reentry, steps: [delay('wait', 10)] });
      await play.settle();
      await deps.db.source.query(
        `UPDATE automation_runs SET status = 'failed', error_code = 'fault', ended_at = $2, looks_at = NULL WHERE id = $1`,
        [run.runId, start],
      );
      for (let count = 0; count < others; count++) await play.enroll(run.automationId, ada.id);
      const resume = () => resumeRun(deps, club.id, run.automationId, run.runId, play.now());
      await expectCode(resume(), 'reentry_forbidden');
      await play.pass(hour);
      expect(await resume()).to.include({ status: 'active' });
    });

  it('ends if the student loses access that existed while the e-mail was being sent', async () => {
    const { id: deliveryId } = await buildAccessDelivery(club.id);
    const { id: enrollment } = await buildEnrollment(club.id, { studentId: ada.id, deliveryId, startsAt: start });
    const run = await begin({
      exit_on_access_lost: true,
      steps: [{ id: 'mail', kind: 'send_email', email }, delay('long', 90, 'days')],
    });
    await play.settle();
    await revokeEnrollment(deps, club.id, enrollment, play.now());
    await play.pass(day);
    expect(await storyOf(run)).to.equal('exited access_lost: mail sent, long access_lost');
  });

  it('can be ended by an administrator, and then sends no waiting e-mail', async () => {
    const run = await begin({ steps: [{ id: 'mail', kind: 'send_email', email }] });
    play.answer = () => ({ kind: 'refused', permanent: false, reply: '451 later' });
    await play.settle();
    await exitRun(deps, club.id, run.automationId, run.runId, play.now());
    await play.pass(day);
    expect(await storyOf(run)).to.equal('exited by_hand: mail by_hand');
    expect(play.given).to.have.length(1);
  });

  it('ends when its student is removed, and deletes its path', async () => {
    const run = await begin({ steps: [delay('wait', 10)] });
    await play.settle();
    await removeStudent(deps, club.id, ada.id, play.now());
    await play.pass(hour);
    expect(await storyOf(run)).to.equal('exited student_removed: ');
    expect((await readCounts(deps.db, club.id, run.automationId, 1)).steps).to.deep.equal([
      { step_id: 'wait', kind: 'wait', entered: 1, waiting: 0, left: 1 },
    ]);
  });

  it('loses the list of its steps a year after its end, but keeps its status', async () => {
    const run = await begin({ steps: [{ id: 'points', kind: 'award_points', points: 1 }] });
    await play.settle();
    const forget = (ms: number) => forgetOldPaths(deps.db, new Date(start.getTime() + ms));
    await forget(365 * day);
    expect(await storyOf(run)).to.equal('completed: points awarded');
    await forget(365 * day + 1);
    expect(await storyOf(run)).to.equal('completed: ');
  });
});

async function expectCode(work: Promise<unknown>, code: string): Promise<void> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).to.have.property('code', code);
}

async function expectRejected(work: Promise<unknown>): Promise<void> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).to.be.instanceOf(Error);
}

describe('an automation that students enter', () => {
  let deps: Awaited<ReturnType<typeof testDeps>>;
  let club: TestClub;
  let ada: TestStudent;
  let play: AutomationPlay;
  before(async () => {
    deps = await testDeps();
  });
  beforeEach(async () => {
    club = await buildClub();
    ada = await buildStudent(club.id);
    play = await playAutomations(club.id, start);
  });
  const onTag = (tag: Id, parts: Partial<Definition> = {}) =>
    buildAutomation(
      club.id,
      {
        trigger: { kind: 'student_tagged', tag_ids: [tag] },
        steps: [{ id: 'points', kind: 'award_points', points: 1 }],
        ...parts,
      },
      start,
    );
  const retag = async (tag: Id) => {
    const tagging = { clubId: club.id, studentId: ada.id, tagId: tag };
    await untagStudent(deps, tagging, play.now());
    await tagStudent(deps, tagging, play.now());
    await play.settle();
  };
  const factOf = (tag: Id) => ({
    id: newId(),
    clubId: club.id,
    type: 'student.tagged' as const,
    studentId: ada.id,
    subjectId: tag,
    details: null,
    occurredAt: start,
    priority: 1 as const,
  });
  const countOf = async (automationId: Id) =>
    (await listRuns(deps.db, club.id, automationId, { page: 1, page_size: 1 })).total;

  it('reacts only to facts that match the trigger', async () => {
    const [tag, other] = [await buildTag(club.id), await buildTag(club.id)];
    const automationId = await onTag(tag);
    await retag(other);
    expect(await countOf(automationId)).to.equal(0);
    await retag(tag);
    expect(await countOf(automationId)).to.equal(1);
  });

  for (const [reentry, whileInside, afterwards] of [
    ['once', 1, 1],
    ['after_exit', 1, 2],
    ['always', 2, 3],
  ] as const)
    it(`has ${whileInside} run(s) during the first run, and ${afterwards} after it, if reentry is ${reentry}`, async () => {
      const tag = await buildTag(club.id);
      const automationId = await onTag(tag, { reentry, steps: [delay('wait', 10)] });
      await retag(tag);
      await retag(tag);
      expect(await countOf(automationId)).to.equal(whileInside);
      await play.pass(hour);
      await retag(tag);
      expect(await countOf(automationId)).to.equal(afterwards);
    });

  it('starts at most 20 active runs of each student if reentry is `always`', async () => {
    const tag = await buildTag(club.id);
    const automationId = await onTag(tag, { reentry: 'always', steps: [delay('wait', 10)] });
    for (let times = 0; times < 22; times++) await retag(tag);
    expect(await countOf(automationId)).to.equal(20);
  });

  it('stops automations that trigger each other in a cycle after 10 links', async () => {
    const [tag, back] = [await buildTag(club.id), await buildTag(club.id)];
    const swap = (added: Id, removed: Id): Step[] => [
      { id: 'take', kind: 'remove_tag', tag_id: removed },
      { id: 'put', kind: 'add_tag', tag_id: added },
    ];
    const first = await onTag(tag, { steps: swap(back, tag) });
    const second = await onTag(back, { steps: swap(tag, back) });
    await retag(tag);
    expect([await countOf(first), await countOf(second)]).to.deep.equal([6, 6]);
    const { rows } = await listRuns(deps.db, club.id, second, { page: 1, page_size: 9, status: 'failed' });
    expect(rows.map(({ error_code: code }) => code)).to.deep.equal(['cycle_limit']);
  });

  it('admits no student during a pause, not even later', async () => {
    const tag = await buildTag(club.id);
    const automationId = await onTag(tag);
    await pauseAutomation(deps, club.id, automationId, play.now());
    await retag(tag);
    await resumeAutomation(deps, club.id, automationId, play.now());
    await play.settle();
    expect(await countOf(automationId)).to.equal(0);
  });

  it('reacts to each kind of fact if all lists of its trigger match', async () => {
    const furnished = await buildFurnishedClub();
    const { id: clubId, records } = furnished;
    const idOf = async (table: string) =>
      (await deps.db.source.query<{ id: Id }[]>(`SELECT id FROM ${table} WHERE club_id = $1 LIMIT 1`, [clubId]))[0]
        ?.id ?? '';
    const [purchase, subscription, certificate] = [
      await idOf('purchases'),
      await idOf('subscriptions'),
      await idOf('certificates'),
    ];
    const course = await buildCourse(clubId);
    const others = {
      delivery_ids: (await buildAccessDelivery(clubId)).id,
      course_ids: course.id,
      lesson_ids: (await buildLesson(course)).id,
      product_ids: (await buildProduct(clubId)).id,
      tag_ids: await buildTag(clubId),
      level_ids: newId(),
    };
    await deps.db.source.query(
      `INSERT INTO levels (id, club_id, name, points, created_at) VALUES ($1, $2, 'Mate', 99, $3)`,
      [others.level_ids, clubId, start],
    );
    const [enrolled] = await deps.db.source.query<{ delivery: Id; course: Id; student: Id }[]>(
      `SELECT delivery.id AS delivery, delivery.course_id AS course, enrollment.student_id AS student FROM enrollments enrollment
         JOIN access_deliveries delivery ON delivery.id = enrollment.delivery_id WHERE enrollment.id = $1`,
      [records.enrollment],
    );
    const { delivery = '', course: opened = '', student = '' } = enrolled ?? {};
    const { product, lesson, course: taught, tag, level } = records;
    const kinds = [
      ['student.created', student, {}, [null, null]],
      ['access.granted', records.enrollment, { delivery_ids: delivery, course_ids: opened }, ['delivery', delivery]],
      ['access.revoked', records.enrollment, { delivery_ids: delivery, course_ids: opened }, ['delivery', delivery]],
      ['purchase.paid', purchase, { product_ids: product }, ['product', product]],
      ['purchase.refunded', purchase, { product_ids: product }, ['product', product]],
      ['subscription.past_due', subscription, { product_ids: product }, ['product', product]],
      ['subscription.canceled', subscription, { product_ids: product }, ['product', product]],
      ['lesson.completed', lesson, { lesson_ids: lesson, course_ids: taught }, ['course', taught]],
      ['course.completed', taught, { course_ids: taught }, ['course', taught]],
      ['certificate.issued', certificate, { course_ids: taught }, ['course', taught]],
      ['student.tagged', tag, { tag_ids: tag }, [null, null]],
      ['student.untagged', tag, { tag_ids: tag }, [null, null]],
      ['student.level_reached', level, { level_ids: level }, [null, null]],
    ] as const;
    for (const [type, subjectId, lists, access] of kinds) {
      const kind = type.replace('.', '_') as Definition['trigger']['kind'];
      const names = Object.entries(lists).map(([name, id]) => [name, id] as [keyof typeof others, Id]);
      const onLists = (each: (name: keyof typeof others, id: Id) => Id[]) => {
        const trigger = { kind, ...Object.fromEntries(names.map(([name, id]) => [name, each(name, id)])) };
        return buildAutomation(clubId, { trigger, steps: [delay('wait', 10)] }, start);
      };
      const fits = await onLists((name, id) => [others[name], id]);
      const misses: Id[] = [];
      for (const [missed] of names) misses.push(await onLists((name, id) => [name === missed ? others[name] : id]));
      const fact = { ...factOf(subjectId), clubId, type, studentId: student };
      await enrollByFacts(deps.db, [fact], start);
      const runs = await deps.db.source.query(
        `SELECT automation_id AS id, access_kind AS kind, access_id AS about FROM automation_runs WHERE cause_id = $1`,
        [fact.id],
      );
      expect(runs, type).to.deep.equal([{ id: fits, kind: access[0], about: access[1] }]);
      for (const id of [fits, ...misses]) await archiveAutomation(deps, clubId, id, start);
    }
  });

  it('admits several students together, and a locked student later', async () => {
    const tag = await buildTag(club.id);
    const automationId = await onTag(tag, { steps: [delay('wait', 10)] });
    const other = await buildStudent(club.id);
    const facts = [factOf(tag), { ...factOf(tag), id: newId(), studentId: other.id }];
    await withOpenTransaction(
      (tx) => tx.run(sql`SELECT FROM students WHERE id = ${other.id} FOR UPDATE`),
      async () => void expect((await enrollByFacts(deps.db, facts, start)).map(inShort)).to.deep.equal([0, 'blocked']),
    );
    expect(await countOf(automationId)).to.equal(1);
    expect((await enrollByFacts(deps.db, facts.slice(1), start)).map(inShort)).to.deep.equal([0]);
    expect(await countOf(automationId)).to.equal(2);
  });

  it('admits no student if the plan lacks automations', async () => {
    const tag = await buildTag(club.id);
    const automationId = await onTag(tag, { reentry: 'always', steps: [delay('wait', 10)] });
    await retag(tag);
    await buildPlan(club.id, 'starter');
    await retag(tag);
    expect(await countOf(automationId)).to.equal(1);
    await play.pass(hour);
    const { rows } = await listRuns(deps.db, club.id, automationId, { page: 1, page_size: 5 });
    expect(rows.map(({ status }) => status)).to.deep.equal(['completed']);
  });

  it('gives a run the priority of its fact, or the priority bulk if a person starts the run (AUTO-18)', async () => {
    const tag = await buildTag(club.id);
    const automationId = await onTag(tag, { reentry: 'always' });
    for (const priority of [0, 1, 2] as const)
      await enrollByFacts(deps.db, [{ ...factOf(tag), id: newId(), priority }], start);
    const manual = await buildAutomation(club.id, { steps: [delay('wait', 10)] }, start);
    await play.enroll(manual, ada.id);
    const priorities = async (id: Id) =>
      (
        await deps.db.source.query<{ priority: number }[]>(
          `SELECT priority FROM automation_runs WHERE automation_id = $1 ORDER BY priority`,
          [id],
        )
      ).map(({ priority }) => priority);
    expect([await priorities(automationId), await priorities(manual)]).to.deep.equal([[0, 1, 2], [2]]);

    const onAccess = await buildAutomation(
      club.id,
      { trigger: { kind: 'access_granted' }, steps: [delay('wait', 10)] },
      start,
    );
    const { id: enrollment } = await buildEnrollment(club.id, { studentId: ada.id, startsAt: start });
    await revokeEnrollment(deps, club.id, enrollment, start);
    await restoreEnrollment(deps, club.id, enrollment, start);
    await play.settle();
    expect(await countOf(onAccess)).to.equal(0);
  });

  it('starts one run for several simultaneous facts if reentry is `once` or `after_exit`', async () => {
    const tag = await buildTag(club.id);
    for (const reentry of ['once', 'after_exit'] as const) {
      const automationId = await onTag(tag, { reentry, steps: [delay('wait', 10)] });
      await Promise.all([0, 1, 2, 3].map(() => enrollByFacts(deps.db, [factOf(tag)], start)));
      expect(await countOf(automationId), reentry).to.equal(1);
      await archiveAutomation(deps, club.id, automationId, start);
    }
  });

  it('applies an effect completely before a removal of the student, or not at all', async () => {
    for (let times = 0; times < 8; times++) {
      const bob = await buildStudent(club.id);
      const tag = await buildTag(club.id);
      const automationId = await buildAutomation(
        club.id,
        { steps: [{ id: 'tag', kind: 'add_tag', tag_id: tag }, delay('wait', 10)] },
        start,
      );
      const runId = await play.enroll(automationId, bob.id);
      await Promise.all([
        takeStep(play.deps, runId, start.getTime()),
        removeStudent(deps, club.id, bob.id, start),
        archiveAutomation(deps, club.id, automationId, start),
      ]);
      await play.settle();
      const remainder = await deps.db.source.query(
        `SELECT (SELECT count(*)::int FROM student_tags WHERE student_id = $1) AS tags, (SELECT status FROM automation_runs WHERE id = $2) AS status`,
        [bob.id, runId],
      );
      expect(remainder).to.deep.equal([{ tags: 0, status: 'exited' }]);
    }
  });

  const wakesOfRuns = () =>
    deps.db.rows<{ id: Id; priority: number }>(
      sql`SELECT subject_id AS id, priority FROM wakes WHERE workflow_type = 'automationRun' AND club_id = ${club.id} ORDER BY seq`,
    );

  it('starts no second run for a repeated fact', async () => {
    const tag = await buildTag(club.id);
    const automationId = await onTag(tag, { reentry: 'always' });
    const fact = factOf(tag);
    await Promise.all([enrollByFacts(deps.db, [fact], start), enrollByFacts(deps.db, [fact], start)]);
    expect(await countOf(automationId)).to.equal(1);
    expect(await wakesOfRuns()).to.have.length(1);
  });

  it('gives a new wake the priority bulk if 16 wakes of the club’s automations wait (AUTO-20)', async () => {
    const tag = await buildTag(club.id);
    await onTag(tag, { reentry: 'always' });
    const elsewhere = await buildClub();
    const wait = (clubId: Id, type: string, count: number) =>
      deps.db.run(sql`INSERT INTO wakes (workflow_id, workflow_type, subject_id, club_id, attributes, recorded_at)
        SELECT ${`${type}/${clubId}/`} || n, ${type}, gen_random_uuid(), ${clubId}, '{}', now() FROM generate_series(1, ${count}) AS n`);
    await wait(elsewhere.id, 'automationRun', 60);
    await wait(club.id, 'transactionalMail', 60);
    await wait(club.id, 'automationRun', 15);
    for (let times = 0; times < 2; times++) await enrollByFacts(deps.db, [factOf(tag)], start);
    expect((await wakesOfRuns()).slice(15).map(({ priority }) => priority)).to.deep.equal([1, 2]);
  });
});
