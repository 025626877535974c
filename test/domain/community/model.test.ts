/** Compares a space and two students with a small model after random acts (COMM-1 to COMM-9). */
import { expect } from 'chai';
import fc from 'fast-check';
import { grantAccess, restoreAccess, revokeAccess } from '../../../domain/access/enrollments/enrollments.ts';
import { readVisibleSpace } from '../../../domain/community/classroom.ts';
import { banMember, removeMember, unbanMember } from '../../../domain/community/members.ts';
import { joinSpace, leaveSpace } from '../../../domain/community/memberships.ts';
import { readSpace, updateSpace } from '../../../domain/community/spaces.ts';
import { followAccessByTime } from '../../../domain/joining/joining.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { buildClub, buildStudent } from '../../toolkit/builders/clubs.ts';
import { buildSpace, buildSpaceDelivery } from '../../toolkit/builders/community.ts';
import { fill } from '../../toolkit/drive/community.ts';
import { mediaDeps } from '../../toolkit/drive/media.ts';
import { testDeps } from '../../toolkit/stack/database.ts';

/** The environment can set a larger number for a longer search. */
const sequences = Number(process.env['COMMUNITY_MODEL_SEQUENCES'] ?? 40);

const kinds = [
  'join',
  'leave',
  'remove',
  'ban',
  'unban',
  'grant',
  'revoke',
  'restore',
  'private',
  'hidden',
  'auto',
] as const;
const acts = fc.array(
  fc.record({
    kind: fc.constantFrom(...kinds),
    who: fc.nat({ max: 1 }),
    /** Hours that pass before the act. */
    hours: fc.nat({ max: 2 }),
    /** Hours for which a grant is valid. */
    lasts: fc.integer({ min: 1, max: 6 }),
    on: fc.boolean(),
  }),
  { minLength: 4, maxLength: 20 },
);
type Act = typeof acts extends fc.Arbitrary<(infer One)[]> ? One : never;

class Student {
  status: 'never' | 'joined' | 'left' | 'banned' = 'never';
  /** In hours. Absent before the first grant, and after the access has ended. */
  access: { until: number; revoked: boolean } | undefined;

  isValid(hour: number): boolean {
    return this.access !== undefined && !this.access.revoked && this.access.until > hour;
  }
}

class Model {
  isPrivate = false;
  isHidden = false;
  auto = false;
  readonly students = [new Student(), new Student()] as const;

  hasAccess = (student: Student, hour: number) => !this.isPrivate || student.isValid(hour);
  isSeen = (student: Student, hour: number) => this.hasAccess(student, hour) || !this.isHidden;
  isJoined = (student: Student, hour: number) => student.status === 'joined' && this.hasAccess(student, hour);
  count = (hour: number) => this.students.filter((student) => this.isJoined(student, hour)).length;

  do({ kind, who, lasts, on }: Act, hour: number): string {
    const student = this.students[who] ?? this.students[0];
    const outcome = this.#act(student, kind, { lasts, on }, hour);
    if (this.auto && ['grant', 'restore', 'auto', 'private'].includes(kind) && outcome === 'done')
      for (const one of kind === 'grant' || kind === 'restore' ? [student] : this.students)
        if (one.status === 'never' && this.hasAccess(one, hour)) one.status = 'joined';
    return outcome;
  }

  #act(student: Student, kind: Act['kind'], { lasts, on }: Pick<Act, 'lasts' | 'on'>, hour: number): string {
    switch (kind) {
      case 'join':
        if (!this.isSeen(student, hour)) return 'not_found';
        if (!this.hasAccess(student, hour) || student.status === 'banned') return 'not_entitled';
        student.status = 'joined';
        return 'done';
      case 'leave':
        if (!this.isSeen(student, hour) && (student.status === 'never' || student.status === 'banned'))
          return 'not_found';
        if (student.status === 'joined') student.status = 'left';
        return 'done';
      case 'remove':
        if (student.status === 'never') return 'not_found';
        if (student.status === 'joined') student.status = 'left';
        return 'done';
      case 'ban':
        student.status = 'banned';
        return 'done';
      case 'unban':
        if (student.status === 'banned') student.status = 'left';
        return 'done';
      case 'grant':
        if (!student.isValid(hour)) student.access = { until: hour + lasts, revoked: false };
        return 'done';
      case 'revoke':
        if (!student.access) return 'nothing';
        student.access.revoked = true;
        return 'done';
      case 'restore':
        if (!student.access) return 'nothing';
        if (!student.access.revoked) return 'enrollment_not_revoked';
        student.access.revoked = false;
        return 'done';
      case 'private':
        this.isPrivate = on;
        return 'done';
      case 'hidden':
        this.isHidden = on;
        return 'done';
      case 'auto':
        this.auto = on;
        return 'done';
    }
  }
}

