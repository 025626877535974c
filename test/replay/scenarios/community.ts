/** A space that takes everybody with access from now on: while an earlier transaction is open, and then page by page. */
import type { WorkflowHandle } from '@temporalio/client';
import { CommunitySpace } from '../../../entities/community/community-space.ts';
import { buildClub, buildStudent } from '../../toolkit/builders/clubs.ts';
import { buildSpace } from '../../toolkit/builders/community.ts';
import { until } from '../../toolkit/drive/until.ts';
import { withOpenTransaction } from '../../toolkit/drive/races.ts';
import { testDeps } from '../../toolkit/stack/database.ts';
import type { Recorder, Scenarios } from '../recorder.ts';

async function begun({ by }: Recorder, lateSignUp = false): Promise<WorkflowHandle> {
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
    (tx) => tx.manager.query(`UPDATE clubs SET name = name WHERE id = $1`, [clubId]),
    async () => {
      handle = await begin();
      const run = handle;
      await until('its wait', { timeoutMs: 10_000 }, async () => {
        const { events } = await run.fetchHistory();
        return events?.some(({ timerStartedEventAttributes }) => timerStartedEventAttributes);
      });
    },
  );
  if (!handle) throw new Error('The run has begun.');
  return handle;
}

export const communityScenarios: Scenarios = {
  spaceFill: {
    filled: async (recorder) => begun(recorder),
    'waits-for-a-sign-up': async (recorder) => begun(recorder, true),
  },
};
