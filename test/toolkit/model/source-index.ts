/**
 * A model of the sources that a club's agents use. The model knows which lessons and files must be in the index, and how often each text
 * has changed. Each act changes the model and the database.
 */
import * as fc from 'fast-check';
import { updateAgent } from '../../../domain/agents/setup/agents.ts';
import { agentStatuses, type AgentStatus } from '../../../entities/agents/values.ts';
import { languages, type Language } from '../../../entities/clubs/values.ts';
import { setMaterial } from '../../../domain/agents/setup/material.ts';
import { syncSources } from '../../../domain/knowledge/sources.ts';
import { updateClub } from '../../../domain/clubs/settings.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { updateCourse } from '../../../domain/learning/courses/courses.ts';
import { createLesson, removeLesson, updateLesson } from '../../../domain/learning/courses/lessons.ts';
import type { CourseStatus } from '../../../entities/learning/values.ts';
import { buildAgent, type TestAgent } from '../builders/agents.ts';
import { buildClub } from '../builders/clubs.ts';
import { buildCourse, type TestCourse } from '../builders/courses.ts';
import { buildMedia } from '../builders/media.ts';
import { testDeps } from '../stack/database.ts';

const either = fc.nat(1);
const word = fc.constantFrom('a', 'b');
const whichLesson = fc.nat(5);
const sometimes = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });

/** The acts of administrators, with their relative frequency. */
const kinds = {
  create: { weight: 2, details: fc.record({ course: either, published: fc.boolean() }) },
  write: {
    weight: 5,
    details: fc.record({
      lesson: whichLesson,
      title: sometimes(word),
      content: sometimes(word),
      published: sometimes(fc.boolean()),
      points: sometimes(fc.nat(1)),
    }),
  },
  remove: { weight: 1, details: fc.record({ lesson: whichLesson }) },
  course: {
    weight: 3,
    details: fc.record({
      course: either,
      title: sometimes(word),
      status: sometimes(fc.constantFrom<CourseStatus[]>('draft', 'published', 'published', 'archived')),
    }),
  },
  material: {
    weight: 5,
    details: fc.record({
      agent: either,
      courses: fc.uniqueArray(either),
      lessons: fc.uniqueArray(whichLesson, { maxLength: 3 }),
      files: fc.uniqueArray(either),
    }),
  },
  agent: { weight: 2, details: fc.record({ agent: either, status: fc.constantFrom(...agentStatuses) }) },
  file: {
    weight: 2,
    details: fc.record({
      file: either,
      title: sometimes(word),
      ready: sometimes(fc.boolean()),
      archived: sometimes(fc.boolean()),
    }),
  },
  language: { weight: 1, details: fc.record({ language: fc.constantFrom(...languages) }) },
};
type Kind = keyof typeof kinds;
type Details<K extends Kind> = (typeof kinds)[K]['details'] extends fc.Arbitrary<infer T> ? T : never;
export type Act = { [K in Kind]: { kind: K; details: Details<K> } }[Kind];

export const anyAct = fc.oneof(
  ...Object.entries(kinds).map(([kind, { weight, details }]) => ({
    weight,
    arbitrary: fc.record({ kind: fc.constant(kind), details: details as fc.Arbitrary<unknown> }),
  })),
) as fc.Arbitrary<Act>;

interface Lesson {
  id: Id;
  course: number;
  title: string;
  content: string;
  published: boolean;
  removed: boolean;
}

export class SourceIndexModel {
  readonly courses = [0, 1].map(() => ({ title: 'Knots', status: 'published' as CourseStatus }));
  readonly lessons: Lesson[] = [];
  readonly files: { id: Id; title: string; ready: boolean; archived: boolean }[];
  readonly agents = [0, 1].map(() => ({
    status: 'published' as AgentStatus,
    courses: [] as number[],
    lessons: [] as Id[],
    files: [] as Id[],
  }));
  language: Language = 'en';
  index = new Map<Id, { title: string; version: number }>();

  constructor({ files }: Pick<IndexedClub, 'files'>) {
    this.files = files.map(({ id }) => ({ id, title: 'a', ready: true, archived: false }));
  }

  /**
   * Updates the list of items that must be in the index. @param changed the items with a changed text @returns the items that must be read
   * now
   */
  settle(changed: readonly Id[]): Id[] {
    const before = this.index;
    this.index = new Map(
      this.#wanted().map(({ id, title }) => {
        const version = before.get(id)?.version ?? 0;
        return [id, { title, version: version === 0 || changed.includes(id) ? version + 1 : version }];
      }),
    );
    return [...this.index].filter(([id, { version }]) => before.get(id)?.version !== version).map(([id]) => id);
  }

  lessonAt(place: number): Lesson | undefined {
    return this.lessons.filter(({ removed }) => !removed)[place];
  }

  #wanted(): { id: Id; title: string }[] {
    const living = this.agents.filter(({ status }) => status !== 'archived');
    const lessons = this.lessons.filter(
      (lesson) =>
        lesson.published &&
        !lesson.removed &&
        this.courses[lesson.course]?.status === 'published' &&
        living.some((agent) => agent.lessons.includes(lesson.id) || agent.courses.includes(lesson.course)),
    );
    const files = this.files.filter(
      ({ id, ready, archived }) => ready && !archived && living.some((agent) => agent.files.includes(id)),
    );
    return [...lessons, ...files];
  }
}

