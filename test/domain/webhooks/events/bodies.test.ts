import { Queries } from '../../../../platform/infra/postgres/database.ts';
import { expect } from 'chai';
import * as fc from 'fast-check';
import { newId } from '../../../../platform/core/ids.ts';
import { eventTypes, type EventType } from '../../../../platform/core/event-types.ts';
import { assembleBodies } from '../../../../domain/webhooks/events/bodies/assemble.ts';
import { assembleBody } from '../../../toolkit/drive/facts.ts';
import type { FactAndStudent, SubjectStudent } from '../../../../domain/webhooks/events/bodies/reading.ts';
import { factsOfEachType } from '../../../toolkit/builders/facts-of-each-type.ts';
import { testDatabase, testDeps } from '../../../toolkit/stack/database.ts';
import { eachCase } from '../../../toolkit/assert/each-case.ts';
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

describe('the body of an event', () => {
  const bodyOf = async (fact: FactToTell, of = student): Promise<unknown> => {
    const { manager } = await testDatabase();
    return JSON.parse(await assembleBody(new Queries(manager), fact, of, new Date()));
  };

  for (const type of ['student.created', 'student.updated'] as const) {
    it(`of type ${type} contains the envelope and the current state of the student`, async () => {
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

  it('of type student.removed contains only the student’s id', async () => {
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

  it('is not built for a fact without its record', async () => {
    const error: unknown = await bodyOf(factOf('access.granted')).catch((reason: unknown) => reason);
    expect(error).to.have.property('message', 'The record of the fact access.granted does not exist');
  });
});

describe('the bodies of several facts', () => {
  const now = new Date();

  let factsOfClub: FactAndStudent[];
  let factsOfOther: FactAndStudent[];
  before(async () => {
    factsOfClub = await factsOfEachType('Ada', now);
    factsOfOther = await factsOfEachType('Bea', now);
  });

  it('equal the bodies of the single facts, in order', async () => {
    const { db } = await testDeps();
    const facts = [...factsOfClub, ...factsOfOther.toReversed(), ...factsOfClub.slice(0, 4)];
    const bodies = await assembleBodies(db, facts, now);
    const alone: string[] = [];
    for (const { fact, student: of } of facts) alone.push(await assembleBody(db, fact, of, now));
    expect(bodies).to.deep.equal(alone);
    for (const [index, { fact, student: of }] of facts.entries()) {
      const body = JSON.parse(bodies[index] ?? '');
      expect(eventFaults(fact.type, body), fact.type).to.deep.equal([]);
      expect(body).to.nested.include({ id: fact.id, club_id: fact.clubId, 'data.student.id': of.id });
    }
  });

  it('are an empty list without facts', async () => {
    const { db } = await testDeps();
    expect(await assembleBodies(db, [], now)).to.deep.equal([]);
  });

  const expectMissing = async (stray: FactAndStudent) => {
    const { db } = await testDeps();
    const error: unknown = await assembleBodies(db, [...factsOfClub, stray], now).catch((reason: unknown) => reason);
    expect(error).to.have.property('message', `The record of the fact ${stray.fact.type} does not exist`);
  };

  it('are not built if a record belongs to another club', async () => {
    const clubId = factsOfOther[0]?.fact.clubId ?? '';
    const withRecord = factsOfClub.filter(({ fact }) => fact.subjectId !== null);
    expect(withRecord).to.have.length(eventTypes.length - 3);
    await eachCase(withRecord, (one) => expectMissing({ ...one, fact: { ...one.fact, clubId } }));
  });

  it('are not built if a sale or completion belongs to another student', async () => {
    const factsOfStudent = factsOfClub.filter(({ fact }) => /^(purchase|subscription|lesson|course)/.test(fact.type));
    expect(factsOfStudent).to.have.length(6);
    await eachCase(factsOfStudent, (one) => expectMissing({ ...one, fact: { ...one.fact, studentId: newId() } }));
  });
});
