/** Finds the caller of a session by its token, for every request anew: a session that has ended is over at once (AUTH-4). */
import { AdministratorSession } from '../../entities/identity/administrator-session.ts';
import type { Role } from '../../entities/clubs/values.ts';
import { gathered } from '../../platform/core/gathered.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import { prepared } from '../../platform/infra/postgres/prepared.ts';
import { forAllClubs } from '../../platform/infra/postgres/shared-pool.ts';
import { sha256 } from '../../platform/infra/vault.ts';
import { administratorSessionMaxMs, sessionLifetimeMs } from './sessions.ts';
import type { StudentIdentity } from './student-identity.ts';

/** A session in use is prolonged at most this often, so that reading does not mean writing. */
const slideEveryMs = 5 * 60_000;
/** Look-ups of a process under way together, where one lasts: few of its connections. */
const lookUpsAtOnce = 4;

export interface AdministratorSessionFound {
  administratorId: Id;
  /** What the administrator is in the club asked about; null for no membership or no such club, which look alike. */
  role: Role | null;
}

export interface SessionFinder {
  /** @returns the student of a living session, or undefined */
  student(token: string, now: Date): Promise<StudentIdentity | undefined>;
  /**
   * @param clubId the club of the path, if it has one: its membership is read in the same query
   * @returns who a living session belongs to, or undefined; prolongs it
   */
  administrator(token: string, clubId: Id | undefined, now: Date): Promise<AdministratorSessionFound | undefined>;
}

interface Asked {
  tokenHash: Buffer;
  now: Date;
  clubId: Id | null;
}

/** @returns the finder of a process: sessions of requests that come at once are looked up together */
export function createSessionFinder(db: Database): SessionFinder {
  const student = gathered(
    (asked: readonly Asked[]) =>
      forAllClubs(async () => placed(asked, await selectStudentSessions(db.source, [...columnsOf(asked)]))),
    { atOnce: lookUpsAtOnce },
  );
  const administrator = gathered(
    (asked: readonly Asked[]) =>
      forAllClubs(async () =>
        placed(
          asked,
          await selectAdministratorSessions(db.source, [...columnsOf(asked), asked.map(({ clubId }) => clubId)]),
        ),
      ),
    { atOnce: lookUpsAtOnce },
  );
  return {
    student: (token, now) => student({ tokenHash: sha256(token), now, clubId: null }),
    async administrator(token, clubId, now) {
      const tokenHash = sha256(token);
      const row = await administrator({ tokenHash, now, clubId: clubId ?? null });
      if (!row) return undefined;
      const latest = row.createdAt.getTime() + administratorSessionMaxMs;
      const expiresAt = new Date(Math.min(now.getTime() + sessionLifetimeMs.admin, latest));
      if (expiresAt.getTime() - row.expiresAt.getTime() > slideEveryMs) {
        await db.manager.update(AdministratorSession, { tokenHash }, { expiresAt });
      }
      return { administratorId: row.administratorId, role: row.role };
    },
  };
}

const columnsOf = (asked: readonly Asked[]) =>
  [asked.map(({ tokenHash }) => tokenHash), asked.map(({ now }) => now)] as const;

/** @returns the rows at the places of those who asked */
function placed<Row extends { place: number }>(
  asked: readonly Asked[],
  rows: readonly Row[],
): (Omit<Row, 'place'> | undefined)[] {
  const found = new Map(rows.map(({ place, ...row }) => [place, row]));
  return asked.map((_, index) => found.get(index + 1));
}

/** By the tokens' hashes and the time: the students of living sessions, with their clubs' slugs. */
const selectStudentSessions = prepared<StudentIdentity & { place: number }>(
  'select_student_sessions',
  `SELECT asked.place::int, student.id, student.name, student.email, student.verified_at AS "verifiedAt",
          student.password_hash IS NOT NULL AS "hasPassword", student.created_at AS "createdAt",
          student.avatar_key AS "avatarKey", student.language, student.club_id AS "clubId", club.slug AS "clubSlug", club.language AS "clubLanguage"
     FROM unnest($1::bytea[], $2::timestamptz[]) WITH ORDINALITY AS asked (token_hash, now, place)
     JOIN student_sessions session ON session.token_hash = asked.token_hash AND session.expires_at > asked.now
     JOIN students student ON student.id = session.student_id AND student.removed_at IS NULL
     JOIN clubs club ON club.id = student.club_id`,
);

/** With the membership of a club, where the session's owner has one. */
const selectAdministratorSessions = prepared<
  AdministratorSessionFound & { place: number; createdAt: Date; expiresAt: Date }
>(
  'select_administrator_sessions',
  `SELECT asked.place::int, session.administrator_id AS "administratorId", session.created_at AS "createdAt",
          session.expires_at AS "expiresAt", membership.role
     FROM unnest($1::bytea[], $2::timestamptz[], $3::uuid[]) WITH ORDINALITY AS asked (token_hash, now, club_id, place)
     JOIN administrator_sessions session ON session.token_hash = asked.token_hash AND session.expires_at > asked.now
     LEFT JOIN memberships membership
       ON membership.administrator_id = session.administrator_id AND membership.club_id = asked.club_id`,
);
