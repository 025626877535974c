/** The load of a club that sells and teaches: strangers sign up, a shop sells, students complete lessons, and an endpoint gets events. */
import type { DataSource } from 'typeorm';
import { createOrganization } from '../../../domain/clubs/organizations.ts';
import { openSession } from '../../../domain/identity/sessions/sessions.ts';
import { createConnection } from '../../../domain/sales/platforms/connections.ts';
import { newSecret } from '../../../domain/webhooks/endpoints/secrets.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { Transaction, type Database } from '../../../platform/infra/postgres/database.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import { answered } from '../faults/media/client.ts';
import type { Receipts } from '../faults/receipts.ts';
import { receivedIn } from '../faults/mail/received.ts';
import { compareFacts, type FactTally } from './tally.ts';

interface School {
  clubId: Id;
  endpointId: Id;
  shop: string;
  /** The lessons that students complete, each lesson once. */
  lessons: { token: string; publicId: string; key: string }[];
}

type AcknowledgedActions = Record<'sales' | 'signUps' | 'lessons', string[]>;

interface SchoolLoad {
  acknowledged: AcknowledgedActions;
  sell(): Promise<void>;
  signUp(): Promise<void>;
  completeLesson(): Promise<void>;
  tally(log: string, receipts: Receipts): Promise<FactTally>;
}

const students = 40;

/** @param completions the minimum number of lessons that all students together can complete */
export async function openSchool(
  deps: { db: Database; vault: Vault },
  { api, completions, urlOf }: { api: () => string; completions: number; urlOf: (endpointId: Id) => string },
): Promise<SchoolLoad> {
  const { source } = deps.db;
  const school = await buildSchool(deps, Math.ceil(completions / students), urlOf);
  const acknowledged: AcknowledgedActions = { sales: [], signUps: [], lessons: [] };
  let number = 0;
  const post = async (path: string, body: object, method = 'POST', token?: string, accepted: number[] = []) => {
    const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) };
    const answer = await answered(`${api()}${path}`, { method, headers, body: JSON.stringify(body) }, accepted);
    await answer.arrayBuffer().catch(() => undefined);
  };
  return {
    acknowledged,
    async sell() {
      const id = `sale-${++number}`;
      // If an answer is lost, the shop repeats the call for the same sale.
      await post(school.shop, saleOf(id));
      acknowledged.sales.push(id);
    },
    async signUp() {
      const email = `new-${++number}@example.com`;
      const body = { name: 'New', email, password: 'correct horse battery' };
      // 409 means that the earlier call took effect, but its answer was lost.
      await post(`/v1/clubs/${school.clubId}/classroom/sign-up`, body, 'POST', undefined, [409]);
      acknowledged.signUps.push(email);
    },
    async completeLesson() {
      const next = school.lessons.pop();
      if (!next) return;
      await post(`/v1/clubs/${school.clubId}/classroom/lessons/${next.publicId}/completion`, {}, 'PUT', next.token);
      acknowledged.lessons.push(next.key);
    },
    tally: (log, receipts) => tallySchool(source, school, acknowledged, log, receipts),
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
  for (let studentNumber = 0; studentNumber < students; studentNumber++) {
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

/** Each action must have exactly one row, event, mail and delivery. */
async function tallySchool(
  source: DataSource,
  { clubId, endpointId }: School,
  acknowledged: AcknowledgedActions,
  log: string,
  receipts: Receipts,
): Promise<FactTally> {
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
  const mailedAddresses = new Set(receivedIn(log).map(({ to }) => to));
  const count = (type: string) => events.filter((event) => event.type === type).length;
  const tallies = [
    compareFacts('purchase', acknowledged.sales, purchases),
    compareFacts('lesson', acknowledged.lessons, progress),
    compareFacts('sign-up', acknowledged.signUps, people),
    compareFacts(
      'mail of a sign-up',
      acknowledged.signUps,
      acknowledged.signUps.filter((email) => mailedAddresses.has(email)),
    ),
    // The check can only count events, because retention removes the bodies that contain the keys.
    compareFacts('event of a purchase', purchases, purchases.slice(0, count('purchase.paid'))),
    compareFacts('event of a lesson', progress, progress.slice(0, count('lesson.completed'))),
    compareFacts(
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
    facts: acknowledged.sales.length + acknowledged.lessons.length + acknowledged.signUps.length,
    lostFacts: tallies.flatMap(({ lostFacts: lost }) => lost),
    twice: [...tallies.flatMap(({ twice }) => twice), ...tooMany],
  };
}
