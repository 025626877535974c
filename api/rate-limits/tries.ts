/**
 * Limits on guesses: wrong passwords (LIM-26), and invalid codes of registration links (LIM-27). A try is counted before it runs, so that
 * simultaneous tries cannot exceed the limit. If it was not a wrong guess, it is removed again.
 */
import type { ErrorCode } from '../../platform/core/error-codes.ts';
import { addressesCounted } from './client-ip.policy.ts';
import { CountersUnavailable, type Limiter, type Memory } from './limiter.ts';
import {
  failedSignIns,
  failedSignInsOfSource,
  wrongCodesOfSource,
  wrongCodesOfStudent,
  wrongFactors,
  wrongOwnPasswords,
  type Budget,
} from './rules.policy.ts';
import { RefusalToPerson, minutesOf } from '../../domain/language/refusal.ts';
import { DomainError } from '../../platform/core/errors.ts';

type Counting = Pick<Limiter, 'attempt' | 'takeBack' | 'remember' | 'isRemembered'>;

interface Source {
  /** {@link file://./client-ip.policy.ts} clientIp. */
  readonly ip: string;
  /** Unix milliseconds. */
  readonly now: number;
}

interface SignInTry extends Source {
  /** The account may not exist. */
  readonly account: string;
  /** Set if a token proves that the device had a session of the account. */
  readonly device: string | undefined;
  /** While the counters are unavailable: a student's sign-in is refused with 503 (LIM-18), an administrator's passes (DEC-29). */
  readonly whenDown: 'refuse' | 'pass';
}

/** A network stays known for 30 to 60 days after a session. */
const knownNetworks: Memory = { name: 'known_networks', seconds: 30 * 86_400 };

interface Counted {
  readonly budget: Budget;
  readonly subject: string;
}

/**
 * Allows ten wrong passwords in a quarter of an hour. All unknown sources of an account share one count; each known device or network has
 * its own.
 * @throws DomainError rate_limited (even if the account does not exist), and the errors of `signIn`
 */
export async function trySignIn<T>(
  limiter: Counting,
  of: SignInTry,
  signIn: (from: { isKnown: boolean }) => Promise<T>,
): Promise<T> {
  let isKnown = of.device !== undefined;
  const counts = async () => {
    const hasKnownNetwork = await isNetworkKnown(limiter, of);
    isKnown ||= hasKnownNetwork;
    return [signInCount(of, hasKnownNetwork)];
  };
  const answer = await within(limiter, of, 'invalid_credentials', counts, () => signIn({ isKnown }));
  await rememberNetwork(limiter, of);
  return answer;
}

/**
 * @returns whether the account had a session from this network in the last 30 to 60 days; false if the counters are unavailable
 */
export async function isKnownNetwork(limiter: Counting, of: Omit<SignInTry, 'device' | 'whenDown'>): Promise<boolean> {
  return isNetworkKnown(limiter, of).catch((error: unknown) => {
    ignoreUnavailable(error);
    return false;
  });
}

/** If the counters are unavailable, the network later counts as unknown. */
export async function rememberNetwork(
  limiter: Counting,
  { account, ip, now }: Omit<SignInTry, 'device' | 'whenDown'>,
): Promise<void> {
  await limiter.remember(knownNetworks, networkOf(account, ip), now).catch(ignoreUnavailable);
}

/**
 * Allows ten wrong present passwords in a quarter of an hour to each session that changes its password (SES-7).
 * @throws DomainError rate_limited, and the errors of `change`
 */
export async function tryOwnPassword<T>(
  limiter: Counting,
  { session, ...source }: Source & { session: string },
  change: () => Promise<T>,
): Promise<T> {
  const counts = () => Promise.resolve([{ budget: wrongOwnPasswords, subject: session }]);
  return within(limiter, { ...source, whenDown: 'pass' }, 'invalid_credentials', counts, change);
}

/**
 * Wrong codes are limited for each student and each address.
 * @param studentId absent for a person who signs up
 * @throws DomainError rate_limited (even if the code is valid), and the errors of `claim`
 */
export async function tryCode<T>(
  limiter: Counting,
  { studentId, ...source }: Source & { studentId?: string },
  claim: () => Promise<T>,
): Promise<T> {
  const ofStudent = studentId === undefined ? [] : [{ budget: wrongCodesOfStudent, subject: studentId }];
  const ofSource = addressesCounted(source.ip).map(({ subject, times }) => ({
    budget: { ...wrongCodesOfSource, limit: wrongCodesOfSource.limit * times },
    subject,
  }));
  const counts = () => Promise.resolve([...ofStudent, ...ofSource]);
  return within(limiter, { ...source, whenDown: 'pass' }, 'not_found', counts, claim);
}

