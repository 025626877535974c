/**
 * Limits on guesses: sign-ins with a wrong password (LIM-26), and invalid codes of registration links (LIM-27). A try is counted before it
 * runs, so that simultaneous tries do not exceed the limit. If the try was not a wrong guess, it is removed from the count afterwards.
 */
import type { ErrorCode } from '../../platform/core/error-codes.ts';
import { addressesCounted } from './client-ip.policy.ts';
import { CountersUnavailable, type Limiter, type Memory } from './limiter.ts';
import {
  failedSignIns,
  failedSignInsOfSource,
  wrongCodesOfSource,
  wrongCodesOfStudent,
  type Budget,
} from './rules.policy.ts';
import { RefusalToPerson, minutesOf } from '../../domain/language/refusal.ts';
import { DomainError } from '../../platform/core/errors.ts';

type Counting = Pick<Limiter, 'attempt' | 'takeBack' | 'remember' | 'isRemembered'>;

/** The source of a try, and its time. */
interface Source {
  /** The client's address ({@link file://./client-ip.policy.ts} clientIp). */
  readonly ip: string;
  /** Unix milliseconds. */
  readonly now: number;
}

interface SignInTry extends Source {
  /** The account that the caller named. A try for a missing account counts like a try for an existing account. */
  readonly account: string;
  /** The device of the caller, if its token proves an earlier session of the account on this device. */
  readonly device: string | undefined;
  /**
   * While the counters are unavailable, a student's sign-in is refused with 503 (LIM-18), and an administrator's sign-in passes (DEC-29).
   */
  readonly whenDown: 'refuse' | 'pass';
}

/** After a session of an account, its network counts as known for this account for 30 to 60 days. */
const knownNetworks: Memory = { name: 'known_networks', seconds: 30 * 86_400 };

interface Counted {
  readonly budget: Budget;
  readonly subject: string;
}

/**
 * Runs a sign-in unless too many passwords were wrong. The limit is ten wrong passwords in a quarter of an hour. For each account, all
 * unknown sources share one count, and each known device or network has its own count.
 * @throws DomainError rate_limited (even if the account does not exist), and the errors of `signIn`
 */
export async function trySignIn<T>(limiter: Counting, of: SignInTry, signIn: () => Promise<T>): Promise<T> {
  const answer = await within(limiter, of, 'invalid_credentials', () => signInCount(limiter, of), signIn);
  await rememberNetwork(limiter, of);
  return answer;
}

/**
 * Remembers that the account had a session from this network. If the counters are unavailable, nothing is remembered, and the network later
 * counts as unknown.
 */
export async function rememberNetwork(
  limiter: Counting,
  { account, ip, now }: Omit<SignInTry, 'device' | 'whenDown'>,
): Promise<void> {
  await limiter.remember(knownNetworks, networkOf(account, ip), now).catch(ignoreUnavailable);
}

/**
 * Claims a registration code. Wrong codes are limited for each student and for each address.
 * @param studentId the student who enters the code; absent for a person who signs up
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

async function signInCount(limiter: Counting, { account, device, ip, now }: SignInTry): Promise<readonly Counted[]> {
  // The network is looked up even for a known device, so that the time of the answer does not reveal whether the device is known.
  const isKnown = await limiter.isRemembered(knownNetworks, networkOf(account, ip), now);
  const source = device ?? (isKnown ? networkOf(account, ip) : undefined);
  if (source === undefined) return [{ budget: failedSignIns, subject: account }];
  return [{ budget: failedSignInsOfSource, subject: `${account} ${source}` }];
}

/** @returns the subject under which a network is remembered for an account: the narrowest network, which belongs to one subscriber */
function networkOf(account: string, ip: string): string {
  return `${account} ${addressesCounted(ip)[0]?.subject ?? ip}`;
}

/**
 * Counts a try and runs the work. If the work does not fail with a wrong guess, the try is removed from the count. @param wrong the error
 * code of a wrong guess
 */
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
