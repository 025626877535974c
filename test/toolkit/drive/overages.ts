/** Exceeds allowances of clubs, ends their months, and takes the steps of the charges. */
import { chargeOverage, type OverageDeps, type OverageStep } from '../../../domain/billing/overage/charging.ts';
import { overageChargeId } from '../../../domain/billing/overage/beginning.ts';
import { recordOverage, turnMonths } from '../../../domain/billing/overages.ts';
import type { BilledResource } from '../../../entities/billing/values.ts';
import { Secret } from '../../../platform/core/secret.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { createInvoicing } from '../../../platform/infra/invoicing.ts';
import type { StripeServer } from '../fakes/stripe-server.ts';
import { testDatabase, testDeps } from '../stack/database.ts';

/** Records an excess of the resource at the time. */
export async function exceed(clubId: Id, excess: number, at: Date, resource: BilledResource = 'students') {
  const { db } = await testDeps();
  await db.transaction((tx) => recordOverage(tx, clubId, resource, excess, at));
}

/** Ends all months that have ended at the time, for all clubs of the test. */
export async function endMonths(at: Date): Promise<void> {
  const { db } = await testDeps();
  while ((await turnMonths(db, at)).turned > 0);
}

/** The dependencies of the step, with the processor's client. */
export async function overageDeps(stripe: Pick<StripeServer, 'secretKey' | 'url'>): Promise<OverageDeps> {
  const { db } = await testDeps();
  const invoicing = createInvoicing({ secretKey: new Secret(stripe.secretKey), apiUrl: stripe.url });
  return { db, invoicing, failpoint: async () => {} };
}

/** Takes steps until the charge has ended or must wait. @returns the last step */
export async function stepOn(deps: OverageDeps, id: Id, at: Date): Promise<OverageStep> {
  for (;;) {
    const step = await chargeOverage(deps, id, at.getTime());
    if (step.done || step.at > at.getTime()) return step;
  }
}

/** The row of the charge of a resource in a month, such as `2026-03-01`. Undefined if there is no charge. */
export async function overageChargeRow(
  clubId: Id,
  month: string,
  resource: BilledResource = 'students',
): Promise<(Record<string, unknown> & { id: Id }) | undefined> {
  const source = await testDatabase();
  const id = overageChargeId(clubId, resource, month);
  const [row] = await source.query<(Record<string, unknown> & { id: Id })[]>(
    `SELECT *, month::text AS month FROM overage_charges WHERE id = $1`,
    [id],
  );
  return row;
}

/** The charges of a club, each as the text `resource month excess packs status`. */
export async function chargesOf(clubId: Id): Promise<string[]> {
  const source = await testDatabase();
  const rows = await source.query<{ text: string }[]>(
    `SELECT concat_ws(' ', resource, month, excess, packs, status) AS text FROM overage_charges WHERE club_id = $1 ORDER BY month, resource`,
    [clubId],
  );
  return rows.map(({ text }) => text);
}
