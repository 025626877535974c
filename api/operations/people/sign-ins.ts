/** Signs callers in, and limits wrong passwords. A new session has a token that identifies the device at later sign-ins (LIM-26). */
import type { RecordOf } from '../../../contract/contract.ts';
import { deviceToken, readDevice } from '../../../domain/identity/sessions/devices.ts';
import { foldEmail } from '../../../platform/core/text/text.policy.ts';
import type { OperationRequest } from '../../operation.ts';
import { rememberNetwork, trySignIn } from '../../rate-limits/tries.ts';

type Session = RecordOf<'StudentSession'> | RecordOf<'AdministratorSession'>;
type Request = Pick<OperationRequest<never>, 'deps' | 'limiter' | 'now' | 'ip'>;

/** The account may not exist. */
interface Named {
  /** Absent for an administrator. */
  club_id?: string;
  email: string;
}

const accountOf = ({ club_id: clubId, email }: Named) => `${clubId?.toLowerCase() ?? 'admin'} ${foldEmail(email)}`;

/** @throws DomainError rate_limited after too many wrong passwords, and the errors of `open` */
export async function signIn<Opened extends Session>(
  { deps, limiter, now, ip }: Request,
  named: Named & { device_token?: string },
  open: () => Promise<Opened>,
): Promise<Opened & { device_token: string }> {
  const account = accountOf(named);
  const token = named.device_token;
  const device = token === undefined ? undefined : readDevice(deps.vault, account, token, now);
  const whenDown = named.club_id === undefined ? 'pass' : 'refuse';
  const session = await trySignIn(limiter, { account, device, ip, now: now.getTime(), whenDown }, open);
  return { ...session, device_token: deviceToken(deps.vault, account, now) };
}

/**
 * A token or code from a mail proves more than a password. So the client's network then counts as known.
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
