/** Finds the owner of a session by its token. Each request asks the database, so that an ended session is refused immediately (AUTH-4). */
import { AdministratorSession } from '../../../entities/identity/administrator-session.ts';
import { StudentSession } from '../../../entities/identity/student-session.ts';
import type { Role } from '../../../entities/clubs/values.ts';
import { gathered } from '../../../platform/core/gathered.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { prepared } from '../../../platform/infra/postgres/prepared.ts';
import { forAllClubs } from '../../../platform/infra/postgres/shared-pool.ts';
import { sha256 } from '../../../platform/infra/keys/vault.ts';
import { administratorSessionMaxMs, sessionIdOf, sessionLifetimeMs } from './sessions.ts';
import type { SignInProofs, SignInRequirements } from './sign-in-rules.policy.ts';
import type { StudentIdentity } from '../student-identity.ts';

/** The shortest time between two extensions of a session, and between two records of its last use, so that only few requests write. */
const slideEveryMs = 5 * 60_000;
/** Leaves most database connections of the process to other work. */
const maxConcurrentLookUps = 4;

export interface AdministratorSessionFound extends SignInProofs {
  administratorId: Id;
  /** The public id of the session. */
  sessionId: Id;
  /** The only club in which the session acts; null if it acts in all clubs of the administrator (OIDC-7). */
  onlyClubId: Id | null;
  /**
   * The administrator's role in the requested club. Null for a non-member, for a club that does not exist, and for a closed club. A
   * caller cannot distinguish them (ERS-5).
   */
  role: Role | null;
  /** The sign-in rules of the requested club. */
  required: SignInRequirements;
}

export interface SessionFinder {
  student(token: string, now: Date): Promise<StudentIdentity | undefined>;
  /**
   * @param clubId the club in the path, if any. One query reads the session and the membership in this club
   * @returns the administrator of a valid session, with the role; undefined if no valid session has this token. The function extends the
   * session
   */
  administrator(token: string, clubId: Id | undefined, now: Date): Promise<AdministratorSessionFound | undefined>;
}

interface LookUp {
  tokenHash: Buffer;
  now: Date;
  clubId: Id | null;
}

/** @returns the session finder of a process, which looks up the sessions of concurrent requests in one query */
export function createSessionFinder(db: Database): SessionFinder {
  const student = gathered(
    (lookUps: readonly LookUp[]) =>
      forAllClubs(async () => inOrder(lookUps, await selectStudentSessions(db.source, columnsOf(lookUps)))),
    { atOnce: maxConcurrentLookUps },
  );
  const administrator = gathered(
    (lookUps: readonly LookUp[]) =>
      forAllClubs(async () =>
        inOrder(
          lookUps,
          await selectAdministratorSessions(db.source, {
            ...columnsOf(lookUps),
            clubIds: lookUps.map(({ clubId }) => clubId),
          }),
        ),
      ),
    { atOnce: maxConcurrentLookUps },
  );
  return {
    async student(token, now) {
      const tokenHash = sha256(token);
      const row = await student({ tokenHash, now, clubId: null });
      if (!row) return undefined;
      const { usedAt, ...identity } = row;
      if (now.getTime() - usedAt.getTime() > slideEveryMs)
        await db.manager.update(StudentSession, { tokenHash }, { lastUsedAt: now });
      return identity;
    },
    async administrator(token, clubId, now) {
      const tokenHash = sha256(token);
      const row = await administrator({ tokenHash, now, clubId: clubId ?? null });
      if (!row) return undefined;
      const latest = row.createdAt.getTime() + administratorSessionMaxMs;
      const expiresAt = new Date(Math.min(now.getTime() + sessionLifetimeMs.admin, latest));
      if (now.getTime() - row.usedAt.getTime() > slideEveryMs)
        await db.manager.update(AdministratorSession, { tokenHash }, { expiresAt, lastUsedAt: now });
      const { createdAt, usedAt: _, provedAt, requiresSecondFactor, requiredProviderId, ...session } = row;
      return {
        ...session,
        sessionId: sessionIdOf(tokenHash),
        provedAt: provedAt ?? createdAt,
        required: { requiresSecondFactor: requiresSecondFactor ?? false, requiredProviderId },
      };
    },
  };
}

