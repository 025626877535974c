/** Builds a club with one record of every kind that a request can name, so that the first request of each operation can succeed. */
import { scopes as everyScope } from '../../../../contract/rules/scopes.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import { buildErasure } from '../../../toolkit/builders/erasures.ts';
import { noticeToken } from '../../../toolkit/builders/provider-keys.ts';
import { buildCohort, buildCourse, type TestCourse } from '../../../toolkit/builders/courses.ts';
import { buildAccessDelivery, buildEnrollment } from '../../../toolkit/builders/access.ts';
import { billingEvents } from '../../../toolkit/builders/billing-events.ts';
import { signatureOf } from '../../../toolkit/drive/billing.ts';
import { buildApiKey } from '../../../toolkit/builders/api-keys.ts';
import { buildClub, buildMember, buildStudent, type TestStudent } from '../../../toolkit/builders/clubs.ts';
import { buildIdentityJoin, buildIdentityProvider } from '../../../toolkit/builders/identity-providers.ts';
import { buildEndpoint, buildWebhookDelivery } from '../../../toolkit/builders/webhooks.ts';
import { buildSource } from '../../../toolkit/builders/sources.ts';
import { buildQuestion } from '../../../toolkit/builders/questions.ts';
import { endAnswer } from '../../../toolkit/drive/answers.ts';
import { buildMaterial, buildOpenAgent, type OpenAgent } from '../../../toolkit/builders/agents.ts';
import { runClubExport } from '../../../toolkit/drive/club-exports.ts';
import { runBulk } from '../../../toolkit/drive/bulk.ts';
import { runImport } from '../../../toolkit/drive/imports.ts';
import { buildMentorship, buildSession } from '../../../toolkit/builders/mentorships.ts';
import { buildMedia } from '../../../toolkit/builders/media.ts';
import { buildHostedFile, buildRepository } from '../../../toolkit/builders/repositories.ts';
import { alter } from '../../../toolkit/drive/alter.ts';
import { put, type Reserved } from '../../../toolkit/drive/media.ts';
import { buildSalesConnection, noticeOf, purchaseNotice } from '../../../toolkit/builders/sales.ts';
import { stepNotice, takeNotice } from '../../../toolkit/drive/sales.ts';
import { enrollByHand } from '../../../../domain/automations/entering/by-hand.ts';
import { updateAutomation } from '../../../../domain/automations/versions/drafts.ts';
import { publishAutomation } from '../../../../domain/automations/versions/publishing.ts';
import { certificateAddress } from '../../../../domain/erasures/certificate-address.ts';
import { previewToken } from '../../../../domain/campaigns/drafts/preview-tokens.ts';
import { linkToken, openingToken } from '../../../../domain/mail/tracking/tokens.ts';
import { unsubscribeToken } from '../../../../domain/mail/suppressions/unsubscribe-link.ts';
import { testDatabase, testDeps } from '../../../toolkit/stack/database.ts';
import type { ClubName, Entry } from '../requests/pool.ts';
import type { CallerName } from '../requests/step.ts';
import { buildKeyCaller, readScopes, type Caller } from './callers.ts';
import { Furnishing } from './furnishing.ts';
import type { FuzzGround } from './ground.ts';

export interface Scene {
  readonly clubId: Id;
  /** A text that occurs only in the records of this club. */
  readonly canary: string;
  readonly callers: Partial<Record<CallerName, Caller>>;
  readonly entries: readonly Entry[];
  readonly enroll: (studentId: Id) => Promise<void>;
}

const roles = ['admin', 'editor', 'support'] as const;

