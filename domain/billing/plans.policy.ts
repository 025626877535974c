/** Lists the plans with their features, their allowances and their rule for overage, and the prices of add-ons. */
import type { AddOnKind, PlanName, Resource } from '../../entities/billing/values.ts';

export const features = [
  'webhooks',
  'certificates',
  'registration_links',
  'sales_notices',
  'community',
  'imports',
  'repositories',
  'campaigns',
  'automations',
  'agents',
  'video_hosting',
] as const;
export type Feature = (typeof features)[number];

export interface Allowance {
  included: number;
  /** Whether use beyond the allowance is billed, or refused with `limit_reached`. */
  overage: 'billed' | 'refused';
}

export interface Plan {
  features: readonly Feature[];
  allowances: Readonly<Record<Resource, Allowance>>;
}

const gigabyte = 1_000_000_000;

/** Hosted videos are the operator's highest cost. So a trial has only recordings, which are stored only for some days (MED-10). */
const featuresOfTrial = features.filter((feature) => feature !== 'video_hosting');

export const plans = {
  trial: {
    features: featuresOfTrial,
    allowances: {
      students: { included: 50, overage: 'refused' },
      storage_bytes: { included: gigabyte, overage: 'refused' },
      ai_budget: { included: 100, overage: 'refused' },
    },
  },
  starter: {
    features: ['webhooks', 'certificates', 'sales_notices', 'community'],
    allowances: {
      students: { included: 100, overage: 'refused' },
      storage_bytes: { included: 10 * gigabyte, overage: 'refused' },
      ai_budget: { included: 0, overage: 'refused' },
    },
  },
  professional: {
    features,
    allowances: {
      students: { included: 10_000, overage: 'refused' },
      storage_bytes: { included: 500 * gigabyte, overage: 'refused' },
      ai_budget: { included: 5_000, overage: 'refused' },
    },
  },
  business: {
    features,
    allowances: {
      students: { included: 50_000, overage: 'billed' },
      storage_bytes: { included: 2_000 * gigabyte, overage: 'billed' },
      ai_budget: { included: 50_000, overage: 'refused' },
    },
  },
} as const satisfies Record<PlanName, Plan>;

/** The plan after a cancellation. Existing data beyond its allowances stays, but nothing can be added. */
export const planAfterCancellation: PlanName = 'starter';

/** The add-ons, which are sold in packages. Prices are in the smallest unit of the currency. */
export const addOns = {
  students: { resource: 'students', adds: 100, price: 1_000 },
  storage: { resource: 'storage_bytes', adds: 100 * gigabyte, price: 500 },
  ai_budget: { resource: 'ai_budget', adds: 1_000, price: 1_000 },
} as const satisfies Record<AddOnKind, { resource: Resource; adds: number; price: number }>;
export const addOnCurrency = 'usd';
