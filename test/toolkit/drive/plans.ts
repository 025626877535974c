/** A plan that is not for sale. */
import { plans, type Feature } from '../../../domain/billing/plans.policy.ts';

/**
 * Runs `act` while the plan `starter` lacks a feature. Every real plan has all features. So without this change no test could see a
 * refusal.
 */
export async function withoutFeature(feature: Feature, act: () => Promise<void>): Promise<void> {
  const sold = plans.starter.features as unknown as Feature[];
  const place = sold.indexOf(feature);
  sold.splice(place, 1);
  await act().finally(() => sold.splice(place, 0, feature));
}
