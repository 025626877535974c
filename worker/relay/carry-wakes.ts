/** Sends wakes to Temporal (ENG-3). */
import { removeWake, type ClaimedWake } from '../../platform/engine/wakes.ts';
import { workflowTypes } from '../../platform/engine/workflow-types.ts';
import type { RelayDeps } from './relay.ts';

/**
 * Sends a wake, and then deletes it. If the wake was requested once more during the sending, it is not deleted, because it must be sent
 * again.
 */
export async function sendWake(
  { db, workflows, failpoint, beforeStart }: Pick<RelayDeps, 'db' | 'workflows' | 'failpoint' | 'beforeStart'>,
  wake: ClaimedWake,
): Promise<void> {
  // A wake with `raised` was requested more than once, so its run probably exists already and an eager start would be useless.
  const eagerly = workflowTypes[wake.workflowType].startsEagerly && !wake.raised;
  if (eagerly) beforeStart?.(wake);
  await (eagerly ? workflows.startOrSignal(wake) : workflows.signalWithStart(wake));
  await failpoint('wake_sent');
  await removeWake(db.source, wake);
}
