import { expect } from 'chai';
import type { VaultDeps } from '../../../../domain/deps.ts';
import type { Claim } from '../../../../domain/webhooks/attempts/claims.ts';
import { returnClaim } from '../../../../domain/webhooks/attempts/claims.ts';
import { createSuccessWriter } from '../../../../domain/webhooks/attempts/record-success.ts';
import { sql } from '../../../../platform/infra/postgres/sql.ts';
import { deliveryRun, wakesBy } from '../../../toolkit/assert/wakes.ts';
import { attemptRows, deliveryRow } from '../../../toolkit/assert/webhooks.ts';
import { buildSubscription, type TestWebhookDelivery } from '../../../toolkit/builders/webhooks.ts';
import { alter } from '../../../toolkit/drive/alter.ts';
import { accepted, claimed, claimedDirectly } from '../../../toolkit/drive/attempts.ts';
import { endLease } from '../../../toolkit/drive/deliveries.ts';
import { untilWaitingForLocks, withOpenTransaction } from '../../../toolkit/drive/races.ts';
import { testDeps } from '../../../toolkit/stack/database.ts';

/** The statement never waits for a lock, so a trigger stops it between its reads and its locks. */
describe('a delivery that changes while one statement records many successes (HOOK-19)', () => {
  let deps: VaultDeps;
  let delivery: TestWebhookDelivery;
  let claim: Claim;
  let now: Date;
  const gate = sql`pg_advisory_xact_lock(36)`;
  before(async () => {
    deps = await testDeps();
    await deps.db.run(sql`
      CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM ${gate}; RETURN NEW; END $$`);
    await deps.db.run(sql`
      CREATE TRIGGER wait_at_gate BEFORE UPDATE OF last_success_at ON webhook_endpoints FOR EACH ROW EXECUTE FUNCTION wait_at_gate()`);
  });
  after(() => deps.db.run(sql`DROP FUNCTION wait_at_gate CASCADE`));
  beforeEach(async () => {
    now = new Date();
    ({ delivery, claim } = await claimedDirectly(await buildSubscription('https://receiver.test/hook'), now.getTime()));
  });

  /** Returns the result of the record if `act` runs during the statement. */
  const recordedAround = async (act: () => Promise<unknown>): Promise<boolean | undefined> => {
    let recorded: Promise<boolean> | undefined;
    await withOpenTransaction(
      (tx) => tx.run(sql`SELECT ${gate}`),
      async () => {
        recorded = createSuccessWriter(deps.db)(delivery.id, claim, accepted, now);
        await untilWaitingForLocks(1);
        await act();
      },
    );
    return recorded;
  };
  const outcomes = async () => (await attemptRows(delivery.id)).map(({ fence, outcome }) => ({ fence, outcome }));

  it('is recorded by the statement if nothing changes', async () => {
    const wakes = await wakesBy(delivery.clubId, async () =>
      expect(await recordedAround(async () => {})).to.equal(true),
    );
    expect(wakes).to.deep.equal([]);
    expect(await deliveryRow(delivery.id)).to.include({ status: 'succeeded', direct: false, attemptCount: 1 });
  });

  it('is recorded alone if a resend was requested, and the record wakes the run of the delivery', async () => {
    const wakes = await wakesBy(delivery.clubId, async () => {
      const requestResend = () => alter('webhook_deliveries', delivery.id, { requested: 'manual' });
      expect(await recordedAround(requestResend)).to.equal(true);
    });
    expect(wakes).to.deep.equal([deliveryRun(delivery)]);
    expect(await deliveryRow(delivery.id)).to.include({ status: 'succeeded', requested: 'manual', direct: false });
  });

  it('is not recorded if the run has claimed the delivery', async () => {
    const claims = async () => {
      await endLease(delivery.id);
      await claimed(delivery, now.getTime());
    };
    expect(await recordedAround(claims)).to.equal(false);
    const row = await deliveryRow(delivery.id);
    expect(row).to.include({ status: 'pending', fence: 2, attemptCount: 0 });
    expect(row.leaseUntil).not.to.equal(null);
    expect(await outcomes()).to.deep.equal([
      { fence: 1, outcome: 'interrupted' },
      { fence: 2, outcome: null },
    ]);
  });

  it('is not recorded if the process has returned its claim unused', async () => {
    const givesBack = () => returnClaim(deps.db, { id: delivery.id, claim, claimedAt: performance.now() }, now);
    expect(await recordedAround(givesBack)).to.equal(false);
    expect(await deliveryRow(delivery.id)).to.include({ status: 'pending', attemptCount: 0, leaseUntil: null });
    expect(await outcomes()).to.deep.equal([]);
  });
});
