/** Signs callers in, and limits wrong passwords. A new session has a token that identifies the device at later sign-ins (LIM-26). */
import type { RecordOf } from '../../../contract/contract.ts';
import { findChallenge } from '../../../domain/identity/factors/challenges.ts';
import { finishSignIn } from '../../../domain/identity/factors/second-step.ts';
import type { ProviderSession } from '../../../domain/identity/providers/sign-in.ts';
import { deviceToken, readDevice } from '../../../domain/identity/sessions/devices.ts';
import type { Client } from '../../../domain/identity/sessions/sessions.ts';
import { foldEmail } from '../../../platform/core/text/text.policy.ts';
import type { OperationRequest } from '../../operation.ts';
import { isKnownNetwork, rememberNetwork, tryFactor, trySignIn } from '../../rate-limits/tries.ts';

type Session = RecordOf<'StudentSession'> | RecordOf<'AdministratorSession'>;
type Request = Pick<OperationRequest<never>, 'deps' | 'limiter' | 'now' | 'ip'>;

/** The account may not exist. */
interface Named {
  /** Absent for an administrator. */
  club_id?: string;
  email: string;
}

const accountOf = ({ club_id: clubId, email }: Named) => `${clubId?.toLowerCase() ?? 'admin'} ${foldEmail(email)}`;

/**
 * @param open gets the client, and whether it is new for the account (SES-11)
 * @throws DomainError rate_limited after too many wrong passwords, and the errors of `open`
 */
export async function signIn<Opened extends Session>(
  { deps, limiter, now, ip, client }: Request & Pick<OperationRequest<never>, 'client'>,
  named: Named & { device_token?: string },
  open: (client: Client) => Promise<Opened>,
): Promise<Opened & { device_token: string }> {
  const account = accountOf(named);
  const token = named.device_token;
  const device = token === undefined ? undefined : readDevice(deps.vault, account, token, now);
  const whenDown = named.club_id === undefined ? 'pass' : 'refuse';
  const session = await trySignIn(limiter, { account, device, ip, now: now.getTime(), whenDown }, ({ isKnown }) =>
    open({ ...client, isNew: !isKnown }),
  );
  return { ...session, device_token: deviceToken(deps.vault, account, now) };
}

/**
 * A token or code from a mail, or a passkey, proves more than a password. So the client's network then counts as known.
 * @throws the errors of `open`
 */
export async function openByMail<Opened extends Session>(
  { limiter, now, ip }: Request,
  open: () => Promise<Opened>,
): Promise<Opened> {
  const session = await open();
  const account = accountOf('student' in session ? session.student : session.administrator);
  await rememberNetwork(limiter, { account, ip, now: now.getTime() });
  return session;
}

/**
 * Finishes a sign-in with a second factor. A first factor alone makes no device and no network known, because a stranger may have it.
 * @throws DomainError rate_limited after too many wrong factors, and the errors of `finishSignIn`
 */
export async function signInWithSecondFactor(
  { deps, limiter, now, ip, client }: Request & Pick<OperationRequest<never>, 'client'>,
  { device_token: token = '', ...input }: RecordOf<'SecondFactorSignIn'>,
): Promise<RecordOf<'AdministratorSignedIn'>> {
  const pending = await findChallenge(deps.db, input.challenge, now);
  const account = accountOf({ email: pending?.email ?? `unknown challenge ${input.challenge}` });
  const device = readDevice(deps.vault, account, token, now);
  const isKnown = device !== undefined || (await isKnownNetwork(limiter, { account, ip, now: now.getTime() }));
  // Each provider has a count of its own. Otherwise the provider of a club could block the sign-ins at another provider.
  const firstFactor = pending?.providerId ?? pending?.openedBy ?? 'password';
  const session = await tryFactor(limiter, { account, device, firstFactor, ip, now: now.getTime() }, () =>
    finishSignIn(deps, pending, input, { ...client, isNew: !isKnown }, now),
  );
  await rememberNetwork(limiter, { account, ip, now: now.getTime() });
  return { ...session, device_token: deviceToken(deps.vault, account, now) };
}

/**
 * Opens a session by a code of a mail, for an account that the request names. A code can be passed on to a stranger, unlike the click on a
 * link. So a new network is reported to the owner (SES-11).
 * @throws the errors of `open`
 */
export async function openByCode<Opened extends Session>(
  request: Request & Pick<OperationRequest<never>, 'client'>,
  named: Named,
  open: (client: Client) => Promise<Opened>,
): Promise<Opened> {
  const { limiter, now, ip, client } = request;
  const isKnown = await isKnownNetwork(limiter, { account: accountOf(named), ip, now: now.getTime() });
  return openByMail(request, () => open({ ...client, isNew: !isKnown }));
}

/**
 * The club vouches for the student of a session link. So the device and the client's network then count as known (ENTRY-6).
 * @throws the errors of `open`
 */
export async function openByLink<Opened extends Session>(
  request: Request,
  open: () => Promise<Opened>,
): Promise<Opened & { device_token: string }> {
  const session = await openByMail(request, open);
  const account = accountOf('student' in session ? session.student : session.administrator);
  return { ...session, device_token: deviceToken(request.deps.vault, account, request.now) };
}

/**
 * Describes a session that an identity provider opened. The provider of a club could open one for any of its members. So such a session
 * makes neither the device nor the network known to the account; otherwise the club could guess passwords without a limit (OIDC-7).
 */
export async function signInByProvider(
  { deps, limiter, now, ip }: Request,
  { session, clubId }: ProviderSession,
): Promise<RecordOf<'AdministratorSignedIn'>> {
  const account = accountOf(session.administrator);
  if (clubId !== null)
    return { ...session, device_token: deviceToken(deps.vault, `provider of ${clubId} ${account}`, now) };
  await rememberNetwork(limiter, { account, ip, now: now.getTime() });
  return { ...session, device_token: deviceToken(deps.vault, account, now) };
}
