import { expect } from 'chai';
import { accepted, answering } from '../toolkit/drive/attempts.ts';
import { buildSubscription, buildWebhookDelivery } from '../toolkit/builders/webhooks.ts';
import { deliveryRow } from '../toolkit/assert/webhooks.ts';
import { createEndpointPlaces, placesOfAnEndpoint } from '../../worker/endpoint-places.ts';
import { createLocalAttempts } from '../../worker/local-attempts.ts';

const second = 1_000;
const minute = 60 * second;

describe('ordinary attempts of one endpoint (HOOK-16)', () => {
  it('are put off one after another, at the pace of the endpoint, and no longer than 5 minutes', () => {
    const places = createEndpointPlaces(() => 0);
    places.report('endpoint', 800);
    expect([1, 2, 3].map(() => places.comeAgainAt('endpoint', 0))).to.deep.equal([900, 1_000, 1_100]);
    expect(places.comeAgainAt('unknown', 0)).to.equal(15_000 + 15_000 / 8);
    places.report('slow', 14_000);
    const times = Array.from({ length: 500 }, () => places.comeAgainAt('slow', 0));
    expect(Math.max(...times)).to.be.within(2.5 * minute, 5 * minute);
  });

  it('beyond the eighth are put off while eight hang; another endpoint’s is made', async () => {
    const [hung, healthy] = [
      await buildSubscription('https://hung.example/'),
      await buildSubscription('https://healthy.example/'),
    ];
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const posted: string[] = [];
    const deps = await answering(async ({ url }) => {
      posted.push(url);
      if (url.includes('hung')) await released;
      return accepted;
    });
    const { attemptDelivery } = createLocalAttempts().activities(deps);
    const deliveries = [];
    for (let count = 0; count < placesOfAnEndpoint + 1; count++) deliveries.push(await buildWebhookDelivery(hung));
    const now = Date.now();
    const steps = deliveries.map(({ id }) => attemptDelivery(id, now));
    const first = await Promise.race(steps);
    expect(first).to.deep.include({ done: false, waitingFor: 'attempt', attempt: 1 });
    expect(await attemptDelivery((await buildWebhookDelivery(healthy)).id, now)).to.deep.equal({
      done: true,
      outcome: 'succeeded',
    });
    release();
    const all = await Promise.all(steps);
    expect(posted.filter((url) => url.includes('hung'))).to.have.length(placesOfAnEndpoint);
    const late = deliveries[all.findIndex(({ done }) => !done)];
    const { nextAttemptAt } = await deliveryRow(late?.id ?? '');
    expect(nextAttemptAt.getTime() - now, 'so that the sweeper does not find it overdue').to.be.greaterThan(
      10 * second,
    );
  });
});