export async function buildScene(ground: FuzzGround, club: ClubName): Promise<Scene> {
  const canary = `canary${newId().slice(-12)}`;
  const { id: clubId, owner } = await buildClub();
  const scene = new Furnishing(ground, club, clubId, owner, canary);
  scene.name('club', clubId);
  scene.name('canary', canary);
  await subscribe(scene);
  scene.name('identity_join', await buildIdentityJoin(await buildIdentityProvider(clubId)));
  const { student, visitor, callers } = await addPeople(scene);
  const course = await addCourse(scene);
  const [row] = await (
    await testDatabase()
  ).query<{ slug: string }[]>(`SELECT slug FROM clubs WHERE id = $1`, [clubId]);
  scene.name('slug', row?.slug ?? '');
  const agent = await buildOpenAgent(clubId);
  const opened = await addAccess(scene, course, agent);
  await enroll(scene, student.id, opened);
  const revoked = await buildEnrollment(clubId, {
    studentId: visitor.id,
    deliveryId: opened[0],
    revoked: 'revocation',
  });
  scene.name('enrollment', revoked.id, 'revokedEnrollment');
  await addStanding(scene, student, course);
  await addAssignments(scene, student, course);
  await addMentorship(scene, student);
  await addCommunity(scene, student, visitor);
  await addAgent(scene, agent, student);
  await addSales(scene, opened[0]);
  await addFiles(scene);
  await addRepository(scene, student);
  await addWebhooks(scene, student);
  await addCampaign(scene, student);
  await addAutomation(scene, student);
  const enrollFurther = (studentId: Id) => enroll(scene, studentId, opened);
  return { clubId, canary, callers, entries: scene.entries, enroll: enrollFurther };
}

/** Puts the club on the plan with all features, by an event of the payment processor. */
async function subscribe({ ground: { call, stripe }, clubId }: Furnishing): Promise<void> {
  const customer = `cus_${clubId}`;
  stripe.paymentMethods.set(customer, 'pm_card');
  const about = { clubId, customer, subscription: `sub_${clubId}`, plan: 'professional', at: 1_780_000_000 };
  const raw = JSON.stringify(billingEvents.subscription('created', about));
  const { status } = await call('POST', '/webhooks/billing', {
    raw,
    headers: { 'stripe-signature': signatureOf(raw) },
  });
  if (status !== 202) throw new Error(`The billing notice that prepares the club returned ${status}`);
}

async function addPeople(scene: Furnishing) {
  const { clubId, canary, owner, club } = scene;
  const members = await Promise.all(roles.map((role) => buildMember(clubId, role)));
  const student = await buildStudent(clubId, { name: `Stella ${canary}`, email: `stella-${canary}@example.com` });
  const visitor = await buildStudent(clubId, { name: `Vera ${canary}`, email: `vera-${canary}@example.com` });
  for (const [name, { id, email }] of Object.entries({ student, visitor })) {
    scene.name('student', id, name);
    scene.name('student.email', email, `${name}.email`);
  }
  for (const [position, member] of members.entries()) {
    scene.name('administrator', member.id, roles[position]);
    scene.name('administrator.email', member.email, `${roles[position]}.email`);
  }
  const invited = await scene.make('POST', '/members', { email: `inge-${canary}@example.com`, role: 'editor' });
  scene.name('invitation', invited.text('invitation_id'));

  const asStudent = ({ token, id }: TestStudent): Caller => ({ token, id, kind: 'student', club });
  const asOwner: Caller = { token: owner.token, id: owner.id, kind: 'admin', club, role: 'owner' };
  const asMembers = members.map(({ token, id }, position) => {
    const role = roles[position] ?? 'support';
    return [role, { token, id, kind: 'admin', club, role }] as const;
  });
  const callers: Scene['callers'] =
    club === 'own'
      ? {
          ...Object.fromEntries(asMembers),
          owner: asOwner,
          student: asStudent(student),
          visitor: asStudent(visitor),
          key: await buildKeyCaller(clubId, club, everyScope),
          readerKey: await buildKeyCaller(clubId, club, readScopes),
        }
      : {
          otherOwner: asOwner,
          otherStudent: asStudent(student),
          otherKey: await buildKeyCaller(clubId, club, everyScope),
        };
  return { student, visitor, callers };
}

async function addCourse(scene: Furnishing): Promise<TestCourse> {
  const { clubId, canary } = scene;
  const course = await buildCourse(clubId, { title: `Knots ${canary}`, points: 5, certificateOnCompletion: true });
  scene.name('course', course.id);
  scene.name('course.public_id', course.publicId);
  for (const [position, moduleId] of course.moduleIds.entries())
    scene.name('module', moduleId, numbered('module', position));
  for (const [position, lesson] of course.lessons.entries()) {
    scene.name('lesson', lesson.id, numbered('lesson', position));
    scene.name('lesson.public_id', lesson.publicId, `${numbered('lesson', position)}.public_id`);
  }
  const cohort = await buildCohort(clubId, course.id, { name: `Spring ${canary}` });
  scene.name('cohort', cohort.id);
  return course;
}

