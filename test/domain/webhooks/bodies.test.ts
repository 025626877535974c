import { expect } from 'chai';
import * as fc from 'fast-check';
import { newId } from '../../../domain/core/ids.ts';
import type { EventType } from '../../../domain/facts/catalogue.policy.ts';
import { assembleBody, type SubjectStudent } from '../../../domain/webhooks/bodies.ts';
import { eventFaults } from '../../support/contract-schemas.ts';

const student: SubjectStudent = {
  id: newId(),
  name: 'Zoë 学生',
  email: 'zoe@example.com',
  verified: false,
  createdAt: new Date('2026-02-20T08:00:00.123Z'),
  removed: false,
};
const factOf = (type: EventType) => ({
  id: newId(),
  clubId: newId(),
  type,
  studentId: student.id,
  occurredAt: new Date('2026-03-02T09:15:00.456Z'),
});

describe('the body of an event', () => {
  for (const type of ['student.created', 'student.updated'] as const) {
    it(`${type}: the envelope, and the student as they stand now`, () => {
      const fact = factOf(type);
      expect(JSON.parse(assembleBody(fact, student))).to.deep.equal({
        id: fact.id,
        type,
        occurred_at: '2026-03-02T09:15:00.456Z',
        club_id: fact.clubId,
        data: {
          student: {
            id: student.id,
            name: 'Zoë 学生',
            email: 'zoe@example.com',
            verified: false,
            created_at: '2026-02-20T08:00:00.123Z',
          },
        },
      });
    });
  }

  it('student.removed: only the id is sent, whatever the row still holds', () => {
    const fact = factOf('student.removed');
    expect(JSON.parse(assembleBody(fact, student))).to.deep.equal({
      id: fact.id,
      type: 'student.removed',
      occurred_at: '2026-03-02T09:15:00.456Z',
      club_id: fact.clubId,
      data: { student: { id: student.id } },
    });
  });

  it('is valid against the contract’s schema of its type, whatever people are called', () => {
    const types = fc.constantFrom('student.created', 'student.updated', 'student.removed');
    fc.assert(
      fc.property(types, fc.string({ unit: 'grapheme', minLength: 1 }), fc.boolean(), (type, name, verified) => {
        const body: unknown = JSON.parse(assembleBody(factOf(type), { ...student, name, verified }));
        expect(eventFaults(type, body)).to.deep.equal([]);
      }),
    );
  });

  it('a type that has none yet is a mistake of ours', () => {
    expect(() => assembleBody(factOf('access.granted'), student)).to.throw('No body is defined for access.granted');
  });
});
