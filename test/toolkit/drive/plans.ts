/** Plans that no seller offers. */
import { plans, type Feature } from '../../../domain/billing/plans.policy.ts';

/** Runs an act while the plan `starter` lacks a feature. Otherwise every plan has the feature, and no club is refused. */
export async function withoutFeature(feature: Feature, act: () => Promise<void>): Promise<void> {
  const sold = plans.starter.features as unknown as Feature[];
  const place = sold.indexOf(feature);
  sold.splice(place, 1);
  await act().finally(() => sold.splice(place, 0, feature));
}
