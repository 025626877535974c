/**
 * Tests deliveries that open an AI agent, a repository or a space. The student gets access to the item, in whatever way the club gave the
 * delivery.
 */
import { Queries } from '../../platform/infra/postgres/database.ts';
import { expect } from 'chai';
import { isEntitled } from '../../domain/access/enrollments/entitlement.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import type { EventType } from '../../platform/core/event-types.ts';
import { assembleBody } from '../toolkit/drive/facts.ts';
import { eventFaults } from '../toolkit/assert/contract-schemas.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildAccessDelivery, buildEnrollment } from '../toolkit/builders/access.ts';
import { buildAgent, type TestAgent } from '../toolkit/builders/agents.ts';
import { buildClub, buildStudent, password, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildCohort, buildCourse } from '../toolkit/builders/courses.ts';
import { buildSpace } from '../toolkit/builders/community.ts';
import { buildRepository } from '../toolkit/builders/repositories.ts';
import { buildProduct, buildShop, purchaseNotice } from '../toolkit/builders/sales.ts';
import { call, clock, expectError } from '../toolkit/drive/api.ts';
import { callsOf } from '../toolkit/drive/club-calls.ts';
import { importFile } from '../toolkit/drive/imports.ts';
import { sell } from '../toolkit/drive/sales.ts';
import { rowCounts, testDatabase } from '../toolkit/stack/database.ts';

