/** Scenarios: a session of a mentorship that takes place, and a session that is canceled. */
import type { WorkflowHandle } from '@temporalio/client';
import { MentorshipSession } from '../../../entities/mentorships/mentorship-session.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { buildClub, buildStudent } from '../../toolkit/builders/clubs.ts';
import { buildMentorship, buildSession } from '../../toolkit/builders/mentorships.ts';
import { until } from '../../toolkit/drive/until.ts';
import { testDeps } from '../../toolkit/stack/database.ts';
import type { Recorder, Scenarios } from '../recorder.ts';

/** Books a session that begins in 50 hours. */
async function booked({ skipped }: Recorder): Promise<{ id: Id; handle: WorkflowHandle }> {
  const { id: clubId } = await buildClub();
  const [mentorship, student] = [await buildMentorship(clubId), await buildStudent(clubId)];
  const now = await skipped.now();
  const startsAt = new Date(now.getTime() + 50 * 3_600_000);
  const { id } = await buildSession(mentorship.id, student.id, { startsAt, bookedAt: now });
  return { id, handle: await skipped.start('mentorshipSession', 'mail', id) };
}

export const mentorshipScenarios: Scenarios = {
  mentorshipSession: {
    'told-to-the-end': async (recorder) => (await booked(recorder)).handle,
    async 'canceled-before-its-reminders'(recorder) {
      const { id, handle } = await booked(recorder);
      const { db } = await testDeps();
      const find = () => db.manager.findOneByOrFail(MentorshipSession, { id });
      await until('its first look', { timeoutMs: 10_000 }, async () => (await find()).looksAt !== null);
      const canceledAt = await recorder.skipped.now();
      await db.manager.update(MentorshipSession, { id }, { status: 'canceled', canceledAt, sequence: 1 });
      await handle.signal('lookAgain');
      return handle;
    },
  },
};
