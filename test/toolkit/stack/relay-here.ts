/** A relay for tests that skip time. It sends the wakes of chosen clubs to the time-skipping server. */
import { removeWake, type ClaimedWake } from '../../../platform/engine/wakes.ts';
import type { WorkflowType } from '../../../platform/engine/workflow-types.ts';
import type { WorkflowClient } from '../../../worker/temporal/workflow-client.ts';
import { testDatabase } from './database.ts';

export interface RelayHere {
  /** Makes the relay also send the wakes of this club, from now on. */
  serve(clubId: string): void;
  /** Resolves when every wake that was committed before the call has been sent. */
  carry(): Promise<void>;
  /**
   * Wraps activities so that each activity ends only after its wakes were sent. The server skips no time during an activity. The server
   * therefore skips no time between a commit and the signal that the commit causes.
   */
  carryingAfterEach<Activities extends object>(activities: Activities): Activities;
}

/**
 * @param workflowTypes the workflow types that have a worker. A run without a worker would prevent time skipping, so wakes of other types
 * are not sent
 */
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
      // If a wake is raised while it is being sent, the row remains. The wake is then sent again, as by the real relay.
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
