/** Attempt permits without a limit, so that a test can make any number of simultaneous attempts. */
import type { AttemptPermits } from '../../../domain/webhooks/attempts/permits.ts';

export const fakePermits: AttemptPermits = {
  acquire: () => undefined,
  reportRecord() {},
  takeClaim: () => undefined,
  release() {},
};
