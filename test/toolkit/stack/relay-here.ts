/** The relay of tests whose time is skipped: carries the wakes of the test's own clubs to the server that skips time. */
import { removeWake, type ClaimedWake } from '../../../platform/engine/wakes.ts';
import type { WorkflowType } from '../../../platform/engine/workflow-types.ts';
import type { WorkflowClient } from '../../../worker/temporal/workflow-client.ts';
import { testDatabase } from './database.ts';

export interface RelayHere {
  /** From now on the wakes of this club are carried too. */
  serve(clubId: string): void;
  /** Resolves when every wake that was committed before the call has been carried on. */
  carry(): Promise<void>;
  /**
   * The same activities, but each ends only when what it woke has been carried on. Time stands while an activity is under
   * way, so that none is skipped between a commit and its signal.
   */
  carryingAfterEach<Activities extends object>(activities: Activities): Activities;
}

/** @param workflowTypes those that a worker runs for: a run that nobody picks up would hold time for ever */
export function relayHere(workflows: WorkflowClient, workflowTypes: readonly WorkflowType[]): RelayHere {
  const clubs = new Set<string>();
  let carried: Promise<void> = Promise.resolve();

  async function carryAll(): Promise<void> {
    const source = await testDatabase();
    for (;;) {
      const wakes = await source.query<ClaimedWake[]>(
        `SELECT workflow_id AS "workflowId", seq, raised, priority, workflow_type AS "workflowType", subject_id AS "subjectId",
                club_id AS "clubId", attributes
           FROM wakes WHERE club_id = ANY ($1) AND workflow_type = ANY ($2)`,
        [[...clubs], workflowTypes],
      );
      if (wakes.length === 0) return;
      // As the relay does: a wake that was raised meanwhile is not removed, and found again.
      await Promise.all(wakes.map((wake) => workflows.signalWithStart(wake).then(() => removeWake(source, wake))));
    }
  }

  const relay: RelayHere = {
    serve: (clubId) => void clubs.add(clubId),
    carry() {
      const own = carried.then(carryAll);
      carried = own.catch(() => {});
      return own;
    },
    carryingAfterEach: (activities) =>
      Object.fromEntries(
        Object.entries(activities).map(([name, activity]: [string, (...args: unknown[]) => Promise<unknown>]) => [
          name,
          async (...args: unknown[]) => {
            const result = await activity(...args);
            await relay.carry();
            return result;
          },
        ]),
      ) as typeof activities,
  };
  return relay;
}
