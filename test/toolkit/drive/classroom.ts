/** Makes the calls of students in the classroom, and ends their access. */
import { revokeAccess } from '../../../domain/access/enrollments/enrollments.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { OpenCourse, Learner } from '../builders/access.ts';
import { testDeps } from '../stack/database.ts';
import { call, type Answer } from './api.ts';

export async function revokeEnrollment({ clubId }: OpenCourse, { enrollmentId }: Learner): Promise<void> {
  const { db } = await testDeps();
  await db.transaction((tx) => revokeAccess(tx, clubId, enrollmentId, 'revocation', new Date()));
}

export function classroomOf({ clubId }: { clubId: Id }, { token }: { token: string }) {
  const at = `/v1/clubs/${clubId}/classroom`;
  const completion = (publicId: string) => `${at}/lessons/${publicId}/completion`;
  return {
    courses: (query = ''): Promise<Answer> => call('GET', `${at}/courses${query}`, { token }),
    course: (publicId: string): Promise<Answer> => call('GET', `${at}/courses/${publicId}`, { token }),
    lesson: (publicId: string): Promise<Answer> => call('GET', `${at}/lessons/${publicId}`, { token }),
    complete: (publicId: string): Promise<Answer> => call('PUT', completion(publicId), { token }),
    undo: (publicId: string): Promise<Answer> => call('DELETE', completion(publicId), { token }),
    comments: (publicId: string, query = ''): Promise<Answer> =>
      call('GET', `${at}/lessons/${publicId}/comments${query}`, { token }),
    comment: (publicId: string, body: string): Promise<Answer> =>
      call('POST', `${at}/lessons/${publicId}/comments`, { token, body: { body } }),
    deleteComment: (id: Id): Promise<Answer> => call('DELETE', `${at}/comments/${id}`, { token }),
  };
}
