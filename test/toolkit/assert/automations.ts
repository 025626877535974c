/** Reads the rows of automations. */
import type { Id } from '../../../platform/core/ids.ts';
import { testDatabase } from '../stack/database.ts';

export async function readVersionDefinition(automationId: Id): Promise<unknown> {
  const [row] = await (
    await testDatabase()
  ).query<{ definition: unknown }[]>(
    `SELECT definition FROM automation_versions WHERE automation_id = $1 ORDER BY number DESC LIMIT 1`,
    [automationId],
  );
  return row?.definition;
}
