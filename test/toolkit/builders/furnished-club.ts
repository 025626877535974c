/**
 * Builds a club with one record of every kind that a request can name. The builder inserts only rows, and causes no facts, wakes or
 * e-mails.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import type { CallerKind, ContractOperation } from '../../../contract/contract.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import type { Provider } from '../../../domain/identity/providers/provider.ts';
import { unsubscribeToken } from '../../../domain/mail/suppressions/unsubscribe-link.ts';
import { testDatabase, testDeps } from '../stack/database.ts';
import { buildApiKey } from './api-keys.ts';
import { buildAccessDelivery, buildEnrollment } from './access.ts';
import { buildAgent } from './agents.ts';
import { buildAssignment, buildAssignmentFile, buildSubmission } from './assignments.ts';
import { buildPostFile, buildSpace, buildSpaceMembership } from './community.ts';
import { buildClub, buildMember, buildStudent, type TestClub, type TestStudent } from './clubs.ts';
import { buildCohort, buildCourse } from './courses.ts';
import { buildErasure } from './erasures.ts';
import { buildIdentityProvider } from './identity-providers.ts';
import { buildMedia } from './media.ts';
import { buildMentorship, buildSession } from './mentorships.ts';
import { buildRepository } from './repositories.ts';
import { buildProduct, buildSalesConnection } from './sales.ts';
import { buildEndpoint } from './webhooks.ts';

/** The values that identify the records of the club in requests: ids, public ids and a certificate code. */
export interface Records {
  member: Id;
  invitation: Id;
  student: Id;
  /** A student who was removed, and whose erasure is completed. */
  removedStudent: Id;
  tag: Id;
  level: Id;
  course: Id;
  coursePublicId: string;
  module: Id;
  lesson: Id;
  lessonPublicId: string;
  comment: Id;
  /** An assignment of the lesson. The student has a later due date, and has handed in nothing. */
  assignment: Id;
  /** The student's submission for an assignment that was deleted. Its first attempt waits for a review. */
  submission: Id;
  /** The student's file, which is ready and not handed in. */
  assignmentFile: Id;
  cohort: Id;
  /** A space for all students; the student is a member. */
  space: Id;
  post: Id;
  postPublicId: string;
  postComment: Id;
  ownersPostPublicId: string;
  ownersComment: Id;
  /** The student's file for a post. The file is ready, and no post uses it. */
  postFile: Id;
  report: Id;
  /** A free delivery. Another student has access to it, but this student does not. */
  delivery: Id;
  /** The student's enrollment in another delivery of the course. */
  enrollment: Id;
  certificate: Id;
  link: Id;
  linkCode: string;
  product: Id;
  connection: Id;
  /** A failed notice. */
  notice: Id;
  /** A running import without a workflow in Temporal. */
  import: Id;
  /** A running bulk job without a workflow in Temporal. */
  bulkJob: Id;
  /** A ready export of the club, whose archive is not stored. */
  clubExport: Id;
  /** An export of the student, which is ready and two days old. */
  export: Id;
  endpoint: Id;
  /** An active API key that no program uses. */
  apiKey: Id;
  webhookDelivery: Id;
  /** The event of the delivery, in the club's log. */
  event: Id;
  file: Id;
  /** A video of the library, with subtitles in Portuguese. */
  video: Id;
  /** A public image of the library. */
  logo: Id;
  /** An empty folder of the library. */
  folder: Id;
  image: Id;
  agent: Id;
  agentPublicId: string;
  source: Id;
  /** The student's conversation with the agent: one answered question. */
  conversation: Id;
  question: Id;
  answer: Id;
  addOn: Id;
  campaign: Id;
  /** An active automation; its trigger is `manual`. */
  automation: Id;
  automationVersion: Id;
  /** A published mentorship that is open to all students, with hours all day. */
  mentorship: Id;
  mentorshipPublicId: string;
  mentor: Id;
  /** The student's session, which takes place in 90 days. */
  mentorshipSession: Id;
  /** A repository with the file and with a file that is not yet processed. The student has access. */
  repository: Id;
  repositoryPublicId: string;
  /** The student's run of the automation, which failed at a step. */
  run: Id;
  suppression: string;
  /** The student's unsubscribe link of campaigns. */
  wayOut: string;
  /** An award of points that an administrator gave to the student. */
  award: Id;
}

