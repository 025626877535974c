/** Builds sessions of accounts, and reads the secrets in sign-in e-mails. */
import { Transaction } from '../../../platform/infra/postgres/database.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { TokenPurpose } from '../../../entities/mail/values.ts';
import { tokenText } from '../../../domain/mail/codes/one-time-tokens.ts';
import {
  endSession,
  sessionLifetimeMs,
  openSession,
  type CallerKind,
} from '../../../domain/identity/sessions/sessions.ts';
import { testDatabase, testDeps } from '../stack/database.ts';
import { buildClub, buildStudent, type TestAdministrator, type TestStudent } from './clubs.ts';

export async function endedSession(kind: CallerKind): Promise<string> {
  const { token } = await buildCaller(kind);
  await endSession(await testDeps(), kind, token);
  return token;
}

export async function expiredSession(kind: CallerKind): Promise<string> {
  const source = await testDatabase();
  const { id } = await buildCaller(kind);
  const opened = new Date(Date.now() - sessionLifetimeMs[kind] - 1_000);
  const { token } = await source.transaction((tx) => openSession(new Transaction(tx), kind, id, opened));
  return token;
}

async function buildCaller(kind: CallerKind): Promise<TestAdministrator | TestStudent> {
  const club = await buildClub();
  return kind === 'student' ? buildStudent(club.id) : club.owner;
}

/**
 * Returns the secret in the owner's newest mail of this purpose. The secret is the token of a link, or a code.
 * @param ownerId the student's, the administrator's or the invitation's id
 */
export async function mailedToken(purpose: TokenPurpose, ownerId: Id): Promise<string> {
  const { db, vault } = await testDeps();
  const [newest] = await db.source.query<{ id: Id }[]>(
    `SELECT id FROM one_time_tokens
      WHERE purpose = $1 AND $2 IN (student_id, administrator_id, invitation_id) ORDER BY created_at DESC, id DESC LIMIT 1`,
    [purpose, ownerId],
  );
  if (!newest) throw new Error(`No ${purpose} is valid for ${ownerId}.`);
  return tokenText(vault, purpose, newest.id);
}

/** A second session of an account, as if the person had signed in from a second browser. @returns its token */
export async function openFurtherSession(kind: CallerKind, ownerId: Id, now = new Date()): Promise<string> {
  const source = await testDatabase();
  const { token } = await source.transaction((tx) => openSession(new Transaction(tx), kind, ownerId, now));
  return token;
}
