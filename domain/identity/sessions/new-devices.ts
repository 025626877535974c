/** Mails the owner of an account after a sign-in from a new device (SES-11). */
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { requestMail } from '../../mail/transactional/requests.ts';
import type { CallerKind, Client } from './sessions.ts';

/**
 * Requests the mail in the transaction that opens the session, if the client is new. An account that was confirmed by this sign-in gets no
 * mail, because it is the first session. The usual limit of mails to an address applies, so many sign-ins cause only a few mails.
 */
export async function warnOfNewDevice(
  tx: Transaction,
  vault: Vault,
  { kind, id }: { kind: CallerKind; id: Id },
  { isNew, device, network }: Client,
  now: Date,
): Promise<void> {
  if (isNew !== true) return;
  const account = await findAccount[kind](tx, id, now);
  if (!account) return;
  const { email, clubId } = account;
  const signIn = { device, network };
  if (kind === 'student')
    await requestMail(
      tx,
      vault,
      { template: 'student_new_device', clubId, recipient: { studentId: id }, email, signIn },
      now,
    );
  else
    await requestMail(
      tx,
      vault,
      { template: 'administrator_new_device', clubId: null, recipient: { administratorId: id }, email, signIn },
      now,
    );
}

interface Account {
  email: string;
  clubId: Id | null;
}

/** Finds accounts that were confirmed before this time. */
const findAccount = {
  student: (tx: Transaction, id: Id, now: Date) =>
    tx.one<Account>(
      sql`SELECT email, club_id AS "clubId" FROM students WHERE id = ${id} AND verified_at < ${now} AND removed_at IS NULL`,
    ),
  admin: (tx: Transaction, id: Id, now: Date) =>
    tx.one<Account>(
      sql`SELECT email, NULL::uuid AS "clubId" FROM administrators WHERE id = ${id} AND verified_at < ${now} AND removed_at IS NULL`,
    ),
} as const satisfies Record<CallerKind, unknown>;