/** A club with two courses of one module each, two agents and two files. The agents have no material yet. */
interface IndexedClub {
  clubId: Id;
  courses: [TestCourse, TestCourse];
  agents: [TestAgent, TestAgent];
  files: [{ id: Id }, { id: Id }];
}

export async function openIndexedClub(): Promise<IndexedClub> {
  const { id: clubId } = await buildClub();
  const course = () => buildCourse(clubId, { modules: 1, lessons: 0, title: 'Knots' });
  const file = () => buildMedia(clubId, { title: 'a' });
  return {
    clubId,
    courses: [await course(), await course()],
    agents: [await buildAgent(clubId), await buildAgent(clubId)],
    files: [await file(), await file()],
  };
}

/** Changes a file as the media library does: one transaction changes the row and the index. */
export async function changeFile(clubId: Id, id: Id, set: string, values: readonly unknown[] = []): Promise<void> {
  const { db } = await testDeps();
  await db.transaction(async (tx) => {
    await tx.manager.query(`UPDATE media SET ${set} WHERE id = $1`, [id, ...values]);
    await syncSources(tx, clubId, { mediaIds: [id] }, new Date());
  });
}

function at<T>(all: readonly T[], place: number): T {
  const one = all[place];
  if (one === undefined) throw new Error(`No item has the index ${place}.`);
  return one;
}

/** Omits undefined properties. */
const definedOnly = <T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never;

type Performances = { [K in Kind]: (act: Details<K>, club: IndexedClub, model: SourceIndexModel) => Promise<Id[]> };

const performances: Performances = {
  async create({ course, published }, { clubId, courses }, model) {
    const { db } = await testDeps();
    const content = { title: 'a', content: 'a', published };
    const { id } = await createLesson({ db }, clubId, at(courses, course).moduleIds[0] ?? '', content, new Date());
    model.lessons.push({ id, course, ...content, removed: false });
    return [];
  },
  async write({ lesson: place, ...changes }, { clubId }, model) {
    const lesson = model.lessonAt(place);
    if (!lesson) return [];
    const { db } = await testDeps();
    await updateLesson({ db }, clubId, lesson.id, definedOnly(changes), new Date());
    const { title, content } = lesson;
    Object.assign(lesson, definedOnly(changes));
    return title === lesson.title && content === lesson.content ? [] : [lesson.id];
  },
  async remove({ lesson: place }, { clubId }, model) {
    const lesson = model.lessonAt(place);
    if (!lesson) return [];
    const { db } = await testDeps();
    await removeLesson({ db }, clubId, lesson.id, new Date());
    lesson.removed = true;
    return [];
  },
  async course({ course: place, ...changes }, { clubId, courses }, model) {
    const course = at(model.courses, place);
    const { title } = course;
    Object.assign(course, definedOnly(changes));
    const { db } = await testDeps();
    await updateCourse({ db }, clubId, at(courses, place).id, { ...course }, new Date());
    return title === course.title ? [] : model.lessons.filter((one) => one.course === place).map(({ id }) => id);
  },
  async material({ agent: place, courses, lessons, files }, club, model) {
    const agent = at(model.agents, place);
    agent.courses = courses;
    agent.lessons = lessons.flatMap((lesson) => model.lessonAt(lesson)?.id ?? []);
    // An agent that already uses an archived file may continue to use it. No other record can begin to use the file (MED-14).
    agent.files = files
      .filter((file) => !at(model.files, file).archived || agent.files.includes(at(club.files, file).id))
      .map((file) => at(club.files, file).id);
    const material = {
      course_ids: courses.map((course) => at(club.courses, course).id),
      lesson_ids: agent.lessons,
      media_ids: agent.files,
    };
    const { db } = await testDeps();
    await setMaterial({ db }, club.clubId, at(club.agents, place).id, material, new Date());
    return [];
  },
  async agent({ agent, status }, { clubId, agents }, model) {
    const { db } = await testDeps();
    await updateAgent({ db }, clubId, at(agents, agent).id, { status }, new Date());
    at(model.agents, agent).status = status;
    return [];
  },
  async file({ file: place, ...changes }, { clubId }, model) {
    const file = at(model.files, place);
    const { title } = file;
    const { id, ready, archived } = Object.assign(file, definedOnly(changes));
    const values = [file.title, ready ? 'ready' : 'processing', archived];
    await changeFile(clubId, id, 'title = $2, status = $3, archived = $4', values);
    return title === file.title ? [] : [id];
  },
  async language({ language }, { clubId }, model) {
    const { db } = await testDeps();
    await updateClub({ db }, clubId, { language }, new Date());
    const hasChanged = language !== model.language;
    model.language = language;
    return hasChanged ? [...model.lessons, ...model.files].map(({ id }) => id) : [];
  },
};

/** @returns the lessons and files with a changed text */
export function perform<K extends Kind>(
  { kind, details }: { kind: K; details: Details<K> },
  club: IndexedClub,
  model: SourceIndexModel,
): Promise<Id[]> {
  return performances[kind](details, club, model);
}