/** Every furnished club has a student with this address. An address must be unique only within a club. */
const email = 'stella@example.com';

export interface FurnishedClub extends TestClub {
  student: TestStudent;
  /** An API key for the operations that no person may call. */
  program: { token: string };
  /** The club's identity provider. No member has an identity there. */
  provider: Provider;
  records: Records;
}

/** A club with one record of every kind. Its student has access to the course and the agent, and has used them. */
export async function buildFurnishedClub(): Promise<FurnishedClub> {
  const club = await buildClub();
  const student = await buildStudent(club.id, { email });
  const scene = { clubId: club.id, studentId: student.id, ownerId: club.owner.id, now: new Date() };
  const learning = await furnishLearning(scene);
  const [assignments, mentorships, community, people, sales, webhooks, agents, mail, automations] = await Promise.all([
    furnishAssignments(scene, learning.lesson),
    furnishMentorships(scene),
    furnishCommunity(scene),
    furnishPeople(scene),
    furnishSales(scene, learning.delivery),
    furnishWebhooks(scene),
    furnishAgents(scene),
    furnishMail(scene),
    furnishAutomations(scene),
  ]);
  const provider = await buildIdentityProvider(club.id);
  const apiKey = await buildApiKey(club.id, ['students:read'], { createdBy: club.owner.id });
  const program = await buildApiKey(club.id, ['sessions:write']);
  // A use within 5 minutes writes nothing, so the tests can compare all rows before and after a refused request.
  await (await testDatabase()).query(`UPDATE api_keys SET last_used_at = $2 WHERE id = $1`, [program.id, new Date()]);
  return {
    ...club,
    student,
    program,
    provider,
    records: {
      student: student.id,
      apiKey: apiKey.id,
      ...learning,
      ...assignments,
      ...mentorships,
      ...community,
      ...people,
      ...sales,
      ...webhooks,
      ...agents,
      ...mail,
      ...automations,
    },
  };
}

interface Scene {
  clubId: Id;
  studentId: Id;
  ownerId: Id;
  now: Date;
}

async function furnishLearning({ clubId, studentId, now }: Scene) {
  const course = await buildCourse(clubId, { modules: 1, lessons: 1 });
  const [module] = course.moduleIds;
  const [lesson] = course.lessons;
  if (module === undefined || lesson === undefined) throw new Error('The course has no lesson.');
  const cohort = await buildCohort(clubId, course.id);
  const [delivery, owned] = await Promise.all([
    buildAccessDelivery(clubId, { courseId: course.id, free: true }),
    buildAccessDelivery(clubId, { courseId: course.id }),
  ]);
  await buildEnrollment(clubId, { deliveryId: delivery.id });
  const startsAt = new Date(now.getTime() - 60_000);
  const enrollment = await buildEnrollment(clubId, { studentId, deliveryId: owned.id, startsAt });
  const comment = await insert('lesson_comments', {
    club_id: clubId,
    lesson_id: lesson.id,
    student_id: studentId,
    body: 'Which rope?',
    created_at: now,
  });
  const certificate = await insert('certificates', {
    club_id: clubId,
    student_id: studentId,
    course_id: course.id,
    code: randomBytes(6).toString('hex').toUpperCase(),
    student_name: 'Stella Student',
    student_email: email,
    course_title: course.title,
    club_name: 'Harbour Academy',
    lesson_count: 1,
    verify_url: 'https://harbour.example.com/certificates',
    issued_at: now,
  });
  return {
    course: course.id,
    coursePublicId: course.publicId,
    module,
    lesson: lesson.id,
    lessonPublicId: lesson.publicId,
    cohort: cohort.id,
    delivery: delivery.id,
    enrollment: enrollment.id,
    comment,
    certificate,
  };
}

