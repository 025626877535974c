/** Permits without bounds: a test makes as many attempts at one time as it wants. */
import type { AttemptPermits } from '../../../domain/webhooks/attempts/permits.ts';

export const fakePermits: AttemptPermits = {
  acquire: () => undefined,
  reportRecord() {},
  takeClaim: () => undefined,
  release() {},
};
