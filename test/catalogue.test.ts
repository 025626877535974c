/**
 * The catalogue: a row for each cause that it names, brought about through the public API or a notice; the exact events that a
 * real receiver got, each with a signature that the receivers' library accepts and a body that the contract allows
 * (specification: Events, Catalog).
 */
import { expect } from 'chai';
import { eventTypes, type EventType } from '../domain/facts/catalogue.policy.ts';
import { newId, type Id } from '../domain/core/ids.ts';
import { buildCohort, buildCourse, buildDelivery, buildEnrollment, type TestCourse } from './support/access.ts';
import { call, type Answer } from './support/api.ts';
import { until } from './support/deliveries.ts';
import { useEngine } from './support/engine.ts';
import { buildStudent, type TestStudent } from './support/factories.ts';
import { buildListeningClub, type ArrivedEvent, type ListeningClub } from './support/listening-club.ts';
import { buildShop, type Shop } from './support/shop.ts';

/** What a cause finds: a club with a course that a delivery opens, and a shop that sells it. */
interface Scene {
  club: ListeningClub;
  course: TestCourse;
  deliveryId: Id;
  shop: Shop;
  /** Calls as the club's owner; the answer is a success. */
  admin(method: string, path: string, body?: unknown): Promise<Answer>;
  /** Calls as a student. */
  as(student: TestStudent, method: string, path: string, body?: unknown): Promise<Answer>;
  /** A student, and one who has the delivery. */
  student(): Promise<TestStudent>;
  enrolled(): Promise<{ student: TestStudent; enrollmentId: Id }>;
}

interface Row {
  cause: string;
  /** Brings about what the cause needs before it; what it raises does not count. @returns the cause itself */
  given: (scene: Scene) => Promise<() => Promise<unknown>>;
  /** The events, in any order. */
  raises: readonly EventType[];
  /** Looks closer at what arrived. */
  looks?: (of: (type: EventType) => ArrivedEvent['data']) => void;
}

const someone = () => ({ name: 'Stella Student', email: `${newId()}@example.com` });
const dayMs = 86_400_000;
const inDays = (days: number) => new Date(Date.now() + days * dayMs).toISOString();