async function furnishAssignments({ clubId, studentId, now }: Scene, lessonId: Id) {
  const inADay = new Date(now.getTime() + 86_400_000);
  const { id: assignment } = await buildAssignment({ clubId, id: lessonId }, { maxFiles: 3, dueAt: inADay });
  await insert('assignment_extensions', {
    id: undefined,
    assignment_id: assignment,
    student_id: studentId,
    due_at: new Date(inADay.getTime() + 86_400_000),
    created_at: now,
    updated_at: now,
  });
  const deleted = await buildAssignment({ clubId, id: lessonId }, { removedAt: now });
  const [{ id: submission }, assignmentFile] = await Promise.all([
    buildSubmission({ clubId, studentId, assignmentId: deleted.id }),
    buildAssignmentFile(clubId, studentId),
  ]);
  return { assignment, submission, assignmentFile };
}

async function furnishMentorships({ clubId, studentId, now }: Scene) {
  const { id, publicId, mentorId } = await buildMentorship(clubId);
  // Students cannot book the time of this session, because the mentorship offers no time so early.
  const session = await buildSession(id, studentId, { startsAt: new Date(now.getTime() + 20 * 86_400_000) });
  return { mentorship: id, mentorshipPublicId: publicId, mentor: mentorId, mentorshipSession: session.id };
}

async function furnishCommunity({ clubId, studentId, ownerId, now }: Scene) {
  const space = await buildSpace(clubId);
  await buildSpaceMembership(space, studentId);
  // Callers choose the ids of their messages. All clients send random ids.
  const write = async (author: object) => {
    const written = { club_id: clubId, ...author, body: 'Which knot?', created_at: now };
    const publicId = newId().slice(-12);
    const place = { space_id: space.id, public_id: publicId };
    const post = await insert('community_posts', { id: randomUUID(), ...written, ...place });
    const comment = await insert('community_comments', { id: randomUUID(), ...written, post_id: post });
    return { post, publicId, comment };
  };
  const [own, owners] = [await write({ student_id: studentId }), await write({ administrator_id: ownerId })];
  const reaction = { target_id: own.post, author_id: studentId, kind: 'like', club_id: clubId, created_at: now };
  await insert('community_reactions', { id: undefined, ...reaction });
  const about = { club_id: clubId, created_at: now };
  const report = await insert('community_reports', {
    ...about,
    post_id: owners.post,
    student_id: studentId,
    target_id: owners.post,
  });
  await insert('community_moderations', { ...about, post_id: own.post, action: 'pin' });
  return {
    space: space.id,
    post: own.post,
    postPublicId: own.publicId,
    postComment: own.comment,
    ownersPostPublicId: owners.publicId,
    ownersComment: owners.comment,
    postFile: await buildPostFile(clubId, studentId),
    report,
  };
}

async function furnishMail({ clubId, studentId, now }: Scene) {
  const suppressed = randomBytes(32);
  const source = await testDatabase();
  await source.query(
    `INSERT INTO mail_suppressions (club_id, address_key, reason, created_at) VALUES ($1, $2, 'manual', $3)`,
    [clubId, suppressed, now],
  );
  await source.query(
    `INSERT INTO mail_senders (club_id, from_name, postal_address, allowance_at, updated_at) VALUES ($1, 'Knots', 'Quay 1', $2, $2)`,
    [clubId, now],
  );
  const { vault } = await testDeps();
  const domain = newId();
  await insert('mail_domains', {
    id: domain,
    club_id: clubId,
    domain: 'knots.example',
    local_part: 'news',
    selector: 'k1',
    public_key: 'AAAA',
    sealed_private_key: vault.seal('a private key', domain),
    status_since: now,
    looks_at: now,
  });
  return {
    campaign: await insert('campaigns', {
      club_id: clubId,
      name: 'Spring',
      content: '{"subject":"Ahoy","blocks":[{"kind":"heading","text":"Ahoy"}]}',
      audience: '{"match":"all","rules":[]}',
      created_at: now,
      updated_at: now,
    }),
    suppression: suppressed.toString('hex'),
    wayOut: unsubscribeToken(vault, { kind: 'campaigns', studentId }),
  };
}

