/** Heartbeats of activities whose work says nothing of its own accord. */
import { Context } from '@temporalio/activity';

/** A quarter of the 10 s that workflows give: one that is lost does not end the activity. */
const beatMs = 2_500;

/** Does the work, and tells Temporal all along that this process lives, so that the death of it is noticed early. */
export async function heartbeating<T>(work: () => Promise<T>): Promise<T> {
  const context = Context.current();
  const beats = setInterval(() => context.heartbeat(), beatMs);
  try {
    return await work();
  } finally {
    clearInterval(beats);
  }
}
