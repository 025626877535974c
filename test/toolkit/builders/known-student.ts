/**
 * Builds a student with every kind of record by real requests, a real worker and a fake model. The tests of the removal and of the export of
 * a student use it.
 */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { retentionActivities } from '../../../activities/retention.ts';
import type { FakeModel, Script } from '../../../dev/fake-model/fake-model.ts';
import { recordEvents } from '../../../domain/mail/notices/record-events.ts';
import { linkToken } from '../../../domain/mail/tracking/tokens.ts';
import { unsubscribeToken } from '../../../domain/mail/suppressions/unsubscribe-link.ts';
import { eventTypes } from '../../../platform/core/event-types.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { addressKeyOf } from '../../../platform/infra/keys/address-keys.ts';
import { emptyTables, type Needles } from '../assert/traces.ts';
import { callAt, type Answer, type Call } from '../drive/api.ts';
import { put } from '../drive/media.ts';
import { until } from '../drive/until.ts';
import type { ServedApp } from '../stack/app.ts';
import { testDatabase, testDeps } from '../stack/database.ts';
import type { Delivering } from '../stack/receivers.ts';
import { testBucket, testObjectStore } from '../stack/storage.ts';
import type { useWorkerProcesses, WorkerProcess } from '../stack/worker.ts';
import { buildOpenCourse } from './access.ts';
import { buildMaterial, buildOpenAgent } from './agents.ts';
import { buildApiKey } from './api-keys.ts';
import { buildClub, type TestClub } from './clubs.ts';
import { buildCohort } from './courses.ts';
import { buildMentorship, buildSession } from './mentorships.ts';
import { png } from './pictures.ts';
import { mailedToken } from './sessions.ts';
import { buildEndpoint } from './webhooks.ts';

const second = 1_000;

// oxlint-disable-next-line typescript/no-explicit-any -- tests reach into answers whose shape the contract has just confirmed
type Send = (method: string, path: string, body?: unknown) => Promise<any>;

interface Scene {
  club: TestClub;
  studentId: Id;
  /** Sends a request of the owner under the club's path. */
  admin: Send;
  served: ServedApp;
  untilQuiet: () => Promise<unknown>;
  /** The student's post. */
  post: { id: Id; publicId: string };
}

interface Options {
  model: FakeModel;
  served: ServedApp;
  startWorker: ReturnType<typeof useWorkerProcesses>;
  delivering: Delivering;
  /** A text that no other row contains. */
  tag: string;
  givenName?: string;
  /** The end of each text that the student writes. */
  flourish?: string;
  /** Adds further records before the student is exported. */
  beforeExport?: (scene: Scene) => Promise<void>;
}

export interface KnownStudent extends Omit<Scene, 'post' | 'served'> {
  name: string;
  password: string;
  /** The texts about the student, by their kind. */
  needles: Needles;
  /** The tables without a row. */
  empty: ReadonlySet<string>;
  worker: WorkerProcess;
  retain: ReturnType<typeof retentionActivities>['retain'];
  /** Reads the page of a campaign's preview for the student. */
  previewed: () => Promise<Answer>;
  certificateCodes: readonly string[];
  exportId: Id;
}