async function furnishAutomations({ clubId, studentId, now }: Scene) {
  const definition = {
    trigger: { kind: 'manual' },
    reentry: 'always',
    exit_on_access_lost: false,
    steps: [{ id: 'leave', kind: 'exit' }],
  };
  const [automation, version] = [newId(), newId()];
  await insert('automations', {
    id: automation,
    club_id: clubId,
    name: 'Welcome',
    status: 'active',
    draft: JSON.stringify({ ...definition, reentry: 'once' }),
    published_id: version,
    version_count: 1,
    trigger_kind: 'manual',
    created_at: now,
    updated_at: now,
  });
  await insert('automation_versions', {
    id: version,
    club_id: clubId,
    automation_id: automation,
    number: 1,
    trigger_kind: 'manual',
    definition: JSON.stringify(definition),
    compiled: '{}',
    published_at: now,
  });
  const run = await insert('automation_runs', {
    club_id: clubId,
    automation_id: automation,
    version_id: version,
    student_id: studentId,
    status: 'failed',
    error_code: 'fault',
    cause_id: newId(),
    reentry: 'always',
    cursor: 'leave',
    entered_at: now,
    ended_at: now,
  });
  return { automation, automationVersion: version, run };
}

async function furnishPeople({ clubId, ownerId, studentId, now }: Scene) {
  const member = await buildMember(clubId, 'editor');
  const invitation = await insert('invitations', {
    club_id: clubId,
    email: `${newId()}@example.com`,
    role: 'support',
    invited_by: member.id,
    invited_at: now,
    expires_at: new Date(now.getTime() + 86_400_000),
  });
  const tag = await insert('tags', { club_id: clubId, name: 'vip', folded_name: 'vip', created_at: now });
  const level = await insert('levels', { club_id: clubId, name: 'Bosun', points: 10, created_at: now });
  const award = newId();
  await insert('point_awards', {
    id: undefined,
    student_id: studentId,
    cause_kind: 'manual',
    cause_id: award,
    points: 5,
    created_at: now,
  });
  const students = await insert('student_imports', {
    club_id: clubId,
    status: 'running',
    delivery_ids: [],
    invite: false,
    format: '{}',
    ignored_columns: [],
    cursor: 0,
    next_row: 2,
    created_at: now,
  });
  const bulkJob = await insert('bulk_jobs', {
    club_id: clubId,
    action: JSON.stringify({ kind: 'tag', tagId: tag }),
    status: 'running',
    rows_total: 1,
    created_at: now,
  });
  const { id: removedStudent } = await buildStudent(clubId, { email: `${newId()}@example.com` });
  await (
    await testDatabase()
  ).query(
    `UPDATE students SET name = 'Removed student', email = NULL, email_key = NULL, removed_at = $2 WHERE id = $1`,
    [removedStudent, now],
  );
  await buildErasure({ kind: 'student', subjectId: removedStudent, clubId });
  const clubExport = await insert('club_exports', {
    club_id: clubId,
    requested_by: ownerId,
    status: 'ready',
    progress: JSON.stringify({ types: [] }),
    archive_bytes: 100,
    looks_at: new Date(now.getTime() + 7 * 86_400_000),
    created_at: new Date(now.getTime() - 2 * 86_400_000),
    started_at: now,
    ready_at: now,
    expires_at: new Date(now.getTime() + 7 * 86_400_000),
  });
  const studentExport = await insert('student_exports', {
    club_id: clubId,
    student_id: studentId,
    requested_by: 'administrator',
    requester_id: member.id,
    status: 'ready',
    file_fence: 1,
    size_bytes: 1_000,
    fence: 1,
    created_at: new Date(now.getTime() - 2 * 86_400_000),
    completed_at: new Date(now.getTime() - 2 * 86_400_000),
    expires_at: new Date(now.getTime() + 5 * 86_400_000),
  });
  return {
    clubExport,
    member: member.id,
    invitation,
    tag,
    level,
    award,
    import: students,
    bulkJob,
    removedStudent,
    export: studentExport,
  };
}

