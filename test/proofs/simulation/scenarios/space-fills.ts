/**
 * The scenario of spaces that all students with access join: students join, leave and are banned, and access changes while a run fills a
 * space.
 */
import {
  grantEnrollment,
  restoreEnrollment,
  revokeEnrollment,
  setEnrollmentEnd,
} from '../../../../domain/access/enrollments/by-hand.ts';
import { banMember, unbanMember } from '../../../../domain/community/members.ts';
import { joinSpace, leaveSpace } from '../../../../domain/community/memberships.ts';
import { updateSpace } from '../../../../domain/community/spaces.ts';
import { findOrOpenAccount } from '../../../../domain/identity/accounts/accounts.ts';
import { followAccessByTime } from '../../../../domain/joining/joining.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import type { Decisions } from '../decisions.ts';
import type { Simulation } from '../simulation.ts';
import { beginning, mustHold, type Command, type Stage } from '../stage.ts';
import { addClub, addressOf, addStudents, searchForTraces, type Footing } from './ground.ts';
import { simulatedStore } from './store.ts';

type Will = 'join' | 'leave' | 'ban' | 'unban';

/** A request that changes a membership. `answeredStep` is undefined while the result of the request is unknown. */
interface Wish {
  will: Will;
  askedStep: number;
  answeredStep?: number;
}

interface Space {
  id: Id;
  deliveryId: Id;
}

interface Standing {
  spaceId: Id;
  studentId: Id;
  autoJoin: boolean;
  isPrivate: boolean;
  /** Whether the student has an enrollment that gives access now or later. */
  held: boolean;
  open: boolean;
  counted: boolean | null;
  isOut: boolean | null;
  leftAt: Date | null;
  bannedAt: Date | null;
}

const dayMs = 86_400_000;

