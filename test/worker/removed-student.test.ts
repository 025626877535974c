/** Tests that only ids and dates remain after the removal of a student, in every table, in Temporal, in the logs and in the buckets. */
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { retentionActivities } from '../../activities/retention.ts';
import { startFakeModel, type FakeModel, type Script } from '../../dev/fake-model/fake-model.ts';
import { recordEvents } from '../../domain/mail/notices/record-events.ts';
import { linkToken } from '../../domain/mail/tracking/tokens.ts';
import { unsubscribeToken } from '../../domain/mail/suppressions/unsubscribe-link.ts';
import { eventTypes } from '../../platform/core/event-types.ts';
import { newId } from '../../platform/core/ids.ts';
import { addressKeyOf } from '../../platform/infra/keys/address-keys.ts';
import { Database } from '../../platform/infra/postgres/database.ts';
import { createNotifier } from '../../platform/infra/postgres/notifications.ts';
import { emptyTables, keptOfClub, needlesIn, tracesInTables, type Needles } from '../toolkit/assert/traces.ts';
import { buildApiKey } from '../toolkit/builders/api-keys.ts';
import { buildOpenCourse } from '../toolkit/builders/access.ts';
import { buildMaterial, buildOpenAgent } from '../toolkit/builders/agents.ts';
import { buildClub, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildMentorship, buildSession } from '../toolkit/builders/mentorships.ts';
import { buildCohort } from '../toolkit/builders/courses.ts';
import { png } from '../toolkit/builders/pictures.ts';
import { mailedToken } from '../toolkit/builders/sessions.ts';
import { buildEndpoint } from '../toolkit/builders/webhooks.ts';
import { callAt, type Answer, type Call } from '../toolkit/drive/api.ts';
import { put } from '../toolkit/drive/media.ts';
import { until } from '../toolkit/drive/until.ts';
import { serveApp, type ServedApp } from '../toolkit/stack/app.ts';
import { testDatabase, testDeps } from '../toolkit/stack/database.ts';
import { useDeliveries } from '../toolkit/stack/receivers.ts';
import { testBucket, testObjectStore } from '../toolkit/stack/storage.ts';
import { useTemporal, useWorkerProcesses, type WorkerProcess } from '../toolkit/stack/worker.ts';

const second = 1_000;
const day = 86_400_000;

/** These tables need no row of this student or club. The value says what the table contains. */
const explained: Readonly<Record<string, string>> = {
  add_ons: 'has a club’s amounts and ids of the payment processor',
  billing_customers: 'has a club’s id of the payment processor',
  billing_events: 'has a club’s ids, codes and times of the payment processor',
  club_plans: 'has the name of a club’s plan',
  club_branding: 'has the colour, footer and links of a club',
  club_sign_in_rules: 'has requirements for administrators of a club',
  recovery_codes: 'belongs to an administrator, not to a student',
  second_factors: 'belongs to an administrator, not to a student',
  sign_in_challenges: 'belongs to an administrator, not to a student',
  club_exports:
    'has ids, counts and places of a club’s lists; the removal empties it (test/domain/exports/club-exports.test.ts)',
  club_mail_texts: 'has a club’s texts of mails, with variables in place of names',
  club_feature_changes: 'has the time of a club’s plan change',
  club_storage_changes: 'has changes of a club’s totals, which upkeep soon adds to the totals',
  club_student_changes: 'has changes of a club’s totals, which upkeep soon adds to the totals',
  spent_sign_ins: 'has random ids of sign-ins of administrators',
  overages: 'has months and numbers of a club',
  overage_charges: 'has amounts of a club',
  overage_turns: 'has the time at which a club’s month begins',
  administrator_identities: 'has data of administrators',
  identity_joins: 'has data of administrators',
  identity_providers: 'has the settings of a club’s identity provider',
  invitations: 'has data of administrators',
  passkeys: 'has names of devices and public keys; the removal deletes the rows (test/api/passkeys.test.ts)',
  spent_passkey_challenges: 'has hashes of random numbers',
  audit_entries: 'has ids and names of fields, and no values',
  webhook_listeners: 'has ids of keys and administrators',
  api_keys: 'has names and scopes of a club’s keys',
  club_mail_days: 'has counts of a club’s mails',
  club_bulk_days: 'has counts of a club’s mails',
  mail_domains: 'has domains of a club',
  mail_notice_receipts: 'has hashes of notices',
  report_mailboxes: 'has the progress in a mailbox of the installation',
  media_favorites: 'has data of administrators',
  media_folders: 'has names of a club’s folders',
  leftover_objects: 'has data of library files',
  phone_codes: 'has data of administrators',
  media_moves: 'has data of library files',
  media_renditions: 'has data of library files',
  media_tracks: 'has subtitles of library files',
  media_transcriptions: 'has data of library files',
  media_uses: 'has ids of library files and of the records that use them',
  test_mails: 'has data of administrators',
  repositories: 'has a club’s texts and ids of library files',
  repository_items: 'has ids of library files',
  community_spaces: 'has names and settings of a club',
  space_digests: 'has dates and counts of a club',
  course_completion_looks: 'has ids of courses, and the id of a student during a run',
  automation_course_looks: 'has ids of courses whose lessons changed',
  automation_course_watches: 'has ids of runs and courses',
  erasures: 'has ids, times and counts',
  failing_steps: 'has ids of rows whose last step failed, and a count',
  upkeep_rounds: 'has times of the sweeper’s rounds',
  releases: 'has versions and builds of the service',
  running_processes: 'has versions and builds of the service',
  schema_contractions: 'has versions of the service',
  idempotency_erasures: 'has counts of a club’s removals',
  student_import_addresses: 'has rows only during an import; removals.test.ts covers the table',
};