const numbered = (kind: string, position: number) => (position === 0 ? kind : `${kind}${position + 1}`);

async function addAccess(scene: Furnishing, course: TestCourse, agent: OpenAgent): Promise<[Id, Id]> {
  const { clubId, canary } = scene;
  scene.name('agent', agent.id);
  scene.name('agent.public_id', agent.publicId);
  const delivery = await buildAccessDelivery(clubId, { courseId: course.id, name: `Opens knots ${canary}` });
  scene.name('delivery', delivery.id);
  scene.name('delivery', agent.deliveryId, 'agentDelivery');
  const link = await scene.make('POST', '/registration-links', {
    name: `Link ${canary}`,
    delivery_ids: [delivery.id],
  });
  scene.name('link', link.text('id'));
  scene.name('link.code', link.text('code'));
  return [delivery.id, agent.deliveryId];
}

async function enroll(scene: Furnishing, studentId: Id, deliveryIds: readonly Id[]): Promise<void> {
  const startsAt = new Date(Date.now() - 60_000);
  for (const [position, deliveryId] of deliveryIds.entries()) {
    const { id } = await buildEnrollment(scene.clubId, { studentId, deliveryId, startsAt });
    scene.name('enrollment', id, numbered('enrollment', position));
  }
}

async function addStanding(scene: Furnishing, student: TestStudent, course: TestCourse): Promise<void> {
  const { canary } = scene;
  const tag = await scene.make('POST', '/tags', { name: `Tag ${canary}` });
  scene.name('tag', tag.text('id'));
  await scene.make('PUT', `/students/${student.id}/tags/${tag.text('id')}`);
  const level = await scene.make('POST', '/levels', { name: `Level ${canary}`, points: 10 });
  scene.name('level', level.text('id'));
  const award = { id: newId(), points: 12, note: `Well done ${canary}` };
  await scene.make('POST', `/students/${student.id}/points`, award);
  const comments = `/classroom/lessons/${course.lessons[0]?.publicId ?? ''}/comments`;
  const comment = await scene.make('POST', comments, { body: `Nice ${canary}` }, { token: student.token });
  scene.name('comment', comment.text('id'));
  const certificate = await scene.make('POST', '/certificates', { student_id: student.id, course_id: course.id });
  scene.name('certificate', certificate.text('id'));
  scene.name('certificate.code', certificate.text('code'));
}

/** Adds an assignment without a submission, and an assignment whose submission waits for a review. */
async function addAssignments(scene: Furnishing, { token }: TestStudent, { lessons }: TestCourse): Promise<void> {
  const create = (label: string) =>
    scene.make('POST', `/lessons/${lessons[0]?.id ?? ''}/assignments`, {
      prompt: `Tie it, ${scene.canary}`,
      block_label: label,
      takes_text: true,
      max_files: 1,
    });
  scene.name('assignment', (await create('Bowline')).text('id'));
  const answeredId = (await create('Hitch')).text('id');
  scene.name('assignment', answeredId, 'answeredAssignment');
  const path = `/classroom/assignments/${answeredId}/submissions`;
  const submission = await scene.make('POST', path, { text: `Tied, ${scene.canary}` }, { token });
  scene.name('submission', submission.text('id'));
}

/** Adds a mentorship with hours all day, and a session that the student booked. */
async function addMentorship(scene: Furnishing, { id: studentId }: TestStudent): Promise<void> {
  const { id, publicId } = await buildMentorship(scene.clubId, { title: `Clinic ${scene.canary}`, maxUpcoming: 50 });
  scene.name('mentorship', id);
  scene.name('mentorship.public_id', publicId);
  const session = await buildSession(id, studentId, { startsAt: new Date(Date.now() + 90 * 86_400_000) });
  scene.name('session', session.id, 'session', { publicId: scene.template('mentorship.public_id') });
}