export async function spaceFills(sim: Simulation, ground: Footing): Promise<Stage> {
  const { vault } = ground;
  const clubId = await addClub(sim, ground);
  await sim.postgres.ask(`INSERT INTO club_plans (club_id, plan, status) VALUES ($1, 'professional', 'active')`, [
    clubId,
  ]);
  const students = await addStudents(sim, ground, clubId, 3);
  const spaces = [await addSpace(sim, clubId, 1), await addSpace(sim, clubId, 2)];
  const { storage } = simulatedStore(sim);
  const deps = { db: sim.db, vault, storage };
  const now = () => new Date(sim.time.now);
  const removed = new Set<Id>();
  const wishes = new Map<string, Wish[]>();

  const keyOf = (spaceId: Id, studentId: Id) => `${spaceId} ${studentId}`;

  function change(space: Space, decisions: Decisions): Command {
    const input = decisions.pick([
      { auto_join: true },
      { auto_join: true },
      { auto_join: false },
      { private: true },
      { private: false },
    ]);
    return {
      label: `space ${space.id} gets ${JSON.stringify(input)}`,
      run: async () => void (await updateSpace(deps, clubId, space.id, input, now())),
    };
  }

  function open(decisions: Decisions): Command {
    const space = decisions.happens(2) ? decisions.pick(spaces) : undefined;
    return {
      label: `an account${space ? `, with access to space ${space.id}` : ''}`,
      async run() {
        const account = { name: 'Newcomer', email: addressOf(newId()), openedBy: 'club', invited: false } as const;
        const { studentId } = await sim.db.transaction((tx) => findOrOpenAccount(tx, vault, clubId, account, now()));
        students.push(studentId);
        if (space) await grantEnrollment(deps, clubId, { student_id: studentId, delivery_id: space.deliveryId }, now());
      },
    };
  }

  function moveAccess(space: Space, studentId: Id, decisions: Decisions): Command {
    const [which, days] = [decisions.choose(6), decisions.choose(4)];
    const ofStudent = async () => {
      const rows = await sim.postgres.ask<{ id: Id }>(
        'SELECT id FROM enrollments WHERE student_id = $1 AND delivery_id = $2 ORDER BY id DESC LIMIT 1',
        [studentId, space.deliveryId],
      );
      return rows[0]?.id;
    };
    const at = new Date(beginning + days * dayMs).toISOString();
    return {
      label: `access of ${studentId} to space ${space.id}: ${['granted', 'granted', 'granted from a later day', 'revoked', 'restored', 'granted with an end'][which]}`,
      async run() {
        if (which < 3) {
          const from = which === 2 ? { starts_at: at } : {};
          await grantEnrollment(deps, clubId, { student_id: studentId, delivery_id: space.deliveryId, ...from }, now());
          return;
        }
        const id = await ofStudent();
        if (id === undefined) return;
        if (which === 3) await revokeEnrollment(deps, clubId, id, now());
        else if (which === 4) await restoreEnrollment(deps, clubId, id, now());
        else await setEnrollmentEnd(deps, clubId, id, days === 0 ? undefined : at, now());
      },
    };
  }

  function will(of: Space, studentId: Id, request: Will): Command {
    const member = { clubId, spaceId: of.id, studentId };
    const reader = { clubId, id: studentId };
    return {
      label: `${request}: ${studentId} and space ${of.id}`,
      async run() {
        const wish: Wish = { will: request, askedStep: sim.steps };
        const key = keyOf(of.id, studentId);
        wishes.set(key, [...(wishes.get(key) ?? []), wish]);
        if (request === 'join') await joinSpace(deps, reader, of.id, now());
        else if (request === 'leave') await leaveSpace(deps, reader, of.id, now());
        else if (request === 'ban') await banMember(deps, member, now());
        else await unbanMember(deps, member, now());
        if (request !== 'leave' || (await isOutOf(of.id, studentId))) wish.answeredStep = sim.steps;
      },
    };
  }

  /**
   * Whether the student has left the space or is banned. If a student was never a member, a request to leave has no effect. The space may
   * add this student later.
   */
  async function isOutOf(spaceId: Id, studentId: Id): Promise<boolean> {
    const rows = await sim.postgres.ask(
      'SELECT FROM community_memberships WHERE space_id = $1 AND student_id = $2 AND (left_at IS NOT NULL OR banned_at IS NOT NULL)',
      [spaceId, studentId],
    );
    return rows.length > 0;
  }

  return {
    types: ['spaceFill'],
    horizonMs: 5 * dayMs,
    depsFor: () => ({}),
    command(decisions) {
      const space = decisions.pick(spaces);
      const studentId = decisions.pick(students);
      const which = decisions.choose(16);
      if (which < 5) return change(space, decisions);
      if (which < 8) return open(decisions);
      if (which < 11) return moveAccess(space, studentId, decisions);
      if (which < 15) return will(space, studentId, (['join', 'leave', 'ban', 'unban'] as const)[which - 11] ?? 'join');
      return {
        label: `remove ${studentId}`,
        async run() {
          await removeStudent(deps, clubId, studentId, now());
          removed.add(studentId);
        },
      };
    },
    calm: () => [],
    async atEnd() {
      const unfilled = await sim.postgres.ask<{ id: Id }>(
        'SELECT id FROM community_spaces WHERE fill_looks_at IS NOT NULL',
      );
      mustHold(unfilled.length === 0, 'all work ends', () => `space ${unfilled[0]?.id} is not filled`);
      // Runs the hourly upkeep.
      while ((await followAccessByTime(sim.db, now())).followed > 0);
      for (const standing of await readStandings()) expectStanding(standing);
      await expectTallies();
      const ofGone = await sim.postgres.ask(
        'SELECT FROM community_memberships JOIN students ON students.id = student_id WHERE removed_at IS NOT NULL',
      );
      mustHold(ofGone.length === 0, 'no data of removed students remain', () => 'a removed student is still a member');
      for (const id of removed) await searchForTraces(sim, id);
    },
  };

  /** Reads the membership and the access of each existing student in each space, even if the student has no membership. */
  function readStandings(): Promise<Standing[]> {
    const enrollmentExists = (when: string) =>
      `EXISTS (SELECT FROM enrollments held JOIN access_deliveries opening ON opening.id = held.delivery_id
                WHERE held.student_id = student.id AND opening.space_id = space.id AND held.revoked_at IS NULL ${when})`;
    return sim.postgres.ask<Standing>(
      `SELECT space.id AS "spaceId", student.id AS "studentId", auto_join AS "autoJoin", private AS "isPrivate", counted,
              left_at AS "leftAt", banned_at AS "bannedAt", (left_at IS NOT NULL OR banned_at IS NOT NULL) AS "isOut",
              ${enrollmentExists('AND (held.ends_at IS NULL OR held.ends_at > $1)')} AS held,
              ${enrollmentExists('AND held.starts_at <= $1 AND (held.ends_at IS NULL OR held.ends_at > $1)')} AS open
         FROM community_spaces space CROSS JOIN students student
         LEFT JOIN community_memberships membership ON membership.space_id = space.id AND membership.student_id = student.id
        WHERE student.removed_at IS NULL`,
      [now()],
    );
  }

  function expectStanding({
    spaceId,
    studentId,
    autoJoin,
    isPrivate,
    held,
    open: isOpen,
    counted,
    isOut,
    ...ends
  }: Standing): void {
    const about = `student ${studentId} in space ${spaceId}`;
    mustHold(
      counted !== null || !autoJoin || (isPrivate && !held),
      'a student with access is a member',
      () => `${about} has no membership`,
    );
    if (counted === null) return;
    const shouldCount = isOut !== true && (!isPrivate || isOpen);
    mustHold(
      counted === shouldCount,
      'a counted member has access',
      () => `${about} is ${shouldCount ? 'not ' : ''}counted`,
    );
    const ofBoth = wishes.get(keyOf(spaceId, studentId)) ?? [];
    mustHold(
      !isLast(ofBoth, 'ban', 'unban') || ends.bannedAt !== null,
      'the last wish counts',
      () => `${about} was banned, but the ban has ended`,
    );
    mustHold(
      !isLast(ofBoth, 'leave', 'join') || isOut === true,
      'the last wish counts',
      () => `${about} has left, but is a member again`,
    );
  }

  async function expectTallies(): Promise<void> {
    const wrong = await sim.postgres.ask(
      `SELECT subject_id, marked, sum(records)::int AS records FROM (
         SELECT subject_id, marked, records FROM list_tallies WHERE list = 'space_members'
          UNION ALL SELECT subject_id, marked, records FROM list_tally_changes WHERE list = 'space_members'
          UNION ALL SELECT space_id, counted, -1 FROM community_memberships WHERE left_at IS NULL AND banned_at IS NULL) AS sides
        GROUP BY 1, 2 HAVING sum(records) <> 0`,
    );
    mustHold(wrong.length === 0, 'sums are equal', () => JSON.stringify(wrong));
  }
}

/**
 * Whether this wish came last: it was answered, and every opposite request was answered before it began.
 */
function isLast(wishes: readonly Wish[], will: Will, undoneBy: Will): boolean {
  const last = Math.max(
    -1,
    ...wishes.map((wish) => (wish.will === will && wish.answeredStep !== undefined ? wish.askedStep : -1)),
  );
  return last >= 0 && wishes.every((wish) => wish.will !== undoneBy || (wish.answeredStep ?? Infinity) < last);
}

async function addSpace(sim: Simulation, clubId: Id, position: number): Promise<Space> {
  const [id, deliveryId] = [newId(), newId()];
  await sim.postgres.ask(
    `WITH space AS (INSERT INTO community_spaces (id, club_id, public_id, name, position, created_at, updated_at) VALUES ($1, $2, $3, $3, $4, $5, $5))
     INSERT INTO access_deliveries (id, club_id, name, kind, space_id, created_at, updated_at) VALUES ($6, $2, $3, 'space', $1, $5, $5)`,
    [id, clubId, `space-${id}`, position, new Date(sim.time.now), deliveryId],
  );
  return { id, deliveryId };
}
