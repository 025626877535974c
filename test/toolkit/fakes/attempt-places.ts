/** Attempts without bounds: as many simultaneous attempts as a test makes. */
import type { AttemptPlaces } from '../../../domain/webhooks/deliveries/attempts.ts';

export const fakePlaces: AttemptPlaces = {
  take: () => undefined,
  recorded() {},
  takeClaim: () => undefined,
  leave() {},
};
