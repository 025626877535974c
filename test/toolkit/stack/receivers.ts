/** Starts receivers on this machine, and the egress that posts deliveries to them. */
import { createSuccessWriter } from '../../../domain/webhooks/attempts/record-success.ts';
import { readConfig } from '../../../config.ts';
import { startReceiver, type ReceiverOptions, type Receiver } from '../../../dev/clients/receiver.ts';
import type { DeliveryDeps } from '../../../domain/webhooks/attempts/attempt.ts';
import { createEgress, type Egress } from '../../../platform/infra/egress/egress.ts';
import { postWebhook } from '../../../domain/webhooks/attempts/post.ts';
import { fakePermits } from '../fakes/attempt-permits.ts';
import { testDeps } from './database.ts';
import { testStack } from './stack.ts';

/** The time limit of an attempt. It is shorter than the 15 s of production, so that a test with a silent receiver does not take long. */
const attemptTimeLimitMs = 2_000;

export interface Delivering {
  /** The jitter is 0.5 by default, so that waits have exactly the values of the schedule. */
  deps(changes?: Partial<DeliveryDeps>): DeliveryDeps;
  /** A receiver that is stopped after the tests of the `describe`. It answers with 200 by default. */
  receiver(respond?: ReceiverOptions['respond'], options?: Partial<ReceiverOptions>): Promise<Receiver>;
}

/** Call this function in a `describe`. @returns a function that returns the receivers and the egress, for use inside the tests */
export function useDeliveries(): () => Delivering {
  let delivering: Delivering | undefined;
  let egress: Egress | undefined;
  const receivers: Receiver[] = [];

  before('open the egress to receivers', async () => {
    const { db, vault } = await testDeps();
    const { authority } = await testStack();
    const certificate = await authority.issue(['127.0.0.1', 'localhost']);
    const way = createEgress({ allowedNetworks: ['127.0.0.0/8'], extraCa: authority.certificate });
    const { serviceName } = readConfig();
    egress = way;
    delivering = {
      deps: (changes) => ({
        db,
        vault,
        post: (message) => postWebhook(way.dispatcher, { ...message, serviceName, timeLimitMs: attemptTimeLimitMs }),
        recordSuccess: createSuccessWriter(changes?.db ?? db),
        random: () => 0.5,
        onAttempt() {},
        permits: fakePermits,
        async failpoint() {},
        ...changes,
      }),
      async receiver(respond, options) {
        const receiver = await startReceiver({ certificate, ...(respond && { respond }), ...options });
        receivers.push(receiver);
        return receiver;
      },
    };
  });
  after('stop the receivers and close the egress', async () => {
    await Promise.all(receivers.map((receiver) => receiver.stop()));
    await egress?.close();
  });

  return () => {
    if (delivering === undefined) throw new Error('The egress to receivers is open only during tests');
    return delivering;
  };
}
