import { expect } from 'chai';
import { buildEnrollment, buildAccessDelivery } from './access.ts';
import { factsOf, testDatabase } from '../stack/database.ts';
import { buildClub } from './clubs.ts';
import { buildCohort, buildCourse } from './courses.ts';

describe('test builders of courses and access', () => {
  it('insert rows of the club, and record no fact', async () => {
    const { id: clubId } = await buildClub();
    const course = await buildCourse(clubId, { modules: 2, lessons: 3 });
    const cohort = await buildCohort(clubId, course.id);
    const delivery = await buildAccessDelivery(clubId, { courseId: course.id, cohortId: cohort.id });
    const { id } = await buildEnrollment(clubId, { deliveryId: delivery.id, cohortId: cohort.id, revoked: 'refund' });
    const source = await testDatabase();
    const [found] = await source.query<object[]>(
      `SELECT enrollment.revoked_reason, count(lesson.id)::int AS lessons
         FROM enrollments enrollment JOIN access_deliveries delivery ON delivery.id = enrollment.delivery_id
         JOIN lessons lesson ON lesson.course_id = delivery.course_id AND lesson.published_at IS NOT NULL
        WHERE enrollment.id = $1 AND enrollment.club_id = $2 GROUP BY enrollment.id`,
      [id, clubId],
    );
    expect(found).to.deep.equal({ revoked_reason: 'refund', lessons: 6 });
    expect(course.lessons).to.have.length(6);
    expect(await factsOf(clubId)).to.deep.equal([]);
  });
});
