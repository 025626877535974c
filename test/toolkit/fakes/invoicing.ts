/** A payment processor for overage without a network, for tests of the code that calls it. */
import type { InvoiceItem, Invoicing } from '../../../platform/infra/invoicing.ts';

/** @param failures the number of first attempts to make an item that get no answer. @param nextInvoiceAt of the subscription, if it has one */
export function fakeInvoicing({
  failures = 0,
  nextInvoiceAt,
}: { failures?: number; nextInvoiceAt?: Date } = {}): Invoicing {
  let failuresLeft = failures;
  const items = new Map<string, InvoiceItem & { chargeId: string }>();
  return {
    account: () => Promise.resolve({ currency: 'usd', nextInvoiceAt }),
    findItem: (_customer, chargeId) => Promise.resolve([...items.values()].find((item) => item.chargeId === chargeId)),
    readItem: (id) => Promise.resolve(items.get(id)),
    addItem({ chargeId, customerId, amount, currency }) {
      if (failuresLeft-- > 0) return Promise.reject(new Error('The processor gives no answer'));
      // An invoice of a subscription has taken the item by the time at which the next step looks.
      const invoiceId = undefined;
      const item = { id: `ii_${chargeId}`, chargeId, customerId, amount, currency, invoiceId };
      items.set(item.id, item);
      return Promise.resolve({ result: 'added', item });
    },
    invoice({ customerId }) {
      for (const [id, item] of items)
        if (item.customerId === customerId) items.set(id, { ...item, invoiceId: `in_${id}` });
      return Promise.resolve();
    },
  };
}
