/** Compares enrollments with a model after random changes. */
import { expect } from 'chai';
import * as fc from 'fast-check';
import {
  changeEnd,
  grantAccess,
  moveToCohort,
  restoreAccess,
  revokeAccess,
} from '../../../../domain/access/enrollments/enrollments.ts';
import { DomainError } from '../../../../platform/core/errors.ts';
import type { Id } from '../../../../platform/core/ids.ts';
import { buildAccessDelivery } from '../../../toolkit/builders/access.ts';
import { buildClub, buildStudent } from '../../../toolkit/builders/clubs.ts';
import { buildCohort, buildCourse } from '../../../toolkit/builders/courses.ts';
import { testDatabase, testDeps } from '../../../toolkit/stack/database.ts';

interface Modelled {
  delivery: number;
  cohort: number | null;
  startsAt: number;
  endsAt: number | null;
  revoked: boolean;
  superseded: boolean;
}

type Act =
  | { kind: 'grant'; delivery: number; hours: number | null }
  | { kind: 'revoke' | 'restore' | 'remove'; which: number }
  | { kind: 'end'; which: number; hours: number | null }
  | { kind: 'move'; which: number; cohort: number }
  | { kind: 'wait'; hours: number };

const hourMs = 3_600_000;
const hours = fc.option(fc.integer({ min: 1, max: 24 }));
const which = fc.nat(2);
const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ kind: fc.constant('grant' as const), delivery: fc.constantFrom(0, 0, 0, 1), hours }),
  fc.record({ kind: fc.constantFrom('revoke' as const, 'restore' as const, 'remove' as const), which }),
  fc.record({ kind: fc.constant('end' as const), which, hours }),
  fc.record({ kind: fc.constant('move' as const), which, cohort: fc.nat(1) }),
  fc.record({ kind: fc.constant('wait' as const), hours: fc.integer({ min: 4, max: 12 }) }),
);

class Model {
  readonly enrollments: Modelled[] = [];
  readonly facts: string[] = [];
  now = 0;

  ended = ({ endsAt }: Modelled) => endsAt !== null && endsAt <= this.now;
  #stands = (one: Modelled) => !one.revoked && !one.superseded;
  /** An ended enrollment is not current, and becomes superseded. */
  #blocked(delivery: number, self?: Modelled): boolean {
    const standing = this.enrollments.find((one) => one.delivery === delivery && this.#stands(one) && one !== self);
    if (standing && !this.ended(standing)) return true;
    if (standing) standing.superseded = true;
    return false;
  }

