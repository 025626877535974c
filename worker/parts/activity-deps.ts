/** Builds the dependencies of all activities in a worker process. */
import type { ActivityDeps } from '../../activities/index.ts';
import { createInvoicing } from '../../platform/infra/invoicing.ts';
import { createPaymentProcessor } from '../../platform/infra/payments.ts';
import type { TaskQueue } from '../../platform/engine/workflow-types.ts';
import { activitiesOn } from '../activities/by-queue.ts';
import { notices, rescued } from '../reports/metrics.ts';
import { fileDeps } from './files.ts';
import { bulkMailDeps, transactionalMailDeps } from './mails.ts';
import type { Parts } from './parts.ts';
import { phoneCodeDeps } from './phone-codes.ts';

/** @returns the activities of each queue. Transactional mails of the queue `bulk-mail` have their own SMTP server */
export function activitiesOf(parts: Parts): (queue: TaskQueue, runs: Pick<ActivityDeps, 'terminateRuns'>) => object {
  const { resources, config, answers, deliveries, failpoint } = parts;
  const { db, vault, storage, smtp } = resources;
  const deps: Omit<ActivityDeps, 'terminateRuns'> = {
    db,
    vault,
    storage,
    failpoint,
    deliveries,
    answers,
    mails: transactionalMailDeps(parts, smtp.transactional),
    phoneCodes: phoneCodeDeps(parts),
    ...bulkMailDeps(parts),
    ...fileDeps(parts),
    completions: { db, publicUrl: config.api.publicUrl, failpoint },
    notices: { db, vault, onOutcome: (outcome) => notices.inc({ outcome }), failpoint },
    addOns: { db, processor: createPaymentProcessor(config.stripe) },
    overages: { db, invoicing: createInvoicing(config.stripe), failpoint },
    onRescued: (count) => rescued.inc(count),
  };
  const bulkDeps = { ...deps, mails: transactionalMailDeps(parts, smtp.bulk) };
  return (queue, { terminateRuns }) =>
    activitiesOn(queue, { ...(queue === 'bulk-mail' ? bulkDeps : deps), terminateRuns });
}
