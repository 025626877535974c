import { Queries } from '../../../../platform/infra/postgres/database.ts';
import { expect } from 'chai';
import * as fc from 'fast-check';
import { newId } from '../../../../platform/core/ids.ts';
import type { EventType } from '../../../../platform/core/event-types.ts';
import { assembleBody } from '../../../../domain/webhooks/events/fan-out.ts';
import type { SubjectStudent } from '../../../../domain/webhooks/events/bodies/reading.ts';
import { testDatabase } from '../../../toolkit/stack/database.ts';
import { eventFaults } from '../../../toolkit/assert/contract-schemas.ts';
import type { FactToTell } from '../../../../platform/engine/facts.ts';

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
  subjectId: null,
  details: null,
  occurredAt: new Date('2026-03-02T09:15:00.456Z'),
});

describe('body of an event', () => {
  const bodyOf = async (fact: FactToTell, of = student): Promise<unknown> => {
    const { manager } = await testDatabase();
    return JSON.parse(await assembleBody(new Queries(manager), fact, of, new Date()));
  };

  for (const type of ['student.created', 'student.updated'] as const) {
    it(`${type}: holds the envelope and the student in its current state`, async () => {
      const fact = factOf(type);
      expect(await bodyOf(fact)).to.deep.equal({
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

  it('student.removed: holds only the student’s id', async () => {
    const fact = factOf('student.removed');
    expect(await bodyOf(fact)).to.deep.equal({
      id: fact.id,
      type: 'student.removed',
      occurred_at: '2026-03-02T09:15:00.456Z',
      club_id: fact.clubId,
      data: { student: { id: student.id } },
    });
  });

  it('matches the contract’s schema of its type for any name', async () => {
    const types = fc.constantFrom('student.created', 'student.updated', 'student.removed');
    await fc.assert(
      fc.asyncProperty(
        types,
        fc.string({ unit: 'grapheme', minLength: 1 }),
        fc.boolean(),
        async (type, name, verified) => {
          const body = await bodyOf(factOf(type), { ...student, name, verified });
          expect(eventFaults(type, body)).to.deep.equal([]);
        },
      ),
    );
  });

  it('is not assembled for a fact whose record is missing', async () => {
    const error: unknown = await bodyOf(factOf('access.granted')).catch((reason: unknown) => reason);
    expect(error).to.have.property('message', 'The record of a fact access.granted is gone');
  });
});
