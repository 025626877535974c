/** A club that sells and teaches: strangers sign up, a shop sells, students complete lessons; its endpoint is told. */
import type { DataSource } from 'typeorm';
import { createOrganization } from '../../../domain/clubs/organizations.ts';
import { openSession } from '../../../domain/identity/sessions.ts';
import { createConnection } from '../../../domain/sales/platforms/connections.ts';
import { newSecret } from '../../../domain/webhooks/endpoints/secrets.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { Transaction, type Database } from '../../../platform/infra/postgres/database.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { answered } from '../faults/media/client.ts';
import type { Receipts } from '../faults/receipts.ts';
import { receivedIn } from '../faults/mail/received.ts';
import { holdFacts, type Held } from './tally.ts';

interface School {
  clubId: Id;
  endpointId: Id;
  /** Path of the shop's connection. */
  shop: string;
  /** What can be completed, each once. */
  lessons: { token: string; publicId: string; key: string }[];
}

/** What was acknowledged, a word each. */
type Done = Record<'sales' | 'signUps' | 'lessons', string[]>;

interface Teaching {
  done: Done;
  sell(): Promise<void>;
  signUp(): Promise<void>;
  completeLesson(): Promise<void>;
  tally(log: string, receipts: Receipts): Promise<Held>;
}

const students = 40;

/** @param api address of the API that is called @param completions so many lessons there are at least, over all students */
export async function openSchool(
  deps: { db: Database; vault: Vault },
  { api, completions, urlOf }: { api: () => string; completions: number; urlOf: (endpointId: Id) => string },
): Promise<Teaching> {
  const { source } = deps.db;
  const school = await buildSchool(deps, Math.ceil(completions / students), urlOf);
  const done: Done = { sales: [], signUps: [], lessons: [] };
  let number = 0;
  const post = async (path: string, body: object, method = 'POST', token?: string, accepted: number[] = []) => {
    const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
    const answer = await answered(`${api()}${path}`, { method, headers, body: JSON.stringify(body) }, accepted);
    await answer.arrayBuffer().catch(() => undefined);
  };
  return {
    done,
    async sell() {
      const id = `sale-${++number}`;
      // Sent again after a lost answer, it is the same sale.
      await post(school.shop, saleOf(id));
      done.sales.push(id);
    },
    async signUp() {
      const email = `new-${++number}@example.com`;
      const body = { name: 'New', email, password: 'correct horse battery' };
      // 409: it was done, and the answer lost.
      await post(`/v1/clubs/${school.clubId}/classroom/sign-up`, body, 'POST', undefined, [409]);
      done.signUps.push(email);
    },
    async completeLesson() {
      const next = school.lessons.pop();
      if (!next) return;
      await post(`/v1/clubs/${school.clubId}/classroom/lessons/${next.publicId}/completion`, {}, 'PUT', next.token);
      done.lessons.push(next.key);
    },
    tally: (log, receipts) => tallySchool(source, school, done, log, receipts),
  };
}

function saleOf(id: string): object {
  const now = new Date().toISOString();
  return {
    event: 'purchase.paid',
    occurred_at: now,
    product: { id: 'knots' },
    buyer: { email: `${id}@example.com`, name: 'Bea Buyer', document: '69526128664' },
    purchase: { id, amount: 4_900, currency: 'EUR', paid_at: now },
  };
}

