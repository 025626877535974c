/**
 * Finds out whether the callers of open streams may still follow them: sessions, memberships and API keys can end while a stream is open,
 * and the club can set sign-in rules (DEC-11, LSN-5, FAC-1).
 */
import type { Role } from '../../entities/clubs/values.ts';
import type { Scope } from '../../contract/rules/scopes.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { isOpenClub } from '../open-clubs.ts';
import { refusalByRules } from './sessions/sign-in-rules.policy.ts';

/** A caller with the rights that its stream needs. */
export interface StreamCaller {
  /** SHA-256 of the token or of the API key. */
  tokenHash: Buffer;
  clubId: Id;
  /** The roles of which an administrator needs one. Undefined if the operation is open to every member of the club. */
  roles: readonly string[] | undefined;
  /** The scope that an API key needs. Undefined if the operation is closed to keys. */
  scope: Scope | undefined;
  /** The address of the caller; null if it is unknown. */
  ip: string | null;
}

/**
 * @returns for each caller, whether its session or key is valid and still has the rights. The results are in the order of the callers. A
 *   session is valid if it has not ended, and its student was not removed
 */
export async function findLivingCallers(db: Queries, callers: readonly StreamCaller[], now: Date): Promise<boolean[]> {
  const columns = {
    hashes: callers.map(({ tokenHash }) => tokenHash),
    clubIds: callers.map(({ clubId }) => clubId),
    roles: callers.map(({ roles }) => roles?.join(' ') ?? null),
    scopes: callers.map(({ scope }) => scope ?? null),
    ips: callers.map(({ ip }) => ip),
  };
  const rows = await db.rows<LivingCaller>(sql`
    SELECT EXISTS (SELECT FROM student_sessions session JOIN students student ON student.id = session.student_id
                    WHERE session.token_hash = given.hash AND session.expires_at > ${now} AND student.removed_at IS NULL
                      AND ${isOpenClub(sql`student.club_id`)})
        OR EXISTS (SELECT FROM api_keys key
                    WHERE (key.secret_hash = given.hash
                           OR key.previous_secret_hash = given.hash AND key.previous_secret_expires_at > ${now})
                      AND key.revoked_at IS NULL AND key.expires_at > ${now} AND given.scope = ANY (key.scopes)
                      AND (key.allowed_networks = '{}' OR given.ip <<= ANY (key.allowed_networks::inet[]))
                      AND ${isOpenClub(sql`key.club_id`)}) AS lives,
           administrator.role, administrator.second_factor_at AS "secondFactorAt", administrator.provider_id AS "providerId",
           administrator.requires_second_factor AS "requiresSecondFactor", administrator.required_provider_id AS "requiredProviderId"
      FROM unnest(${columns.hashes}::bytea[], ${columns.clubIds}::uuid[], ${columns.roles}::text[], ${columns.scopes}::text[], ${columns.ips}::inet[])
           WITH ORDINALITY AS given (hash, club_id, roles, scope, ip, position)
      LEFT JOIN LATERAL (
           SELECT membership.role, session.second_factor_at, session.provider_id, rules.requires_second_factor, rules.required_provider_id
             FROM administrator_sessions session
             JOIN memberships membership ON membership.administrator_id = session.administrator_id
             LEFT JOIN club_sign_in_rules rules ON rules.club_id = membership.club_id
            WHERE session.token_hash = given.hash AND session.expires_at > ${now} AND membership.club_id = given.club_id
              AND ${isOpenClub(sql`membership.club_id`)}
              AND (given.roles IS NULL OR membership.role = ANY (string_to_array(given.roles, ' ')))) AS administrator ON true
     ORDER BY position`);
  return rows.map(({ lives, role, requiresSecondFactor, requiredProviderId, ...proofs }) => {
    if (role === null) return lives;
    const required = { requiresSecondFactor: requiresSecondFactor ?? false, requiredProviderId };
    return refusalByRules(required, { provedAt: now, ...proofs }, role) === undefined;
  });
}

interface LivingCaller {
  /** Whether the caller is a student or an API key that may follow the stream. */
  lives: boolean;
  /** The role of an administrator who may follow the stream; null for other callers. */
  role: Role | null;
  secondFactorAt: Date | null;
  providerId: Id | null;
  requiresSecondFactor: boolean | null;
  requiredProviderId: Id | null;
}
