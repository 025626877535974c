/** Tests students' submissions for assignments: files, submitting, withdrawing, reviews and the review queue. */
import { expect } from 'chai';
import { newId, type Id } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildLearner, buildOpenCourse, type Learner, type OpenCourse } from '../toolkit/builders/access.ts';
import { buildAssignment, buildAssignmentFile, type AssignmentOptions } from '../toolkit/builders/assignments.ts';
import { buildClub, buildMember, buildStudent, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildMedia } from '../toolkit/builders/media.ts';
import { png } from '../toolkit/builders/pictures.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { call, clock, expectError, visible, type Answer } from '../toolkit/drive/api.ts';
import { handingInOf, reviewingOf } from '../toolkit/drive/assignments.ts';
import { revokeEnrollment } from '../toolkit/drive/classroom.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { completing, filesOf, put } from '../toolkit/drive/media.ts';
import { columnsHolding, mailsTo, rowCounts, testDatabase } from '../toolkit/stack/database.ts';

const hour = 3_600_000;
const inHours = (count: number) => new Date(clock.now().getTime() + count * hour);

describe('assignment submissions', () => {
  let club: TestClub;
  let course: OpenCourse;
  let learner: Learner;
  let student: ReturnType<typeof handingInOf>;
  let reviewer: ReturnType<typeof reviewingOf>;

  beforeEach(async () => {
    club = await buildClub();
    course = await buildOpenCourse(club.id, { lessons: 1 });
    learner = await buildLearner(course);
    student = handingInOf(course, learner);
    reviewer = reviewingOf(club);
  });
  const lesson = () => ({ clubId: club.id, id: course.lessons[0]?.id ?? '' });
  const assign = async (options: AssignmentOptions = {}): Promise<Id> => (await buildAssignment(lesson(), options)).id;
  const file = () => buildAssignmentFile(club.id, learner.id);
  const idOf = ({ body }: Answer): Id => body.data.id;
  const submitted = async (assignment: Id, body?: object): Promise<Id> => {
    const answer = await student.send(assignment, body);
    expect(answer.status, answer.text).to.equal(201);
    return idOf(answer);
  };
  const unsentUntil = async (id: Id): Promise<Date | null> => {
    const [row] = await (
      await testDatabase()
    ).query<{ erases_at: Date | null }[]>(`SELECT erases_at FROM media WHERE id = $1`, [id]);
    return row?.erases_at ?? null;
  };

  describe('POST /v1/clubs/{clubId}/classroom/assignment-files', () => {
    const picture = { file_name: 'My knot.png', mime: 'image/png' };

    it('reserves a file without a declared size, and makes it ready after the completion (ASG-4)', async () => {
      const reserved = await student.reserve(picture);
      expect(reserved.status).to.equal(201);
      const { data, upload } = reserved.body;
      expect(data).to.include({ status: 'uploading', kind: 'image', mime: 'image/png', visibility: 'private' });
      expect(upload.method).to.equal('put');
      expect(Object.keys(upload.headers)).to.deep.equal(['authorization', 'content-type']);
      expect(await put(upload, png(64, 48))).to.equal(200);
      expect(await put(upload, png(64, 48)), 'the address accepts one file').to.equal(412);
      const { status, body } = await completing({ club, student: learner }, data.id);
      expect(status).to.equal(200);
      expect(body.data).to.include({ status: 'ready', width: 64, height: 48 });
      const keptMs = Number(await unsentUntil(data.id)) - clock.now().getTime();
      expect(keptMs / hour).to.be.within(7 * 24 - 1, 7 * 24);
    });

    it('returns 422 for a type that is not allowed or a name with a path, and 400 if a size is sent', async () => {
      const before = await rowCounts();
      await eachCase(
        [{ mime: 'application/x-msdownload' }, { mime: 'png' }, { file_name: '../knot.png' }, { file_name: '' }],
        async (body) => expectError(await student.reserve({ ...picture, ...body }), 'invalid_request'),
      );
      await eachCase([{ size_bytes: 3 }, { title: 'Mine' }, { mime: undefined }], async (body) =>
        expectError(await student.reserve({ ...picture, ...body }), 'malformed_request'),
      );
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('returns 409 too_many_files above 20 unsubmitted files, even if the requests are simultaneous', async () => {
      const assignment = await assign({ maxFiles: 1 });
      const files = await Promise.all(Array.from({ length: 18 }, file));
      const answers = await Promise.all(Array.from({ length: 5 }, () => student.reserve(picture)));
      expect(answers.map(({ status }) => status)).to.have.members([201, 201, 409, 409, 409]);
      const refused = answers.find(({ status }) => status === 409);
      if (refused) expectError(refused, 'too_many_files');
      const image = { ...picture, size_bytes: 100 };
      const path = `/v1/clubs/${club.id}/classroom/agent-images`;
      expect((await call('POST', path, { token: learner.token, body: image })).status).to.equal(201);
      await submitted(assignment, { file_ids: files.slice(0, 1) });
      expect((await student.reserve(picture)).status).to.equal(201);
      expectError(await student.reserve(picture), 'too_many_files');
    });
  });

  describe('GET and DELETE /v1/clubs/{clubId}/classroom/assignment-files', () => {
    const listed = async (query = '') => {
      const { status, body } = await student.unsent(query);
      expect(status).to.equal(200);
      return [body.data.map(({ id }: { id: Id }) => id), body.total];
    };

    it('lists the files that count against the limit of 20 unsubmitted files, newest first', async () => {
      const [first, submittedFile, otherFile] = [await file(), await file(), await file()];
      const id = await submitted(await assign({ maxFiles: 2 }), { file_ids: [submittedFile, otherFile] });
      await alter('media', await file(), { status: 'failed', error: 'too_large', erases_at: null });
      await alter('media', await file(), { purpose: 'agent_image' });
      await alter('media', await file(), { removed_at: clock.now() });
      await buildAssignmentFile(club.id, (await buildStudent(club.id)).id);
      const working = await file();
      await alter('media', working, { status: 'processing', erases_at: null });
      const uploading = idOf(await student.reserve({ file_name: 'knot.png', mime: 'image/png' }));
      await alter('media', uploading, { created_at: new Date(Date.now() + hour) });
      expect(await listed()).to.deep.equal([[uploading, working, first], 3]);
      expect(await listed('?page=2&page_size=2')).to.deep.equal([[first], 3]);
      await student.withdraw(id);
      expect(await listed()).to.deep.equal([[uploading, working, otherFile, submittedFile, first], 5]);
    });

    it('erases the file before or after its upload, and stops counting the file against the limit', async () => {
      const uploader = { club, student: learner };
      const arrived = await student.reserve({ file_name: 'knot.png', mime: 'image/png' });
      await put(arrived.body.upload, png(4, 4));
      await completing(uploader, idOf(arrived));
      const all = [idOf(arrived), ...(await Promise.all(Array.from({ length: 19 }, file)))];
      const refused = () => student.reserve({ file_name: 'more.png', mime: 'image/png' });
      expectError(await refused(), 'too_many_files');
      expect(await filesOf(club)).to.deep.equal(all.slice(0, 1));
      expect((await student.drop(idOf(arrived))).status).to.equal(204);
      expect(await filesOf(club)).to.deep.equal([]);
      const next = await refused();
      expect(next.status).to.equal(201);
      expect((await student.drop(idOf(next).toUpperCase())).status).to.equal(204);
      expect((await listed())[1]).to.equal(19);
      expectError(await student.drop(idOf(next)), 'not_found');
    });

    it('returns 409 in_use for a submitted file, and 404 for an unknown file or another student’s file', async () => {
      const submittedFile = await file();
      const id = await submitted(await assign({ maxFiles: 1 }), { file_ids: [submittedFile] });
      const others = await buildAssignmentFile(club.id, (await buildStudent(club.id)).id);
      const image = await file();
      await alter('media', image, { purpose: 'agent_image' });
      expectError(await student.drop(submittedFile), 'in_use');
      const unknown = await student.drop(newId());
      expectError(unknown, 'not_found');
      await eachCase([others, image], async (one) =>
        expect(visible(await student.drop(one))).to.equal(visible(unknown)),
      );
      const rows = await (
        await testDatabase()
      ).query(`SELECT 1 FROM media WHERE club_id = $1 AND removed_at IS NULL`, [club.id]);
      expect(rows).to.have.length(3);
      await student.withdraw(id);
      expect((await student.drop(submittedFile)).status).to.equal(204);
    });
  });

  describe('POST /v1/clubs/{clubId}/classroom/assignments/{assignmentId}/submissions', () => {
    it('submits a text and files in the given order, and keeps the files from expiry', async () => {
      const assignment = await assign({ maxFiles: 2, label: 'Your bowline', dueAt: inHours(1) });
      const files = [await file(), await file()].toReversed();
      const { status, body } = await student.send(assignment, { text: ' The bowline\nholds. ', file_ids: files });
      expect(status).to.equal(201);
      const { id, submitted_at: submittedAt, due_at: dueAt, attempts, ...rest } = body.data;
      expect(rest).to.deep.equal({
        assignment_id: assignment,
        status: 'submitted',
        late: false,
        lesson_public_id: course.lessons[0]?.publicId,
        lesson_title: 'Lesson 1',
        course_id: course.id,
        course_title: 'Knots for Beginners',
        block_label: 'Your bowline',
        prompt: 'Tie a *bowline*.',
        file_count: 2,
        reviews: [],
      });
      expect(Date.parse(dueAt) - Date.parse(submittedAt)).to.be.within(0, hour);
      const [{ files: attemptFiles, ...attempt }] = attempts;
      expect(attempt).to.deep.equal({ number: 1, text: ' The bowline\nholds. ', submitted_at: submittedAt });
      expect(attemptFiles.map((one: { id: Id }) => one.id)).to.deep.equal(files);
      expect(attemptFiles[0])
        .to.include({ status: 'ready', file_name: 'My knot.pdf' })
        .and.to.have.property('download_url');
      expect(await Promise.all(files.map(unsentUntil))).to.deep.equal([null, null]);
      expect((await student.read(id)).body.data).to.include({ id, status: 'submitted' });
    });

    it('returns 422 for an empty submission and for parts that the assignment does not accept', async () => {
      const [texts, files] = [await assign(), await assign({ takesText: false, maxFiles: 1 })];
      const ready = [await file(), await file()];
      const before = await rowCounts();
      await eachCase(
        [
          () => student.send(texts, { file_ids: ready.slice(0, 1) }),
          () => student.send(texts, { text: ' \n' }),
          () => student.send(texts, { text: 'x'.repeat(20_001) }),
          () => student.send(files, { text: 'Here' }),
          () => student.send(files, { file_ids: ready }),
          () => student.send(files, { file_ids: [] }),
          () => student.send(files, {}),
        ],
        async (send) => expectError(await send(), 'invalid_request'),
      );
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('returns 422 invalid_file for files that are unknown, unready, submitted or not the student’s', async () => {
      const assignment = await assign({ maxFiles: 2 });
      const submittedFile = await file();
      await submitted(await assign({ maxFiles: 1 }), { file_ids: [submittedFile] });
      const uploading = idOf(await student.reserve({ file_name: 'knot.png', mime: 'image/png' }));
      const [mine, others] = [await file(), await buildAssignmentFile(club.id, (await buildStudent(club.id)).id)];
      const library = await file();
      await (await testDatabase()).query(`UPDATE media SET purpose = 'agent_image' WHERE id = $1`, [library]);
      const before = await rowCounts();
      await eachCase(
        [[submittedFile], [uploading], [others], [library], [mine, mine.toUpperCase()], [mine, newId()]],
        async (ids) => expectError(await student.send(assignment, { file_ids: ids }), 'invalid_file'),
      );
      expect(await rowCounts()).to.deep.equal(before);
      expect(await unsentUntil(mine), 'the refusal must leave the file unsubmitted').not.to.equal(null);
    });

    it('returns 409 assignment_closed after the closing time (ASG-6), unless the student has an extension', async () => {
      const assignment = await assign({ dueAt: inHours(1), closesAt: inHours(2) });
      clock.advance(2 * hour + 60_000);
      expectError(await student.send(assignment), 'assignment_closed');
      expect((await reviewer.extend(assignment, learner.id, { closes_at: inHours(1) })).status).to.equal(200);
      await submitted(assignment);
      const other = handingInOf(course, await buildLearner(course));
      expectError(await other.send(assignment), 'assignment_closed');
    });

    it('returns 409 submission_state while the review is pending and after the approval', async () => {
      const assignment = await assign();
      const id = await submitted(assignment);
      expectError(await student.send(assignment), 'submission_state');
      expect((await reviewer.approve(id)).status).to.equal(201);
      expectError(await student.send(assignment), 'submission_state');
    });

    it('returns the same 404 answer for every assignment that the student cannot see', async () => {
      const [assignment, deleted] = [await assign(), await assign()];
      await callsOf(club)('DELETE', `/assignments/${deleted}`);
      const outsider = handingInOf(course, await buildStudent(club.id));
      const unknown = await outsider.send(newId());
      expectError(unknown, 'not_found');
      expect(visible(await outsider.send(assignment))).to.equal(visible(unknown));
      expect(visible(await student.send(deleted))).to.equal(visible(unknown));
      await callsOf(club)('PATCH', `/lessons/${lesson().id}`, { published: false });
      expect(visible(await student.send(assignment))).to.equal(visible(unknown));
    });
  });

  describe('POST …/assignment-submissions/{submissionId}/withdraw', () => {
    it('deletes a submission with one attempt, and keeps its files for seven days', async () => {
      const assignment = await assign({ maxFiles: 1 });
      const one = await file();
      const id = await submitted(assignment, { file_ids: [one] });
      const withdrawn = await student.withdraw(id);
      expect([withdrawn.status, withdrawn.body]).to.deep.equal([200, { data: {} }]);
      expectError(await student.read(id), 'not_found');
      expect((Number(await unsentUntil(one)) - clock.now().getTime()) / hour).to.be.within(7 * 24 - 1, 7 * 24);
      expect(await submitted(assignment, { file_ids: [one] })).not.to.equal(id);
    });

    it('sets changes_requested after a second attempt is withdrawn, and never reuses the attempt’s number', async () => {
      const assignment = await assign({ maxFiles: 2 });
      const [first, redo] = [[await file(), await file()], [await file()]];
      const id = await submitted(assignment, { file_ids: first });
      await reviewer.return(id);
      const returned = (await reviewer.read(id)).body.data;
      clock.advance(hour);
      await submitted(assignment, { file_ids: redo });
      const { body } = await student.withdraw(id, 2);
      expect(body.data.submission).to.include({ id, status: 'changes_requested', file_count: 2 });
      const names = ['status', 'submitted_at', 'reviewed_at', 'file_count', 'late', 'reviews'];
      const part = (record: Record<string, unknown>) => names.map((name) => record[name]);
      expect(part((await reviewer.read(id)).body.data)).to.deep.equal(part(returned));
      expect((await student.send(assignment, { file_ids: redo })).body.data.attempts[1].number).to.equal(3);
      expectError(await reviewer.approve(id, 2), 'submission_changed');
    });

    it('returns 409 submission_changed for a reviewed attempt or a wrong attempt number', async () => {
      const assignment = await assign();
      const id = await submitted(assignment);
      expectError(await student.withdraw(id, 2), 'submission_changed');
      const other = handingInOf(course, await buildLearner(course));
      expectError(await other.withdraw(id), 'not_found');
      await reviewer.return(id);
      expectError(await student.withdraw(id), 'submission_changed');
      await submitted(assignment);
      expectError(await student.withdraw(id, 1), 'submission_changed');
    });
  });

  describe('POST /v1/clubs/{clubId}/assignment-submissions/{submissionId}/reviews', () => {
    it('requests changes with a comment and a mail to the student, and later approves the work', async () => {
      const assignment = await assign();
      const id = await submitted(assignment);
      const returned = await reviewer.review(id, { attempt: 1, outcome: 'changes_requested', comment: 'It slips.' });
      expect(returned.status).to.equal(201);
      expect(returned.body.data.status).to.equal('changes_requested');
      const [{ id: _, created_at: at, ...review }] = returned.body.data.reviews;
      expect(review).to.deep.equal({ attempt: 1, outcome: 'changes_requested', comment: 'It slips.', media: [] });
      expect(returned.body.data.reviewed_at).to.equal(at);
      expect(await mailsTo(learner.id)).to.deep.equal(['assignment_changes_requested']);
      await submitted(assignment);
      expect((await reviewer.read(id)).body.data).not.to.have.property('reviewed_at');
      expect((await reviewer.approve(id, 2)).body.data).to.include({ status: 'approved', late: false });
      expect(await mailsTo(learner.id)).to.deep.equal(['assignment_changes_requested', 'assignment_approved']);
      const submission = (await student.read(id)).body.data;
      expect(
        submission.reviews.map((one: { attempt: number; outcome: string }) => [one.attempt, one.outcome]),
      ).to.deep.equal([
        [1, 'changes_requested'],
        [2, 'approved'],
      ]);
    });

    it('attaches library files to a review, and the student sees them until they are deleted (MED-14)', async () => {
      const id = await submitted(await assign());
      const { id: fileId } = await buildMedia(club.id, { bytes: 'See page 3.' });
      const review = { attempt: 1, outcome: 'approved', media_ids: [fileId] };
      const unsent = await file();
      const before = await rowCounts();
      expectError(await reviewer.review(id, { ...review, media_ids: [newId()] }), 'not_found');
      expectError(await reviewer.review(id, { ...review, media_ids: [unsent] }), 'not_found');
      expect(await rowCounts()).to.deep.equal(before);
      const [createdReview] = (await reviewer.review(id, review)).body.data.reviews;
      expect(createdReview.media[0]).to.include({ id: fileId });
      expect((await student.read(id)).body.data.reviews[0].media[0]).to.have.property('download_url');
      const usage = async () => (await callsOf(club)('GET', `/media/${fileId}/usage`)).body.data;
      expect(await usage()).to.deep.equal([{ kind: 'assignment_review', id: createdReview.id, title: 'Lesson 1' }]);
      await callsOf(club)('DELETE', `/students/${learner.id}`);
      expect(await usage()).to.deep.equal([]);
    });

    it('returns 409 submission_changed unless the attempt is the last and is pending, and sends no mail', async () => {
      const assignment = await assign();
      const id = await submitted(assignment);
      const before = await rowCounts();
      expectError(await reviewer.approve(id, 2), 'submission_changed');
      expect(await rowCounts()).to.deep.equal(before);
      await reviewer.return(id);
      expectError(await reviewer.approve(id), 'submission_changed');
      await submitted(assignment);
      expectError(await reviewer.approve(id, 1), 'submission_changed');
      expect(await mailsTo(learner.id)).to.deep.equal(['assignment_changes_requested']);
      const withdrawn = await submitted(await assign());
      await student.withdraw(withdrawn);
      expectError(await reviewer.approve(withdrawn), 'not_found');
    });

    it('returns 422 for requested changes without a comment, and 403 to the role support', async () => {
      const id = await submitted(await assign());
      expectError(await reviewer.review(id, { attempt: 1, outcome: 'changes_requested' }), 'invalid_request');
      const support = reviewingOf(club, (await buildMember(club.id, 'support')).token);
      expectError(await support.approve(id), 'role_not_permitted');
      expect((await support.read(id)).status).to.equal(200);
      expect((await support.queue()).body.total).to.equal(1);
    });
  });

  describe('GET /v1/clubs/{clubId}/assignment-submissions', () => {
    it('lists submissions in pages, the oldest first, with a count for each status (ASG-1 to ASG-3)', async () => {
      const [one, two] = [await assign({ label: 'One', maxFiles: 1 }), await assign()];
      const other = await buildLearner(course);
      const first = await submitted(one, { file_ids: [await file()] });
      clock.advance(1_000);
      const second = idOf(await handingInOf(course, other).send(one));
      clock.advance(1_000);
      const third = await submitted(two);
      await reviewer.approve(second);
      await reviewer.return(first);
      clock.advance(1_000);
      await submitted(one, { text: 'Once more.' }); // The student’s last attempt is now the newest of the queue, and has no files.
      const listed = async (query: string) => {
        const { body } = await reviewer.queue(query);
        return [body.data.map(({ id }: { id: Id }) => id), body.total, body.counts];
      };
      const counts = { submitted: 2, approved: 1, changes_requested: 0 };
      expect(await listed('')).to.deep.equal([[second, third, first], 3, counts]);
      expect(await listed('?status=submitted')).to.deep.equal([[third, first], 2, counts]);
      expect(await listed('?page_size=1&page=2')).to.deep.equal([[third], 3, counts]);
      const own = { submitted: 2, approved: 0, changes_requested: 0 };
      expect(await listed(`?student_id=${learner.id}&status=approved`)).to.deep.equal([[], 0, own]);
      expect(await listed(`?student_id=${learner.id}`)).to.deep.equal([[third, first], 2, own]);
      const [row] = (await reviewer.queue('?status=approved')).body.data;
      const { submitted_at: submittedAt, reviewed_at: reviewedAt, ...rest } = row;
      expect(reviewedAt > submittedAt).to.equal(true);
      expect(rest).to.deep.equal({
        id: second,
        status: 'approved',
        late: false,
        student: { id: other.id, name: 'Stella Student', email: other.email },
        lesson_public_id: course.lessons[0]?.publicId,
        lesson_title: 'Lesson 1',
        course_id: course.id,
        course_title: 'Knots for Beginners',
        block_label: 'One',
        file_count: 0,
      });
      expect((await reviewer.queue(`?student_id=${learner.id}`)).body.data[1])
        .to.include({ file_count: 0, status: 'submitted' })
        .and.to.not.have.any.keys('reviewed_at');
    });
  });

  describe('a student’s own submissions', () => {
    it('stay readable after access to the lesson ends and after the assignment is deleted (ASG-11)', async () => {
      const assignment = await assign();
      const id = await submitted(assignment);
      await revokeEnrollment(course, learner);
      await callsOf(club)('DELETE', `/assignments/${assignment}`);
      expect((await student.own()).body).to.deep.include({ total: 1 });
      expect((await student.own('?status=approved')).body).to.deep.equal({ data: [], total: 0 });
      expect((await student.read(id)).body.data).to.include({ id, prompt: 'Tie a *bowline*.' });
      expect((await reviewer.approve(id)).status).to.equal(201);
      expectError(await handingInOf(course, await buildLearner(course)).read(id), 'not_found');
    });
  });

  describe('the removal of a student', () => {
    it('erases the student’s submissions with texts, reviews, extensions and files (ASG-14)', async () => {
      const assignment = await assign({ maxFiles: 1, dueAt: inHours(1) });
      const trace = `trace-${newId()}`;
      const one = await file();
      const id = await submitted(assignment, { text: trace, file_ids: [one] });
      await reviewer.review(id, { attempt: 1, outcome: 'changes_requested', comment: `Dear ${trace}` });
      await reviewer.extend(assignment, learner.id, { due_at: inHours(3) });
      expect(await columnsHolding(trace)).to.have.members(['assignment_attempts.text', 'assignment_reviews.comment']);
      expect((await callsOf(club)('DELETE', `/students/${learner.id}`)).status).to.equal(204);
      expect(await columnsHolding(trace)).to.deep.equal([]);
      const counts = { submitted: 0, approved: 0, changes_requested: 0 };
      expect((await reviewer.queue()).body).to.deep.equal({ data: [], total: 0, counts });
      expect((await callsOf(club)('GET', `/assignments/${assignment}/extensions`)).body.total).to.equal(0);
      const [fileRow] = await (
        await testDatabase()
      ).query<{ removed: boolean; due: boolean }[]>(
        `SELECT removed_at IS NOT NULL AS removed, erases_at <= removed_at AS due FROM media WHERE id = $1`,
        [one],
      );
      expect(fileRow).to.deep.equal({ removed: true, due: true });
    });
  });
});
