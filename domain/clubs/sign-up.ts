/** Signs up an administrator together with a new organization. The answer does not reveal whether the e-mail address is known. */
import { Administrator } from '../../entities/identity/administrator.ts';
import { findAdministratorByEmail } from '../identity/accounts/administrator-accounts.ts';
import { noteOffer } from '../identity/accounts/confirmation.ts';
import { requireStrongPassword } from '../identity/passwords/password-rules.ts';
import { hashPassword, passwordMatches } from '../identity/passwords/passwords.ts';
import type { OfferedLanguage } from '../language/languages.ts';
import { requestMail } from '../mail/transactional/requests.ts';
import type { VaultDeps } from '../deps.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../platform/infra/postgres/sql.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { foldEmail } from '../../platform/core/text/text.policy.ts';
import { plainName } from '../../platform/core/text/names.ts';
import { createOrganization, type NewClubs } from './organizations.ts';

/**
 * Opens an account and its organization. If the e-mail address already has an account, the caller gets the same answer, but no organization
 * is opened. A mail then tells the owner of the address.
 * @throws DomainError invalid_request (a name contains a web address), weak_password
 */
export async function signUpAdministrator(
  deps: VaultDeps & { newClubs: NewClubs },
  input: {
    name: string;
    email: string;
    password: string;
    organization: { name: string };
    language: OfferedLanguage | null;
  },
  now: Date,
): Promise<void> {
  const { db, vault } = deps;
  // This check runs before the e-mail address is looked up, so that the answer does not show whether the address is known.
  const name = plainName(input.name);
  const field = 'organization.name';
  plainName(input.organization.name, field);
  const email = foldEmail(input.email);
  requireStrongPassword(input.password, { email, names: [name, input.organization.name] });
  const before = await passwordOf(db, email);
  const passwordHash = await hashPassword(input.password);
  const same = await passwordMatches(input.password, before);
  const isComplete = await db.transaction(async (tx) => {
    const created = await tx.one<{
      id: Id;
    }>(sql`INSERT INTO administrators (id, name, email, password_hash, language, created_at)
       VALUES (${newId()}, ${name}, ${email}, ${passwordHash}, ${input.language ?? null}, ${now})
       ON CONFLICT (email) DO NOTHING RETURNING id`);
    if (created) {
      await createOrganization(tx, created.id, { name: input.organization.name, plan: deps.newClubs.plan, field }, now);
      const recipient = { administratorId: created.id };
      await requestMail(tx, vault, { template: 'administrator_verify_email', clubId: null, recipient, email }, now);
      return true;
    }
    const existingAdministrator = await findAdministratorByEmail(tx, email);
    if (existingAdministrator?.passwordHash !== before) return false;
    // This sign-up may have named a password that differs from the account's password. After the first such sign-up, the owner must choose
    // a password with a reset mail (ADR 5).
    await noteOffer(tx, vault, 'administrator', existingAdministrator.id, { passwordHash, same }, now);
    const template = existingAdministrator.verified ? 'administrator_already_registered' : 'administrator_verify_email';
    await requestMail(
      tx,
      vault,
      { template, clubId: null, recipient: { administratorId: existingAdministrator.id }, email },
      now,
    );
    return true;
  });
  // The account's password has changed since it was compared, for example because a form was sent twice. So the whole sign-up is repeated.
  if (!isComplete) await signUpAdministrator(deps, input, now);
}

async function passwordOf(db: Queries, foldedEmail: string): Promise<string | null> {
  const existingAdministrator = await db.one<Pick<Administrator, 'passwordHash'>>(
    sql`SELECT ${columns(Administrator, ['passwordHash'])} FROM administrators WHERE email = ${foldedEmail}`,
  );
  return existingAdministrator?.passwordHash ?? null;
}
