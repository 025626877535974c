/** Reads the rows of `wakes` that an operation writes. The rows stay in the table, because no relay runs in these tests. */
import type { Id } from '../../../platform/core/ids.ts';
import { workflowIdOf } from '../../../platform/engine/workflow-types.ts';
import { Wake } from '../../../entities/facts/wake.ts';
import { testDatabase } from '../stack/database.ts';

/** Runs `act`. @returns the wakes that the operation wrote for the club, as sorted workflow ids */
export async function wakesBy(clubId: Id, act: () => Promise<unknown>): Promise<string[]> {
  const { manager } = await testDatabase();
  await manager.delete(Wake, { clubId });
  await act();
  return (await wakesOf(clubId)).map(({ workflowId }) => workflowId);
}

/** The wakes of a club that no relay has sent yet, by workflow id. */
export async function wakesOf(clubId: Id): Promise<Wake[]> {
  const { manager } = await testDatabase();
  return manager.find(Wake, { where: { clubId }, order: { workflowId: 'ASC' } });
}

export const deliveryRun = ({ id }: { id: Id }): string => workflowIdOf('webhookDelivery', id);
export const gateRun = ({ id }: { id: Id }): string => workflowIdOf('endpointGate', id);

/** The workflow types of the waiting wakes of an add-on. */
export async function wakesOfAddOn(id: Id): Promise<string[]> {
  const source = await testDatabase();
  const rows = await source.query<{ type: string }[]>(
    `SELECT workflow_type AS type FROM wakes WHERE workflow_id = $1`,
    [workflowIdOf('addOn', id)],
  );
  return rows.map(({ type }) => type);
}
