/**
 * Tests that only an id remains of an administrator who erased the account, in every table, in Temporal, in the logs and in the buckets. The
 * tables are found by the schema. So a new table that refers to administrators fails the test, until the scene has a row in it.
 */
import { expect } from 'chai';
import { retentionActivities } from '../../activities/retention.ts';
import { openJoin } from '../../domain/identity/providers/joins.ts';
import { requestPhoneCode } from '../../domain/identity/phones/codes.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { addressKeyOf } from '../../platform/infra/keys/address-keys.ts';
import { needlesIn, keptOfClub, tracesInTables, type Needles } from '../toolkit/assert/traces.ts';
import { buildSubmission, buildAssignment } from '../toolkit/builders/assignments.ts';
import { buildClub, buildMember, buildStudent, password, type TestClub } from '../toolkit/builders/clubs.ts';
import { buildSpace, buildSpaceMembership } from '../toolkit/builders/community.ts';
import { buildCourse } from '../toolkit/builders/courses.ts';
import { buildIdentityProvider } from '../toolkit/builders/identity-providers.ts';
import { buildMedia } from '../toolkit/builders/media.ts';
import { buildMentorship, buildSession } from '../toolkit/builders/mentorships.ts';
import { someNumber } from '../toolkit/builders/phone-codes.ts';
import { png } from '../toolkit/builders/pictures.ts';
import { buildSecondFactor } from '../toolkit/builders/second-factors.ts';
import { callAt, type Call } from '../toolkit/drive/api.ts';
import { until } from '../toolkit/drive/until.ts';
import { serveApp, type ServedApp } from '../toolkit/stack/app.ts';
import { testDatabase, testDeps } from '../toolkit/stack/database.ts';
import { testBucket, testObjectStore } from '../toolkit/stack/storage.ts';
import { useTemporal, useWorkerProcesses, type WorkerProcess } from '../toolkit/stack/worker.ts';

const second = 1_000;
const day = 86_400_000;
const removedName = 'Removed administrator';

/** Columns that keep the id of the erased administrator, and why. */
const keepsId: Readonly<Record<string, string>> = {
  'administrators.id': 'the row stays, so that the columns below refer to a row',
  'api_keys.created_by': 'the keys belong to the club, and keep working',
  'assignment_reviews.reviewer_id': 'the review stays for the student',
  'audit_entries.actor_id': 'the log of a club keeps ids for 400 days',
  'audit_entries.records': 'the log of a club keeps ids for 400 days',
  'community_comments.administrator_id': 'the comment stays',
  'community_moderations.administrator_id': 'the act stays',
  'community_posts.administrator_id': 'the post stays',
  'community_reactions.author_id': 'the reaction stays in the counts, without a name',
  'club_exports.requested_by': 'the record of an export stays for 90 days',
  'erasures.requested_by': 'the record of the erasure',
  'erasures.subject_id': 'the record of the erasure',
  'mentorship_sessions.mentor_id': 'the past and canceled sessions of students stay',
  'mentorships.mentor_id': 'the archived mentorship stays, because sessions refer to it',
  'phone_codes.administrator_id': 'the row counts against the limit of the deployment',
  'test_mails.administrator_id': 'the copy was sent or canceled. The row stays for 30 days',
  'transactional_mails.administrator_id': 'the row has no address any more, and counts as sent or canceled',
};

/** Columns with names that may refer to a person. Foreign keys to other tables than administrators are left out. */
const personalNames =
  /(^|_)(administrator|mentor|reviewer|author|actor|member|user|person|caller|owner|moderator|inviter)_id$|_by$/;

