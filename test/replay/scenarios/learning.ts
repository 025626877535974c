/**
 * Scenarios of completed courses. A lesson is withdrawn, and a student has completed all other lessons. The student then completes the
 * course, immediately or when the access begins.
 */
import type { WorkflowHandle } from '@temporalio/client';
import { CourseCompletionLook } from '../../../entities/learning/course-completion-look.ts';
import { LessonProgress } from '../../../entities/learning/lesson-progress.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { buildEnrollment, buildOpenCourse } from '../../toolkit/builders/access.ts';
import { buildClub } from '../../toolkit/builders/clubs.ts';
import { testDeps } from '../../toolkit/stack/database.ts';
import type { Scenarios } from '../recorder.ts';

/** Creates a student who has completed the only published lesson. The access of the student begins at `startsAt`. */
async function studentWithAllLessons(startsAt: Date): Promise<{ id: Id; courseId: Id; clubId: Id }> {
  const { id: clubId } = await buildClub();
  const { id: courseId, deliveryId, lessons } = await buildOpenCourse(clubId, { certificateOnCompletion: true });
  const { studentId } = await buildEnrollment(clubId, { deliveryId, startsAt });
  const { db } = await testDeps();
  const now = new Date();
  const progress = { studentId, clubId, firstCompletedAt: now, completed: true, updatedAt: now };
  await db.manager.insert(LessonProgress, { ...progress, lessonId: lessons[0]?.id ?? '' });
  await db.manager.insert(CourseCompletionLook, { courseId, clubId, looksAt: now, passId: newId() });
  return { id: courseId, courseId, clubId };
}

export const learningScenarios: Scenarios = {
  courseCompletion: {
    judged: async ({ by }): Promise<WorkflowHandle> =>
      by.start('courseCompletion', await studentWithAllLessons(new Date(Date.now() - 60_000))),
    'waits-for-access': async ({ skipped }) => {
      const tomorrow = new Date((await skipped.now()).getTime() + 86_400_000);
      return skipped.start('courseCompletion', 'upkeep', (await studentWithAllLessons(tomorrow)).id);
    },
  },
};
