/** Simulates a plan that lacks a feature. */
import { plans, type Feature } from '../../../domain/billing/plans.policy.ts';

/**
 * Runs `act` while the plan `starter` lacks a feature. Every real plan has all features, so no test could see a refusal without this
 * change.
 */
export async function withoutFeature(feature: Feature, act: () => Promise<void>): Promise<void> {
  const sold = plans.starter.features as unknown as Feature[];
  const place = sold.indexOf(feature);
  sold.splice(place, 1);
  await act().finally(() => sold.splice(place, 0, feature));
}
