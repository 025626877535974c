/** Plans as no seller has them. */
import { plans, type Feature } from '../../../domain/billing/plans.policy.ts';

/** Does something while the plan `starter` lacks a feature: one that every plan has is refused nobody otherwise. */
export async function withoutFeature(feature: Feature, act: () => Promise<void>): Promise<void> {
  const sold = plans.starter.features as unknown as Feature[];
  const place = sold.indexOf(feature);
  sold.splice(place, 1);
  await act().finally(() => sold.splice(place, 0, feature));
}