async function buildSchool(
  { db, vault }: { db: Database; vault: Vault },
  lessonsEach: number,
  urlOf: (endpointId: Id) => string,
): Promise<School> {
  const now = new Date();
  const { source } = db;
  const [ownerId, courseId, moduleId, deliveryId, productId, endpointId] = [
    newId(),
    newId(),
    newId(),
    newId(),
    newId(),
    newId(),
  ];
  const clubId = await source.transaction(async (tx) => {
    await tx.query(
      `INSERT INTO administrators (id, name, email, verified_at, created_at) VALUES ($1, 'Owner', $2, $3, $3)`,
      [ownerId, `${ownerId}@example.com`, now],
    );
    const club = await createOrganization(new Transaction(tx), ownerId, { name: 'School', plan: 'professional' }, now);
    return club.organization_id;
  });
  await source.query(`INSERT INTO club_plans (club_id, plan, status) VALUES ($1, 'business', 'active')`, [clubId]);
  await source.query(
    `INSERT INTO courses (id, club_id, public_id, title, status, created_at, updated_at) VALUES ($1, $2, 'knots', 'Knots', 'published', $3, $3)`,
    [courseId, clubId, now],
  );
  await source.query(
    `INSERT INTO modules (id, club_id, course_id, title, position, created_at) VALUES ($1, $2, $3, 'On deck', 0, $4)`,
    [moduleId, clubId, courseId, now],
  );
  const lessonIds = Array.from({ length: lessonsEach }, newId);
  await source.query(
    `INSERT INTO lessons (id, club_id, course_id, module_id, public_id, title, content, position, created_at, updated_at, published_at)
     SELECT id, $2, $3, $4, 'lesson-' || place, 'Lesson', '# Knots', place, $5, $5, $5
       FROM unnest($1::uuid[]) WITH ORDINALITY AS one (id, place)`,
    [lessonIds, clubId, courseId, moduleId, now],
  );
  await source.query(
    `INSERT INTO access_deliveries (id, club_id, name, kind, course_id, created_at, updated_at) VALUES ($1, $2, 'Knots', 'course', $3, $4, $4)`,
    [deliveryId, clubId, courseId, now],
  );
  await source.query(
    `INSERT INTO products (id, club_id, platform, external_id, name, created_at, updated_at) VALUES ($1, $2, 'generic', 'knots', 'Knots', $3, $3)`,
    [productId, clubId, now],
  );
  await source.query(`INSERT INTO product_deliveries (product_id, delivery_id) VALUES ($1, $2)`, [
    productId,
    deliveryId,
  ]);
  await source.query(
    `INSERT INTO webhook_endpoints (id, club_id, url, event_types, secret, created_at, updated_at)
     VALUES ($1, $2, $3, '{purchase.paid,lesson.completed}', $4, $5, $5)`,
    [endpointId, clubId, urlOf(endpointId), vault.seal(newSecret(), endpointId), now],
  );
  const connection = await createConnection(
    { db, vault, publicUrl: '', classroomUrl: '' },
    clubId,
    { platform: 'generic', name: 'Shop' },
    now,
  );
  const lessons: School['lessons'] = [];
  for (let place = 0; place < students; place++) {
    const studentId = newId();
    await source.query(
      `INSERT INTO students (id, club_id, name, email, verified_at, created_at) VALUES ($1, $2, 'Student', $3, $4, $4)`,
      [studentId, clubId, `${studentId}@example.com`, now],
    );
    await source.query(
      `INSERT INTO enrollments (id, club_id, student_id, delivery_id, source, starts_at, created_at, updated_at)
       VALUES ($1, $2, $3, $4, 'grant', $5, $5, $5)`,
      [newId(), clubId, studentId, deliveryId, now],
    );
    const { token } = await source.transaction((tx) => openSession(new Transaction(tx), 'student', studentId, now));
    lessonIds.forEach((id, index) =>
      lessons.push({ token, publicId: `lesson-${index + 1}`, key: `${studentId} ${id}` }),
    );
  }
  return { clubId, endpointId, shop: connection.url, lessons };
}

/** Rows, events and what was received: each act has one of each. */
async function tallySchool(
  source: DataSource,
  { clubId, endpointId }: School,
  done: Done,
  log: string,
  receipts: Receipts,
): Promise<Held> {
  const keys = async (sql: string) => (await source.query<{ key: string }[]>(sql, [clubId])).map(({ key }) => key);
  const purchases = await keys(`SELECT external_id AS key FROM purchases WHERE club_id = $1`);
  const progress = await keys(`SELECT student_id || ' ' || lesson_id AS key FROM lesson_progress WHERE club_id = $1`);
  const people = await keys(`SELECT email AS key FROM students WHERE club_id = $1 AND email LIKE 'new-%'`);
  const events = await source.query<{ id: Id; type: string; succeeded: boolean }[]>(
    `SELECT event.id, event.type,
            EXISTS (SELECT FROM webhook_deliveries WHERE event_id = event.id AND status = 'succeeded') AS succeeded
       FROM webhook_events event WHERE club_id = $1 AND type IN ('purchase.paid', 'lesson.completed')`,
    [clubId],
  );
  const mailed = new Set(receivedIn(log).map(({ to }) => to));
  const count = (type: string) => events.filter((event) => event.type === type).length;
  const held = [
    holdFacts('purchase', done.sales, purchases),
    holdFacts('lesson', done.lessons, progress),
    holdFacts('sign-up', done.signUps, people),
    holdFacts(
      'mail of a sign-up',
      done.signUps,
      done.signUps.filter((email) => mailed.has(email)),
    ),
    // An event names what it is about in a body that retention removes: so they are counted.
    holdFacts('event of a purchase', purchases, purchases.slice(0, count('purchase.paid'))),
    holdFacts('event of a lesson', progress, progress.slice(0, count('lesson.completed'))),
    holdFacts(
      'delivery',
      events.map(({ id }) => id),
      events.filter(({ id, succeeded }) => succeeded && receipts.has(endpointId, id)).map(({ id }) => id),
    ),
  ];
  const tooMany = [
    ...Array.from({ length: Math.max(0, count('purchase.paid') - purchases.length) }, () => 'event of a purchase'),
    ...Array.from({ length: Math.max(0, count('lesson.completed') - progress.length) }, () => 'event of a lesson'),
  ];
  return {
    facts: done.sales.length + done.lessons.length + done.signUps.length,
    lost: held.flatMap(({ lost }) => lost),
    twice: [...held.flatMap(({ twice }) => twice), ...tooMany],
  };
}
