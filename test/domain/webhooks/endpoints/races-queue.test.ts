import { expect } from 'chai';
import { DomainError } from '../../../../platform/core/errors.ts';
import type { VaultDeps } from '../../../../domain/deps.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import { claimAttempt } from '../../../../domain/webhooks/attempts/claims.ts';
import { disableEndpoint, enableEndpoint, pauseEndpoint } from '../../../../domain/webhooks/queues/endpoint-states.ts';
import { fanOut } from '../../../../domain/webhooks/events/fan-out.ts';
import { tendGate } from '../../../../domain/webhooks/queues/gate.ts';
import { recoverDeliveries, resendDelivery } from '../../../../domain/webhooks/deliveries/manual.ts';
import { sendTest } from '../../../../domain/webhooks/events/test-event.ts';
import { deliveryOf, deliveryRow, endpointRow } from '../../../toolkit/assert/webhooks.ts';
import {
  buildWebhookDelivery,
  buildSubscription,
  factAbout,
  type Subscription,
  type TestWebhookDelivery,
} from '../../../toolkit/builders/webhooks.ts';
import { refused, stepOf } from '../../../toolkit/drive/attempts.ts';
import { testDeps, depsOn } from '../../../toolkit/stack/database.ts';
import { alter } from '../../../toolkit/drive/alter.ts';
import { withOpenTransaction, untilWaitingForLocks } from '../../../toolkit/drive/races.ts';
import { countingTransactions, databaseOf } from '../../../toolkit/fakes/databases.ts';

