/** Comments of students on lessons: what students and what administrators do with them. */
import {
  deleteComment as remove,
  deleteOwnComment as removeOwn,
  listComments,
  listVisibleComments,
  publishComment,
} from '../../domain/learning/engagement/comments.ts';
import type { Operation } from '../operation.ts';
import { listed } from './answers.ts';

export const listLessonComments: Operation<'listLessonComments'> = async ({ params, query, student, services, now }) =>
  listed(await listVisibleComments(services.database, student, params.publicId, query, now));

export const publishLessonComment: Operation<'publishLessonComment'> = async ({
  params,
  body,
  student,
  services,
  now,
}) => ({
  data: await publishComment(services.database, student, params.publicId, body.body, now),
});

export const deleteOwnComment: Operation<'deleteOwnComment'> = async ({ params, student, services }) => {
  await removeOwn(services.database, student, params.commentId);
  return undefined;
};

export const listCommentsOfLesson: Operation<'listCommentsOfLesson'> = async ({ params, query, services }) =>
  listed(await listComments(services.database, params.clubId, params.lessonId, query));

export const deleteComment: Operation<'deleteComment'> = async ({ params, services }) => {
  await remove(services.database, params.clubId, params.commentId);
  return undefined;
};