/** Adds a space with two students as members, who published posts with comments. One post is reported. */
async function addCommunity(scene: Furnishing, student: TestStudent, visitor: TestStudent): Promise<void> {
  const { canary } = scene;
  const space = (await scene.make('POST', '/community/spaces', { name: `Quay ${canary}` })).text('id');
  scene.name('space', space);
  const at = `/classroom/community/spaces/${space}`;
  for (const [number, { token }] of [student, student, visitor].entries()) {
    await scene.make('PUT', `${at}/membership`, undefined, { token });
    const post = await scene.make('POST', `${at}/posts`, { body: `Ahoy ${canary}` }, { token });
    const publicId = post.text('public_id');
    scene.name('post', post.text('id'), numbered('post', number));
    const publicIdName = `${numbered('post', number)}.public_id`;
    scene.name('post.public_id', publicId, publicIdName);
    const commenting = `/classroom/posts/${publicId}/comments`;
    const comment = await scene.make('POST', commenting, { body: `Aye ${canary}` }, { token });
    const ofPost = { publicId: scene.template(publicIdName) };
    scene.name('post_comment', comment.text('id'), numbered('post_comment', number), ofPost);
    if (number > 0) continue;
    const report = await scene.make('POST', `/classroom/posts/${publicId}/reports`, { reason: canary }, { token });
    scene.name('report', report.text('id'));
  }
}

/** Adds an uploaded file that waits for completion, a public file, a video, and a folder. */
async function addFiles(scene: Furnishing): Promise<void> {
  const announcedFile = { file_name: `${scene.canary}.txt`, mime: 'text/plain', size_bytes: 9 };
  const file = await scene.make('POST', '/media', announcedFile);
  await put(file.part('upload') as unknown as Reserved['upload'], Buffer.from('Ropes 1-2'));
  scene.name('media', file.text('id'));
  const { id } = await buildMedia(scene.clubId, { title: scene.canary, bytes: null, sizeBytes: 9 });
  await alter('media', id, { visibility: 'public', object_key: `public/${scene.clubId}/${id}` });
  scene.name('media', id, 'published');
  scene.name('public_media', id);
  const video = await buildMedia(scene.clubId, { title: scene.canary, video: true, bytes: null, sizeBytes: 9 });
  scene.name('video', video.id);
  const track = { content: `WEBVTT\n\n00:01.000 --> 00:02.000\n${scene.canary}\n` };
  for (const language of ['en', 'qaa']) await scene.make('PUT', `/media/${video.id}/tracks/${language}`, track);
  const folder = await scene.make('POST', '/media/folders', { name: scene.canary });
  scene.name('folder', folder.text('id'));
}

async function addRepository(scene: Furnishing, student: TestStudent): Promise<void> {
  const { clubId, canary } = scene;
  const file = await buildHostedFile(clubId, `cards-${canary}.txt`, `Cards ${canary}`);
  scene.name('media', file.id, 'hosted');
  const repository = await buildRepository(clubId, { title: `Cards ${canary}`, mediaIds: [file.id] });
  scene.name('repository', repository.id);
  scene.name('repository.public_id', repository.publicId);
  const delivery = await buildAccessDelivery(clubId, { repositoryId: repository.id, name: `Opens cards ${canary}` });
  scene.name('delivery', delivery.id, 'repositoryDelivery');
  const startsAt = new Date(Date.now() - 60_000);
  await buildEnrollment(clubId, { studentId: student.id, deliveryId: delivery.id, startsAt });
}

