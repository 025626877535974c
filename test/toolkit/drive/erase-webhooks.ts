/** Deletes rows of webhooks. The deletion of a club or an endpoint does not delete these rows, because no foreign key connects them. */
import type { EntityManager } from 'typeorm';
import type { Id } from '../../../platform/core/ids.ts';

export async function eraseWebhooks(tx: EntityManager): Promise<void> {
  for (const table of ['attempts', 'deliveries', 'bodies', 'events']) await tx.query(`DELETE FROM webhook_${table}`);
}

/** Deletes an endpoint with its deliveries and their attempts. In the product, retention deletes them at the end of their lifetime. */
export async function eraseEndpoint(tx: EntityManager, id: Id): Promise<void> {
  const deliveries = `SELECT id FROM webhook_deliveries WHERE endpoint_id = $1`;
  await tx.query(`DELETE FROM webhook_attempts WHERE delivery_id IN (${deliveries})`, [id]);
  await tx.query(`DELETE FROM webhook_deliveries WHERE endpoint_id = $1`, [id]);
  await tx.query(`DELETE FROM webhook_endpoints WHERE id = $1`, [id]);
}
