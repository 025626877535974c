/** The command `reconcile-add-ons`. It restores paid add-ons whose rows were lost in a failover of Postgres. */
import { readConfig } from '../config.ts';
import { reconcileCharges } from '../domain/billing/reconciling.ts';
import { createDataSource } from '../entities/data-source.ts';
import { StartProblem } from '../platform/core/start-problem.ts';
import { createPaymentProcessor } from '../platform/infra/payments.ts';
import { Database } from '../platform/infra/postgres/database.ts';
import { runOnce } from '../platform/infra/process.ts';
import { createNotifier } from '../platform/infra/postgres/notifications.ts';

/** @param since the beginning of the period whose charges are compared, in ISO 8601 */
export async function main(since: string): Promise<void> {
  await runOnce('Not reconciled', async () => {
    const from = new Date(since);
    if (Number.isNaN(from.getTime()))
      throw new StartProblem(`${since} is not a time; write a time such as 2026-03-01T00:00:00Z`);
    const config = readConfig();
    const source = await createDataSource(config.database, 'club-reconcile').initialize();
    try {
      const ignoreLostNotifications = () => {}; // the relay polls
      const db = new Database(source, createNotifier(source, ignoreLostNotifications));
      const processor = createPaymentProcessor(config.stripe);
      const restored = await reconcileCharges({ db, processor }, from, new Date());
      process.stdout.write(`Written again: ${restored.length === 0 ? 'none' : restored.join(', ')}\n`);
      return 0;
    } finally {
      await source.destroy();
    }
  });
}
