/** Limits the sign-ins at identity providers that run at the same time: for one provider, and for the process (OIDC-5). */
import { releaseOnce, type Permits } from '../../core/permits.ts';

export const providerPermits = { ofProvider: 4, all: 32 } as const;

/** A provider that does not answer keeps at most its own permits, for at most the time limit of a sign-in. */
export function createProviderPermits(): Pick<Permits<string>, 'tryAcquire'> {
  const used = new Map<string, number>();
  let all = 0;
  return {
    tryAcquire(providerId) {
      const ofProvider = used.get(providerId) ?? 0;
      if (ofProvider >= providerPermits.ofProvider || all >= providerPermits.all) return undefined;
      used.set(providerId, ofProvider + 1);
      all += 1;
      return releaseOnce(() => {
        all -= 1;
        const rest = (used.get(providerId) ?? 1) - 1;
        if (rest === 0) used.delete(providerId);
        else used.set(providerId, rest);
      });
    },
  };
}
