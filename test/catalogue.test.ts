/**
 * Tests the event catalogue. The test triggers each cause in a table through the public API or a sales notice. Then it compares the exact
 * events that a real receiver gets. The library for receivers verifies each signature, and the contract checks each body (EVT-1 to EVT-20,
 * DEL-14).
 */
import { eventTypes } from '../platform/core/event-types.ts';
import { access } from './catalogue/access.ts';
import { accounts } from './catalogue/accounts.ts';
import type { CauseScene } from './catalogue/cause.ts';
import { learning } from './catalogue/learning.ts';
import { sales } from './catalogue/sales.ts';
import { buildAccessDelivery, buildEnrollment } from './toolkit/builders/access.ts';
import { buildStudent } from './toolkit/builders/clubs.ts';
import { buildCohort, buildCourse } from './toolkit/builders/courses.ts';
import { call, type Answer } from './toolkit/drive/api.ts';
import { openListeningClub } from './toolkit/drive/listening-club.ts';
import { connectShop } from './toolkit/drive/shop.ts';
import { useEngine } from './toolkit/stack/engine.ts';
import { expect } from 'chai';

const causes = [...accounts, ...sales, ...access, ...learning];

describe('the event catalogue', function () {
  this.timeout(60_000);
  const engine = useEngine();
  let receiver: Awaited<ReturnType<typeof engine.receiver>>;
  before('a worker and a receiver', async () => {
    receiver = await engine.receiver();
    await engine.startWorkerHere({ WORKER_TASK_QUEUES: 'webhooks,sales,imports' });
  });

  async function setScene(): Promise<CauseScene> {
    const club = await openListeningClub(receiver);
    const course = await buildCourse(club.id, { modules: 1, lessons: 2, points: 10, certificateOnCompletion: true });
    const { id: deliveryId } = await buildAccessDelivery(club.id, { courseId: course.id });
    const path = (rest: string) => `/v1/clubs/${club.id}${rest}`;
    const succeeded = (answer: Answer) => {
      expect(answer.status, answer.text).to.be.within(200, 204);
      return answer;
    };
    return {
      club,
      course,
      cohortId: (await buildCohort(club.id, course.id)).id,
      deliveryId,
      shop: await connectShop(club, deliveryId),
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

  for (const { cause, prepare, raises, looks } of causes) {
    it(`${cause} raises ${raises.join(', ')}`, async () => {
      const scene = await setScene();
      const act = await prepare(scene);
      const events = await scene.club.eventsOf(act);
      expect(events.map(({ type }) => type).toSorted()).to.deep.equal([...raises].toSorted());
      looks?.((type) => events.find((event) => event.type === type)?.data, scene);
    });
  }

  it('has a tested cause for every event type to which an endpoint can subscribe', () => {
    const raised = new Set(causes.flatMap(({ raises }) => raises));
    expect(eventTypes.filter((type) => !raised.has(type))).to.deep.equal([]);
  });
});
