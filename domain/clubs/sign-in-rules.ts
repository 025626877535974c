/** Reads and sets the sign-in rules of a club (FAC-1). */
import { SignInRules } from '../../entities/clubs/sign-in-rules.ts';
import type { RecordOf } from '../../contract/contract.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { columns, sql } from '../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../deps.ts';
import type { SignInProofs } from '../identity/sessions/sign-in-rules.policy.ts';
import { lockClub } from './members.ts';

type Rules = RecordOf<'SignInRules'>;

/** @returns the rules of a club; the loosest rules if the club has set none */
export async function getSignInRules(db: Queries, clubId: Id): Promise<Rules> {
  const rules = await db.one<Pick<SignInRules, 'requiresSecondFactor'>>(
    sql`SELECT ${columns(SignInRules, ['requiresSecondFactor'])} FROM club_sign_in_rules WHERE club_id = ${clubId}`,
  );
  return { requires_second_factor: rules?.requiresSecondFactor ?? false };
}

/**
 * Replaces the rules of a club.
 * @param by the owner, with the proofs of the session. The owner must satisfy the new rules, so owners do not lock themselves out
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
    await tx.run(sql`INSERT INTO club_sign_in_rules (club_id, requires_second_factor)
       VALUES (${clubId}, ${input.requires_second_factor})
       ON CONFLICT (club_id) DO UPDATE SET requires_second_factor = excluded.requires_second_factor`);
    return getSignInRules(tx, clubId);
  });
}