describe('a space and its students', function () {
  this.timeout(120_000);

  it('match the model after any sequence of acts (COMM-1 to COMM-9)', async () => {
    const deps = { ...(await testDeps()), ...(await mediaDeps()) };
    const { db, storage } = deps;
    const begin = Date.now();
    const at = (hour: number) => new Date(begin + hour * 3_600_000);

    await fc.assert(
      fc.asyncProperty(acts, async (sequence) => {
        const { id: clubId } = await buildClub();
        const students = [await buildStudent(clubId), await buildStudent(clubId)];
        const space = await buildSpace(clubId);
        const deliveryId = await buildSpaceDelivery(space);
        const enrollments: Id[] = [];
        const model = new Model();

        const really = async ({ kind, who, lasts, on }: Act, hour: number): Promise<string> => {
          const now = at(hour);
          const studentId = students[who]?.id ?? '';
          const [reader, member] = [
            { clubId, id: studentId },
            { clubId, spaceId: space.id, studentId },
          ];
          const enrollmentId = enrollments[who];
          if (kind === 'join') await joinSpace(deps, reader, space.id, now);
          else if (kind === 'leave') await leaveSpace(deps, reader, space.id, now);
          else if (kind === 'remove') await removeMember(deps, member, now);
          else if (kind === 'ban') await banMember(deps, member, now);
          else if (kind === 'unban') await unbanMember(deps, member, now);
          else if (kind === 'grant') {
            const grant = { clubId, studentId, deliveryId, source: 'grant', endsAt: at(hour + lasts) } as const;
            const { enrollment } = await db.transaction((tx) => grantAccess(tx, grant, now));
            enrollments[who] = enrollment.id;
          } else if (kind === 'private') await updateSpace(deps, clubId, space.id, { private: on }, now);
          else if (kind === 'hidden') await updateSpace(deps, clubId, space.id, { hidden: on }, now);
          else if (kind === 'auto') await updateSpace(deps, clubId, space.id, { auto_join: on }, now);
          else if (enrollmentId === undefined) return 'nothing';
          else
            await db.transaction((tx) =>
              kind === 'revoke'
                ? revokeAccess(tx, clubId, enrollmentId, 'revocation', now)
                : restoreAccess(tx, clubId, enrollmentId, now),
            );
          return 'done';
        };
        const codeOf = (error: unknown): string => {
          if (error instanceof DomainError) return error.code;
          throw error;
        };

        let hour = 0;
        for (const act of sequence) {
          hour += act.hours;
          await followAccessByTime(db, at(hour));
          const outcome = await really(act, hour).catch(codeOf);
          const happened = JSON.stringify([hour, act]);
          expect(outcome, happened).to.equal(model.do(act, hour));
          for (let tries = 0; !(await fill(space.id, at(hour).getTime())).done && tries < 500; tries++);
          const now = at(hour);
          expect((await readSpace(db, storage, clubId, space.id)).member_count, happened).to.equal(model.count(hour));
          for (const [who, student] of model.students.entries()) {
            const read = readVisibleSpace(db, storage, { clubId, id: students[who]?.id ?? '' }, space.id, now);
            const view = await read.then(({ joined, has_access }) => [joined, has_access], codeOf);
            const expected = [model.isJoined(student, hour), model.hasAccess(student, hour)];
            expect(view, `${happened} ${who}`).to.deep.equal(model.isSeen(student, hour) ? expected : 'not_found');
          }
        }
      }),
      { numRuns: sequences },
    );
  });
});
