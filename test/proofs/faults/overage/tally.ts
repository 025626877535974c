/** The final check of `faults overage`. It counts by the ledger of the payment processor, and not by our tables. */
import type { Id } from '../../../../platform/core/ids.ts';

/** An item in the ledger of the payment processor. */
export interface LedgerItem {
  metadata: Readonly<Record<string, string>>;
  amount: number;
  invoice: string | null;
}

export interface ExpectedClub {
  clubId: Id;
  /** The price of each month, in cents. */
  amount: number;
  /** Whether each item must be on an invoice, because the club's subscription has ended. */
  isInvoiced: boolean;
}

export interface OverageTally {
  charged: number;
  /** A line for each month with several items. */
  twice: string[];
  missing: string[];
  /** A line for each item with another amount, without an invoice, or of an unknown month. */
  wrong: string[];
}

/** @param months the first days of the months, such as `2026-03-01` */
export function tallyOverages(
  clubs: readonly ExpectedClub[],
  months: readonly string[],
  items: readonly LedgerItem[],
): OverageTally {
  const nameOf = ({ metadata }: LedgerItem) => `${metadata['club_id']} ${metadata['month']} ${metadata['resource']}`;
  const byName = Map.groupBy(items, nameOf);
  const tally: OverageTally = { charged: 0, twice: [], missing: [], wrong: [] };
  const expected = new Set<string>();
  for (const { clubId, amount, isInvoiced } of clubs)
    for (const month of months) {
      const name = `${clubId} ${month} students`;
      expected.add(name);
      const found = byName.get(name) ?? [];
      if (found.length === 0) tally.missing.push(name);
      if (found.length > 0) tally.charged += 1;
      if (found.length > 1) tally.twice.push(`${name}: ${found.length} items`);
      for (const item of found) {
        if (item.amount !== amount) tally.wrong.push(`${name}: ${item.amount} instead of ${amount}`);
        if (isInvoiced && item.invoice === null) tally.wrong.push(`${name} is on no invoice`);
      }
    }
  for (const name of byName.keys()) if (!expected.has(name)) tally.wrong.push(`${name} was not expected`);
  return tally;
}