describe('agent deliveries', () => {
  let club: TestClub;
  let write: ReturnType<typeof callsOf>;
  let agent: TestAgent;
  beforeEach(async () => {
    club = await buildClub();
    write = callsOf(club);
    agent = await buildAgent(club.id);
  });
  const opening = () => ({ kind: 'agent', agent_id: agent.id });
  const create = (opens: object, further: object = {}) =>
    write('POST', '/deliveries', { name: 'Ask the bosun', opens, ...further });

  describe('a delivery that opens an agent', () => {
    it('is created with 201, and can be read, listed, renamed and archived', async () => {
      const { status, body } = await create(opening(), { free: true, access_days: 30 });
      expect(status).to.equal(201);
      const { id, created_at: at } = body.data;
      const record = {
        id,
        name: 'Ask the bosun',
        opens: opening(),
        free: true,
        access_days: 30,
        archived: false,
        created_at: at,
        updated_at: at,
      };
      expect(body.data).to.deep.equal(record);
      expect((await write('GET', `/deliveries/${id}`)).body.data).to.deep.equal(record);
      expect((await write('GET', '/deliveries')).body).to.deep.equal({ data: [record], total: 1 });
      expect((await write('PATCH', `/deliveries/${id}`, { name: 'Bosun' })).body.data.opens).to.deep.equal(opening());
      expect((await write('POST', `/deliveries/${id}/archive`)).body.data).to.deep.include({
        opens: opening(),
        archived: true,
      });
    });

    it('is refused with 404 if its id names no agent of this club, and then nothing is written', async () => {
      const foreign = await buildAgent((await buildClub()).id);
      const course = await buildCourse(club.id);
      const before = await rowCounts();
      await eachCase([newId(), foreign.id, course.id], async (id) =>
        expectError(await create({ kind: 'agent', agent_id: id }), 'not_found'),
      );
      expectError(await create({ kind: 'course', course_id: agent.id }), 'not_found');
      expect(await rowCounts()).to.deep.equal(before);
    });

    it('is refused with 400 or 422 if its id is missing, or the kind is wrong or unknown', async () => {
      const course = await buildCourse(club.id);
      await eachCase(
        [
          { kind: 'agent' },
          { kind: 'agent', course_id: course.id },
          { ...opening(), course_id: course.id },
          { ...opening(), cohort_id: newId() },
          { agent_id: agent.id },
        ],
        async (opens) => expectError(await create(opens), 'malformed_request'),
      );
      expectError(await create({ kind: 'shop', agent_id: agent.id }), 'invalid_request');
      expectError(await create({ kind: 'agent', agent_id: 'x' }), 'invalid_request');
    });

    it('can get another agent until a student is enrolled, and later returns 409 in_use', async () => {
      const { id } = (await create(opening())).body.data;
      const course = await buildCourse(club.id);
      const change = (opens: object) => write('PATCH', `/deliveries/${id}`, { opens });
      const toCourse = { kind: 'course', course_id: course.id };
      expect((await change(toCourse)).body.data.opens).to.deep.equal(toCourse);
      expect((await change(opening())).body.data.opens).to.deep.equal(opening());
      await buildEnrollment(club.id, { deliveryId: id });
      expectError(await change(toCourse), 'in_use');
      expectError(await change({ kind: 'agent', agent_id: (await buildAgent(club.id)).id }), 'in_use');
      expect((await change({ kind: 'agent', agent_id: agent.id.toUpperCase() })).status).to.equal(200);
      expect((await write('GET', `/deliveries/${id}`)).body.data.opens).to.deep.equal(opening());
    });

    it('returns 404 if a grant or a move of an enrollment names a cohort', async () => {
      const delivery = await buildAccessDelivery(club.id, { agentId: agent.id });
      const cohort = await buildCohort(club.id, (await buildCourse(club.id)).id);
      const student = await buildStudent(club.id);
      const grant = { student_id: student.id, delivery_id: delivery.id };
      const before = await rowCounts();
      expectError(await write('POST', '/enrollments', { ...grant, cohort_id: cohort.id }), 'not_found');
      expect(await rowCounts()).to.deep.equal(before);
      const { data } = (await write('POST', '/enrollments', grant)).body;
      expectError(await write('POST', `/enrollments/${data.id}/move`, { cohort_id: cohort.id }), 'not_found');
    });
  });

  async function agentsOf(token: string, clubId = club.id): Promise<Id[]> {
    const { data } = (await call('GET', `/v1/clubs/${clubId}/classroom/agents`, { token })).body;
    return data.map(({ id }: { id: Id }) => id);
  }

  /** Returns the bodies of the access.* facts that wait for the relay, as endpoints receive them. Each must match the contract. */
  async function accessFacts(clubId = club.id): Promise<[string, unknown][]> {
    const source = await testDatabase();
    const facts = await source.query<
      { id: Id; type: EventType; subjectId: Id; studentId: Id; details: null; occurredAt: Date }[]
    >(
      `SELECT id, type, subject_id AS "subjectId", student_id AS "studentId", details, occurred_at AS "occurredAt" FROM facts
      WHERE club_id = $1 AND type LIKE 'access.%' ORDER BY seq`,
      [clubId],
    );
    return Promise.all(
      facts.map(async (fact) => {
        const student = {
          id: fact.studentId,
          name: 'Ada',
          email: 'ada@example.com',
          verified: true,
          createdAt: fact.occurredAt,
          removed: false,
        };
        const body = JSON.parse(
          await assembleBody(new Queries(source.manager), { ...fact, clubId }, student, clock.now()),
        );
        expect(eventFaults(fact.type, body)).to.deep.equal([]);
        return [`${fact.type} ${body.data.enrollment.source}`, body.data.delivery] as [string, unknown];
      }),
    );
  }

  for (const [kind, build] of Object.entries({ repository: buildRepository, space: buildSpace }))
    describe(`the API for deliveries that open a ${kind}`, () => {
      let opens: Record<string, string>;
      beforeEach(async () => {
        opens = { kind, [`${kind}_id`]: (await build(club.id)).id };
      });

      it('shows the item to an enrolled student and in the webhook, and then allows no other item', async () => {
        const created = await create(opens);
        expect(created.status).to.equal(201);
        expect(created.body.data.opens).to.deep.equal(opens);
        const { id } = created.body.data;
        const student = await buildStudent(club.id);
        await write('POST', '/enrollments', { student_id: student.id, delivery_id: id });
        expect(await accessFacts()).to.deep.equal([['access.granted grant', { id, name: 'Ask the bosun', opens }]]);
        const own = await call('GET', `/v1/clubs/${club.id}/classroom/enrollments`, student);
        expect(own.body.data.map((enrollment: { opens: unknown }) => enrollment.opens)).to.deep.equal([opens]);
        const change = (to: object) => write('PATCH', `/deliveries/${id}`, { opens: to });
        expectError(await change(opening()), 'in_use');
        expectError(await change({ kind, [`${kind}_id`]: (await build(club.id)).id }), 'in_use');
        expect((await change(opens)).body.data.opens).to.deep.equal(opens);
      });

      it('returns 404 for an item of another club, and 400 for a cohort or for the id of an agent', async () => {
        const foreign = { kind, [`${kind}_id`]: (await build((await buildClub()).id)).id };
        const before = await rowCounts();
        expectError(await create(foreign), 'not_found');
        expectError(await create({ ...opens, cohort_id: newId() }), 'malformed_request');
        expectError(await create({ kind, agent_id: agent.id }), 'malformed_request');
        expect(await rowCounts()).to.deep.equal(before);
      });
    });

  describe('access to an agent, and its webhook', () => {
    let delivery: { id: Id; name: string };
    beforeEach(async () => {
      delivery = await buildAccessDelivery(club.id, { agentId: agent.id });
    });
    const opened = () => ({ id: delivery.id, name: delivery.name, opens: opening() });
    const entitled = async (studentId: Id, now = clock.now()) =>
      isEntitled(new Queries((await testDatabase()).manager), { clubId: club.id, studentId, agentId: agent.id }, now);
    const studentOf = async (email: string): Promise<Id> => {
      const source = await testDatabase();
      const [row] = await source.query<{ id: Id }[]>(`SELECT id FROM students WHERE club_id = $1 AND email = $2`, [
        club.id,
        email,
      ]);
      return row?.id ?? '';
    };

    it('begins with a grant, ends with the revocation or at the end date, and returns with the restoration', async () => {
      const student = await buildStudent(club.id);
      expect(await agentsOf(student.token)).to.deep.equal([]);
      expect(await entitled(student.id)).to.equal(false);
      const grant = { student_id: student.id, delivery_id: delivery.id };
      const { data } = (await write('POST', '/enrollments', grant)).body;
      expect(await agentsOf(student.token)).to.deep.equal([agent.id]);
      expect(await entitled(student.id)).to.equal(true);
      const own = (await call('GET', `/v1/clubs/${club.id}/classroom/enrollments`, { token: student.token })).body.data;
      expect(own.map((one: { opens: object }) => one.opens)).to.deep.equal([opening()]);

      await write('POST', `/enrollments/${data.id}/revoke`);
      expect(await agentsOf(student.token)).to.deep.equal([]);
      expect(await entitled(student.id)).to.equal(false);
      await write('POST', `/enrollments/${data.id}/restore`);
      expect(await entitled(student.id)).to.equal(true);
      const end = new Date(clock.now().getTime() + 3_600_000);
      await write('PUT', `/enrollments/${data.id}/end`, { ends_at: end.toISOString() });
      expect(await entitled(student.id, new Date(end.getTime() - 1))).to.equal(true);
      expect(await entitled(student.id, end)).to.equal(false);
      const bodies = await accessFacts();
      expect(bodies.map(([type]) => type)).to.deep.equal([
        'access.granted grant',
        'access.revoked grant',
        'access.restored grant',
        'access.shortened grant',
      ]);
      await eachCase(bodies, ([, item]) => expect(item).to.deep.equal(opened()));
    });

    it('begins when a student is invited or uses a registration link', async () => {
      const email = `${newId()}@example.com`;
      await write('POST', '/students', { name: 'Ada', email, delivery_ids: [delivery.id] });
      expect(await entitled(await studentOf(email))).to.equal(true);
      const code = `Open-${newId().slice(-12)}`;
      await write('POST', '/registration-links', { name: 'Open day', code, delivery_ids: [delivery.id] });
      const student = await buildStudent(club.id);
      const claim = `/v1/clubs/${club.id}/classroom/registration-links/${code}/claim`;
      const answer = await call('POST', claim, { token: student.token });
      expect(answer.body.data.deliveries).to.deep.equal([delivery.name]);
      expect(await agentsOf(student.token)).to.deep.equal([agent.id]);
      expect(await accessFacts()).to.deep.equal([
        ['access.granted invite', opened()],
        ['access.granted registration_link', opened()],
      ]);
    });

    it('begins when an import enrolls a new or an existing student', async () => {
      const known = await buildStudent(club.id);
      const fresh = `${newId()}@example.com`;
      await importFile(club, `email,name\n${known.email},N\n${fresh},N\n`, `delivery_ids=${delivery.id}`);
      expect(await agentsOf(known.token)).to.deep.equal([agent.id]);
      expect(await entitled(await studentOf(fresh))).to.equal(true);
      expect(await accessFacts()).to.deep.equal([
        ['access.granted import', opened()],
        ['access.granted import', opened()],
      ]);
    });

    it('begins with a free delivery at sign-up', async () => {
      delivery = await buildAccessDelivery(club.id, { agentId: agent.id, free: true });
      const email = `${newId()}@example.com`;
      await call('POST', `/v1/clubs/${club.id}/classroom/sign-up`, { body: { name: 'Ada', email, password } });
      expect(await entitled(await studentOf(email))).to.equal(true);
      expect(await accessFacts()).to.deep.equal([['access.granted free', opened()]]);
    });

    it('begins with the sale of a mapped product, and ends with the refund', async () => {
      const shop = await buildShop();
      club = shop.club;
      agent = await buildAgent(club.id);
      delivery = await buildAccessDelivery(club.id, { agentId: agent.id });
      shop.product = await buildProduct(club.id, { deliveries: 0 });
      await callsOf(club)('PATCH', `/products/${shop.product.id}`, { delivery_ids: [delivery.id] });
      await sell(shop, purchaseNotice(shop, 'paid'));
      const buyer = await studentOf(shop.email);
      expect(await entitled(buyer)).to.equal(true);
      await sell(shop, purchaseNotice(shop, 'refunded'));
      expect(await entitled(buyer)).to.equal(false);
      expect(await accessFacts()).to.deep.equal([
        ['access.granted purchase', opened()],
        ['access.revoked purchase', opened()],
      ]);
    });

    it('does not come from a course or another club, and begins with the enrollment', async () => {
      const student = await buildStudent(club.id);
      await buildEnrollment(club.id, { studentId: student.id, deliveryId: (await buildAccessDelivery(club.id)).id });
      expect(await entitled(student.id)).to.equal(false);
      const startsAt = new Date(clock.now().getTime() + 60_000);
      await buildEnrollment(club.id, { studentId: student.id, deliveryId: delivery.id, startsAt });
      expect(await entitled(student.id)).to.equal(false);
      expect(await entitled(student.id, startsAt)).to.equal(true);
      const { manager } = await testDatabase();
      const elsewhere = { clubId: (await buildClub()).id, studentId: student.id, agentId: agent.id };
      expect(await isEntitled(new Queries(manager), elsewhere, startsAt)).to.equal(false);
    });
  });
});