async function addAgent(scene: Furnishing, agent: OpenAgent, student: TestStudent): Promise<void> {
  const { clubId, canary } = scene;
  const passages = [`Tie the knot ${canary} well.`];
  const source = await buildSource(clubId, { title: `Handbook ${canary}`, passages });
  const mediaId = source.mediaId ?? '';
  await buildMaterial(agent.id, { mediaId });
  scene.name('media', mediaId, 'indexed');
  scene.name('source', source.id, 'source', { agentId: scene.template('agent') });
  const conversation = { clubId, agentId: agent.id, studentId: student.id, conversationId: newId() };
  await (
    await testDatabase()
  ).query(
    `INSERT INTO agent_conversations (id, club_id, agent_id, student_id, title, created_at, last_message_at)
     VALUES ($1, $2, $3, $4, $5, now(), now())`,
    [conversation.conversationId, clubId, agent.id, student.id, `About ${canary}`],
  );
  const { answerId } = await buildQuestion({ content: `Which knot, ${canary}?` }, conversation);
  await endAnswer(answerId, { text: `A bowline ${canary}.`, citations: [{ citedText: canary }], notified: false });
  const ofAgent = { agentId: scene.template('agent'), publicId: scene.template('agent.public_id') };
  scene.name('conversation', conversation.conversationId, 'conversation', ofAgent);
  scene.name('message', answerId, 'message', { conversationId: scene.template('conversation') });
}

async function addSales(scene: Furnishing, deliveryId: Id): Promise<void> {
  const { clubId, owner, canary } = scene;
  const externalId = `product-${canary}`;
  const product = { platform: 'generic', external_id: externalId, name: `Box ${canary}`, delivery_ids: [deliveryId] };
  const { text } = await scene.make('POST', '/products', product);
  scene.name('product', text('id'));
  scene.name('product.external_id', externalId);
  const apiKey = await buildApiKey(clubId, ['students:read', 'tags:write']);
  scene.name('key', apiKey.id);
  const connection = await buildSalesConnection(clubId);
  scene.name('connection', connection.id);
  scene.name('connection.token', connection.token, 'connection.token', { platform: 'generic' });
  const sold = { id: text('id'), externalId, deliveryIds: [deliveryId] };
  const shop = { club: { id: clubId, owner }, connection, product: sold, email: `buyer-${canary}@example.com` };
  const paid = purchaseNotice(shop, 'paid', { subscription: { id: `subscription-${canary}` } });
  const processed = await takeNotice(connection, paid);
  const failed = await takeNotice(connection, { ...noticeOf(shop, 'purchase.paid'), product: { id: 'unknown' } });
  for (const notice of [processed, failed]) await stepNotice(notice);
  scene.name('notice', failed);
  scene.name('notice', processed, 'processedNotice');
  const raw = `email,name\nrita-${canary}@example.com,Rita ${canary}\nnone,Nobody\n`;
  const imported = await scene.make('POST', '/student-imports', undefined, {
    raw,
    headers: { 'content-type': 'text/csv' },
  });
  scene.name('import', imported.text('id'));
  await runImport(imported.text('id'));
  const students = [{ email: `rita-${canary}@example.com` }, { email: `nobody-${canary}@example.com` }];
  const awarded = await scene.make('POST', '/points/bulk-award', { points: 5, note: `Praise ${canary}`, students });
  scene.name('bulk_job', awarded.text('id'));
  await runBulk(awarded.text('id'));
  const copy = await scene.make('POST', '/exports');
  scene.name('export', copy.text('id'));
  await runClubExport(copy.text('id'));
  await scene.make('POST', '/add-ons', { id: newId(), kind: 'students', quantity: 1 });
}

async function addCampaign(scene: Furnishing, student: TestStudent): Promise<void> {
  const { canary } = scene;
  await scene.make('PUT', '/mail/sender', { from_name: `Club ${canary}`, postal_address: 'Quay 1' });
  const content = { subject: `News ${canary}`, blocks: [{ kind: 'heading', text: 'Ahoy' }] };
  const campaign = await scene.make('POST', '/campaigns', { name: `News ${canary}`, content });
  scene.name('campaign', campaign.text('id'));
  const scheduled = await scene.make('POST', `/campaigns/${campaign.text('id')}/duplicate`);
  await scene.make('POST', `/campaigns/${scheduled.text('id')}/schedule`, { at: '2990-01-01T09:00' });
  scene.name('campaign', scheduled.text('id'), 'scheduledCampaign');
  await scene.make('PUT', '/mail/domain', { domain: `${canary}.example` });
  const suppression = await scene.make('POST', '/mail/suppressions', { email: `gone-${canary}@example.com` });
  scene.name('suppression', suppression.text('id'));
  const { vault } = await testDeps();
  scene.name('way_out', unsubscribeToken(vault, { kind: 'campaigns', studentId: student.id }));
  const sentCampaign = await scene.make('POST', `/campaigns/${campaign.text('id')}/duplicate`);
  const { mailId, linkId } = await addSentMail(scene.clubId, sentCampaign.text('id'), student);
  scene.name('mail_link', linkToken(vault, { linkId, mailId }));
  scene.name('mail_opening', openingToken(vault, mailId));
  scene.name('notice_token', noticeToken);
  scene.name('sent_mail', mailId);
  const expiresAt = new Date(Date.now() + 15 * 60_000);
  const { id: erasureId } = await buildErasure({ kind: 'student', clubId: scene.clubId });
  scene.name('erasure_token', certificateAddress(vault, '', erasureId).split('/').at(-1) ?? '');
  scene.name('mail_preview', previewToken(vault, { campaignId: campaign.text('id'), expiresAt }));
}

