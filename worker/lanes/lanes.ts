/** The lanes of first attempts: the workflow lane, which is the default, and the direct lane (ADR 4, ADR 36). */
import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import type { DeliveryDeps } from '../../domain/webhooks/attempts/attempt.ts';
import type { DirectLane } from '../../domain/webhooks/attempts/permits.ts';
import { postThrough } from '../../domain/webhooks/attempts/post.ts';
import { createSuccessWriter } from '../../domain/webhooks/attempts/record-success.ts';
import type { TaskQueue } from '../../platform/engine/workflow-types.ts';
import type { Egress } from '../../platform/infra/egress/egress.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import type { Vault } from '../../platform/infra/keys/vault.ts';
import { reportFailureCause } from '../reports/failure-causes.ts';
import { recordBatches } from '../reports/metrics.ts';
import { createAttemptPermits, noLocalAttempts, type LocalStarts } from './attempt-permits.ts';
import { createDirectLane } from './direct-lane.ts';

export interface Lanes {
  deliveries: DeliveryDeps;
  localAttempts: LocalStarts;
  /** Undefined unless `WEBHOOK_FIRST_ATTEMPT=direct` and the worker serves the queue `webhooks`. */
  lane: DirectLane | undefined;
  stop(): Promise<void>;
}

export function createLanes(
  config: Config,
  served: readonly TaskQueue[],
  {
    resources: { db, vault, egress },
    failpoint,
    log,
  }: {
    resources: { db: Database; vault: Vault; egress: Egress };
    failpoint: (name: string) => Promise<void>;
    log: Logger;
  },
): Lanes {
  const permits = createAttemptPermits();
  const deliveries: DeliveryDeps = {
    db,
    vault,
    post: postThrough(egress.dispatcher, config.serviceName),
    recordSuccess: createSuccessWriter(db, (size) => recordBatches.observe(size)),
    random: Math.random,
    permits: permits.permits,
    onAttempt(attempt) {
      permits.onAttempt(attempt);
      reportFailureCause(attempt, log);
      lane?.report(attempt);
    },
    failpoint,
  };
  const servesWebhooks = served.includes('webhooks');
  const { firstAttempt, directAttempts: total } = config.worker.webhooks;
  const lane =
    firstAttempt === 'direct' && servesWebhooks
      ? createDirectLane({ total, shared: permits, deliveries, failpoint, log })
      : undefined;
  return {
    deliveries,
    localAttempts: servesWebhooks ? permits : noLocalAttempts,
    lane,
    async stop() {
      await lane?.stop();
    },
  };
}