/** Only the key of the suppressed address may remain, so that an unsubscription also applies to a new account. */
const outlivesRemoval = 'mail_suppressions.address_key: key of the e-mail';

describe('the removal of a student', function () {
  this.timeout(60 * second);
  const startWorker = useWorkerProcesses();
  const temporal = useTemporal();
  const delivering = useDeliveries();

  const tag = newId().slice(-10);
  const needleOf = (what: string) => `${what}${tag}`;
  const name = `Rosalind ${needleOf('Quenby')}`;
  const formerEmail = `${needleOf('former')}@example.com`;
  const email = `${needleOf('rosalind')}@example.com`;
  const password = needleOf('ten green turtles ');
  let needles: Needles;
  let model: FakeModel;
  let served: ServedApp;
  let worker: WorkerProcess;
  let club: TestClub;
  let beforeRemoval: { tables: string[]; empty: string[]; runs: number; keys: string[] };
  let afterRemoval: {
    tables: string[];
    temporal: string;
    keys: string[];
    answersAboutStudents: { before: number; after: number };
    page: Answer;
    pages: Answer;
    preview: Answer;
  };

  before('create a student with every kind of record, and remove the student', async function () {
    this.timeout(180 * second);
    model = await startFakeModel();
    const deltas = [`I know ${name}. `, `Ask ${needleOf('answer')}.`];
    model.rule((): Script => ({ blocks: [{ deltas, citations: [{ result: 0, start: 0, end: 1 }] }] }));
    const source = await testDatabase();
    served = await serveApp({
      deps: (usual) => {
        const db = new Database(
          source,
          createNotifier(source, () => {}),
        );
        return { ...usual, deps: { ...usual.deps, db } };
      },
    });
    // The receiver quotes only data of this student in its answers.
    let studentId = 'not known yet';
    const receiver = await delivering().receiver(({ body }) => ({
      status: 200,
      body: body.includes(studentId) ? `stored ${name} <${email}>` : 'stored',
    }));
    club = await buildClub();
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
    await student('POST', `/lessons/${course.lessons[0]?.publicId}/comments`, { body: `I am ${needleOf('comment')}` });
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
    worker = await startWorker({ LOG_LEVEL: 'debug', ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: model.url });
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
      body: `I am ${needleOf('post')}`,
      file_ids: [forPost.body.data.id],
    });
    const comment = await student('POST', `/posts/${post.public_id}/comments`, { body: `And ${needleOf('reply')}` });
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
      text: `By ${needleOf('text')}`,
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
      agenda: `About ${needleOf('agenda')}`,
    });
    const past = await buildSession(mentorship.id, studentId, { startsAt: new Date(Date.now() - 7_200_000) });
    await student('PUT', `/mentorships/${mentorship.publicId}/sessions/${past.id}/rating`, {
      rating: 3,
      comment: `From ${needleOf('rating')}`,
    });
    await noteFilledTables();
    const question = { id: randomUUID(), content: `Who is ${needleOf('question')}? A bend?`, image_ids: [imageId] };
    await callAt(served.base, 'POST', `${at}/classroom/agents/${agent.publicId}/messages`, { token, body: question });
    await untilQuiet();
    const [conversation] = await student('GET', `/agents/${agent.publicId}/conversations`);
    await student('PATCH', `/conversations/${conversation.id}`, { title: needleOf('title') });
    await untilQuiet();

    const { retain } = retentionActivities({ db, vault, storage: await testObjectStore() });
    await db.source.query(`INSERT INTO code_failure_counts VALUES ($1, current_date, 3)`, [addressKeyOf(vault, email)]);
    await retain(Date.now()); // adds the tally changes to the tallies
    await noteFilledTables();

    const requestId = model.requests[0]?.id ?? '';
    expect(requestId, 'the id of a request to the model').to.have.length.above(5);
    needles = {
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
    const bucket = await testBucket();
    const keysOfClub = async () => (await bucket.everyVersion()).filter((key) => key.includes(club.id));
    beforeRemoval = {
      tables: await tracesInTables(needles),
      empty: [...empty].filter((table) => !(table in explained)),
      runs: (await keptOfClub(temporal(), club.id)).runs,
      keys: await keysOfClub(),
    };

    const countAnswers = async () => {
      const [answers] = await source.query<{ count: number }[]>(
        `SELECT count(*)::int FROM idempotency_keys WHERE is_about_student AND answer IS NOT NULL OR caller = $1`,
        [`student:${studentId}`],
      );
      return answers?.count ?? 0;
    };
    const answersBefore = await countAnswers();
    await admin('DELETE', `/students/${studentId}`);
    const answersAboutStudents = { before: answersBefore, after: await countAnswers() };
    await untilQuiet();
    for (const later of [0, 2 * day]) while ((await retain(Date.now() + later)).more);
    const codes = certificates.map(({ code }: { code: string }) => `/certificates/${code}`);
    afterRemoval = {
      tables: await tracesInTables(needles),
      temporal: (await keptOfClub(temporal(), club.id)).text,
      keys: await keysOfClub(),
      answersAboutStudents,
      page: await callAt(served.base, 'GET', codes[0], { headers: { accept: 'text/html' } }),
      pages: await callAt(served.base, 'GET', codes[1]),
      preview: await previewed(),
    };
  });
  after(async () => {
    await served.close();
    await model.stop();
  });

  it('is tested with a row in every table', () => {
    expect(
      beforeRemoval.empty,
      'tables without a row of the club: add a record here, or explain the table',
    ).to.deep.equal([]);
    const foundNeedles = new Set(beforeRemoval.tables.map((trace) => trace.split(': ')[1]));
    // The former address is stored encrypted, and is deleted after the mail to it was sent.
    expect(Object.keys(needles).filter((what) => !foundNeedles.has(what))).to.deep.equal(['former e-mail']);
    expect(beforeRemoval.tables).to.include.members([
      'mails.student_name: name',
      'mails.student_email: e-mail',
      'mails.address_key: key of the e-mail',
      outlivesRemoval,
    ]);
    expect(beforeRemoval.runs).to.be.above(20);
    expect(beforeRemoval.keys.map((key) => key.split('/')[0])).to.include.members(['media', 'certificates']);
  });

  it('leaves no text of the student in any column', () => {
    expect(afterRemoval.tables).to.deep.equal([outlivesRemoval]);
  });

  it('leaves no stored answer about the student', () => {
    expect(afterRemoval.answersAboutStudents.before).to.be.above(10);
    expect(afterRemoval.answersAboutStudents.after).to.equal(0);
  });

  it('leaves no text of the student in the lists, descriptions and histories of Temporal', () => {
    expect(needlesIn(afterRemoval.temporal, { ...needles, password })).to.deep.equal([]);
  });

  it('leaves no text of the student in the logs of the API and the worker', () => {
    expect(served.log.join('')).to.contain('/v1/clubs/{clubId}/students/{studentId}');
    expect(worker.log()).to.contain('the worker');
    expect(needlesIn(served.log.join(''), { ...needles, password }), 'API').to.deep.equal([]);
    expect(needlesIn(worker.log(), { ...needles, password }), 'worker').to.deep.equal([]);
  });

  it('leaves no file of the student in any bucket, in any version', () => {
    expect(afterRemoval.keys).to.deep.equal([]);
  });

  it('leaves no name in the preview of a mail to the student', () => {
    expect(afterRemoval.preview.status).to.equal(404);
    expect(needlesIn(afterRemoval.preview.text, needles)).to.deep.equal([]);
    expect(afterRemoval.preview.headers.get('cache-control')).to.equal('no-store');
  });

  it('leaves no name in the pages of the student’s certificates', () => {
    expect(afterRemoval.page.status).to.equal(200);
    expect(afterRemoval.page.text).to.contain('was withdrawn');
    expect(needlesIn(afterRemoval.page.text + afterRemoval.pages.text, needles)).to.deep.equal([]);
    expect(afterRemoval.page.headers.get('cache-control')).to.equal('no-store');
  });
});
