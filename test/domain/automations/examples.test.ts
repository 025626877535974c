/** Runs the worked examples of docs/how-to/build-automations.md. */
import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { projectDirectory } from '../../../dev/project.ts';
import type { Definition } from '../../../domain/automations/versions/definition.policy.ts';
import { dryRun } from '../../../domain/automations/dry-runs/dry-run.ts';
import { listRuns } from '../../../domain/automations/runs.ts';
import { tagStudent, untagStudent } from '../../../domain/learning/engagement/tagging.ts';
import { openingToken } from '../../../domain/mail/tracking/tokens.ts';
import { recordOpening } from '../../../domain/mail/tracking/visits.ts';
import { grantAccess } from '../../../domain/access/enrollments/enrollments.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { buildAccessDelivery } from '../../toolkit/builders/access.ts';
import { buildAutomation, buildTag } from '../../toolkit/builders/automations.ts';
import { buildClub, buildStudent, type TestClub, type TestStudent } from '../../toolkit/builders/clubs.ts';
import { buildCourse, buildLesson } from '../../toolkit/builders/courses.ts';
import { playAutomations, type AutomationPlay } from '../../toolkit/drive/automations.ts';
import { testDeps } from '../../toolkit/stack/database.ts';

const page = readFileSync(path.join(projectDirectory, 'docs/how-to/build-automations.md'), 'utf8');
const examples = [...page.matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text);
const start = new Date('2026-03-02T12:00:00Z');
const day = 86_400_000;

describe('the automations in docs/how-to/build-automations.md', () => {
  let deps: Awaited<ReturnType<typeof testDeps>>;
  let club: TestClub;
  let ada: TestStudent;
  let play: AutomationPlay;
  before(async () => {
    deps = await testDeps();
  });
  beforeEach(async () => {
    club = await buildClub();
    ada = await buildStudent(club.id, { name: 'Ada Example' });
    play = await playAutomations(club.id, start);
  });
  const publish = (place: number, ids: Record<string, Id>) => {
    const text = (examples[place] ?? '').replaceAll(/"(COURSE|TAG)"/g, (_, name: string) => `"${ids[name]}"`);
    return buildAutomation(club.id, JSON.parse(text) as Definition, start);
  };
  const stories = async (automationId: Id) => {
    const { rows } = await listRuns(deps.db, club.id, automationId, { page: 1, page_size: 10 });
    return Promise.all(rows.map(({ id }) => play.story(automationId, id)));
  };
  const subjects = () => play.given.map(({ subject }) => subject);

  it('has three examples', () => {
    expect(examples).to.have.length(3);
  });

  it('welcome students, and remind a student who has not begun after a day', async () => {
    const { id: deliveryId, courseId } = await buildAccessDelivery(club.id);
    const automationId = await publish(0, { COURSE: courseId });
    await deps.db.transaction((tx) =>
      grantAccess(tx, { clubId: club.id, studentId: ada.id, deliveryId, source: 'grant' }, start),
    );
    await play.pass(day);
    expect(await stories(automationId)).to.deep.equal(['completed: a day time_over, has begun else, nudge sent']);
    expect(subjects()).to.deep.equal(['Your first knot, Ada']);
  });

  it('allow the dry run that the page describes', async () => {
    const [, request = ''] = /^```http\n.*\n\n([\s\S]*?)^```$/m.exec(page) ?? [];
    const course = await buildCourse(club.id);
    const { id: LESSON } = await buildLesson(course);
    const { id: DELIVERY } = await buildAccessDelivery(club.id, { courseId: course.id });
    const automationId = await publish(0, { COURSE: course.id });
    const ids: Record<string, Id> = { STUDENT: ada.id, DELIVERY, LESSON };
    const body = request.replaceAll(/"(STUDENT|DELIVERY|LESSON)"/g, (_, name: string) => `"${ids[name]}"`);
    const { status, path: passed } = await dryRun(deps, club.id, automationId, JSON.parse(body), start);
    expect([status, ...passed.map(({ step_id: id, outcome, left_at: at }) => `${id} ${outcome} ${at}`)]).to.deep.equal([
      'completed',
      'a day time_over 2026-03-03T12:00:00.000Z',
      'has begun then 2026-03-03T12:00:00.000Z',
      'reward awarded 2026-03-03T12:00:00.000Z',
    ]);
  });

  it('write again to a student who has not opened the first e-mail', async () => {
    const tag = await buildTag(club.id);
    const automationId = await publish(1, { TAG: tag });
    await play.enroll(automationId, ada.id);
    await play.pass(3 * day);
    expect(subjects()).to.deep.equal(['A new course', 'Did you see it?']);
    const second = await play.enroll(automationId, ada.id);
    await play.settle();
    const [mail] = await deps.db.source.query<{ id: Id }[]>(
      `SELECT id FROM mails WHERE run_id = $1 AND step_id = 'invitation'`,
      [second],
    );
    const visit = {
      method: 'GET',
      header: (name: string) => (name === 'user-agent' ? 'Mozilla/5.0 (X11) Firefox' : ''),
    };
    await recordOpening(deps, openingToken(deps.vault, mail?.id ?? ''), visit, play.now());
    await play.settle();
    expect(await play.story(automationId, second)).to.equal(
      'completed: invitation sent, three days to read then, keen tagged',
    );
  });

  it('write in the mornings of the club’s time zone, and stop when the tag is removed', async () => {
    const tag = await buildTag(club.id);
    const automationId = await publish(2, { TAG: tag });
    const tagging = { clubId: club.id, studentId: ada.id, tagId: tag };
    await tagStudent(deps, tagging, start);
    await play.settle();
    await play.pass(new Date('2026-03-03T09:00:00Z').getTime() - start.getTime());
    expect(subjects()).to.deep.equal(['Week one']);
    await play.pass(7 * day);
    expect(await stories(automationId)).to.deep.equal([
      'completed: next morning time_over, first letter sent, a week time_over, second letter sent, done untagged',
    ]);
    await tagStudent(deps, tagging, play.now());
    await play.settle();
    await untagStudent(deps, tagging, play.now());
    await play.settle();
    expect((await stories(automationId))[0]).to.equal('exited exit_when: next morning exit_when');
  });
});
