/** Posts of the community with comments, reactions and reports, and their moderation. */
import * as comments from '../../../domain/community/comments.ts';
import * as moderation from '../../../domain/community/moderation.ts';
import * as posts from '../../../domain/community/posts.ts';
import * as reporting from '../../../domain/community/reporting.ts';
import * as reports from '../../../domain/community/reports.ts';
import type { Voice } from '../../../domain/community/voices.ts';
import * as reservation from '../../../domain/media/uploads/reservation.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Person, Operation } from '../../operation.ts';
import { data, noContent, page } from '../answers.ts';

const voiceOf = (clubId: Id, caller: Person): Voice =>
  caller.kind === 'student'
    ? { kind: 'student', clubId: caller.student.clubId, id: caller.student.id }
    : { kind: 'admin', clubId: clubId.toLowerCase(), id: caller.administratorId };

export const listSpacePosts: Operation<'listSpacePosts'> = async ({ params, query, caller, db, deps, now }) =>
  page(await posts.listPosts(db, deps.storage, voiceOf(params.clubId, caller), params.spaceId, query, now));

export const publishSpacePost: Operation<'publishSpacePost'> = async ({ params, body, caller, deps, now }) =>
  data(await posts.publishPost(deps, voiceOf(params.clubId, caller), params.spaceId, body, now));

export const reservePostFile: Operation<'reservePostFile'> = async ({ params, student, body, deps, now }) => {
  const announced = { fileName: body.file_name, mime: body.mime, sizeBytes: body.size_bytes };
  return reservation.reservePostFile(deps, { clubId: params.clubId, studentId: student.id }, announced, now);
};

export const getPost: Operation<'getPost'> = async ({ params, caller, db, deps, now }) =>
  data(await posts.readVisiblePost(db, deps.storage, voiceOf(params.clubId, caller), params.publicId, now));

export const updatePost: Operation<'updatePost'> = async ({ params, body, caller, deps, now }) =>
  data(await posts.updatePost(deps, voiceOf(params.clubId, caller), params.publicId, body, now));

export const deletePost: Operation<'deletePost'> = async ({ params, caller, deps, now }) =>
  noContent(await posts.deletePost(deps, voiceOf(params.clubId, caller), params.publicId, now));

export const reactToPost: Operation<'reactToPost'> = async ({ params, caller, deps, now }) =>
  data(await posts.reactToPost(deps, voiceOf(params.clubId, caller), params, now));

export const takeBackReactionToPost: Operation<'takeBackReactionToPost'> = async ({ params, caller, deps, now }) =>
  data(await posts.takeBackReactionToPost(deps, voiceOf(params.clubId, caller), params, now));

export const reportPost: Operation<'reportPost'> = async ({ params, body, student, deps, now }) =>
  data(await reporting.reportPost(deps, student, params.publicId, body.reason, now));

export const listPostComments: Operation<'listPostComments'> = async ({ params, query, caller, db, deps, now }) =>
  page(await comments.listComments(db, deps.storage, voiceOf(params.clubId, caller), params.publicId, query, now));

export const publishPostComment: Operation<'publishPostComment'> = async ({ params, body, caller, deps, now }) =>
  data(await comments.publishComment(deps, voiceOf(params.clubId, caller), params.publicId, body, now));

export const updatePostComment: Operation<'updatePostComment'> = async ({ params, body, caller, deps, now }) =>
  data(await comments.updateComment(deps, voiceOf(params.clubId, caller), params, body.body, now));

export const deletePostComment: Operation<'deletePostComment'> = async ({ params, caller, deps, now }) =>
  noContent(await comments.deleteComment(deps, voiceOf(params.clubId, caller), params, now));

export const reactToComment: Operation<'reactToComment'> = async ({ params, caller, deps, now }) =>
  data(await comments.reactToComment(deps, voiceOf(params.clubId, caller), params, now));

export const takeBackReactionToComment: Operation<'takeBackReactionToComment'> = async ({
  params,
  caller,
  deps,
  now,
}) => data(await comments.takeBackReactionToComment(deps, voiceOf(params.clubId, caller), params, now));

export const reportComment: Operation<'reportComment'> = async ({ params, body, student, deps, now }) =>
  data(await reporting.reportComment(deps, student, params, body.reason, now));

export const moderatePost: Operation<'moderatePost'> = async ({ params, body, caller, deps, now }) =>
  data(await moderation.moderatePost(deps, voiceOf(params.clubId, caller), params.publicId, body, now));

export const moderateComment: Operation<'moderateComment'> = async ({ params, body, caller, deps, now }) =>
  data(await moderation.moderateComment(deps, voiceOf(params.clubId, caller), params, body, now));

export const listCommunityReports: Operation<'listCommunityReports'> = async ({ params, query, db }) =>
  page(await reports.listReports(db, params.clubId, query));

export const dismissCommunityReport: Operation<'dismissCommunityReport'> = async ({ params, deps, now }) =>
  noContent(await reports.dismissReport(deps, params.clubId, params.reportId, now));

export const listCommunityModerations: Operation<'listCommunityModerations'> = async ({ params, query, db }) =>
  page(await moderation.listModerations(db, params.clubId, query));
