/**
 * The scenario of course completions: lessons are withdrawn and published again, while students complete lessons, lose access and get
 * access again.
 */
import { grantEnrollment, restoreEnrollment, revokeEnrollment } from '../../../../domain/access/enrollments/by-hand.ts';
import { completeLesson, undoCompletion } from '../../../../domain/learning/courses/completion.ts';
import { updateCourse } from '../../../../domain/learning/courses/courses.ts';
import { removeLesson, updateLesson } from '../../../../domain/learning/courses/lessons.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import type { Decisions } from '../decisions.ts';
import type { Simulation } from '../simulation.ts';
import { beginning, mustHold, type Command, type Stage } from '../stage.ts';
import { addClub, addStudents, searchForTraces, type Footing } from './ground.ts';
import { simulatedStore } from './store.ts';

const dayMs = 86_400_000;
const publicUrl = 'https://api.test';

interface Lesson {
  id: Id;
  publicId: string;
}

export async function courseCompletions(sim: Simulation, ground: Footing): Promise<Stage> {
  const { vault } = ground;
  const now = () => new Date(sim.time.now);
  const clubId = await addClub(sim, ground);
  const students = await addStudents(sim, ground, clubId, 4);
  const [idle] = students;
  const { storage } = simulatedStore(sim);
  const deps = { db: sim.db, vault, storage, publicUrl };
  const courseId = newId();
  const deliveryId = newId();
  const removed = new Set<Id>();
  const lessons = await addCourse();
  /** This lesson stays published, and the first student never completes it. */
  const [lasting, ...others] = lessons;
  for (const studentId of students)
    await grantEnrollment(deps, clubId, { student_id: studentId, delivery_id: deliveryId }, now());

  async function addCourse(): Promise<Lesson[]> {
    await sim.postgres.ask(
      `INSERT INTO courses (id, club_id, public_id, title, status, certificate_on_completion, created_at, updated_at, published_at)
       VALUES ($1, $2, 'knots', 'Knots', 'published', true, $3, $3, $3)`,
      [courseId, clubId, now()],
    );
    const moduleId = newId();
    await sim.postgres.ask(
      `INSERT INTO modules (id, club_id, course_id, title, position, created_at) VALUES ($1, $2, $3, 'One', 0, $4)`,
      [moduleId, clubId, courseId, now()],
    );
    await sim.postgres.ask(
      `INSERT INTO access_deliveries (id, club_id, name, kind, course_id, free, created_at, updated_at)
       VALUES ($1, $2, 'Knots', 'course', $3, false, $4, $4)`,
      [deliveryId, clubId, courseId, now()],
    );
    const newLessons = Array.from({ length: 3 }, (_, position) => ({ id: newId(), publicId: `knot-${position}` }));
    for (const [position, { id, publicId }] of newLessons.entries())
      await sim.postgres.ask(
        `INSERT INTO lessons (id, club_id, course_id, module_id, public_id, title, position, created_at, updated_at, published_at)
         VALUES ($1, $2, $3, $4, $5, 'Knot', $6, $7, $7, $7)`,
        [id, clubId, courseId, moduleId, publicId, position, now()],
      );
    return newLessons;
  }

  function learn(studentId: Id, decisions: Decisions): Command {
    const { publicId } = decisions.pick(studentId === idle ? others : lessons);
    const undoes = decisions.choose(5) === 4;
    return {
      label: `${studentId} ${undoes ? 'undoes' : 'completes'} ${publicId}`,
      async run() {
        const reader = { clubId, id: studentId };
        if (undoes) await undoCompletion(deps, reader, publicId, now());
        else await completeLesson(deps, reader, publicId, now());
      },
    };
  }

  function edit(decisions: Decisions): Command {
    const { id, publicId } = decisions.pick(others);
    const which = decisions.choose(8);
    if (which === 7) return { label: `remove ${publicId}`, run: () => removeLesson(deps, clubId, id, now()) };
    const published = which > 3;
    return {
      label: `${published ? 'publish' : 'withdraw'} ${publicId}`,
      run: async () => void (await updateLesson(deps, clubId, id, { published }, now())),
    };
  }

  function show(decisions: Decisions): Command {
    const status = decisions.pick(['published', 'draft'] as const);
    return {
      label: `the course becomes ${status}`,
      run: async () => void (await updateCourse(deps, clubId, courseId, { status }, now())),
    };
  }

  function moveAccess(studentId: Id, decisions: Decisions): Command {
    const which = decisions.choose(4);
    const startsAt = new Date(beginning + dayMs).toISOString();
    return {
      label: `access of ${studentId}: ${['revoked', 'restored', 'granted', 'granted from tomorrow'][which]}`,
      async run() {
        const from = which === 3 ? { starts_at: startsAt } : {};
        if (which >= 2)
          return void (await grantEnrollment(
            deps,
            clubId,
            { student_id: studentId, delivery_id: deliveryId, ...from },
            now(),
          ));
        const [latest] = await sim.postgres.ask<{ id: Id }>(
          'SELECT id FROM enrollments WHERE student_id = $1 ORDER BY id DESC LIMIT 1',
          [studentId],
        );
        if (!latest) return;
        if (which === 0) await revokeEnrollment(deps, clubId, latest.id, now());
        else await restoreEnrollment(deps, clubId, latest.id, now());
      },
    };
  }

  return {
    types: ['courseCompletion'],
    horizonMs: 3 * dayMs,
    depsFor: (db) => ({ completions: { db, publicUrl, failpoint: async () => {} } }),
    command(decisions) {
      const studentId = decisions.pick(students);
      const which = decisions.choose(16);
      if (which < 7) return learn(studentId, decisions);
      if (which < 11) return edit(decisions);
      if (which < 12) return show(decisions);
      if (which < 15) return moveAccess(studentId, decisions);
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
      const looks = await sim.postgres.ask('SELECT FROM course_completion_looks');
      mustHold(looks.length === 0, 'all work ends', () => 'the completion run of the course has not ended');
      const missing = await sim.postgres.ask<{ id: Id }>(
        `SELECT student.id FROM students student JOIN courses course ON course.id = $1 AND course.status = 'published'
          WHERE student.removed_at IS NULL
            AND EXISTS (SELECT FROM enrollments held WHERE held.student_id = student.id AND held.revoked_at IS NULL AND held.starts_at <= $2)
            AND NOT EXISTS (SELECT FROM lessons lesson WHERE lesson.course_id = course.id AND lesson.published_at IS NOT NULL
              AND NOT EXISTS (SELECT FROM lesson_progress progress
                               WHERE progress.student_id = student.id AND progress.lesson_id = lesson.id AND progress.completed))
            AND NOT EXISTS (SELECT FROM course_completions completion WHERE completion.student_id = student.id)`,
        [courseId, now()],
      );
      mustHold(
        missing.length === 0,
        'a student with all lessons completes the course',
        () => `student ${missing[0]?.id} has not`,
      );
      const alone = await sim.postgres.ask<{ id: Id }>(
        `SELECT coalesce(completion.student_id, certificate.student_id) AS id FROM course_completions completion
           FULL JOIN (SELECT student_id FROM certificates WHERE withdrawn_at IS NULL) AS certificate ON certificate.student_id = completion.student_id
          WHERE completion.student_id IS NULL OR certificate.student_id IS NULL`,
      );
      mustHold(
        alone.length === 0,
        'a completion has its certificate',
        () => `student ${alone[0]?.id} has only one of the two`,
      );
      const wrong = await sim.postgres.ask('SELECT FROM course_completions WHERE student_id = $1', [idle]);
      mustHold(
        wrong.length === 0,
        'no student completes a course without all lessons',
        () => `${idle} never did ${lasting?.publicId}`,
      );
      for (const id of removed) await searchForTraces(sim, id);
    },
  };
}