async function furnishSales({ clubId, studentId, now }: Scene, deliveryId: Id) {
  const linkCode = `code-${newId()}`;
  const link = await insert('registration_links', {
    club_id: clubId,
    code: linkCode,
    folded_code: linkCode,
    name: 'Open day',
    created_at: now,
    updated_at: now,
  });
  await insert('registration_link_deliveries', { id: undefined, link_id: link, delivery_id: deliveryId });
  const [connection, product] = await Promise.all([
    buildSalesConnection(clubId),
    buildProduct(clubId, { deliveries: 0 }),
  ]);
  await insert('product_deliveries', { id: undefined, product_id: product.id, delivery_id: deliveryId });
  const notice = await insert('sales_notices', {
    club_id: clubId,
    connection_id: connection.id,
    platform: connection.platform,
    status: 'failed',
    body: '{}',
    addresses: [email],
    student_id: null,
    next_attempt_at: now,
    received_at: now,
    processed_at: now,
  });
  const sold = {
    club_id: clubId,
    student_id: studentId,
    product_id: product.id,
    platform: 'generic',
    created_at: now,
    updated_at: now,
  };
  const terms = { amount: 4_900, currency: 'EUR', terms_rank: 0, terms_at: now, paid_at: now };
  await insert('subscriptions', { ...sold, external_id: newId() });
  await insert('purchases', { ...sold, ...terms, external_id: newId() });
  const addOn = await insert('add_ons', {
    club_id: clubId,
    kind: 'students',
    quantity: 1,
    adds: 100,
    amount: 1_000,
    currency: 'usd',
    status: 'active',
    customer_id: 'cus_1',
    payment_id: 'pay_1',
    created_at: now,
    settled_at: now,
    next_attempt_at: now,
  });
  return { link, linkCode, connection: connection.id, product: product.id, notice, addOn };
}

async function furnishWebhooks({ clubId, studentId, now }: Scene) {
  const { id: endpoint } = await buildEndpoint(clubId, 'https://93.184.216.34/hooks/club');
  const event = await insert('webhook_events', {
    club_id: clubId,
    type: 'student.updated',
    student_id: studentId,
    occurred_at: now,
    created_at: now,
  });
  await (await testDatabase()).query(`UPDATE clubs SET events_logged_since = $2 WHERE id = $1`, [clubId, now]);
  const body = { id: event, type: 'student.updated', occurred_at: now.toISOString(), club_id: clubId, data: {} };
  await insert('webhook_bodies', {
    id: undefined,
    event_id: event,
    created_at: now,
    body: JSON.stringify(body),
    club_id: clubId,
    student_id: studentId,
    type: body.type,
    position: 1,
  });
  const webhookDelivery = await insert('webhook_deliveries', {
    club_id: clubId,
    endpoint_id: endpoint,
    event_id: event,
    event_type: 'student.updated',
    student_id: studentId,
    status: 'succeeded',
    next_attempt_at: now,
    created_at: now,
    completed_at: now,
  });
  return { endpoint, webhookDelivery, event };
}

