/** The club's plan, its add-ons, and the events of the payment processor. */
import * as addOns from '../../../domain/billing/add-ons.ts';
import * as plan from '../../../domain/billing/club-plan.ts';
import * as checkout from '../../../domain/billing/checkout/sessions.ts';
import * as notices from '../../../domain/billing/notices.ts';
import type { Actor, Operation } from '../../operation.ts';
import { accepted, data, page } from '../answers.ts';

export const getClubPlan: Operation<'getClubPlan'> = async ({ params, db, actor, now }) =>
  data(await plan.readClubPlan(db, params.clubId, now, { showsCosts: seesCosts(actor) }));

/** The roles that list add-ons also see the cost of overage. No key sees the payments of the club (BILL-11). */
const seesCosts = (actor: Actor) =>
  actor.kind === 'administrator' && (actor.role === 'owner' || actor.role === 'admin');

export const listAddOns: Operation<'listAddOns'> = async ({ params, query, db }) =>
  page(await addOns.listAddOns(db, params.clubId, query));

export const buyAddOn: Operation<'buyAddOn'> = async ({ params, body, deps, now }) => {
  const { db, billing } = deps;
  return data(await addOns.buyAddOn({ db, processor: billing.processor }, params.clubId, body, now));
};

export const openCheckout: Operation<'openCheckout'> = async ({ params, body, deps, now }) =>
  data(await checkout.openCheckout({ ...deps.billing, db: deps.db }, params.clubId, body, now));

export const openBillingPortal: Operation<'openBillingPortal'> = async ({ params, body, deps }) =>
  data(await checkout.openPortal({ ...deps.billing, db: deps.db }, params.clubId, body));

export const receiveBillingNotice: Operation<'receiveBillingNotice'> = async ({ receiveBody, header, deps, now }) => {
  const { db, billing } = deps;
  return accepted(await notices.receiveBillingEvent({ ...billing, db }, receiveBody, header('Stripe-Signature'), now));
};
