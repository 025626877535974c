/**
 * Scenarios: a space admits all students with access, page by page. In one scenario an earlier transaction is still open. Also the daily
 * mail about spaces.
 */
import type { WorkflowHandle } from '@temporalio/client';
import { CommunitySpace } from '../../../entities/community/community-space.ts';
import { SpaceDigest } from '../../../entities/community/space-digest.ts';
import { buildClub, buildStudent } from '../../toolkit/builders/clubs.ts';
import { buildPost, buildSpace, buildSpaceMembership, buildWritingClub } from '../../toolkit/builders/community.ts';
import { digestIdOf } from '../../toolkit/drive/digests.ts';
import { until } from '../../toolkit/drive/until.ts';
import { withOpenTransaction } from '../../toolkit/drive/races.ts';
import { testDeps } from '../../toolkit/stack/database.ts';
import { testStack } from '../../toolkit/stack/stack.ts';
import type { Recorder, Scenarios } from '../recorder.ts';

async function beginSpaceFill({ by }: Recorder, lateSignUp = false): Promise<WorkflowHandle> {
  const { id: clubId } = await buildClub();
  await buildStudent(clubId);
  const { id } = await buildSpace(clubId, { autoJoin: true });
  const { db } = await testDeps();
  const begin = async () => {
    await db.manager.update(CommunitySpace, { id }, { fillLooksAt: new Date() });
    return by.startOrSignal('spaceFill', { id, clubId });
  };
  if (!lateSignUp) return begin();
  let handle: WorkflowHandle | undefined;
  await withOpenTransaction(
    (tx) => tx.manager.query(`UPDATE students SET name = name WHERE club_id = $1`, [clubId]),
    async () => {
      handle = await begin();
      const run = handle;
      await until('its wait', { timeoutMs: 10_000 }, async () => {
        const { events } = await run.fetchHistory();
        return events?.some(({ timerStartedEventAttributes }) => timerStartedEventAttributes);
      });
    },
  );
  if (!handle) throw new Error('The run has not begun.');
  return handle;
}

/** Starts the daily mail (digest) to one student. The mail server refuses this mail once. */
async function digest({ skipped }: Recorder): Promise<WorkflowHandle> {
  const now = await skipped.now();
  const { id: clubId } = await buildWritingClub(now);
  const { id: studentId, email } = await buildStudent(clubId);
  const space = await buildSpace(clubId);
  await buildSpaceMembership(space, studentId, { digest: true, at: new Date(now.getTime() - 86_400_000) });
  await buildPost(space, { at: new Date(now.getTime() - 3_600_000) });
  const { mailbox } = await testStack();
  mailbox.failNext({ at: 'rcpt', reply: 451, to: email, times: 1 });
  const date = now.toISOString().slice(0, 10);
  const id = digestIdOf(clubId, date);
  await (
    await testDeps()
  ).db.manager.insert(SpaceDigest, {
    id,
    clubId,
    date,
    takesUntil: now,
    endsAt: new Date(now.getTime() + 86_400_000),
    members: 1,
    looksAt: now,
    createdAt: now,
  });
  return skipped.start('spaceDigest', 'campaigns', id);
}

export const communityScenarios: Scenarios = {
  spaceDigest: { 'refused-then-sent': digest },
  beginDigests: {
    'nothing-to-begin': ({ temporal }) =>
      temporal.start('beginDigests', { workflowId: 'space-digests-recorded', taskQueue: 'upkeep' }),
  },
  spaceFill: {
    filled: async (recorder) => beginSpaceFill(recorder),
    'waits-for-a-sign-up': async (recorder) => beginSpaceFill(recorder, true),
  },
};
