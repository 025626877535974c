/** Makes webhook attempts with an answer that the test chooses. The real code claims and records the attempt, but sends no request. */
import { createSuccessWriter } from '../../../domain/webhooks/attempts/record-success.ts';
import type { Priority } from '../../../entities/facts/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { attemptDelivery, type DeliveryDeps } from '../../../domain/webhooks/attempts/attempt.ts';
import { claimAttempt, type Claim } from '../../../domain/webhooks/attempts/claims.ts';
import type { DeliveryStep } from '../../../domain/webhooks/attempts/state.ts';
import type { AttemptAnswer } from '../../../domain/webhooks/attempts/post.ts';
import { fanOutFacts } from '../../../domain/webhooks/events/fan-out.ts';
import { factAbout, type Subscription, type TestWebhookDelivery } from '../builders/webhooks.ts';
import { fakeLane } from '../fakes/direct-lane.ts';
import { fakePermits } from '../fakes/attempt-permits.ts';
import { testDeps } from '../stack/database.ts';

export const accepted: AttemptAnswer = { outcome: 'succeeded', responseStatus: 200, durationMs: 1 };
export const refused: AttemptAnswer = { outcome: 'http_error', responseStatus: 500, durationMs: 1 };

/** The receivers give this answer. */
export async function answering(
  post: DeliveryDeps['post'],
  changes: Partial<DeliveryDeps> = {},
): Promise<DeliveryDeps> {
  const deps = await testDeps();
  return {
    ...deps,
    post,
    recordSuccess: createSuccessWriter(changes.db ?? deps.db),
    random: () => 0.5,
    onAttempt() {},
    permits: fakePermits,
    async failpoint() {},
    ...changes,
  };
}

/** @returns the result of the step, and the requests that it posted */
export async function stepOf(
  { id }: { id: Id },
  answer: AttemptAnswer = accepted,
  now = Date.now(),
): Promise<{ step: DeliveryStep; posted: number }> {
  let posted = 0;
  const deps = await answering(async () => {
    posted++;
    return answer;
  });
  return { step: await attemptDelivery(deps, id, now), posted };
}

/** @throws Error if no attempt is allowed now */
export async function claimed({ id }: { id: Id }, now = Date.now()): Promise<Claim> {
  const { db } = await testDeps();
  const claim = await claimAttempt(db.source, id, now);
  if (!claim) throw new Error('No attempt of the delivery is allowed now');
  return claim;
}

/** Lets the real fan-out create a delivery to the subscription's endpoint, and claim the first attempt for this process. */
export async function claimedDirectly(
  subscription: Subscription,
  now = Date.now(),
  priority: Priority = 1,
): Promise<{ delivery: TestWebhookDelivery; claim: Claim }> {
  const { db } = await testDeps();
  const lane = fakeLane(({ endpointId }) => endpointId === subscription.endpoint.id);
  const fact = { ...factAbout(subscription, 'student.updated', new Date(now)), priority };
  await fanOutFacts(db, [fact], new Date(now), { lane });
  const [first] = lane.startedAttempts;
  if (!first) throw new Error('The fan-out has claimed no attempt');
  return { delivery: { ...subscription, id: first.id, eventId: fact.id }, claim: first.claim };
}
