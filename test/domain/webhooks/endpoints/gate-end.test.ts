import type { DataSource, EntityManager } from 'typeorm';
import { expect } from 'chai';
import { Database, type Transaction } from '../../../../platform/infra/postgres/database.ts';
import { attemptDelivery } from '../../../../domain/webhooks/attempts/attempt.ts';
import { enableEndpoint, pauseEndpoint } from '../../../../domain/webhooks/queues/endpoint-states.ts';
import { tendGate } from '../../../../domain/webhooks/queues/gate.ts';
import { readState } from '../../../../domain/webhooks/attempts/state.ts';
import { deliveryRow } from '../../../toolkit/assert/webhooks.ts';
import { testDatabase, testDeps } from '../../../toolkit/stack/database.ts';
import {
  buildWebhookDelivery,
  buildSubscription,
  type TestWebhookDelivery,
} from '../../../toolkit/builders/webhooks.ts';
import { withOpenTransaction, untilWaitingForLocks } from '../../../toolkit/drive/races.ts';
import { useDeliveries } from '../../../toolkit/stack/receivers.ts';

/** Before the gate ends, it must lock the endpoint's row and find no parked delivery (HOOK-6). */
describe('a delivery that is parked while its endpoint’s gate ends', () => {
  const delivering = useDeliveries();

  const duePaused = async (): Promise<TestWebhookDelivery> => {
    const receiver = await delivering().receiver();
    const delivery = await buildWebhookDelivery(await buildSubscription(receiver.url));
    await pauseEndpoint(await testDeps(), delivery.clubId, delivery.endpoint.id, new Date());
    return delivery;
  };
  const wakesOf = async (id: string) => {
    const source = await testDatabase();
    const rows = await source.query<{ workflow_type: string }[]>(
      `SELECT workflow_type FROM wakes WHERE subject_id = $1`,
      [id],
    );
    return rows.length;
  };
  const enable = async ({ clubId, endpoint }: TestWebhookDelivery) =>
    enableEndpoint(await testDeps(), clubId, endpoint.id, new Date());

  it('is released if it is parked before the endpoint is enabled', async () => {
    const delivery = await duePaused();
    const deps = await testDeps();
    let parking: Promise<unknown> | undefined;
    let opening: Promise<unknown> | undefined;
    let gate: Promise<unknown> | undefined;
    await withOpenTransaction(
      // A lock on the delivery stops the parking between the read of the endpoint and the write.
      (tx: Transaction) => tx.manager.query(`SELECT 1 FROM webhook_deliveries WHERE id = $1 FOR UPDATE`, [delivery.id]),
      async () => {
        parking = readState(deps.db, delivery.id, Date.now());
        await untilWaitingForLocks(1);
        opening = enable(delivery);
        await untilWaitingForLocks(2);
        gate = tendGate(deps, delivery.endpoint.id, Date.now());
        await untilWaitingForLocks(3);
      },
    );
    expect(await parking).to.include({ waitingFor: 'endpoint' });
    await opening;
    await gate;
    // The enabling woke the gate again.
    expect(await tendGate(deps, delivery.endpoint.id, Date.now())).to.deep.equal({ done: true, outcome: 'open' });
    expect(await deliveryRow(delivery.id)).to.include({ status: 'pending', parkedAt: null });
    expect(await wakesOf(delivery.id), 'woken').to.equal(1);
  });

  it('is attempted immediately if the gate ends before the parking', async () => {
    const delivery = await duePaused();
    const deps = await testDeps();
    let parking: Promise<unknown> | undefined;
    await withOpenTransaction(
      (tx: Transaction) => openAndEndTheGate(tx, delivery),
      async () => {
        parking = readState(deps.db, delivery.id, Date.now()); // the step reads a paused endpoint …
        await untilWaitingForLocks(1); // … and waits before it parks the delivery
      },
    );
    expect(await parking, 'no reason prevents a claim').to.equal(undefined);
    expect(await deliveryRow(delivery.id)).to.include({ parkedAt: null });
    expect(await attemptDelivery(delivering().deps(), delivery.id, Date.now())).to.deep.equal({
      done: true,
      outcome: 'succeeded',
    });
  });

  it('is not lost if the endpoint is paused at that moment', async () => {
    const delivery = await duePaused();
    await enable(delivery);
    const { clubId, endpoint } = delivery;
    const deps = await testDeps();
    let pausing: Promise<unknown> | undefined;
    await withOpenTransaction(
      async (tx: Transaction) => {
        const query = async (statement: string, parameters: unknown[]) => {
          const rows: unknown = await tx.manager.query(statement, parameters);
          if (pausing === undefined) {
            // The gate has executed its first statement, and has not written anything.
            pausing = pauseEndpoint(deps, clubId, endpoint.id, new Date());
            await untilWaitingForLocks(1);
          }
          return rows;
        };
        const db = nestedIn(Object.assign(Object.create(tx.manager) as EntityManager, { query }));
        const ended = await tendGate({ db, vault: deps.vault }, endpoint.id, Date.now());
        expect(ended).to.deep.equal({ done: true, outcome: 'open' });
      },
      async () => {},
    );
    await pausing;
    expect(await readState(deps.db, delivery.id, Date.now())).to.include({ waitingFor: 'endpoint' });
    expect(await wakesOf(endpoint.id), 'the gate is woken again after its end').to.equal(1);
    await enable(delivery);
    await tendGate(deps, endpoint.id, Date.now());
    expect(await deliveryRow(delivery.id)).to.include({ status: 'pending', parkedAt: null });
  });

  async function openAndEndTheGate(tx: Transaction, { clubId, endpoint }: TestWebhookDelivery): Promise<void> {
    const within = { db: nestedIn(tx.manager), vault: (await testDeps()).vault };
    await enableEndpoint(within, clubId, endpoint.id, new Date());
    expect(await tendGate(within, endpoint.id, Date.now())).to.deep.equal({ done: true, outcome: 'open' });
  }
});

function nestedIn(manager: EntityManager): Database {
  const source = { manager, transaction: (work: (inner: object) => Promise<unknown>) => work(manager) };
  return new Database(source as unknown as DataSource, { notify() {} });
}