describe('concurrent changes of an endpoint’s queue', () => {
  let deps: VaultDeps;
  let subscription: Subscription;
  beforeEach(async () => {
    deps = await testDeps();
    subscription = await buildSubscription('https://receiver.test/hook');
  });
  const now = new Date();
  const within = (db: VaultDeps['db']): VaultDeps => ({ ...deps, db });
  const of = ({ clubId, endpoint }: Subscription) => [clubId, endpoint.id] as const;
  const codeOf = (error: unknown) => (error instanceof DomainError ? error.code : error);
  /** Starts `begin` while the transaction of `open` is uncommitted. `begin` must wait for a lock. */
  const meanwhile = async <T>(open: (inside: VaultDeps) => Promise<unknown>, begin: () => Promise<T>): Promise<T> => {
    let waiting: Promise<T> | undefined;
    await withOpenTransaction(
      (tx) => open(within(databaseOf(tx))),
      async () => {
        waiting = begin();
        waiting.catch(() => {});
        await untilWaitingForLocks(1);
      },
    );
    if (!waiting) throw new Error('The second transaction has not begun.');
    return waiting;
  };

  it('make a recovery skip a delivery while another transaction records its success', async () => {
    const delivery = await buildWebhookDelivery(subscription, now);
    await alter('webhook_deliveries', delivery.id, { status: 'canceled', completed_at: now });
    const since = new Date(now.getTime() - 60_000);
    const recovered = await meanwhile(
      ({ db }) => db.source.query(`UPDATE webhook_deliveries SET status = 'succeeded' WHERE id = $1`, [delivery.id]),
      () => recoverDeliveries(deps, ...of(subscription), since, now),
    );
    expect(recovered).to.deep.equal({ recovered: 0 });
    expect(await deliveryRow(delivery.id)).to.include({ status: 'succeeded', requested: null });
  });

  it('make a recovery skip a delivery that an uncommitted removal changes', async () => {
    const delivery = await buildWebhookDelivery(subscription, now);
    await alter('webhook_deliveries', delivery.id, { status: 'canceled', completed_at: now });
    const since = new Date(now.getTime() - 60_000);
    const recovered = await meanwhile(
      ({ db }) => removeStudent(depsOn(db), delivery.clubId, delivery.studentId, now),
      () => recoverDeliveries(deps, ...of(subscription), since, now),
    );
    expect(recovered).to.deep.equal({ recovered: 0 });
    expect(await deliveryRow(delivery.id)).to.include({ status: 'canceled', requested: null, parkedAt: null });
  });

  describe('a fan-out during a change of the endpoint', () => {
    const tell = (fact: ReturnType<typeof factAbout>, { db } = deps) => fanOut(db, fact, now);

    it('creates no delivery while a disable is uncommitted', async () => {
      const fact = factAbout(subscription, 'student.updated');
      const deliveries = await meanwhile(
        (inside) => disableEndpoint(inside, ...of(subscription), now),
        () => tell(fact),
      );
      expect(deliveries).to.deep.equal([]);
      expect(await deliveryOf(fact.id, subscription.endpoint.id)).to.equal(null);
    });

    it('makes a disable wait, which then cancels the created deliveries', async () => {
      const fact = factAbout(subscription, 'student.updated');
      await meanwhile(
        (inside) => tell(fact, inside),
        () => disableEndpoint(deps, ...of(subscription), now),
      );
      const delivery = await deliveryOf(fact.id, subscription.endpoint.id);
      expect(delivery).to.include({ status: 'canceled', cancelReason: null });
    });

    it('creates parked deliveries while a pause is uncommitted', async () => {
      const fact = factAbout(subscription, 'student.updated');
      const [delivery] = await meanwhile(
        (inside) => pauseEndpoint(inside, ...of(subscription), now),
        () => tell(fact),
      );
      expect((await stepOf({ id: delivery?.id ?? '' })).posted).to.equal(0);
      await enableEndpoint(deps, ...of(subscription), now);
      await tendGate(deps, subscription.endpoint.id, Date.now());
      expect((await stepOf({ id: delivery?.id ?? '' })).posted).to.equal(1);
    });
  });

  describe('a manual request during a disable', () => {
    const requests: Record<string, (delivery: TestWebhookDelivery, inside: VaultDeps) => Promise<unknown>> = {
      recovery: (delivery, inside) => recoverDeliveries(inside, ...of(delivery), new Date(now.getTime() - 60_000), now),
      resend: (delivery, inside) => resendDelivery(inside, ...of(delivery), delivery.id, now),
      test: (delivery, inside) => sendTest(inside, ...of(delivery), now),
    };
    for (const [name, ask] of Object.entries(requests)) {
      it(`makes a ${name} wait for the commit, and then rejects the ${name}`, async () => {
        const delivery = await buildWebhookDelivery(subscription);
        await alter('webhook_deliveries', delivery.id, { status: 'failed', completed_at: now });
        const refusal = await meanwhile(
          (inside) => disableEndpoint(inside, ...of(subscription), now),
          () => ask(delivery, deps),
        ).catch(codeOf);
        expect(refusal).to.equal('endpoint_not_enabled');
        expect(await deliveryRow(delivery.id)).to.include({ status: 'failed', requested: null, parkedAt: null });
      });

      it(`makes the disable wait for an uncommitted ${name}, and then cancel the requested attempt`, async () => {
        const delivery = await buildWebhookDelivery(subscription);
        await alter('webhook_deliveries', delivery.id, { status: 'failed', completed_at: now });
        await meanwhile(
          (inside) => ask(delivery, inside),
          () => disableEndpoint(deps, ...of(subscription), now),
        );
        const { source } = deps.db;
        const open = await source.query<unknown[]>(
          `SELECT 1 FROM webhook_deliveries WHERE endpoint_id = $1
              AND (status = 'pending' OR requested IS NOT NULL OR in_flight IS NOT NULL OR parked_at IS NOT NULL)`,
          [subscription.endpoint.id],
        );
        expect(open).to.have.length(0);
        expect(await claimAttempt(source, delivery.id, Date.now())).to.equal(undefined);
      });
    }
  });

  it('make a claim fail while a disable is uncommitted', async () => {
    const delivery = await buildWebhookDelivery(subscription);
    const claim = await meanwhile(
      (inside) => disableEndpoint(inside, ...of(subscription), now),
      () => claimAttempt(deps.db.source, delivery.id, Date.now()),
    );
    expect(claim).to.equal(undefined);
  });

  it('make a claim fail while a student’s removal is uncommitted', async () => {
    const delivery = await buildWebhookDelivery(subscription);
    const claim = await meanwhile(
      ({ db }) => removeStudent(depsOn(db), delivery.clubId, delivery.studentId, now),
      () => claimAttempt(deps.db.source, delivery.id, Date.now()),
    );
    expect(claim).to.equal(undefined);
  });

  describe('the lock order of deliveries by id', () => {
    for (const lockedDelivery of ['requested', 'pending'] as const) {
      it(`lets a removal and a disable succeed without a retry if the ${lockedDelivery} delivery is locked`, async () => {
        const requested = await buildWebhookDelivery(subscription);
        const pending = await buildWebhookDelivery(subscription);
        expect(requested.id < pending.id).to.equal(true);
        await alter('webhook_deliveries', requested.id, { status: 'failed', requested: 'manual', completed_at: now });
        const db = countingTransactions(deps.db);
        const both: Promise<unknown>[] = [];
        await withOpenTransaction(
          (tx) =>
            tx.manager.query(`SELECT FROM webhook_deliveries WHERE id = $1 FOR NO KEY UPDATE`, [
              lockedDelivery === 'pending' ? pending.id : requested.id,
            ]),
          async () => {
            both.push(disableEndpoint(within(db), ...of(subscription), now));
            await untilWaitingForLocks(1);
            both.push(removeStudent(depsOn(db), subscription.clubId, subscription.studentId, now));
            await untilWaitingForLocks(2);
          },
        );
        await Promise.all(both);
        expect(db.transactions()).to.equal(2);
      });
    }

    it('causes no error if many kinds of changes run at the same time', async function () {
      this.timeout(60_000);
      const subscriptions = await Promise.all(
        Array.from({ length: 4 }, () => buildSubscription('https://receiver.test/hook')),
      );
      for (const one of subscriptions) {
        const list: TestWebhookDelivery[] = [];
        for (let count = 0; count < 30; count++) list.push(await buildWebhookDelivery(one));
        await Promise.all([
          ...list.map((delivery) => stepOf(delivery, refused)),
          tendGate(deps, one.endpoint.id, Date.now()),
          removeStudent(deps, one.clubId, one.studentId, now),
          disableEndpoint(deps, ...of(one), now)
            .then(() => enableEndpoint(deps, ...of(one), now))
            .then(() => recoverDeliveries(deps, ...of(one), new Date(now.getTime() - 60_000), now)),
          tendGate(deps, one.endpoint.id, Date.now()),
        ]);
        for (const { id } of list) {
          expect(await deliveryRow(id), id).to.include({ status: 'canceled', requested: null, parkedAt: null });
        }
        const row = await endpointRow(one.endpoint.id);
        expect(row, one.endpoint.id).to.include({ status: 'enabled', admittedDeliveryId: null });
      }
    });
  });
});
