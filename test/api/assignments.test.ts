/**
 * Tests how administrators write assignments of lessons, how students see assignments, and how assignments block the completion of a
 * lesson.
 */
import { expect } from 'chai';
import { newId, type Id } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildLearner, buildOpenCourse, type Learner, type OpenCourse } from '../toolkit/builders/access.ts';
import { buildAssignment, buildSubmission, type AssignmentOptions } from '../toolkit/builders/assignments.ts';
import { buildMedia } from '../toolkit/builders/media.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { buildClub, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { clock, expectError, visible, type Answer } from '../toolkit/drive/api.ts';
import { handingInOf, reviewingOf } from '../toolkit/drive/assignments.ts';
import { classroomOf } from '../toolkit/drive/classroom.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { rowCounts } from '../toolkit/stack/database.ts';

const hour = 3_600_000;
const inHours = (count: number) => new Date(clock.now().getTime() + count * hour).toISOString();

describe('assignments', () => {
  let club: TestClub;
  let course: OpenCourse;
  let learner: Learner;
  let student: ReturnType<typeof handingInOf>;
  let write: ReturnType<typeof callsOf>;
  let reviewer: ReturnType<typeof reviewingOf>;
  beforeEach(async () => {
    club = await buildClub();
    course = await buildOpenCourse(club.id, { lessons: 1 });
    learner = await buildLearner(course);
    student = handingInOf(course, learner);
    write = callsOf(club);
    reviewer = reviewingOf(club);
  });
  const lesson = () => course.lessons[0] ?? { id: '', publicId: '' };
  const create = (body: object): Promise<Answer> =>
    write('POST', `/lessons/${lesson().id}/assignments`, { prompt: 'Tie it.', ...body });
  const assign = async (options: AssignmentOptions = {}): Promise<Id> =>
    (await buildAssignment({ clubId: club.id, id: lesson().id }, options)).id;
  const listed = async (): Promise<Id[]> =>
    (await write('GET', `/lessons/${lesson().id}/assignments`)).body.data.map(({ id }: { id: Id }) => id);

  describe('POST /v1/clubs/{clubId}/lessons/{lessonId}/assignments', () => {
    it('adds an assignment at the end of its lesson, for texts only by default (ASG-5)', async () => {
      const [first, second] = [
        await create({}),
        await create({ block_label: ' Your\n bowline ', max_files: 3, required: true }),
      ];
      expect(first.status).to.equal(201);
      const { id, created_at: at, ...rest } = first.body.data;
      const bare = {
        lesson_id: lesson().id,
        prompt: 'Tie it.',
        media: [],
        takes_text: true,
        max_files: 0,
        required: false,
      };
      expect(rest).to.deep.equal({ ...bare, position: 1, updated_at: at });
      expect(second.body.data).to.include({ block_label: 'Your bowline', max_files: 3, required: true, position: 2 });
      expect((await write('GET', `/assignments/${id}`)).body).to.deep.equal(first.body);
      expect(await listed()).to.deep.equal([id, second.body.data.id]);
    });

    it('returns 422 for an assignment that accepts neither text nor files, and for wrong dates or limits', async () => {
      const before = await rowCounts();
      await eachCase(
        [
          { takes_text: false },
          { due_at: inHours(2), closes_at: inHours(1) },
          { due_at: 'tomorrow' },
          { prompt: ' ' },
          { prompt: 'x'.repeat(20_001) },
          { block_label: 'x'.repeat(121) },
          { max_files: 11 },
          { max_files: -1 },
        ],
        async (body) => expectError(await create(body), 'invalid_request'),
      );
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('returns 409 assignment_limit_reached for the 21st assignment of a lesson, even simultaneously', async () => {
      for (let number = 0; number < 18; number++) await assign();
      const answers = await Promise.all([create({}), create({}), create({}), create({})]);
      expect(answers.map(({ status }) => status)).to.have.members([201, 201, 409, 409]);
      expectError(await create({}), 'assignment_limit_reached');
      const [one = ''] = await listed();
      expect((await write('DELETE', `/assignments/${one}`)).status).to.equal(204);
      expect((await create({})).status).to.equal(201);
    });
  });

  describe('PATCH and DELETE /v1/clubs/{clubId}/assignments/{assignmentId}', () => {
    it('changes the given fields, and returns 422 if the fields then contradict each other', async () => {
      const { id, ...fields } = (await create({ block_label: 'One', due_at: inHours(1), max_files: 1 })).body.data;
      const change = (body: object) => write('PATCH', `/assignments/${id}`, body);
      expectError(await change({ closes_at: inHours(0) }), 'invalid_request');
      expect((await change({ takes_text: false })).body.data).to.include({ takes_text: false, due_at: fields.due_at });
      expectError(await change({ max_files: 0 }), 'invalid_request');
      for (const day of ['2027-02-29', '2027-04-31'])
        expectError(await change({ due_at: `${day}T10:00:00Z` }), 'invalid_request');
      const bare = (await change({ block_label: '', due_at: '', required: true })).body.data;
      expect(bare).to.include({ max_files: 1, required: true }).and.to.not.have.any.keys('block_label', 'due_at');
      expect((await write('GET', `/assignments/${id}`)).body.data).to.deep.equal(bare);
    });

    it('deletes an assignment alone or with its lesson, and then returns 404 for the assignment', async () => {
      const [one, two] = [await assign(), await assign()];
      expect((await write('DELETE', `/assignments/${one}`)).status).to.equal(204);
      await eachCase([['GET'], ['PATCH', { prompt: 'Again' }], ['DELETE']] as const, async ([method, body]) =>
        expectError(await write(method, `/assignments/${one}`, body), 'not_found'),
      );
      const [remaining] = (await student.list(lesson().publicId)).body.data;
      expect(remaining).to.include({ id: two, position: 1 });
      await write('DELETE', `/lessons/${lesson().id}`);
      expectError(await write('GET', `/assignments/${two}`), 'not_found');
    });
  });

  describe('library files of an assignment', () => {
    it('are shown to students, and cannot be deleted while an assignment uses them (MED-14)', async () => {
      const { id: fileId } = await buildMedia(club.id, { bytes: 'How to tie it.' });
      const { id: other } = await buildMedia(club.id, { bytes: 'More.' });
      const { body } = await create({ block_label: 'One', media_ids: [fileId, fileId.toUpperCase()] });
      expect(body.data.media.map((one: { id: Id }) => one.id)).to.deep.equal([fileId]);
      const [shownAssignment] = (await student.list(lesson().publicId)).body.data;
      expect(shownAssignment.media[0]).to.include({ id: fileId, status: 'ready' }).and.to.have.property('download_url');
      const usage = async (file: Id) => (await write('GET', `/media/${file}/usage`)).body.data;
      expect(await usage(fileId)).to.deep.equal([{ kind: 'assignment', id: body.data.id, title: 'One' }]);
      expectError(await write('DELETE', `/media/${fileId}`), 'in_use');
      await alter('media', other, { archived: true });
      const before = await rowCounts();
      expectError(await create({ media_ids: [other] }), 'media_archived');
      expectError(await create({ media_ids: [newId()] }), 'not_found');
      expect(await rowCounts()).to.deep.equal(before);
      expect((await write('PATCH', `/assignments/${body.data.id}`, { media_ids: [] })).body.data.media).to.deep.equal(
        [],
      );
      expect(await usage(fileId)).to.deep.equal([]);
    });

    it('can be deleted after every assignment that used the files is deleted, alone or with its lesson', async () => {
      const { id: fileId } = await buildMedia(club.id);
      const usage = async () => (await write('GET', `/media/${fileId}/usage`)).body.total;
      const { id } = (await create({ media_ids: [fileId] })).body.data;
      await create({ media_ids: [fileId] });
      expect(await usage()).to.equal(2);
      await write('DELETE', `/assignments/${id}`);
      expect(await usage()).to.equal(1);
      await write('DELETE', `/lessons/${lesson().id}`);
      expect(await usage()).to.equal(0);
      expect((await write('DELETE', `/media/${fileId}`)).status).to.equal(204);
    });
  });

  describe('PUT /v1/clubs/{clubId}/lessons/{lessonId}/assignments/order', () => {
    it('stores the order, and returns 422 unless the request names each assignment exactly once', async () => {
      const [a, b, c] = [await assign(), await assign(), await assign()];
      const order = (ids: Id[]) => write('PUT', `/lessons/${lesson().id}/assignments/order`, { assignment_ids: ids });
      await eachCase([[a, b], [a, b, b], [a, b, c, newId()], []], async (ids) =>
        expectError(await order(ids), 'invalid_request'),
      );
      expect(await listed()).to.deep.equal([a, b, c]);
      expect((await order([c, a.toUpperCase(), b])).status).to.equal(204);
      expect(await listed()).to.deep.equal([c, a, b]);
      const shownAssignments = (await student.list(lesson().publicId)).body.data;
      expect(shownAssignments.map((one: { id: Id; position: number }) => [one.id, one.position])).to.deep.equal([
        [c, 1],
        [a, 2],
        [b, 3],
      ]);
    });
  });

  describe('GET /v1/clubs/{clubId}/classroom/lessons/{publicId}/assignments', () => {
    it('shows the student’s work, and whether the assignment is open for a submission', async () => {
      const [open, waiting, returned, approved] = [await assign(), await assign(), await assign(), await assign()];
      const closed = await assign({ dueAt: new Date(0), closesAt: new Date(0) });
      const sentFor = (assignmentId: Id, status: 'submitted' | 'changes_requested' | 'approved') =>
        buildSubmission({ clubId: club.id, studentId: learner.id, assignmentId, status });
      const { id } = await sentFor(waiting, 'submitted');
      await sentFor(returned, 'changes_requested');
      await sentFor(approved, 'approved');
      const { body } = await student.list(lesson().publicId);
      expect(body.total).to.equal(5);
      expect(
        body.data.map((one: { id: Id; open: boolean; submission?: { status: string } }) => [
          one.id,
          one.open,
          one.submission?.status,
        ]),
      ).to.deep.equal([
        [open, true, undefined],
        [waiting, false, 'submitted'],
        [returned, true, 'changes_requested'],
        [approved, false, 'approved'],
        [closed, false, undefined],
      ]);
      expect(body.data[1].submission).to.include({ id, late: false });
      const others = await handingInOf(course, await buildLearner(course)).list(lesson().publicId);
      expect(others.body.data.some((one: object) => 'submission' in one)).to.equal(false);
    });

    it('returns the same 404 answer for unknown, unpublished and inaccessible lessons', async () => {
      await assign();
      const unknown = await student.list('unknown');
      expectError(unknown, 'not_found');
      const outsider = handingInOf(course, await buildStudent(club.id));
      expect(visible(await outsider.list(lesson().publicId))).to.equal(visible(unknown));
      await write('PATCH', `/lessons/${lesson().id}`, { published: false });
      expect(visible(await student.list(lesson().publicId))).to.equal(visible(unknown));
    });
  });

  describe('extensions for one student', () => {
    it('move the due date and the closing date, until the extension is replaced or deleted (ASG-7)', async () => {
      const assignment = await assign({ dueAt: new Date(inHours(1)), closesAt: new Date(inHours(2)) });
      const extension = await reviewer.extend(assignment, learner.id, { due_at: inHours(5) });
      const { created_at: at, updated_at: updatedAt, ...record } = extension.body.data;
      const named = { id: learner.id, name: 'Stella Student', email: learner.email };
      expect(record).to.deep.equal({ student: named, due_at: extension.body.data.due_at });
      expect(updatedAt).to.equal(at);
      const dates = async () => {
        const [one] = (await student.list(lesson().publicId)).body.data;
        return [one.due_at, one.closes_at].map((date) => Math.round((Date.parse(date) - clock.now().getTime()) / hour));
      };
      expect(await dates()).to.deep.equal([5, 5]);
      await reviewer.extend(assignment, learner.id, { due_at: inHours(3), closes_at: inHours(4) });
      expect(await dates()).to.deep.equal([3, 4]);
      const { body } = await write('GET', `/assignments/${assignment}/extensions`);
      expect([body.total, body.data[0].created_at]).to.deep.equal([1, at]);
      const path = `/assignments/${assignment}/extensions/${learner.id}`;
      expect((await write('DELETE', path)).status).to.equal(204);
      expect(await dates()).to.deep.equal([1, 2]);
      expectError(await write('DELETE', path), 'not_found');
    });

    it('are refused with 422 if their dates are contradictory or too early', async () => {
      const assignment = await assign({ dueAt: new Date(inHours(2)) });
      const closing = await assign({ dueAt: new Date(inHours(1)), closesAt: new Date(inHours(2)) });
      const before = await rowCounts();
      await eachCase([{ due_at: inHours(1) }, { closes_at: inHours(3) }], async (body) =>
        expectError(await reviewer.extend(assignment, learner.id, body), 'invalid_request'),
      );
      const upsideDown = { due_at: inHours(5), closes_at: inHours(3) };
      expectError(await reviewer.extend(closing, learner.id, upsideDown), 'invalid_request');
      expectError(await reviewer.extend(assignment, learner.id, {}), 'invalid_request');
      expect(await rowCounts()).to.deep.equal(before);
      await write('DELETE', `/students/${learner.id}`);
      expectError(await reviewer.extend(assignment, learner.id, { due_at: inHours(3) }), 'not_found');
    });

    it('make late work count as on time, unless the work is already approved (ASG-8)', async () => {
      const assignments = [
        await assign({ dueAt: new Date(inHours(1)) }),
        await assign({ dueAt: new Date(inHours(1)) }),
      ];
      clock.advance(2 * hour);
      const ids: Id[] = [];
      for (const assignment of assignments) ids.push((await student.send(assignment)).body.data.id);
      const [one = '', two = ''] = ids;
      const [first = '', second = ''] = assignments;
      const late = async (id: Id) => (await reviewer.read(id)).body.data.late;
      expect([await late(one), await late(two)]).to.deep.equal([true, true]);
      await reviewer.extend(first, learner.id, { due_at: inHours(1) });
      expect(await late(one)).to.equal(false);
      await write('DELETE', `/assignments/${first}/extensions/${learner.id}`);
      expect(await late(one), 'taken back').to.equal(true);
      await reviewer.approve(one);
      await reviewer.extend(first, learner.id, { due_at: inHours(1) });
      expect(await late(one), 'approved as late').to.equal(true);
      await write('PATCH', `/assignments/${second}`, { due_at: inHours(1) });
      expect(await late(two)).to.equal(false);
    });
  });

  describe('PUT /v1/clubs/{clubId}/classroom/lessons/{publicId}/completion', () => {
    it('returns 409 assignment_open until each required assignment of the lesson is approved (ASG-13)', async () => {
      const classroom = classroomOf(course, learner);
      const [required, removed] = [await assign({ required: true }), await assign({ required: true })];
      await assign();
      const before = await rowCounts();
      expectError(await classroom.complete(lesson().publicId), 'assignment_open');
      expect(await rowCounts()).to.deep.equal(before);
      await write('DELETE', `/assignments/${removed}`);
      const { id } = (await student.send(required)).body.data;
      expectError(await classroom.complete(lesson().publicId), 'assignment_open');
      await reviewer.return(id);
      expectError(await classroom.complete(lesson().publicId), 'assignment_open');
      await student.send(required);
      await reviewer.approve(id, 2);
      expect((await classroom.complete(lesson().publicId)).body.data.course).to.have.property('completed_at');
    });

    it('keeps the completion of a lesson if an assignment later becomes required', async () => {
      const classroom = classroomOf(course, learner);
      const assignment = await assign();
      await classroom.complete(lesson().publicId);
      await write('PATCH', `/assignments/${assignment}`, { required: true });
      expect((await classroom.complete(lesson().publicId)).status).to.equal(200);
      await classroom.undo(lesson().publicId);
      expectError(await classroom.complete(lesson().publicId), 'assignment_open');
    });
  });
});