const rows: readonly Row[] = [
  {
    cause: 'sign-up',
    given:
      async ({ club }) =>
      () =>
        signUp(club.id),
    raises: ['student.created'],
    looks: (of) => expect(of('student.created').student.verified).to.equal(false),
  },
  {
    cause: 'sign-up where the club has a free delivery',
    given: async ({ club, course }) => {
      await buildDelivery(club.id, { courseId: course.id, free: true });
      return () => signUp(club.id);
    },
    raises: ['student.created', 'access.granted'],
    looks: (of) => expect(of('access.granted').enrollment.source).to.equal('free'),
  },
  {
    cause: 'sign-up with a registration link',
    given: async (scene) => {
      const code = await link(scene);
      return () => signUp(scene.club.id, { registration_code: code });
    },
    raises: ['student.created', 'access.granted'],
    looks: (of) => expect(of('access.granted').enrollment.source).to.equal('registration_link'),
  },
  {
    cause: 'an invitation to a delivery',
    given:
      async ({ admin, deliveryId }) =>
      () =>
        admin('POST', '/students', { ...someone(), delivery_ids: [deliveryId] }),
    raises: ['student.created', 'access.granted'],
    looks: (of) => expect(of('access.granted').enrollment.source).to.equal('invite'),
  },
  {
    cause: 'an import of one known and one unknown student',
    given: async ({ club, deliveryId, student }) => {
      const { email } = await student();
      return () => importFile(club, deliveryId, `email,name\n${email},Stella\n${newId()}@example.com,Max\n`);
    },
    raises: ['student.created', 'access.granted', 'access.granted'],
    looks: (of) => expect(of('access.granted').enrollment.source).to.equal('import'),
  },
  {
    cause: 'a purchase by somebody unknown',
    given:
      async ({ shop }) =>
      () =>
        shop.paid(),
    raises: ['student.created', 'purchase.paid', 'access.granted'],
    looks(of) {
      expect(of('purchase.paid').purchase.status).to.equal('paid');
      expect(of('access.granted').enrollment.source).to.equal('purchase');
    },
  },
  {
    cause: 'a purchase by a student, approved, then completed, then resent',
    given: async ({ shop, student }) => {
      const buyer = await student();
      const sale = shop.sale({ email: buyer.email });
      return async () => {
        await shop.paid(sale);
        await shop.paid(sale);
        await shop.paid(sale);
      };
    },
    raises: ['purchase.paid', 'access.granted'],
  },
  {
    cause: 'a refund',
    given: async ({ shop }) => {
      const sale = shop.sale();
      await shop.paid(sale);
      return () => shop.refunded(sale);
    },
    raises: ['purchase.refunded', 'access.revoked'],
    looks(of) {
      expect(of('purchase.refunded').purchase.status).to.equal('refunded');
      expect(of('access.revoked').enrollment).to.include({ status: 'revoked', revoked_reason: 'refund' });
    },
  },
  {
    cause: 'a chargeback',
    given: async ({ shop }) => {
      const sale = shop.sale();
      await shop.paid(sale);
      return () => shop.chargedBack(sale);
    },
    raises: ['purchase.refunded', 'access.revoked'],
    looks: (of) => expect(of('purchase.refunded').purchase.status).to.equal('chargeback'),
  },
  {
    cause: 'the first charge of a subscription',
    given:
      async ({ shop }) =>
      () =>
        shop.charged(shop.subscription()),
    raises: ['student.created', 'purchase.paid', 'access.granted'],
    looks: (of) => expect(of('access.granted').enrollment.source).to.equal('subscription'),
  },
  {
    cause: 'a late charge, told twice',
    given: async ({ shop }) => {
      const subscription = shop.subscription();
      await shop.charged(subscription);
      return async () => {
        await shop.late(subscription);
        await shop.late(subscription);
      };
    },
    raises: ['subscription.past_due'],
    looks: (of) => expect(of('subscription.past_due').subscription.status).to.equal('past_due'),
  },
  {
    cause: 'a cancellation whose paid period is over: without grace',
    given: async ({ shop }) => {
      const subscription = shop.subscription();
      await shop.charged(subscription);
      return () => shop.canceled(subscription, { periodEnd: undefined });
    },
    raises: ['subscription.canceled', 'access.revoked'],
    looks: (of) => expect(of('access.revoked').enrollment.revoked_reason).to.equal('cancellation'),
  },
  {
    cause: 'a cancellation whose current_period_end is in the future: access continues until then',
    given: async ({ shop }) => {
      const subscription = shop.subscription();
      await shop.charged(subscription);
      return () => shop.canceled(subscription, { periodEnd: inDays(9) });
    },
    raises: ['subscription.canceled', 'access.shortened'],
    looks(of) {
      const { subscription } = of('subscription.canceled');
      expect(of('access.shortened').enrollment).to.include({
        status: 'active',
        ends_at: subscription.current_period_end,
      });
    },
  },
  {
    cause: 'a correction of name and e-mail',
    given: async ({ admin, student }) => {
      const { id } = await student();
      return () => admin('PATCH', `/students/${id}`, someone());
    },
    raises: ['student.updated'],
  },
  {
    cause: 'the removal of a student who has access, tags and a certificate',
    given: async (scene) => {
      const { student } = await scene.enrolled();
      await scene.admin('PUT', `/students/${student.id}/tags/${await tag(scene)}`);
      await scene.admin('POST', '/certificates', { student_id: student.id, course_id: scene.course.id });
      return () => scene.admin('DELETE', `/students/${student.id}`);
    },
    raises: ['student.removed'],
    looks: (of) => expect(Object.keys(of('student.removed').student)).to.deep.equal(['id']),
  },
  {
    cause: 'a grant by hand',
    given: async ({ admin, student, deliveryId }) => {
      const { id } = await student();
      return () => admin('POST', '/enrollments', { student_id: id, delivery_id: deliveryId });
    },
    raises: ['access.granted'],
    looks: (of) => expect(of('access.granted').enrollment).to.include({ source: 'grant', status: 'active' }),
  },
  {
    cause: 'the claim of a registration link, twice',
    given: async (scene) => {
      const claimant = await scene.student();
      const path = `/classroom/registration-links/${await link(scene)}/claim`;
      return async () => {
        await scene.as(claimant, 'POST', path);
        await scene.as(claimant, 'POST', path);
      };
    },
    raises: ['access.granted'],
    looks: (of) => expect(of('access.granted').enrollment.source).to.equal('registration_link'),
  },
  {
    cause: 'a revocation',
    given: async ({ admin, enrolled }) => {
      const { enrollmentId } = await enrolled();
      return () => admin('POST', `/enrollments/${enrollmentId}/revoke`);
    },
    raises: ['access.revoked'],
    looks: (of) =>
      expect(of('access.revoked').enrollment).to.include({ status: 'revoked', revoked_reason: 'revocation' }),
  },
  {
    cause: 'the removal of an enrollment',
    given: async ({ admin, enrolled }) => {
      const { enrollmentId } = await enrolled();
      return () => admin('DELETE', `/enrollments/${enrollmentId}`);
    },
    raises: ['access.revoked'],
    looks: (of) => expect(of('access.revoked').enrollment.revoked_reason).to.equal('removal'),
  },
  {
    cause: 'a revocation that is undone',
    given: async ({ admin, enrolled }) => {
      const { enrollmentId } = await enrolled();
      await admin('POST', `/enrollments/${enrollmentId}/revoke`);
      return () => admin('POST', `/enrollments/${enrollmentId}/restore`);
    },
    raises: ['access.restored'],
    looks: (of) => expect(of('access.restored').enrollment.status).to.equal('active'),
  },
  {
    cause: 'an end that is moved later',
    given: async ({ admin, enrolled }) => {
      const { enrollmentId } = await enrolled();
      await admin('PUT', `/enrollments/${enrollmentId}/end`, { ends_at: inDays(10) });
      return () => admin('PUT', `/enrollments/${enrollmentId}/end`, { ends_at: inDays(20) });
    },
    raises: ['access.extended'],
    looks: (of) =>
      expect(of('access.extended').enrollment.ends_at > of('access.extended').previous_ends_at).to.equal(true),
  },
  {
    cause: 'an end that is moved earlier',
    given: async ({ admin, enrolled }) => {
      const { enrollmentId } = await enrolled();
      return () => admin('PUT', `/enrollments/${enrollmentId}/end`, { ends_at: inDays(10) });
    },
    raises: ['access.shortened'],
    looks: (of) => expect(of('access.shortened')).not.to.have.property('previous_ends_at'),
  },
  {
    cause: 'an enrollment that is moved to another cohort',
    given: async ({ admin, club, course, enrolled }) => {
      const { enrollmentId } = await enrolled();
      const cohort = await buildCohort(club.id, course.id);
      return () => admin('POST', `/enrollments/${enrollmentId}/move`, { cohort_id: cohort.id });
    },
    raises: ['access.moved'],
    looks: (of) => expect(of('access.moved').enrollment.cohort_id).to.be.a('string'),
  },
  {
    cause: 'a lesson that is completed, undone and completed again',
    given: async ({ as, course, enrolled }) => {
      const { student } = await enrolled();
      return async () => {
        await as(student, 'PUT', completion(course, 0));
        await as(student, 'DELETE', completion(course, 0));
        await as(student, 'PUT', completion(course, 0));
      };
    },
    raises: ['lesson.completed'],
    looks: (of) => expect(of('lesson.completed').lesson.title).to.equal('Lesson 1'),
  },
  {
    cause: 'the last lesson of a course that certifies',
    given: async ({ as, course, enrolled }) => {
      const { student } = await enrolled();
      await as(student, 'PUT', completion(course, 0));
      return () => as(student, 'PUT', completion(course, 1));
    },
    raises: ['lesson.completed', 'course.completed', 'certificate.issued'],
    looks: (of) => expect(of('certificate.issued').certificate.version).to.equal(1),
  },
  {
    cause: 'a certificate issued by hand, and issued again',
    given: async ({ admin, course, enrolled }) => {
      const { student } = await enrolled();
      return async () => {
        const { body } = await admin('POST', '/certificates', { student_id: student.id, course_id: course.id });
        await admin('POST', `/certificates/${body.data.id}/reissue`);
      };
    },
    raises: ['certificate.issued'],
  },
  {
    cause: 'a tag that is put on, twice',
    given: async (scene) => {
      const { id } = await scene.student();
      const path = `/students/${id}/tags/${await tag(scene)}`;
      return async () => {
        await scene.admin('PUT', path);
        await scene.admin('PUT', path);
      };
    },
    raises: ['student.tagged'],
  },
  {
    cause: 'a tag that is taken off',
    given: async (scene) => {
      const { id } = await scene.student();
      const path = `/students/${id}/tags/${await tag(scene)}`;
      await scene.admin('PUT', path);
      return () => scene.admin('DELETE', path);
    },
    raises: ['student.untagged'],
  },
  {
    cause: 'points by hand that reach two levels',
    given: async ({ admin, student }) => {
      const { id } = await student();
      await admin('POST', '/levels', { name: 'Deckhand', points: 100 });
      await admin('POST', '/levels', { name: 'Bosun', points: 500 });
      return () => admin('POST', `/students/${id}/points`, { id: newId(), points: 600 });
    },
    raises: ['student.level_reached', 'student.level_reached'],
  },
  {
    cause: 'a lesson whose points reach a level',
    given: async ({ admin, as, course, enrolled }) => {
      const { student } = await enrolled();
      await admin('POST', '/levels', { name: 'Deckhand', points: 10 });
      return () => as(student, 'PUT', completion(course, 0));
    },
    raises: ['lesson.completed', 'student.level_reached'],
    looks: (of) => expect(of('student.level_reached').level).to.include({ name: 'Deckhand', points: 10 }),
  },
];