interface FactorTry extends Omit<SignInTry, 'whenDown'> {
  /** A mailed token or an identity provider proves more than a password, so its sources have a count of their own. */
  readonly firstFactor: string;
}

/**
 * Counts wrong second factors (FAC-7). A right factor does not pass while the account waits, so the answer does not reveal it.
 * @throws DomainError rate_limited; rate_limit_unavailable while the counters are unavailable, because six digits can be guessed; the errors
 * of `prove`
 */
export async function tryFactor<T>(limiter: Counting, of: FactorTry, prove: () => Promise<T>): Promise<T> {
  const counts = async () => {
    const { account, device, ip, now, firstFactor } = of;
    const isKnown = await limiter.isRemembered(knownNetworks, networkOf(account, ip), now);
    const source = device ?? (isKnown ? networkOf(account, ip) : firstFactor);
    return wrongFactors.map((budget) => ({ budget, subject: `${account} ${source}` }));
  };
  return within(limiter, { now: of.now, whenDown: 'refuse' }, 'invalid_credentials', counts, prove);
}

/**
 * Counts wrong proofs in a session (FAC-7). Each session has a count of its own.
 * @param account as at a sign-in
 * @throws DomainError rate_limited, rate_limit_unavailable, and the errors of `prove`
 */
export async function tryProof<T>(
  limiter: Counting,
  { account, sessionId, now }: { account: string; sessionId: string; now: number },
  prove: () => Promise<T>,
): Promise<T> {
  const counts = async () => wrongFactors.map((budget) => ({ budget, subject: `${account} ${sessionId}` }));
  return within(limiter, { now, whenDown: 'refuse' }, 'invalid_credentials', counts, prove);
}

/** Runs even for a known device. Otherwise the time of the answer would reveal that the device is known. */
const isNetworkKnown = (limiter: Counting, { account, ip, now }: Omit<SignInTry, 'device' | 'whenDown'>) =>
  limiter.isRemembered(knownNetworks, networkOf(account, ip), now);

function signInCount({ account, device, ip }: SignInTry, isKnown: boolean): Counted {
  const source = device ?? (isKnown ? networkOf(account, ip) : undefined);
  if (source === undefined) return { budget: failedSignIns, subject: account };
  return { budget: failedSignInsOfSource, subject: `${account} ${source}` };
}

/** @returns the narrowest network of the address, which belongs to one subscriber */
function networkOf(account: string, ip: string): string {
  return `${account} ${addressesCounted(ip)[0]?.subject ?? ip}`;
}

/** Counts a try. The try is removed again, unless the work fails with a wrong guess. @param wrong of a wrong guess */
async function within<T>(
  limiter: Counting,
  { now, whenDown }: Pick<SignInTry, 'now' | 'whenDown'>,
  wrong: ErrorCode,
  countsOf: () => Promise<readonly Counted[]>,
  work: () => Promise<T>,
): Promise<T> {
  const counted: Counted[] = [];
  const takeBack = async () => {
    for (const { budget, subject } of counted.splice(0))
      await limiter.takeBack(budget, subject, now).catch(ignoreUnavailable);
  };
  try {
    for (const one of await countsOf()) {
      const verdict = await limiter.attempt(one.budget, one.subject, now);
      if (!verdict.allowed) throw tooMany(one.budget, verdict.retryAfterSeconds);
      counted.push(one);
    }
  } catch (error) {
    await takeBack(); // the try has not run
    if (!(error instanceof CountersUnavailable)) throw error;
    if (whenDown === 'refuse')
      throw new RefusalToPerson('rate_limit_unavailable', 'refusal.busy', {
        technical: 'The rate limit cannot be checked at the moment; try again shortly.',
      });
  }
  try {
    const result = await work();
    await takeBack();
    return result;
  } catch (error) {
    if (!(error instanceof DomainError && error.code === wrong)) await takeBack();
    throw error;
  }
}

function ignoreUnavailable(error: unknown): void {
  if (!(error instanceof CountersUnavailable)) throw error;
}

function tooMany({ limit, windowSeconds }: Budget, retryAfterSeconds: number): DomainError {
  const allowance = `${limit} wrong tries in ${windowSeconds / 60} minutes`;
  return new RefusalToPerson(
    'rate_limited',
    ({ say }) => say('refusal.too_many_tries', { minutes: minutesOf(retryAfterSeconds) }),
    { technical: `There were ${allowance}. Retry after ${retryAfterSeconds} seconds.`, retryAfterSeconds },
  );
}
