/** Makes the steps of the run `course-completion/<course>`. */
import {
  judgeCompletions,
  type CourseCompletionStep,
  type JudgingDeps,
} from '../../../domain/learning/courses/judging.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { testDeps } from '../stack/database.ts';

/** One step. */
export async function judgeOnce(
  courseId: Id,
  now = Date.now(),
  failpoint: JudgingDeps['failpoint'] = async () => {},
): Promise<CourseCompletionStep> {
  const { db, publicUrl } = await testDeps();
  return judgeCompletions({ db, publicUrl, failpoint }, courseId, now);
}

/** @returns the last step */
export async function judge(courseId: Id, now = Date.now()): Promise<CourseCompletionStep> {
  for (;;) {
    const step = await judgeOnce(courseId, now);
    if (step.done || step.at !== undefined) return step;
  }
}