async function signUp(clubId: Id, more: object = {}): Promise<void> {
  const body = { ...someone(), password: 'correct horse battery', ...more };
  expect((await call('POST', `/v1/clubs/${clubId}/classroom/sign-up`, { body })).status).to.equal(202);
}

async function link({ admin, deliveryId }: Scene): Promise<string> {
  const { body } = await admin('POST', '/registration-links', { name: 'Open day', delivery_ids: [deliveryId] });
  return body.data.code;
}

/** Uploads a file of students and waits until each row is done. */
async function importFile(club: ListeningClub, deliveryId: Id, csv: string): Promise<void> {
  const path = `/v1/clubs/${club.id}/student-imports`;
  const { token } = club.owner;
  const headers = { 'content-type': 'text/csv' };
  const uploaded = await call('POST', `${path}?delivery_ids=${deliveryId}`, { token, raw: csv, headers });
  expect(uploaded.status, uploaded.text).to.equal(202);
  await until('the end of the import', { timeoutMs: 15_000 }, async () => {
    const { body } = await call('GET', `${path}/${uploaded.body.data.id}`, { token });
    return body.data.status === 'completed';
  });
}

async function tag({ admin }: Scene): Promise<Id> {
  return (await admin('POST', '/tags', { name: 'vip' })).body.data.id;
}

