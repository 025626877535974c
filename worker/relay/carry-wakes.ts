/** Sends wakes to Temporal (ENG-3). */
import { removeWake, type ClaimedWake } from '../../platform/engine/wakes.ts';
import { workflowTypes } from '../../platform/engine/workflow-types.ts';
import type { RelayDeps } from './relay.ts';

/** Sends a wake, and deletes it only if it was not raised in the meantime, because a later wake must also be sent. */
export async function sendWake(
  { db, workflows, failpoint, beforeStart }: Pick<RelayDeps, 'db' | 'workflows' | 'failpoint' | 'beforeStart'>,
  wake: ClaimedWake,
): Promise<void> {
  // If the wake was raised, its run probably exists already.
  const eagerly = workflowTypes[wake.workflowType].startsEagerly && !wake.raised;
  if (eagerly) beforeStart?.(wake);
  await (eagerly ? workflows.startOrSignal(wake) : workflows.signalWithStart(wake));
  await failpoint('wake_sent');
  await removeWake(db.source, wake);
}
