/** `node dist/worker/reconcile-add-ons.js 2026-03-01T00:00:00Z` writes paid add-ons again that a failover lost. */
import { ConfigError, readConfig } from '../config.ts';
import { reconcileCharges } from '../domain/billing/reconciling.ts';
import { createDataSource } from '../entities/data-source.ts';
import { createPaymentProcessor } from '../platform/infra/payments.ts';
import { Database } from '../platform/infra/postgres/database.ts';
import { createNotifier } from '../platform/infra/postgres/notifications.ts';

async function main([since = '']: readonly string[]): Promise<void> {
  const from = new Date(since);
  if (Number.isNaN(from.getTime())) throw new Error('Say since when, such as 2026-03-01T00:00:00Z.');
  const config = readConfig();
  const source = await createDataSource(config.database, 'club-reconcile').initialize();
  try {
    const db = new Database(
      source,
      createNotifier(source, () => {}),
    ); // a NOTIFY that is lost: the relay polls
    const restored = await reconcileCharges({ db, processor: createPaymentProcessor(config.stripe) }, from, new Date());
    process.stdout.write(`Written again: ${restored.length === 0 ? 'none' : restored.join(', ')}\n`);
  } finally {
    await source.destroy();
  }
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(
    `Not reconciled: ${error instanceof ConfigError || error instanceof Error ? error.message : String(error)}\n`,
  );
  process.exitCode = 1;
});
