/** The club's plan, what it buys beside it, and what the payment processor tells of it. */
import { buyAddOn as buy, listAddOns as list } from '../../domain/billing/add-ons.ts';
import { readClubPlan } from '../../domain/billing/club-plan.ts';
import { receiveNotice } from '../../domain/billing/notices.ts';
import type { Operation } from '../operation.ts';
import { accepted, listed } from './answers.ts';

export const getClubPlan: Operation<'getClubPlan'> = async ({ params, services, now }) => ({
  data: await readClubPlan(services.database, params.clubId, now),
});

export const listAddOns: Operation<'listAddOns'> = async ({ params, query, services }) =>
  listed(await list(services.database, params.clubId, query));

export const buyAddOn: Operation<'buyAddOn'> = async ({ params, body, services, now }) => {
  const { database, billing } = services;
  return { data: await buy({ database, processor: billing.processor }, params.clubId, body, now) };
};

export const receiveBillingNotice: Operation<'receiveBillingNotice'> = async ({ rawBody, header, services, now }) => {
  const { database, billing } = services;
  await receiveNotice({ ...billing, database }, rawBody, header('Stripe-Signature'), now);
  return accepted;
};
