/** Attempts without bounds: as many at once as a test makes. */
import type { AttemptPlaces } from '../../../domain/webhooks/attempts/attempt.ts';

export const fakePlaces: AttemptPlaces = {
  take: () => undefined,
  recorded() {},
  takeClaim: () => undefined,
  leave() {},
};
