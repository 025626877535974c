import { WorkflowNotFoundError } from '@temporalio/client';
import { expect } from 'chai';
import { enableEndpoint, pauseEndpoint } from '../../domain/webhooks/queues/endpoint-states.ts';
import { sendTest } from '../../domain/webhooks/events/test-event.ts';
import { TransactionalMail } from '../../entities/mail/transactional-mail.ts';
import { deliveryRow, endpointRow } from '../toolkit/assert/webhooks.ts';
import { buildMember } from '../toolkit/builders/clubs.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import type { Subscription } from '../toolkit/builders/webhooks.ts';
import { until } from '../toolkit/drive/until.ts';
import { attemptsAt, useSkippedEngine } from '../toolkit/stack/skipped-engine.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

describe('an endpoint that fails for 5 days', function () {
  this.timeout(60_000);
  const engine = useSkippedEngine();

  const pause = ({ clubId, endpoint }: Subscription) =>
    engine().act((deps, now) => pauseEndpoint(deps, clubId, endpoint.id, now));
  const enable = ({ clubId, endpoint }: Subscription) =>
    engine().act((deps, now) => enableEndpoint(deps, clubId, endpoint.id, now));
  const test = ({ clubId, endpoint }: Subscription) =>
    engine().act((deps, now) => sendTest(deps, clubId, endpoint.id, now));
  /** Returns the time of the first failure. */
  const throttle = async (subscription: Subscription) => {
    const deliveries = await engine().deliverAll(subscription, 5);
    const { failingSince, breakerStep } = await endpointRow(subscription.endpoint.id);
    expect(breakerStep).to.equal(1);
    return { deliveries, failingSince: failingSince?.getTime() ?? Number.NaN };
  };
  /** The time from now until the endpoint was disabled. */
  const disabledAfter = async (time: number, { endpoint }: Subscription) => {
    const row = await endpointRow(endpoint.id);
    expect(row).to.include({ status: 'disabled', disabledReason: 'failing', breakerStep: 0, holdUntil: null });
    return (row.disabledAt?.getTime() ?? Number.NaN) - time;
  };
  const mailsAbout = async ({ endpoint }: Subscription) => {
    const mails = await (await testDatabase()).manager.findBy(TransactionalMail, { endpointId: endpoint.id });
    return mails.map(({ template, administratorId }) => `${template} ${administratorId}`).toSorted();
  };

  it('is disabled, its deliveries are canceled, and owners and admins get an e-mail', async () => {
    const { receiver, subscription } = await engine().endpoint(() => ({ status: 500 }));
    const { clubId } = subscription;
    const admin = await buildMember(clubId, 'admin');
    await buildMember(clubId, 'editor');
    await buildMember(clubId, 'support');
    const [owner] = await (
      await testDatabase()
    ).query<{ id: string }[]>(`SELECT administrator_id AS id FROM memberships WHERE club_id = $1 AND role = 'owner'`, [
      clubId,
    ]);
    const { deliveries, failingSince } = await throttle(subscription);
    await engine().pass(5 * day - hour);
    expect(await endpointRow(subscription.endpoint.id)).to.include({ status: 'enabled' });
    await eachCase(deliveries, async ({ id }) => expect(await deliveryRow(id)).to.include({ status: 'failed' }));
    const queued = await engine().deliverAll(subscription, 3);
    const requests = receiver.requests.length;
    const mailsOf = (template: string) => [owner?.id, admin.id].map((id) => `${template} ${id}`).toSorted();
    expect(await mailsAbout(subscription)).to.deep.equal(mailsOf('webhook_endpoint_throttled'));

    expect(await engine().outcomesOf(queued)).to.deep.equal(['canceled', 'canceled', 'canceled']);
    expect(await engine().gateOf(subscription).result()).to.equal('disabled');
    expect(await disabledAfter(failingSince, subscription)).to.be.within(5 * day, 5 * day + 2 * second);
    await eachCase(queued, async ({ id }) =>
      expect(await deliveryRow(id)).to.include({ status: 'canceled', cancelReason: null }),
    );
    expect(await mailsAbout(subscription)).to.deep.equal([
      ...mailsOf('webhook_endpoint_failing'),
      ...mailsOf('webhook_endpoint_throttled'),
    ]);
    expect(receiver.requests.length - requests, 'one probe at most in the last hour').to.be.at.most(3);
  });

  it('gets 5 more days if it accepts a delivery', async () => {
    let accepts = false;
    const { subscription } = await engine().endpoint(() => ({ status: accepts ? 200 : 500 }));
    const { failingSince } = await throttle(subscription);
    await engine().pass(4 * day);
    accepts = true;
    const { id } = await test(subscription);
    await until(
      'the accepted delivery',
      { timeoutMs: 5_000 },
      async () => (await deliveryRow(id)).status === 'succeeded',
    );
    accepts = false;
    expect(await endpointRow(subscription.endpoint.id)).to.include({ failingSince: null, breakerStep: 0 });

    const again = await throttle(subscription);
    expect(again.failingSince - failingSince).to.be.above(4 * day);
    await engine().pass(5 * day - minute);
    expect(await endpointRow(subscription.endpoint.id)).to.include({ status: 'enabled' });
    expect(await engine().gateOf(subscription).result()).to.equal('disabled');
    expect(await disabledAfter(again.failingSince, subscription)).to.be.within(5 * day, 5 * day + 2 * second);
  });

  it('is never disabled if no attempt fails', async () => {
    const { subscription } = await engine().endpoint();
    await pause(subscription);
    const [delivery] = await engine().deliverAll(subscription, 1);
    await engine().pass(20 * day);
    await enable(subscription);
    expect(await engine().outcomesOf(delivery ? [delivery] : [])).to.deep.equal(['succeeded']);
    expect(await engine().gateOf(subscription).result()).to.equal('open');
    await engine().pass(20 * day);
    expect(await endpointRow(subscription.endpoint.id)).to.include({ status: 'enabled', failingSince: null });
    expect(await mailsAbout(subscription)).to.deep.equal([]);
  });

  it('is disabled at the next failed attempt if its gate does not run', async () => {
    const { subscription } = await engine().endpoint(() => ({ status: 500 }));
    const { endpoint } = subscription;
    const first = await engine().deliver(subscription);
    await until('its failure', { timeoutMs: 5_000 }, async () => (await deliveryRow(first.id)).attemptCount === 1);
    const source = await testDatabase();
    await source.query(
      `UPDATE webhook_deliveries SET next_attempt_at = next_attempt_at + interval '6 days' WHERE id = $1`,
      [first.id],
    );
    expect(await engine().outcomesOf([first])).to.deep.equal(['canceled']);
    expect(await endpointRow(endpoint.id)).to.include({ status: 'disabled', disabledReason: 'failing' });
    expect(await attemptsAt(endpoint.id)).to.have.length(2);
    expect(
      await engine()
        .gateOf(subscription)
        .describe()
        .catch((error: unknown) => error),
    ).to.be.instanceOf(WorkflowNotFoundError);
  });
});
