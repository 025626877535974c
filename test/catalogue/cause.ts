/** The type of a row in the catalogue's table, its test data, and operations that several rows share. */
import { expect } from 'chai';
import type { EventType } from '../../platform/core/event-types.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import type { TestStudent } from '../toolkit/builders/clubs.ts';
import type { TestCourse } from '../toolkit/builders/courses.ts';
import { call, type Answer } from '../toolkit/drive/api.ts';
import type { ArrivedEvent, ListeningClub } from '../toolkit/drive/listening-club.ts';
import type { PostingShop } from '../toolkit/drive/shop.ts';
import { until } from '../toolkit/drive/until.ts';

/** The test data of a cause: a club, a course, a delivery that opens the course, and a shop that sells the delivery. */
export interface CauseScene {
  club: ListeningClub;
  course: TestCourse;
  /** A cohort of the course that is not in the delivery. */
  cohortId: Id;
  deliveryId: Id;
  shop: PostingShop;
  /** Sends a request as the club's owner, which must succeed. */
  admin(method: string, path: string, body?: unknown): Promise<Answer>;
  /** Sends a request as a student. */
  as(student: TestStudent, method: string, path: string, body?: unknown): Promise<Answer>;
  /** A new student without access. */
  student(): Promise<TestStudent>;
  enrolled(): Promise<{ student: TestStudent; enrollmentId: Id }>;
}

export interface Cause {
  cause: string;
  /** Prepares the test data. The test ignores events of the preparation. @returns the act that is the cause */
  prepare: (scene: CauseScene) => Promise<() => Promise<unknown>>;
  /** The expected events, in any order. */
  raises: readonly EventType[];
  /** Checks the data of the events. */
  looks?: (of: (type: EventType) => ArrivedEvent['data'], scene: CauseScene) => void;
}

export const someone = () => ({ name: 'Stella Student', email: `${newId()}@example.com` });
const dayMs = 86_400_000;
export const inDays = (days: number) => new Date(Date.now() + days * dayMs).toISOString();

export async function signUp(clubId: Id, more: object = {}): Promise<void> {
  const body = { ...someone(), password: 'correct horse battery', ...more };
  expect((await call('POST', `/v1/clubs/${clubId}/classroom/sign-up`, { body })).status).to.equal(202);
}

export async function link({ admin, deliveryId }: CauseScene): Promise<string> {
  const { body } = await admin('POST', '/registration-links', { name: 'Open day', delivery_ids: [deliveryId] });
  return body.data.code;
}

/** Uploads a CSV of students and waits until each row is processed. */
export async function uploadStudents(club: ListeningClub, deliveryId: Id, csv: string): Promise<void> {
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

export async function tag({ admin }: CauseScene): Promise<Id> {
  return (await admin('POST', '/tags', { name: 'vip' })).body.data.id;
}

export const completion = ({ lessons }: TestCourse, index: number) =>
  `/classroom/lessons/${lessons[index]?.publicId}/completion`;
