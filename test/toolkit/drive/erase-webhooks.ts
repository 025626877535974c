/** Deletes rows that no foreign key deletes with a club or an endpoint. */
import type { EntityManager } from 'typeorm';
import type { Id } from '../../../platform/core/ids.ts';

/** Events, deliveries, attempts and bodies of all clubs. */
export async function eraseWebhooks(tx: EntityManager): Promise<void> {
  for (const table of ['attempts', 'deliveries', 'bodies', 'events']) await tx.query(`DELETE FROM webhook_${table}`);
}

/** Deletes an endpoint with its deliveries and their attempts, as retention finally does. */
export async function eraseEndpoint(tx: EntityManager, id: Id): Promise<void> {
  const deliveries = `SELECT id FROM webhook_deliveries WHERE endpoint_id = $1`;
  await tx.query(`DELETE FROM webhook_attempts WHERE delivery_id IN (${deliveries})`, [id]);
  await tx.query(`DELETE FROM webhook_deliveries WHERE endpoint_id = $1`, [id]);
  await tx.query(`DELETE FROM webhook_endpoints WHERE id = $1`, [id]);
}