async function addSentMail(clubId: Id, campaignId: Id, { id: studentId, email }: TestStudent) {
  const source = await testDatabase();
  const [mailId, linkId, now] = [newId(), newId(), new Date()];
  await source.query(
    `UPDATE campaigns SET status = 'sent', recipients = 1, scheduled_at = $2, frozen_at = $2, ended_at = $2 WHERE id = $1`,
    [campaignId, now],
  );
  await source.query(
    `INSERT INTO mails (id, club_id, campaign_id, student_id, student_name, student_email, status, fence, sent_at, next_attempt_at, created_at)
     VALUES ($1, $2, $3, $4, 'Ada', $5, 'sent', 1, $6, $6, $6)`,
    [mailId, clubId, campaignId, studentId, email, now],
  );
  await source.query(
    `INSERT INTO mail_links (id, club_id, cause_id, position, url) VALUES ($1, $2, $3, 0, 'https://example.com')`,
    [linkId, clubId, campaignId],
  );
  return { mailId, linkId };
}

async function addAutomation(scene: Furnishing, student: TestStudent): Promise<void> {
  const { clubId, canary } = scene;
  const draftOf = (points: number) => ({
    trigger: { kind: 'manual' },
    reentry: 'always',
    exit_on_access_lost: false,
    steps: [{ id: 'points', kind: 'award_points', points }],
  });
  const deps = await testDeps();
  const create = async (name: string) => {
    const id = (await scene.make('POST', '/workflows', { name: `${name} ${canary}`, draft: draftOf(1) })).text('id');
    scene.name('workflow', id, name);
    return id;
  };
  const publish = (id: Id) => publishAutomation({ ...deps, images: undefined as never }, clubId, id, '*', new Date());
  const id = await create('workflow');
  await publish(id);
  await updateAutomation(deps, clubId, id, { draft: draftOf(2) as never }, '*', new Date());
  await create('draftWorkflow');
  const paused = await create('pausedWorkflow');
  await publish(paused);
  await scene.make('POST', `/workflows/${paused}/pause`);
  for (const name of ['run', 'failedRun']) {
    const cause = newId();
    await enrollByHand(deps, clubId, id, { id: cause, student_ids: [student.id] }, new Date());
    const [run] = await deps.db.source.query<{ id: Id }[]>(`SELECT id FROM automation_runs WHERE cause_id = $1`, [
      cause,
    ]);
    if (name === 'failedRun')
      await deps.db.source.query(
        `UPDATE automation_runs SET status = 'failed', error_code = 'fault', ended_at = now(), looks_at = NULL WHERE cause_id = $1`,
        [cause],
      );
    scene.name('run', run?.id ?? '', name, { workflowId: scene.template('workflow') });
  }
}

async function addWebhooks(scene: Furnishing, student: TestStudent): Promise<void> {
  const { clubId, canary } = scene;
  const endpoint = await buildEndpoint(clubId, `https://hooks.example.com/${canary}`);
  scene.name('endpoint', endpoint.id);
  const delivery = await buildWebhookDelivery({ clubId, studentId: student.id, endpoint });
  scene.name('webhook_delivery', delivery.id, 'webhook_delivery', { endpointId: scene.template('endpoint') });
}