async function furnishAgents({ clubId, studentId, now }: Scene) {
  const [agent, { id: file }] = await Promise.all([buildAgent(clubId), buildMedia(clubId)]);
  const opening = await buildAccessDelivery(clubId, { agentId: agent.id });
  const startsAt = new Date(now.getTime() - 60_000);
  await buildEnrollment(clubId, { studentId, deliveryId: opening.id, startsAt });
  const timestamps = { club_id: clubId, created_at: now, updated_at: now };
  await insert('club_ai_months', { id: undefined, club_id: clubId, month: `${now.toISOString().slice(0, 7)}-01` });
  await insert('agent_materials', { agent_id: agent.id, media_id: file });
  const folder = await insert('media_folders', { ...timestamps, name: 'Handouts', folded_name: 'handouts' });
  await insert('media_uses', { id: undefined, media_id: file, kind: 'agent', place_id: agent.id });
  const { id: video } = await buildMedia(clubId, { video: true, title: 'Ropes in motion' });
  const objectKey = `media/${clubId}/${video}`;
  await (await testDatabase()).query(`UPDATE media SET object_key = $2 WHERE id = $1`, [video, objectKey]);
  await insert('media_tracks', {
    ...timestamps,
    id: undefined,
    media_id: video,
    language: 'pt-BR',
    label: 'Português',
    kind: 'subtitles',
    object_key: `${objectKey}-pt`,
    size_bytes: 60,
  });
  const { id: logo } = await buildMedia(clubId, { title: 'Logo.png' });
  await (
    await testDatabase()
  ).query(`UPDATE media SET kind = 'image', mime = 'image/png', visibility = 'public' WHERE id = $1`, [logo]);
  await insert('media_transcriptions', {
    id: video,
    club_id: clubId,
    language: 'en',
    error_code: 'no_speech',
    created_at: now,
  });
  const source = await insert('agent_sources', {
    ...timestamps,
    kind: 'media',
    media_id: file,
    title: 'Ropes',
    status: 'ready',
  });
  const image = await insert('media', {
    ...timestamps,
    purpose: 'agent_image',
    owner_id: studentId,
    kind: 'image',
    title: 'A knot',
    provider: 'objstore',
    status: 'ready',
    mime: 'image/png',
    size_bytes: 100,
    width: 10,
    height: 10,
    object_key: `media/${clubId}/image`,
  });
  const asker = { club_id: clubId, agent_id: agent.id, student_id: studentId };
  const conversation = await insert('agent_conversations', {
    ...asker,
    title: 'Knots',
    created_at: now,
    last_message_at: now,
  });
  const turn = { ...asker, conversation_id: conversation };
  // Clients choose the ids of their questions. All clients send random ids.
  const question = await insert('agent_questions', {
    id: randomUUID(),
    ...turn,
    content: 'Which knot?',
    asked_at: now,
  });
  const answer = await insert('agent_answers', {
    ...turn,
    question_id: question,
    status: 'complete',
    content: 'A bowline.',
    model: 'claude-sonnet-5-5',
    max_tokens: 1_024,
    looks_at: now,
    created_at: now,
    completed_at: now,
    log_folded_at: now,
  });
  const card = await buildMedia(clubId, { bytes: null, sizeBytes: 9 });
  const repository = await buildRepository(clubId, { mediaIds: [file, card.id] });
  const toRepository = await buildAccessDelivery(clubId, { repositoryId: repository.id });
  await buildEnrollment(clubId, { studentId, deliveryId: toRepository.id, startsAt });
  return {
    repository: repository.id,
    repositoryPublicId: repository.publicId,
    agent: agent.id,
    agentPublicId: agent.publicId,
    file,
    video,
    logo,
    folder,
    source,
    image,
    conversation,
    question,
    answer,
  };
}

/** Inserts a row with a new id, or with the given id. If the table has no ids, the caller passes `id: undefined`. @returns the id */
async function insert(table: string, columns: Record<string, unknown>): Promise<Id> {
  const id = newId();
  const row = Object.entries({ id, ...columns }).filter(([, value]) => value !== undefined);
  await (
    await testDatabase()
  ).query(
    `INSERT INTO ${table} (${row.map(([name]) => name).join(', ')}) VALUES (${row.map((_, index) => `$${index + 1}`).join(', ')})`,
    row.map(([, value]) => value),
  );
  return typeof columns['id'] === 'string' ? columns['id'] : id;
}

/** @returns the token of a caller whom the operation permits: the student, the owner, or the program if no role may call */
export function permittedToken(
  { roles }: Pick<ContractOperation, 'roles'>,
  kind: CallerKind,
  { student, owner, program }: Pick<FurnishedClub, 'student' | 'owner' | 'program'>,
): string {
  if (roles?.length === 0) return program.token;
  return (kind === 'student' ? student : owner).token;
}
