/** Comments of students on lessons: the operations of students and of administrators. */
import * as comments from '../../../domain/learning/engagement/comments.ts';
import type { Operation } from '../../operation.ts';
import { data, noContent, page } from '../answers.ts';

export const listLessonComments: Operation<'listLessonComments'> = async ({ params, query, student, db, deps, now }) =>
  page(await comments.listVisibleComments(db, deps.storage, student, params.publicId, query, now));

export const publishLessonComment: Operation<'publishLessonComment'> = async ({ params, body, student, deps, now }) =>
  data(await comments.publishComment(deps, student, params.publicId, body.body, now));

export const deleteOwnComment: Operation<'deleteOwnComment'> = async ({ params, student, deps }) =>
  noContent(await comments.deleteOwnComment(deps, student, params.commentId));

export const listCommentsOfLesson: Operation<'listCommentsOfLesson'> = async ({ params, query, db }) =>
  page(await comments.listComments(db, params.clubId, params.lessonId, query));

export const deleteComment: Operation<'deleteComment'> = async ({ params, deps }) =>
  noContent(await comments.deleteComment(deps, params.clubId, params.commentId));
