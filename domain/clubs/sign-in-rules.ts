/** Reads and sets the sign-in rules of a club (FAC-1). */
import { SignInRules } from '../../entities/clubs/sign-in-rules.ts';
import type { RecordOf } from '../../contract/contract.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../deps.ts';
import type { SignInProofs } from '../identity/sessions/sign-in-rules.policy.ts';
import { lockClub } from './membership-rules.ts';

type Rules = RecordOf<'SignInRules'>;

/** @returns the rules of a club; the loosest rules if the club has set none */
export async function getSignInRules(db: Queries, clubId: Id): Promise<Rules> {
  const rules = await db.one<Pick<SignInRules, 'requiresSecondFactor' | 'requiredProviderId'>>(
    sql`SELECT ${columns(SignInRules, ['requiresSecondFactor', 'requiredProviderId'])} FROM club_sign_in_rules WHERE club_id = ${clubId}`,
  );
  return {
    requires_second_factor: rules?.requiresSecondFactor ?? false,
    requires_provider: (rules?.requiredProviderId ?? null) !== null,
  };
}

/**
 * Replaces the rules of a club.
 * @param by the owner, with the proofs of the session. The owner must satisfy the new rules, so owners do not lock themselves out. So an
 * owner can require a provider only if it has signed them in (OIDC-10)
 * @throws DomainError sign_in_rule_not_met; role_not_permitted if the role was lost meanwhile
 */
export async function setSignInRules(
  { db }: DatabaseDeps,
  clubId: Id,
  by: { id: Id; session: SignInProofs },
  input: RecordOf<'SignInRulesInput'>,
): Promise<Rules> {
  if (input.requires_second_factor && by.session.secondFactorAt === null)
    throw new DomainError('sign_in_rule_not_met', 'Add a second factor to your account before you require one.');
  return db.transaction(async (tx) => {
    const role = await lockClub(tx, clubId, by.id);
    if (role !== 'owner') throw new DomainError('role_not_permitted', 'Only an owner may set the rules of a sign-in.');
    const providerId = input.requires_provider ? await requireProviderOf(tx, clubId, by.session) : null;
    await tx.run(sql`INSERT INTO club_sign_in_rules (club_id, requires_second_factor, required_provider_id)
       VALUES (${clubId}, ${input.requires_second_factor}, ${providerId})
       ON CONFLICT (club_id) DO UPDATE
          SET requires_second_factor = excluded.requires_second_factor, required_provider_id = excluded.required_provider_id`);
    return getSignInRules(tx, clubId);
  });
}

/** @throws DomainError sign_in_rule_not_met, if the club has no provider, or if it did not open the session */
async function requireProviderOf(tx: Transaction, clubId: Id, session: SignInProofs): Promise<Id> {
  const provider = await tx.one<{ id: Id }>(sql`SELECT id FROM identity_providers WHERE club_id = ${clubId} FOR SHARE`);
  if (!provider || provider.id !== session.providerId)
    throw new DomainError(
      'sign_in_rule_not_met',
      'Sign in with the identity provider of the club before you require it.',
    );
  return provider.id;
}
