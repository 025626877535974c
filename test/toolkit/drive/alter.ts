/** Changes columns of rows directly. A test uses these functions for states that would take too long to reach otherwise. */
import type { Id } from '../../../platform/core/ids.ts';
import { testDatabase } from '../stack/database.ts';

export async function alter(
  table:
    | 'agents'
    | 'media'
    | 'webhook_deliveries'
    | 'webhook_endpoints'
    | 'transactional_mails'
    | 'students'
    | 'sales_notices',
  id: Id,
  columns: Readonly<Record<string, unknown>>,
): Promise<void> {
  const assignments = Object.keys(columns).map((column, index) => `${column} = $${index + 2}`);
  await (
    await testDatabase()
  ).query(`UPDATE ${table} SET ${assignments.join(', ')} WHERE id = $1`, [id, ...Object.values(columns)]);
}