/** @returns `table.column` of every foreign key to administrators, and of every other uuid column with such a name */
async function referencesToAdministrators(): Promise<string[]> {
  const source = await testDatabase();
  const rows = await source.query<{ place: string; column: string; target: string | null }[]>(`
    SELECT columns.table_name || '.' || columns.column_name AS place, columns.column_name AS column, keys.target
      FROM information_schema.columns columns
      LEFT JOIN LATERAL (
        SELECT constraints.confrelid::regclass::text AS target
          FROM pg_constraint constraints
          JOIN pg_attribute attributes ON attributes.attrelid = constraints.conrelid AND attributes.attnum = ANY (constraints.conkey)
         WHERE constraints.contype = 'f' AND constraints.conrelid = format('%I', columns.table_name)::regclass
           AND attributes.attname = columns.column_name LIMIT 1) keys ON true
     WHERE columns.table_schema = 'public' AND columns.data_type = 'uuid'
       AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = format('%I', columns.table_name)::regclass)`);
  return rows
    .filter(({ column, target }) => target === 'administrators' || (target === null && personalNames.test(column)))
    .map(({ place }) => place)
    .toSorted();
}

/** @returns every row that contains the id, as text, by table */
async function rowsWith(id: Id): Promise<Record<string, string[]>> {
  const source = await testDatabase();
  const found: Record<string, string[]> = {};
  for (const { tableName } of source.entityMetadatas) {
    const rows = await source.query<{ row: string }[]>(
      `SELECT to_jsonb(self)::text AS row FROM ${tableName} self WHERE to_jsonb(self)::text LIKE '%' || $1 || '%' ORDER BY 1`,
      [id],
    );
    if (rows.length > 0) found[tableName] = rows.map(({ row }) => row);
  }
  return found;
}

