/** Assignments of lessons: administrators write and review them, and students submit their work. */
import * as assignments from '../../../domain/assignments/assignments.ts';
import * as classroom from '../../../domain/assignments/classroom.ts';
import * as extensions from '../../../domain/assignments/extensions.ts';
import * as reviews from '../../../domain/assignments/reviews.ts';
import * as sending from '../../../domain/assignments/sending.ts';
import * as submissions from '../../../domain/assignments/submissions.ts';
import * as files from '../../../domain/media/purposes/assignment-files.ts';
import * as reservation from '../../../domain/media/uploads/reservation.ts';
import type { Operation } from '../../operation.ts';
import { data, noContent, page } from '../answers.ts';

export const listAssignments: Operation<'listAssignments'> = async ({ params, query, db, deps }) =>
  page(await assignments.listAssignments(db, deps.storage, params.clubId, params.lessonId, query));

export const createAssignment: Operation<'createAssignment'> = async ({ params, body, deps, now }) =>
  data(await assignments.createAssignment(deps, params.clubId, params.lessonId, body, now));

export const orderAssignments: Operation<'orderAssignments'> = async ({ params, body, deps, now }) =>
  noContent(await assignments.orderAssignments(deps, params.clubId, params.lessonId, body.assignment_ids, now));

export const getAssignment: Operation<'getAssignment'> = async ({ params, db, deps }) =>
  data(await assignments.readAssignment(db, deps.storage, params.clubId, params.assignmentId));

export const updateAssignment: Operation<'updateAssignment'> = async ({ params, body, deps, now }) =>
  data(await assignments.updateAssignment(deps, params.clubId, params.assignmentId, body, now));

export const deleteAssignment: Operation<'deleteAssignment'> = async ({ params, deps, now }) =>
  noContent(await assignments.removeAssignment(deps, params.clubId, params.assignmentId, now));

export const listAssignmentExtensions: Operation<'listAssignmentExtensions'> = async ({ params, query, db }) =>
  page(await extensions.listExtensions(db, params.clubId, params.assignmentId, query));

export const setAssignmentExtension: Operation<'setAssignmentExtension'> = async ({ params, body, deps, now }) =>
  data(await extensions.setExtension(deps, params, body, now));

export const deleteAssignmentExtension: Operation<'deleteAssignmentExtension'> = async ({ params, deps }) =>
  noContent(await extensions.removeExtension(deps, params));

export const listAssignmentSubmissions: Operation<'listAssignmentSubmissions'> = async ({ params, query, db }) => {
  const { counts, ...found } = await submissions.listSubmissions(db, params.clubId, query);
  return { ...page(found), counts };
};

export const getAssignmentSubmission: Operation<'getAssignmentSubmission'> = async ({ params, db, deps }) =>
  data(await submissions.readSubmission(db, deps.storage, params.clubId, params.submissionId));

export const reviewAssignmentSubmission: Operation<'reviewAssignmentSubmission'> = async (request) => {
  const { params, body, administrator, deps, now } = request;
  return data(await reviews.reviewSubmission(deps, { ...params, reviewerId: administrator.id }, body, now));
};

export const reserveAssignmentFile: Operation<'reserveAssignmentFile'> = async ({
  params,
  student,
  body,
  deps,
  now,
}) => {
  const announced = { fileName: body.file_name, mime: body.mime };
  return reservation.reserveAssignmentFile(deps, { clubId: params.clubId, studentId: student.id }, announced, now);
};

export const listUnsentFiles: Operation<'listUnsentFiles'> = async ({ query, student, db, deps }) =>
  page(await files.listUnsentFiles(db, deps.storage, student.id, query));

export const deleteUnsentFile: Operation<'deleteUnsentFile'> = async ({ params, student, deps, now }) =>
  noContent(await files.removeUnsentFile(deps, { clubId: params.clubId, studentId: student.id }, params.mediaId, now));

export const listLessonAssignments: Operation<'listLessonAssignments'> = async ({
  params,
  query,
  student,
  db,
  deps,
  now,
}) => page(await classroom.listVisibleAssignments(db, deps.storage, student, params.publicId, query, now));

export const submitAssignment: Operation<'submitAssignment'> = async ({ params, body, student, deps, now }) =>
  data(await sending.submitAssignment(deps, student, params.assignmentId, body, now));

export const listOwnSubmissions: Operation<'listOwnSubmissions'> = async ({ query, student, db }) =>
  page(await submissions.listOwnSubmissions(db, student, query));

export const getOwnSubmission: Operation<'getOwnSubmission'> = async ({ params, student, db, deps }) =>
  data(await submissions.readOwnSubmission(db, deps.storage, student, params.submissionId));

export const withdrawSubmission: Operation<'withdrawSubmission'> = async ({ params, body, student, deps, now }) =>
  data(await sending.withdrawSubmission(deps, student, params.submissionId, body.attempt, now));