interface StudentLookUps {
  tokenHashes: readonly Buffer[];
  times: readonly Date[];
}

const columnsOf = (lookUps: readonly LookUp[]): StudentLookUps => ({
  tokenHashes: lookUps.map(({ tokenHash }) => tokenHash),
  times: lookUps.map(({ now }) => now),
});

function inOrder<Row extends { position: number }>(
  lookUps: readonly LookUp[],
  rows: readonly Row[],
): (Omit<Row, 'position'> | undefined)[] {
  const rowsByPosition = new Map(rows.map(({ position, ...row }) => [position, row]));
  return lookUps.map((_, index) => rowsByPosition.get(index + 1));
}

/** Finds students by the token hashes of valid sessions, with the slugs of their clubs. */
const selectStudentSessions = prepared<StudentIdentity & { position: number; usedAt: Date }, StudentLookUps>(
  'select_student_sessions',
  (value) => `SELECT asked.position::int, student.id, student.name, student.email, student.verified_at AS "verifiedAt",
          student.password_hash IS NOT NULL AS "hasPassword", student.created_at AS "createdAt",
          student.avatar_key AS "avatarKey", student.language, student.club_id AS "clubId", club.slug AS "clubSlug", club.language AS "clubLanguage",
          coalesce(session.last_used_at, session.created_at) AS "usedAt"
     FROM unnest(${value.tokenHashes}::bytea[], ${value.times}::timestamptz[]) WITH ORDINALITY AS asked (token_hash, now, position)
     JOIN student_sessions session ON session.token_hash = asked.token_hash AND session.expires_at > asked.now
     JOIN students student ON student.id = session.student_id AND student.removed_at IS NULL
     JOIN clubs club ON club.id = student.club_id AND club.erasing_at IS NULL`,
);

/** Finds administrators by the token hashes of valid sessions, with their membership in the requested club, if any. */
const selectAdministratorSessions = prepared<
  {
    position: number;
    administratorId: Id;
    createdAt: Date;
    usedAt: Date;
    provedAt: Date | null;
    secondFactorAt: Date | null;
    providerId: Id | null;
    onlyClubId: Id | null;
    role: Role | null;
    requiresSecondFactor: boolean | null;
    requiredProviderId: Id | null;
  },
  StudentLookUps & { clubIds: readonly (Id | null)[] }
>(
  'select_administrator_sessions',
  (
    value,
  ) => `SELECT asked.position::int, session.administrator_id AS "administratorId", session.created_at AS "createdAt",
          coalesce(session.last_used_at, session.created_at) AS "usedAt", session.proved_at AS "provedAt",
          session.second_factor_at AS "secondFactorAt", session.provider_id AS "providerId", session.club_id AS "onlyClubId", membership.role,
          rules.requires_second_factor AS "requiresSecondFactor", rules.required_provider_id AS "requiredProviderId"
     FROM unnest(${value.tokenHashes}::bytea[], ${value.times}::timestamptz[], ${value.clubIds}::uuid[]) WITH ORDINALITY AS asked (token_hash, now, club_id, position)
     JOIN administrator_sessions session ON session.token_hash = asked.token_hash AND session.expires_at > asked.now
     LEFT JOIN (memberships membership JOIN clubs club ON club.id = membership.club_id AND club.erasing_at IS NULL)
       ON membership.administrator_id = session.administrator_id AND membership.club_id = asked.club_id
       AND (session.club_id IS NULL OR session.club_id = asked.club_id)
     LEFT JOIN club_sign_in_rules rules ON rules.club_id = membership.club_id`,
);