describe('the erasure of an administrator', function () {
  this.timeout(60 * second);
  const startWorker = useWorkerProcesses();
  const temporal = useTemporal();

  const tag = newId().slice(-10);
  const needleOf = (what: string) => `${what}${tag}`;
  const email = `${needleOf('rosalind')}@example.com`;
  const phone = someNumber();
  const userAgent = `Mozilla/5.0 ${needleOf('agent')}`;
  let needles: Needles;
  let served: ServedApp;
  let worker: WorkerProcess;
  let club: TestClub;
  let me: { id: Id; token: string };
  let beforeErasure: { texts: string[]; ids: string[]; keys: string[]; others: Record<string, string[]> };
  let afterErasure: {
    texts: string[];
    ids: string[];
    keys: string[];
    others: Record<string, string[]>;
    temporal: string;
  };
  let written: { space: Id; post: string; comment: Id; submission: Id; mentorship: string; coming: Id; past: Id };
  let student: { id: Id; token: string };

  // oxlint-disable-next-line typescript/no-explicit-any -- tests reach into answers whose shape the contract has just confirmed
  const send = async (method: string, path: string, options: Call = {}): Promise<any> => {
    const key = options.token !== undefined && ['POST', 'PATCH'].includes(method) && { 'idempotency-key': newId() };
    const headers = { 'user-agent': userAgent, ...options.headers, ...key };
    const answer = await callAt(served.base, method, path, { ...options, headers });
    expect(answer.status, `${method} ${path}: ${answer.text}`).to.be.below(300);
    return answer.body?.data ?? answer.body;
  };
  const asOwner = (method: string, path: string, body?: unknown) =>
    send(method, `/v1/clubs/${club.id}${path}`, { token: club.owner.token, ...(body !== undefined && { body }) });

  before('create an administrator with a row in every table, and erase the account', async function () {
    this.timeout(180 * second);
    const source = await testDatabase();
    const { db, vault } = await testDeps();
    const run = (text: string, ...values: unknown[]) => source.query(text, values);
    served = await serveApp({});
    club = await buildClub();
    const [secondClub, invitingClub] = [await buildClub(), await buildClub()];
    student = await buildStudent(club.id);
    const other = await buildMember(club.id, 'admin');
    const { id } = await buildMember(club.id, 'owner');
    await run(
      `UPDATE administrators SET name = $2, email = $3, phone = $4, phone_verified_at = now(), language = 'de' WHERE id = $1`,
      id,
      needleOf('Quenby'),
      email,
      phone,
    );
    await run(`INSERT INTO memberships VALUES ($1, $2, 'support', now())`, secondClub.id, id);

    // Signs in, so that a challenge, a session and a mail about the new device exist.
    const { token } = await send('POST', '/v1/auth/admin/sign-in', { body: { email, password } });
    me = { id, token };
    const own = (method: string, path: string, body?: unknown, at = `/v1/clubs/${club.id}`) =>
      send(method, at + path, { token, ...(body !== undefined && { body }) });
    const octets = { 'content-type': 'application/octet-stream' };
    await send('PUT', '/v1/me/avatar', { token, raw: png(32, 32), headers: octets });
    await own('PATCH', '/me', { name: needleOf('Quenby') }, '/v1');
    await run(`UPDATE administrators SET verified_at = now() - interval '1 day' WHERE id = $1`, id);
    await send('POST', '/v1/auth/admin/sign-in', { body: { email, password } });
    await buildSecondFactor(id);
    const challenged = await callAt(served.base, 'POST', '/v1/auth/admin/sign-in', { body: { email, password } });
    expect(challenged.body.error.code).to.equal('second_factor_required');
    await run(
      `UPDATE administrator_sessions SET proved_at = now(), second_factor_at = now() WHERE administrator_id = $1`,
      id,
    );
    const passkey = newId();
    await run(
      `INSERT INTO second_factors (id, administrator_id, kind, name, created_at, confirmed_at) VALUES ($1, $2, 'passkey', $3, now(), now())`,
      passkey,
      id,
      needleOf('laptop'),
    );
    await run(
      `INSERT INTO passkeys (id, factor_id, credential_id, public_key, counter, transports, is_synced, created_at) VALUES ($1, $2, $3, 'key', 0, '{}', false, now())`,
      newId(),
      passkey,
      Buffer.from(needleOf('credential')),
    );
    const provider = await buildIdentityProvider(club.id);
    await run(
      `INSERT INTO administrator_identities (id, administrator_id, provider_id, club_provider_id, subject, email, created_at, last_used_at)
       VALUES ($1, $2, $3, $3, $4, $5, now(), now())`,
      newId(),
      id,
      provider.id,
      needleOf('subject'),
      email,
    );
    const claims = {
      issuer: provider.issuer,
      subject: newId(),
      email,
      isEmailVerified: true,
      name: needleOf('Quenby'),
    };
    await db.transaction((tx) => openJoin(tx, provider, claims, new Date()));
    await requestPhoneCode({ db, vault, phoneCodes: { isConfigured: true, perDay: 1_000_000 } }, id, new Date());
    await send('POST', '/v1/auth/admin/password-reset', { body: { email } });

    // Works in the club: files, keys, invitations, a test mail, a post, a comment, a moderation, a review, a mentorship.
    const file = await buildMedia(club.id);
    await own('PATCH', `/media/${file.id}`, { favorite: true });
    await run(
      `INSERT INTO club_exports (id, club_id, requested_by, status, progress, created_at) VALUES ($1, $2, $3, 'failed', '{}', now())`,
      newId(),
      club.id,
      id,
    );
    await run(
      `INSERT INTO webhook_listeners (id, club_id, administrator_id, stream_id, created_at, heartbeat_at) VALUES ($1, $2, $3, $1, now(), now())`,
      newId(),
      club.id,
      id,
    );
    await own('POST', '/api-keys', { name: 'CRM', scopes: ['students:read'] });
    await own('POST', '/members', { email: `${newId()}@example.com`, role: 'editor' });
    await send('POST', `/v1/clubs/${invitingClub.id}/members`, {
      token: invitingClub.owner.token,
      body: { email, role: 'editor' },
    });
    await asOwner('PUT', '/mail/sender', { from_name: 'Knots & Co', postal_address: 'Quay 1' });
    const blocks = [{ kind: 'heading', text: 'Ahoy' }];
    const campaign = await own('POST', '/campaigns', { name: 'Spring', content: { subject: 'Hi', blocks } });
    await own('POST', `/campaigns/${campaign.id}/test-mails`, { administrator_id: id });
    const space = await buildSpace(club.id);
    await buildSpaceMembership(space, student.id);
    const post = await own('POST', `/classroom/community/spaces/${space.id}/posts`, {
      title: 'Bends',
      body: 'A bend joins two.',
    });
    await own('PUT', `/classroom/posts/${post.public_id}/reactions/like`);
    const comment = await own('POST', `/classroom/posts/${post.public_id}/comments`, { body: 'And hitches.' });
    await own('POST', `/community/posts/${post.public_id}/moderations`, { action: 'lock', reason: 'Done.' });
    const course = await buildCourse(club.id);
    const assignment = await buildAssignment({ clubId: club.id, id: course.lessons[0]?.id ?? '' });
    const submission = await buildSubmission({ clubId: club.id, studentId: student.id, assignmentId: assignment.id });
    await own('POST', `/assignment-submissions/${submission.id}/reviews`, {
      attempt: 1,
      outcome: 'changes_requested',
      comment: 'Once more.',
    });
    const mentorship = await buildMentorship(club.id, { mentorId: id });
    const at = (hours: number) => new Date(Date.now() + hours * 3_600_000);
    const coming = await buildSession(mentorship.id, student.id, { startsAt: at(50) });
    const past = await buildSession(mentorship.id, student.id, { startsAt: at(-5) });
    written = {
      space: space.id,
      post: post.public_id,
      comment: comment.id,
      submission: submission.id,
      mentorship: mentorship.id,
      coming: coming.id,
      past: past.id,
    };

    worker = await startWorker({ LOG_LEVEL: 'debug' });
    const untilQuiet = () =>
      until('the end of all work', { timeoutMs: 60 * second }, async () => {
        const [busy] = await source.query<{ busy: boolean }[]>(
          `SELECT EXISTS (SELECT FROM facts) OR EXISTS (SELECT FROM wakes)
               OR EXISTS (SELECT FROM transactional_mails WHERE status = 'pending')
               OR EXISTS (SELECT FROM test_mails WHERE status = 'pending') AS busy`,
        );
        return busy?.busy === false;
      });
    await untilQuiet();

    // Labels and networks are the same for all test requests, so these rows get their own ones.
    const network = `10.${tag.slice(0, 6)}.0/24`;
    for (const table of ['administrator_sessions', 'transactional_mails'])
      await run(
        `UPDATE ${table} SET device = $2, network = $3 WHERE administrator_id = $1`,
        id,
        needleOf('Firefox'),
        network,
      );
    await run(`UPDATE sign_in_challenges SET network = $2 WHERE administrator_id = $1`, id, network);
    needles = {
      name: needleOf('Quenby'),
      'e-mail': email,
      'key of the e-mail': addressKeyOf(vault, email),
      phone,
      'name of a device': needleOf('laptop'),
      'credential of a passkey': needleOf('credential'),
      'subject at the provider': needleOf('subject'),
      device: needleOf('Firefox'),
      network,
    };
    const bucket = await testBucket();
    const keysOf = async () => (await bucket.everyVersion()).filter((key) => key.includes(id));
    const traces = async () => ({
      texts: await tracesInTables(needles),
      ids: (await tracesInTables({ id })).map((trace) => trace.split(': ')[0] ?? ''),
      keys: await keysOf(),
    });
    const others = async () => {
      const rows = await rowsWith(other.id);
      delete rows['idempotency_keys']; // they may name the erased administrator, so the answers are emptied
      return rows;
    };
    beforeErasure = { ...(await traces()), others: await others() };

    await own('POST', '/me/erasure', { email }, '/v1');
    await untilQuiet();
    const { retain } = retentionActivities({ db, vault, storage: await testObjectStore() });
    for (const later of [0, second, day]) while ((await retain(Date.now() + later)).more);
    afterErasure = {
      ...(await traces()),
      others: await others(),
      temporal: (await keptOfClub(temporal(), club.id)).text,
    };
  });
  after(() => served.close());

  it('is tested with a row in every table that refers to administrators', async () => {
    const references = await referencesToAdministrators();
    expect(references).to.include.members([
      'memberships.administrator_id',
      'mentorships.mentor_id',
      'invitations.invited_by',
    ]);
    const missing = references.filter((place) => !beforeErasure.ids.includes(place));
    expect(missing, 'columns without the administrator: add a row to the scene, or explain the column').to.deep.equal([
      'erasures.requested_by', // the erasure itself writes the row
    ]);
    const foundNeedles = new Set(beforeErasure.texts.map((trace) => trace.split(': ')[1]));
    expect(Object.keys(needles).filter((what) => !foundNeedles.has(what))).to.deep.equal([]);
    expect(beforeErasure.keys).to.have.length(1);
  });

  it('leaves no text of the administrator in any column', () => {
    expect(afterErasure.texts).to.deep.equal([]);
  });

  it('leaves the id only in columns that must keep it', () => {
    expect(afterErasure.ids.filter((place) => !(place in keepsId))).to.deep.equal([]);
    expect(Object.keys(keepsId).filter((place) => !afterErasure.ids.includes(place))).to.deep.equal([]);
  });

  it('leaves no object of the administrator in any bucket, in any version', () => {
    const marker = `administrator-${me.id}`;
    expect(afterErasure.keys.filter((key) => !key.endsWith(marker))).to.deep.equal([]);
  });

  it('leaves no text of the administrator in Temporal', () => {
    expect(needlesIn(afterErasure.temporal, { ...needles, password })).to.deep.equal([]);
  });

  it('leaves no text of the administrator in the logs of the API and the worker', () => {
    const searched = { ...needles, password, 'user agent': needleOf('agent') };
    expect(served.log.join('')).to.contain('/v1/me/erasure');
    expect(worker.log()).to.contain('the worker');
    expect(needlesIn(served.log.join(''), searched), 'API').to.deep.equal([]);
    expect(needlesIn(worker.log(), searched), 'worker').to.deep.equal([]);
  });

  it('changes no row of another member', () => {
    expect(afterErasure.others).to.deep.equal(beforeErasure.others);
    expect(Object.keys(beforeErasure.others)).to.include.members(['administrators', 'memberships']);
  });

  it('leaves posts, comments and moderations with the removed name', async () => {
    const author = { kind: 'administrator', name: removedName };
    const asStudent = (path: string) =>
      send('GET', `/v1/clubs/${club.id}/classroom/community${path}`, { token: student.token });
    const posts = await asStudent(`/spaces/${written.space}/posts`);
    expect(posts[0]).to.deep.include({ title: 'Bends', author });
    const comments = await asOwner('GET', `/classroom/posts/${written.post}/comments`);
    expect(comments[0]).to.deep.include({ id: written.comment, author });
    const [moderation] = await asOwner('GET', '/community/moderations');
    expect(moderation.administrator).to.deep.equal({ id: me.id, name: removedName });
  });

  it('leaves the review of the work of a student', async () => {
    const submission = await asOwner('GET', `/assignment-submissions/${written.submission}`);
    expect(JSON.stringify(submission)).to.contain('Once more.');
  });

  it('archives the mentorship, and tells the student that the session was canceled', async () => {
    const { status, mentor } = await asOwner('GET', `/mentorships/${written.mentorship}`);
    expect([status, mentor.name]).to.deep.equal(['archived', removedName]);
    const session = await asOwner('GET', `/mentorship-sessions/${written.coming}`);
    expect(session).to.deep.include({ status: 'canceled', canceled_by: 'club' });
    expect((await asOwner('GET', `/mentorship-sessions/${written.past}`)).status).to.equal('completed');
    const mails = await (
      await testDatabase()
    ).query<{ template: string; status: string }[]>(
      `SELECT template, status FROM transactional_mails WHERE session_id = $1 AND student_id = $2 AND session_sequence = 1`,
      [written.coming, student.id],
    );
    expect(mails).to.deep.equal([{ template: 'mentorship_canceled', status: 'sent' }]);
  });
});
