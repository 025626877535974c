/** Opens the payment processor's own pages for an owner: the checkout of a plan, and the portal (BILL-12, BILL-13). */
import type { PlanName } from '../../../entities/billing/values.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { ProcessorProblem, type Checkouts } from '../../../platform/infra/checkouts.ts';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { createCustomer, readCustomer } from './customers.ts';

export interface CheckoutDeps {
  db: Database;
  /** Undefined without a configured payment processor. */
  checkouts: Checkouts | undefined;
  /** The price that the operator has configured for a plan. */
  priceOfPlan: (plan: PlanName) => string | undefined;
  /** The only site to which the processor's pages lead back. */
  dashboardUrl: string;
}

interface CheckoutRequest {
  plan: PlanName;
  success_url?: string;
  cancel_url?: string;
}

/** The processor accepts half an hour to a day. */
const checkoutLastsMs = 3_600_000;
/** In whole seconds. */
const retryAfterSeconds = 10;

/**
 * Opens a checkout for a plan. Older open checkouts of the club expire, so that only one can be paid.
 * @returns the address of the processor's page
 * @throws DomainError not_configured, invalid_request, already_subscribed, checkout_in_progress, busy
 */
export async function openCheckout(
  deps: CheckoutDeps,
  clubId: Id,
  { plan, success_url: success, cancel_url: cancel }: CheckoutRequest,
  now: Date,
): Promise<{ url: string; expires_at: string }> {
  const checkouts = requireCheckouts(deps);
  const successUrl = returnAddress(deps, 'success_url', success);
  const cancelUrl = returnAddress(deps, 'cancel_url', cancel);
  return answering(async () => {
    const priceId = deps.priceOfPlan(plan) ?? (await checkouts.priceWithKey(plan));
    if (priceId === undefined)
      throw new DomainError('not_configured', `This environment has no price for the plan ${plan}.`);
    const customerId = await customerWithoutSubscription(deps, checkouts, clubId, now);
    const expiresAt = new Date(now.getTime() + checkoutLastsMs);
    const page = await checkouts.openCheckout({ clubId, customerId, priceId, successUrl, cancelUrl, expiresAt });
    if (!page)
      throw new DomainError('checkout_in_progress', 'Another checkout of this club has begun at the same time.');
    return { url: page.url, expires_at: page.expiresAt.toISOString() };
  });
}

/**
 * The processor is asked, too, because its events may be late.
 * @returns the club's customer @throws DomainError already_subscribed
 */
async function customerWithoutSubscription(
  { db }: CheckoutDeps,
  checkouts: Checkouts,
  clubId: Id,
  now: Date,
): Promise<string> {
  const { customerId, subscriptionId, status } = await readCustomer(db, clubId);
  if (subscriptionId !== null && status !== 'canceled') throw alreadySubscribed();
  if (customerId === null) return createCustomer(db, checkouts, clubId, null, now);
  const state = await checkouts.customerState(customerId);
  if (state === 'subscribed') throw alreadySubscribed();
  return state === 'free' ? customerId : createCustomer(db, checkouts, clubId, customerId, now);
}

/**
 * Opens the portal, in which an owner changes the card or the plan, reads invoices and cancels.
 * @returns the address of the processor's page
 * @throws DomainError not_configured, invalid_request, no_billing_account, busy
 */
export async function openPortal(
  deps: CheckoutDeps,
  clubId: Id,
  { return_url: back }: { return_url?: string },
): Promise<{ url: string }> {
  const checkouts = requireCheckouts(deps);
  const returnUrl = returnAddress(deps, 'return_url', back);
  return answering(async () => {
    const { customerId } = await readCustomer(deps.db, clubId);
    const page = customerId === null ? undefined : await checkouts.openPortal(customerId, returnUrl);
    if (!page)
      throw new DomainError(
        'no_billing_account',
        'The club has no customer at the payment processor. Begin with a checkout.',
      );
    return { url: page.url };
  });
}

const alreadySubscribed = () =>
  new DomainError('already_subscribed', 'The club has a subscription. Change its plan in the portal.');

function requireCheckouts({ checkouts }: CheckoutDeps): Checkouts {
  if (!checkouts) throw new DomainError('not_configured', 'This environment has no payment processor.');
  return checkouts;
}

/** @returns the address, or the dashboard if there is none @throws DomainError invalid_request if it leads to another site */
function returnAddress({ dashboardUrl }: CheckoutDeps, field: string, address: string | undefined): string {
  if (address === undefined) return dashboardUrl;
  const origin = URL.parse(dashboardUrl)?.origin;
  const url = URL.parse(address);
  if (url === null || url.origin !== origin || url.username !== '' || url.password !== '')
    throw new DomainError('invalid_request', `${field} must be an address of the dashboard (${origin}).`);
  return address;
}

/** Translates the problems of the processor into answers. */
async function answering<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof ProcessorProblem)) throw error;
    throw error.isRefusal
      ? new DomainError('not_configured', 'The payment processor refuses this request. Its settings are incomplete.')
      : new DomainError('busy', 'The payment processor cannot be reached. Please try again shortly.', {
          retryAfterSeconds,
        });
  }
}