const completion = ({ lessons }: TestCourse, index: number) =>
  `/classroom/lessons/${lessons[index]?.publicId}/completion`;

describe('the catalogue', function () {
  this.timeout(60_000);
  const engine = useEngine();
  let receiver: Awaited<ReturnType<typeof engine.receiver>>;
  before('a worker and a receiver', async () => {
    receiver = await engine.receiver();
    await engine.startWorker();
  });

  async function setScene(): Promise<Scene> {
    const club = await buildListeningClub(receiver);
    const course = await buildCourse(club.id, { modules: 1, lessons: 2, points: 10, certificateOnCompletion: true });
    const { id: deliveryId } = await buildDelivery(club.id, { courseId: course.id });
    const path = (rest: string) => `/v1/clubs/${club.id}${rest}`;
    const succeeded = (answer: Answer) => {
      expect(answer.status, answer.text).to.be.within(200, 204);
      return answer;
    };
    return {
      club,
      course,
      deliveryId,
      shop: await buildShop(club, deliveryId),
      admin: async (method, rest, body) =>
        succeeded(await call(method, path(rest), { token: club.owner.token, ...(body !== undefined && { body }) })),
      as: async (student, method, rest) => succeeded(await call(method, path(rest), { token: student.token })),
      student: () => buildStudent(club.id),
      async enrolled() {
        const student = await buildStudent(club.id);
        const { id } = await buildEnrollment(club.id, { studentId: student.id, deliveryId });
        return { student, enrollmentId: id };
      },
    };
  }

  for (const { cause, given, raises, looks } of rows) {
    it(`${cause}: ${raises.join(', ')}`, async () => {
      const scene = await setScene();
      const act = await given(scene);
      const events = await scene.club.eventsOf(act);
      expect(events.map(({ type }) => type).toSorted()).to.deep.equal([...raises].toSorted());
      looks?.((type) => events.find((event) => event.type === type)?.data);
    });
  }

  it('has a row for every type that an endpoint may ask for', () => {
    const raised = new Set(rows.flatMap(({ raises }) => raises));
    expect(eventTypes.filter((type) => !raised.has(type))).to.deep.equal([]);
  });
});