  grant(delivery: number, lasting: number | null): string {
    if (this.#blocked(delivery)) return 'nothing';
    const endsAt = lasting === null ? null : this.now + lasting;
    this.enrollments.push({
      delivery,
      cohort: null,
      startsAt: this.now,
      endsAt,
      revoked: false,
      superseded: false,
    });
    return this.#fact('access.granted');
  }

  change(one: Modelled, change: Exclude<Act, { kind: 'grant' | 'wait' }>): string {
    switch (change.kind) {
      case 'revoke':
      case 'remove': {
        const before = one.revoked;
        one.revoked = true;
        return before ? 'nothing' : this.#fact('access.revoked');
      }
      case 'restore':
        if (!one.revoked) return 'enrollment_not_revoked';
        if (this.#blocked(one.delivery, one)) return 'already_enrolled';
        Object.assign(one, { revoked: false, superseded: false });
        return this.#fact('access.restored');
      case 'move':
        if (one.revoked) return 'enrollment_revoked';
        if (one.cohort === change.cohort) return 'nothing';
        one.cohort = change.cohort;
        return this.#fact('access.moved');
      case 'end': {
        if (one.revoked) return 'enrollment_revoked';
        const end = change.hours === null ? null : one.startsAt + change.hours;
        if (end === one.endsAt) return 'nothing';
        if (!this.ended({ ...one, endsAt: end })) {
          if (one.superseded && this.#blocked(one.delivery, one)) return 'already_enrolled';
          one.superseded = false;
        }
        const later = (end ?? Infinity) > (one.endsAt ?? Infinity);
        one.endsAt = end;
        return this.#fact(later ? 'access.extended' : 'access.shortened');
      }
    }
  }

  #fact(type: string): string {
    this.facts.push(type);
    return type;
  }
}

describe('enrollments of a student', () => {
  it('match the model in states, facts and refusals after any changes', async function () {
    this.timeout(120_000);
    const { db } = await testDeps();
    const source = await testDatabase();
    const { id: clubId } = await buildClub();
    const course = await buildCourse(clubId);
    const deliveries = [0, 1].map(() => buildAccessDelivery(clubId, { courseId: course.id }));
    const deliveryIds = (await Promise.all(deliveries)).map(({ id }) => id);
    const cohortIds = (await Promise.all([0, 1].map(() => buildCohort(clubId, course.id)))).map(({ id }) => id);
    const began = Date.now();
    const at = (hour: number) => new Date(began + hour * hourMs);

    await fc.assert(
      fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 16, size: 'max' }), async (acts) => {
        const model = new Model();
        const { id: studentId } = await buildStudent(clubId);
        const ids: Id[] = [];
        const removed = new Set<Id>();
        const factCount = async () =>
          (await source.query<unknown[]>(`SELECT 1 FROM facts WHERE student_id = $1`, [studentId])).length;

        for (const next of acts) {
          if (next.kind === 'wait') {
            model.now += next.hours;
            continue;
          }
          const now = at(model.now);
          if (next.kind === 'grant') {
            const expected = model.grant(next.delivery, next.hours);
            const endsAt = next.hours === null ? null : at(model.now + next.hours);
            const grant = {
              clubId,
              studentId,
              deliveryId: deliveryIds[next.delivery] ?? '',
              source: 'grant',
              endsAt,
            } as const;
            const { enrollment, fresh } = await db.transaction((tx) => grantAccess(tx, grant, now));
            expect(fresh).to.equal(expected === 'access.granted');
            if (fresh) ids.push(enrollment.id);
            continue;
          }
          const [one, id] = [model.enrollments[next.which], ids[next.which]];
          if (!one || id === undefined || removed.has(id)) continue;
          const before = await factCount();
          const expectedOutcome = model.change(one, next);
          const change = await db
            .transaction(async (tx) => {
              if (next.kind === 'move') await moveToCohort(tx, clubId, id, cohortIds[next.cohort] ?? '', now);
              else if (next.kind === 'end')
                await changeEnd(tx, clubId, id, next.hours === null ? null : at(one.startsAt + next.hours), now);
              else if (next.kind === 'restore') await restoreAccess(tx, clubId, id, now);
              else await revokeAccess(tx, clubId, id, next.kind === 'remove' ? 'removal' : 'revocation', now);
            })
            .catch((error: unknown) => {
              if (error instanceof DomainError) return error.code;
              throw error;
            });
          if (next.kind === 'remove') removed.add(id);
          expect(change ?? ((await factCount()) > before ? model.facts.at(-1) : 'nothing')).to.equal(expectedOutcome);
        }

        const facts = await source.query<{ type: string }[]>(
          `SELECT type FROM facts WHERE student_id = $1 ORDER BY seq`,
          [studentId],
        );
        expect(facts.map(({ type }) => type)).to.deep.equal(model.facts);
        const rows = await source.query<object[]>(
          `SELECT delivery_id, cohort_id, starts_at, ends_at, revoked_at IS NOT NULL AS revoked FROM enrollments
            WHERE student_id = $1 ORDER BY array_position($2::uuid[], id)`,
          [studentId, ids],
        );
        expect(rows).to.deep.equal(
          model.enrollments.map((one) => ({
            delivery_id: deliveryIds[one.delivery],
            cohort_id: one.cohort === null ? null : cohortIds[one.cohort],
            starts_at: at(one.startsAt),
            ends_at: one.endsAt === null ? null : at(one.endsAt),
            revoked: one.revoked,
          })),
        );
      }),
      { numRuns: Number(process.env.ACCESS_MODEL_SEQUENCES ?? 100) },
    );
  });
});