export async function buildKnownStudent({
  model,
  served,
  startWorker,
  delivering,
  tag,
  givenName = 'Rosalind',
  flourish = '',
  beforeExport = async () => {},
}: Options): Promise<KnownStudent> {
  const needleOf = (what: string) => `${what}${tag}`;
  const name = `${givenName} ${needleOf('Quenby')}`;
  const formerEmail = `${needleOf('former')}@example.com`;
  const email = `${needleOf('rosalind')}@example.com`;
  const password = needleOf('ten green turtles ');
  const deltas = [`I know ${name}. `, `Ask ${needleOf('answer')}.`];
  model.rule((): Script => ({ blocks: [{ deltas, citations: [{ result: 0, start: 0, end: 1 }] }] }));
  const source = await testDatabase();
  // The receiver quotes only data of this student in its answers.
  let studentId = 'not known yet';
  const receiver = await delivering.receiver(({ body }) => ({
    status: 200,
    body: body.includes(studentId) ? `stored ${name} <${email}>` : 'stored',
  }));
  const club = await buildClub();
  await buildEndpoint(club.id, `${receiver.url}/hooks`, eventTypes);
  const { db, vault } = await testDeps();
  // oxlint-disable-next-line typescript/no-explicit-any -- tests reach into answers whose shape the contract has just confirmed
  const send = async (method: string, path: string, options: Call = {}, status?: number): Promise<any> => {
    // Every request with a session gets an idempotency key, so that the service stores all answers.
    const key = options.token !== undefined && ['POST', 'PATCH'].includes(method) && { 'idempotency-key': newId() };
    const answer = await callAt(served.base, method, path, { ...options, headers: { ...options.headers, ...key } });
    if (status !== undefined) expect(answer.status, `${method} ${path}: ${answer.text}`).to.equal(status);
    else expect(answer.status, `${method} ${path}: ${answer.text}`).to.be.below(300);
    return answer.body?.data ?? answer.body;
  };
  const at = `/v1/clubs/${club.id}`;
  const admin = (method: string, path: string, body?: unknown) =>
    send(method, at + path, { token: club.owner.token, ...(body !== undefined && { body }) });
  const empty = new Set(await emptyTables());
  const noteFilledTables = async () => {
    const now = new Set(await emptyTables());
    for (const table of empty) if (!now.has(table)) empty.delete(table);
  };

  // The account has a former address and mails of every kind.
  await send('POST', '/v1/auth/code', { body: { club_id: club.id, email: formerEmail } });
  const signUp = { name, email: formerEmail, password };
  await send('POST', `${at}/classroom/sign-up`, { body: signUp });
  await send('POST', `${at}/classroom/sign-up`, { body: signUp });
  const [row] = await source.query<{ id: string }[]>(`SELECT id FROM students WHERE club_id = $1`, [club.id]);
  studentId = row?.id ?? '';
  const verify = async () =>
    send('POST', '/v1/auth/verify-email', { body: { token: await mailedToken('student_verify_email', studentId) } });
  await verify();
  await admin('PATCH', `/students/${studentId}`, { email });
  const { token } = await verify();
  expect(token, 'a session').to.be.a('string');
  const student = (method: string, path: string, body?: unknown) =>
    send(method, `${at}/classroom${path}`, { token, ...(body !== undefined && { body }) });
  await send('POST', '/v1/auth/password-reset', { body: { club_id: club.id, email } });
  await send('POST', '/v1/auth/code', { body: { club_id: club.id, email } });
  const site = await buildApiKey(club.id, ['sessions:write']);
  const landing = { path: `/${needleOf('landing')}` };
  await send('POST', `${at}/students/${studentId}/session-links`, { token: site.token, body: landing });
  await noteFilledTables();

  // Completes two courses, and revokes one of the two certificates.
  const [course, other] = [
    await buildOpenCourse(club.id, { lessons: 1, points: 5, certificateOnCompletion: true }),
    await buildOpenCourse(club.id, { lessons: 1, certificateOnCompletion: true }),
  ];
  await buildCohort(club.id, course.id);
  const agent = await buildOpenAgent(club.id);
  await buildMaterial(agent.id, { courseId: course.id });
  await admin('PATCH', `/lessons/${course.lessons[0]?.id}`, { title: 'Bends', content: 'A bend joins two ropes.' });
  for (const deliveryId of [course.deliveryId, other.deliveryId, agent.deliveryId])
    await admin('POST', '/enrollments', { student_id: studentId, delivery_id: deliveryId });
  const level = await admin('POST', '/levels', { name: 'Bosun', points: 1 });
  const tagged = await admin('POST', '/tags', { name: 'vip' });
  await admin('PUT', `/students/${studentId}/tags/${tagged.id}`);
  const link = await admin('POST', '/registration-links', {
    code: `code-${tag}`,
    name: 'Open day',
    delivery_ids: [other.deliveryId],
  });
  await student('POST', `/registration-links/${link.code}/claim`);
  for (const { lessons } of [course, other]) await student('PUT', `/lessons/${lessons[0]?.publicId}/completion`);
  await student('POST', `/lessons/${course.lessons[0]?.publicId}/comments`, {
    body: `I am ${needleOf('comment')}${flourish}`,
  });
  await admin('POST', `/students/${studentId}/points`, { points: 2, note: 'helped' }).catch(() => undefined);
  const certificates = await admin('GET', `/certificates?student_id=${studentId}`);
  expect(certificates).to.have.length(2);
  const printed = await callAt(served.base, 'GET', `${at}/certificates/${certificates[0].id}/pdf`, {
    token: club.owner.token,
  });
  expect(printed.status).to.equal(200);
  await admin('POST', `/certificates/${certificates[1].id}/revoke`, { reason: `${needleOf('reason')} cheated` });
  await noteFilledTables();
  expect(level.id).to.be.a('string');

  // Creates a purchase, a subscription, and an unreadable sales notice.
  await admin('POST', '/products', {
    platform: 'generic',
    external_id: tag,
    name: 'Knots',
    delivery_ids: [course.deliveryId],
  });
  const connection = await admin('POST', '/sales-connections', { platform: 'generic', name: 'The shop' });
  const notice = (event: string, more: object) =>
    send('POST', new URL(connection.url).pathname, {
      body: {
        event,
        occurred_at: new Date().toISOString(),
        product: { id: tag },
        buyer: { email, name, tax_document: needleOf('tax') },
        ...more,
      },
    });
  const purchase = { purchase: { id: `p${tag}`, amount: 4_900, currency: 'EUR' } };
  await notice('purchase.paid', purchase);
  const subscription = { subscription: { id: `s${tag}` } };
  await notice('purchase.paid', { purchase: { ...purchase.purchase, id: `q${tag}` }, ...subscription });
  await notice('subscription.past_due', { subscription: { ...subscription.subscription, lateness: 'one' } });
  await notice('purchase.paid', { purchase: { id: 3 } });

  // An automation that tags the student, sends a mail and waits.
  await admin('PUT', '/mail/sender', { from_name: 'Knots', postal_address: 'Quay 1' });
  const automation = await admin('POST', '/workflows', {
    name: 'Welcome',
    draft: {
      trigger: { kind: 'manual' },
      reentry: 'once',
      exit_on_access_lost: false,
      steps: [
        { id: 'tag', kind: 'add_tag', tag_id: tagged.id },
        {
          id: 'mail',
          kind: 'send_email',
          email: {
            subject: `Hi {{student_name}}`,
            blocks: [{ kind: 'text', text: 'To {{student_email}}, {{student_name}}' }],
          },
        },
        { id: 'wait', kind: 'wait', wait: { kind: 'delay', amount: 90, unit: 'days' } },
      ],
    },
  });
  await send('POST', `${at}/workflows/${automation.id}/publish`, {
    token: club.owner.token,
    headers: { 'if-match': '*' },
  });
  await admin('POST', `/workflows/${automation.id}/runs`, { id: newId(), student_ids: [studentId] });

  // The file has the student's name in its name, and a column of unknown meaning.
  const fileName = encodeURIComponent(`${needleOf('file')}.csv`);
  await send('POST', `${at}/student-imports?file_name=${fileName}&invite=true`, {
    token: club.owner.token,
    raw: `email,name,${needleOf('column')}\n${email},${name},x\nsomebody.${tag}@example.com,Somebody,y\n`,
    headers: { 'content-type': 'text/csv' },
  });
  // The note could only be about the student.
  await admin('POST', '/points/bulk-award', { points: 5, note: needleOf('praise'), students: [{ email }] });
  await noteFilledTables();

  // The student follows a link of the campaign, and then unsubscribes.
  await admin('PUT', '/mail/sender', { from_name: 'Knots & Co', postal_address: 'Quay 1' });
  const heading = { kind: 'heading', text: 'Ahoy {{student_name}}, {{student_email}}' };
  const content = {
    subject: 'Hi {{student_first_name|you}}',
    blocks: [heading, { kind: 'button', text: 'Go', url: 'https://example.com' }],
  };
  const campaign = await admin('POST', '/campaigns', { name: 'Spring', content });
  const preview = await admin('GET', `/campaigns/${campaign.id}/preview?student_id=${studentId}`);
  const previewed = () =>
    callAt(served.base, 'GET', new URL(preview.page_url).pathname, { headers: { accept: 'text/html' } });
  expect((await previewed()).text).to.contain(needleOf('Quenby'));
  await admin('POST', `/campaigns/${campaign.id}/schedule`, {});

  // A worker runs from this point on.
  const worker = await startWorker({
    LOG_LEVEL: 'debug',
    ANTHROPIC_API_KEY: 'test',
    ANTHROPIC_BASE_URL: model.url,
  });
  const untilQuiet = () =>
    until('the end of all work', { timeoutMs: 60 * second }, async () => {
      await noteFilledTables();
      const [busy] = await source.query<{ busy: boolean }[]>(
        `SELECT EXISTS (SELECT FROM facts) OR EXISTS (SELECT FROM wakes)
             OR EXISTS (SELECT FROM webhook_deliveries WHERE status = 'pending')
             OR EXISTS (SELECT FROM transactional_mails WHERE status = 'pending')
             OR EXISTS (SELECT FROM automation_runs WHERE looks_at <= now())
             OR EXISTS (SELECT FROM mails WHERE status IN ('pending', 'sending'))
             OR EXISTS (SELECT FROM sales_notices WHERE status = 'pending')
             OR EXISTS (SELECT FROM campaigns WHERE looks_at IS NOT NULL)
             OR EXISTS (SELECT FROM agent_sources WHERE looks_at IS NOT NULL)
             OR EXISTS (SELECT FROM agent_answers WHERE status = 'generating')
             OR EXISTS (SELECT FROM media WHERE looks_at IS NOT NULL)
             OR EXISTS (SELECT FROM bulk_jobs WHERE looks_at IS NOT NULL)
             OR EXISTS (SELECT FROM student_exports WHERE looks_at IS NOT NULL)
             OR EXISTS (SELECT FROM student_imports WHERE looks_at IS NOT NULL) AS busy`,
      );
      return busy?.busy === false;
    });
  await untilQuiet();
  const [followed] = await source.query<{ linkId: string; mailId: string }[]>(
    `SELECT link.id AS "linkId", mail.id AS "mailId" FROM mail_links link JOIN mails mail ON mail.campaign_id = link.cause_id
      WHERE mail.student_id = $1 AND mail.status = 'sent'`,
    [studentId],
  );
  if (!followed) throw new Error('The campaign did not reach the student.');
  await send('GET', `/mail/links/${linkToken(vault, followed)}`, { headers: { 'user-agent': 'Firefox/145.0' } }, 302);
  await recordEvents(
    db,
    [{ kind: 'soft_bounced', at: new Date(), mailId: followed.mailId, providerId: undefined }],
    new Date(),
  );
  await noteFilledTables();
  const wayOut = unsubscribeToken(vault, { kind: 'campaigns', studentId });
  await send('POST', `${at}/classroom/mail/unsubscribe/${wayOut}`);
  const image = png();
  const reserving = { file_name: `${needleOf('image')}.png`, mime: 'image/png', size_bytes: image.length };
  const reserved = await callAt(served.base, 'POST', `${at}/classroom/agent-images`, { token, body: reserving });
  expect(reserved.status).to.equal(201);
  expect(await put(reserved.body.upload, image)).to.equal(200);
  const imageId: string = reserved.body.data.id;
  await send('POST', `${at}/media/${imageId}/complete`, { token });
  await untilQuiet();
  const portrait = { file_name: `${needleOf('portrait')}.png`, mime: 'image/png', size_bytes: image.length };
  const avatar = await callAt(served.base, 'POST', `${at}/classroom/avatar`, { token, body: portrait });
  expect(await put(avatar.body.upload, image)).to.equal(200);
  await send('POST', `${at}/media/${avatar.body.data.id}/complete`, { token });
  await untilQuiet();
  // Posts, comments, reactions, reports, and texts of moderators.
  const space = await admin('POST', '/community/spaces', { name: 'The Quay', auto_join: true });
  const spaces = `/community/spaces/${space.id}`;
  await student('PUT', `${spaces}/membership`);
  const pictured = { file_name: `${needleOf('picture')}.png`, mime: 'image/png', size_bytes: image.length };
  const forPost = await callAt(served.base, 'POST', `${at}/classroom/post-files`, { token, body: pictured });
  expect(await put(forPost.body.upload, image)).to.equal(200);
  await send('POST', `${at}/media/${forPost.body.data.id}/complete`, { token });
  await untilQuiet();
  const post = await student('POST', `${spaces}/posts`, {
    title: needleOf('posttitle'),
    body: `I am ${needleOf('post')}${flourish}`,
    file_ids: [forPost.body.data.id],
  });
  const comment = await student('POST', `/posts/${post.public_id}/comments`, {
    body: `And ${needleOf('reply')}${flourish}`,
  });
  await student('PUT', `/posts/${post.public_id}/reactions/like`);
  await student('POST', `/posts/${post.public_id}/reports`, { reason: needleOf('report') });
  await admin('POST', `/community/posts/${post.public_id}/comments/${comment.id}/moderations`, {
    action: 'hide',
    reason: `About ${needleOf('moderation')}`,
  });
  await noteFilledTables();
  // Submitted work, with a reviewer's comment about the student, and an extended due date.
  const assignmentInput = { prompt: 'Tie it.', max_files: 1, due_at: '2999-01-01T00:00:00Z' };
  const assignment = await admin('POST', `/lessons/${course.lessons[0]?.id}/assignments`, assignmentInput);
  await admin('PUT', `/assignments/${assignment.id}/extensions/${studentId}`, { due_at: '2999-02-01T00:00:00Z' });
  const work = { file_name: `${needleOf('work')}.png`, mime: 'image/png' };
  const unsent = { file_name: `${needleOf('work')}.mp4`, mime: 'video/mp4' }; // the upload would have several parts, but no part is sent
  await callAt(served.base, 'POST', `${at}/classroom/assignment-files`, { token, body: unsent });
  const handedIn = await callAt(served.base, 'POST', `${at}/classroom/assignment-files`, { token, body: work });
  expect(handedIn.status).to.equal(201);
  // This API process has no listener for uploads, so the test stores the file.
  await (await testBucket()).store(`media/${club.id}/${handedIn.body.data.id}`, png());
  await send('POST', `${at}/media/${handedIn.body.data.id}/complete`, { token });
  await untilQuiet();
  const submission = await student('POST', `/assignments/${assignment.id}/submissions`, {
    text: `By ${needleOf('text')}${flourish}`,
    file_ids: [handedIn.body.data.id],
  });
  await admin('POST', `/assignment-submissions/${submission.id}/reviews`, {
    attempt: 1,
    outcome: 'changes_requested',
    comment: `Dear ${needleOf('review')}`,
  });
  await noteFilledTables();
  // A future session with a mentor, and a past session with a rating.
  const mentorship = await buildMentorship(club.id, { maxUpcoming: 2, deliveryIds: [course.deliveryId] });
  const inAnHour = new Date(Math.ceil(Date.now() / 3_600_000) * 3_600_000 + 7_200_000).toISOString();
  await student('POST', `/mentorships/${mentorship.publicId}/bookings`, {
    starts_at: inAnHour,
    agenda: `About ${needleOf('agenda')}${flourish}`,
  });
  const past = await buildSession(mentorship.id, studentId, { startsAt: new Date(Date.now() - 7_200_000) });
  await student('PUT', `/mentorships/${mentorship.publicId}/sessions/${past.id}/rating`, {
    rating: 3,
    comment: `From ${needleOf('rating')}${flourish}`,
  });
  await noteFilledTables();
  const question = {
    id: randomUUID(),
    content: `Who is ${needleOf('question')}? A bend?${flourish}`,
    image_ids: [imageId],
  };
  await callAt(served.base, 'POST', `${at}/classroom/agents/${agent.publicId}/messages`, { token, body: question });
  await untilQuiet();
  const [conversation] = await student('GET', `/agents/${agent.publicId}/conversations`);
  await student('PATCH', `/conversations/${conversation.id}`, { title: needleOf('title') });
  await untilQuiet();

  const { retain } = retentionActivities({ db, vault, storage: await testObjectStore() });
  await db.source.query(`INSERT INTO code_failure_counts VALUES ($1, current_date, 3)`, [addressKeyOf(vault, email)]);
  await retain(Date.now()); // adds the tally changes to the tallies
  await noteFilledTables();

  await beforeExport({ club, studentId, admin, served, untilQuiet, post: { id: post.id, publicId: post.public_id } });
  // The export is the last record, so its file has all others.
  const { id: exportId } = await admin('POST', `/students/${studentId}/exports`);
  await untilQuiet();
  await noteFilledTables();

  const requestId = model.requests[0]?.id ?? '';
  expect(requestId, 'the id of a request to the model').to.have.length.above(5);
  const needles: Needles = {
    name: needleOf('Quenby'),
    'e-mail': email,
    'former e-mail': formerEmail,
    'key of the e-mail': addressKeyOf(vault, email),
    'key of the former e-mail': addressKeyOf(vault, formerEmail),
    comment: needleOf('comment'),
    'reason of a revocation': needleOf('reason'),
    'tax document': needleOf('tax'),
    'name of a file': needleOf('file'),
    'ignored column': needleOf('column'),
    'note of a bulk award': needleOf('praise'),
    'name of an image': needleOf('image'),
    'name of the own picture': needleOf('portrait'),
    'name of work': needleOf('work'),
    'text of work': needleOf('text'),
    review: needleOf('review'),
    agenda: needleOf('agenda'),
    rating: needleOf('rating'),
    post: needleOf('post'),
    'title of a post': needleOf('posttitle'),
    'comment on a post': needleOf('reply'),
    'file of a post': needleOf('picture'),
    report: needleOf('report'),
    moderation: needleOf('moderation'),
    question: needleOf('question'),
    answer: needleOf('answer'),
    title: needleOf('title'),
    'path of a session link': needleOf('landing'),
    'id of a request to the model': requestId,
  };
  return {
    club,
    studentId,
    admin,
    untilQuiet,
    name,
    password,
    needles,
    empty,
    worker,
    retain,
    previewed,
    certificateCodes: certificates.map(({ code }: { code: string }) => code),
    exportId,
  };
}
