/**
 * Tests that no unique key of the database makes an operation return 5xx. Each key has an entry in this file: the operations that can
 * violate the key, or the reason why no request can. A new unique index without an entry fails the test.
 */
import { expect } from 'chai';
import type { CallerKind, ContractOperation, OperationId } from '../../contract/contract.ts';
import { publicIdIndexes } from '../../platform/infra/postgres/public-ids.ts';
import type { ErrorCode } from '../../platform/core/error-codes.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildFurnishedClub, type FurnishedClub } from '../toolkit/builders/furnished-club.ts';
import { call, expectError, someAddress, testApi, type Answer } from '../toolkit/drive/api.ts';
import { everyOperation, nameOf, operationOf, pathOf, sentTo } from '../toolkit/drive/every-operation.ts';
import { bodyAbout, namedInPath } from '../toolkit/drive/named-records.ts';
import { testDatabase } from '../toolkit/stack/database.ts';

/** Keys that a request can violate, and the operations that write them. */
const metBy: Readonly<Record<string, readonly OperationId[]>> = {
  'administrators(email)': ['signUpAdministrator'],
  'agent_answers(conversation_id)': ['askAgent'],
  'agent_answers(question_id)': ['askAgent'],
  'agent_materials(course_id,agent_id)': ['setAgentMaterial'],
  'agent_materials(lesson_id,agent_id)': ['setAgentMaterial'],
  'agent_materials(media_id,agent_id)': ['setAgentMaterial'],
  'agent_question_images(question_id,position)': ['askAgent'],
  'agent_questions(id)': ['askAgent'],
  'agent_sources(lesson_id)': ['setAgentMaterial'],
  'agent_sources(media_id)': ['setAgentMaterial'],
  'administrator_identities(provider_id,subject)': ['addIdentity', 'joinIdentity'],
  'agents(club_id,public_id)': ['createAgent', 'updateAgent'],
  'assignment_attempt_files(attempt_id,position)': ['submitAssignment'],
  'assignment_attempt_files(media_id)': ['submitAssignment'],
  'assignment_attempts(submission_id,number)': ['submitAssignment'],
  'assignment_extensions(assignment_id,student_id)': ['setAssignmentExtension'],
  'assignment_reviews(attempt_id)': ['reviewAssignmentSubmission'],
  'assignment_submissions(student_id,assignment_id)': ['submitAssignment'],
  'automation_references(version_id,referred_id)': ['updateAutomation', 'publishAutomation'],
  'automation_runs(automation_id,cause_id,student_id)': ['enrollInAutomation'],
  'automation_runs(automation_id,student_id)': ['enrollInAutomation'],
  'automation_versions(automation_id,number)': ['publishAutomation'],
  'certificates(student_id,course_id)': ['issueCertificate'],
  'billing_customers(club_id)': ['openCheckout'],
  'club_plans(club_id)': ['buyAddOn'],
  'club_sign_in_rules(club_id)': ['setSignInRules'],
  'club_slugs(club_id)': ['updateClub'],
  'club_slugs(slug)': ['createOrganization', 'updateClub'],
  'clubs(slug)': ['createOrganization', 'updateClub'],
  'community_memberships(space_id,student_id)': ['joinCommunitySpace', 'banSpaceMember'],
  'community_post_files(media_id)': ['publishSpacePost', 'updatePost'],
  'community_post_files(post_id,position)': ['publishSpacePost', 'updatePost'],
  'community_posts(club_id,public_id)': ['publishSpacePost'],
  'community_reactions(target_id,author_id,kind)': ['reactToPost', 'reactToComment'],
  'community_reports(student_id,target_id)': ['reportPost', 'reportComment'],
  'community_spaces(club_id,public_id)': ['createCommunitySpace', 'updateCommunitySpace'],
  'course_completions(student_id,course_id)': ['completeLesson'],
  'courses(club_id,public_id)': ['createCourse', 'updateCourse'],
  'enrollments(student_id,delivery_id)': ['grantEnrollment', 'restoreEnrollment', 'moveEnrollment'],
  'identity_joins(provider_id,subject)': ['exchangeProviderCode'],
  'identity_providers(club_id)': ['setIdentityProvider'],
  'invitations(club_id,email)': ['inviteMember'],
  'lesson_progress(student_id,lesson_id)': ['completeLesson'],
  'lessons(club_id,public_id)': ['createLesson', 'updateLesson'],
  'levels(club_id,points)': ['createLevel', 'updateLevel'],
  'mail_domains(club_id)': ['setMailDomain'],
  'mail_senders(club_id)': ['setMailSender'],
  'club_branding(club_id)': ['setBranding'],
  'club_mail_texts(club_id,template,language)': ['setMailText'],
  'mail_suppressions(club_id,address_key)': ['addSuppression', 'importSuppressions', 'unsubscribe'],
  'media(owner_id)': ['reserveAvatar'],
  'media_favorites(administrator_id,media_id)': ['updateMedia'],
  'media_folders(club_id,folded_name)': ['createMediaFolder', 'updateMediaFolder'],
  'media_folders(parent_id,folded_name)': ['createMediaFolder', 'updateMediaFolder'],
  'media_uses(media_id,kind,place_id)': ['setRepositoryItems', 'updateCourse'],
  'memberships(club_id,administrator_id)': ['createOrganization', 'changeMemberRole'],
  'mentorship_deliveries(mentorship_id,delivery_id)': ['createMentorship', 'updateMentorship'],
  'mentorships(club_id,public_id)': ['createMentorship', 'updateMentorship'],
  'passkeys(club_id,credential_id)': ['addStudentPasskey'],
  'passkeys(credential_id)': ['addAdministratorPasskey'],
  'point_awards(student_id,cause_kind,cause_id)': ['awardPoints', 'completeLesson'],
  'product_deliveries(product_id,delivery_id)': ['createProduct', 'updateProduct'],
  'products(club_id,platform,external_id)': ['createProduct', 'updateProduct'],
  'registration_link_claims(link_id,student_id)': ['claimRegistrationLink'],
  'registration_link_deliveries(link_id,delivery_id)': ['createRegistrationLink', 'updateRegistrationLink'],
  'registration_links(club_id,folded_code)': ['createRegistrationLink'],
  'repositories(club_id,public_id)': ['createRepository', 'updateRepository'],
  'repository_items(repository_id,media_id)': ['setRepositoryItems'],
  'repository_items(repository_id,position)': ['setRepositoryItems'],
  'sign_up_networks(student_id)': ['signUpStudent'],
  'student_levels(student_id,level_id)': ['awardPoints', 'createLevel'],
  'student_tags(student_id,tag_id)': ['tagStudent'],
  'students(club_id,email)': ['signUpStudent', 'createStudent', 'updateStudent'],
  'tags(club_id,folded_name)': ['createTag', 'updateTag'],
};

/**
 * Unique keys whose values no request chooses, grouped by the origin of the values. Only workers, or statements with ON CONFLICT, write
 * these keys.
 */
const chosenByNoRequest: Readonly<Record<string, readonly string[]>> = {
  'drawn at random': [
    'administrator_sessions(token_hash)',
    'certificates(code)',
    'identity_joins(token_hash)',
    'one_time_tokens(token_hash)',
    'passkeys(factor_id)',
    'recovery_codes(administrator_id,code_hash)',
    'api_keys(previous_secret_hash)',
    'api_keys(secret_hash)',
    'sales_connections(token_hash)',
    'sign_in_challenges(token_hash)',
    'session_links(token_hash)',
    'student_sessions(token_hash)',
  ],
  'from a sequence, or a name that the service gives an object': [
    'agent_words(seq)',
    'automation_step_changes(version_id,seq)',
    'certificate_files(object_key)',
    'club_exports(club_id)', // a request locks the club before it looks for an open export
    'club_storage_changes(club_id,seq)',
    'club_student_changes(club_id,seq)',
    'erasures(subject_id)',
    'facts(club_id,id)',
    'leftover_objects(object_key)',
    'list_tally_changes(club_id,list,seq)',
    'webhook_tally_changes(endpoint_id,seq)',
  ],
  'a counter or a marker that an upsert writes': [
    'idempotency_erasures(club_id)',
    'idempotency_keys(caller,key_hash)',
    'agent_months(agent_id,month)',
    'automation_course_looks(course_id)',
    'automation_course_watches(course_id,run_id)',
    'automation_step_tallies(version_id,step_id)',
    'club_ai_months(club_id,month)',
    'club_bulk_days(club_id,day)',
    'club_feature_changes(club_id)',
    'club_mail_days(club_id,day)',
    'club_storage(club_id,kind)',
    'club_student_counts(club_id)',
    'code_failure_counts(address_key)',
    'course_completion_looks(course_id)',
    'list_tallies(club_id,list,subject_id,marked)',
    'mail_clicks(mail_id,link_id,machine)',
    'mail_notice_receipts(key)',
    'mail_soft_bounces(mail_id,at)',
    'overage_charges(club_id,month,resource)',
    'overage_turns(club_id)',
    'overages(club_id,resource,month)',
    'rate_limit_counters(key)',
    'report_mailboxes(key)',
    'spent_passkey_challenges(challenge_hash)',
    'wakes(club_id,workflow_id)',
    'webhook_tallies(endpoint_id,span,starts_at,event_type)',
  ],
  'written by a repeatable step of a worker': [
    'agent_answer_deltas(answer_id,starts_at)',
    'agent_calls(answer_id,call_no)',
    'agent_charges(answer_id)',
    'agent_citations(answer_id,position)',
    'agent_passages(source_id,position)',
    'automation_run_steps(run_id,step_id)',
    'bulk_job_rows(job_id,row)',
    'enrollments(origin_id,delivery_id)',
    'failing_steps(workflow_id)',
    'mail_links(cause_id,position)',
    'mails(campaign_id,address_key)',
    'mails(campaign_id,student_id)',
    'mails(digest_id,student_id)',
    'mails(run_id,step_id)',
    'media_renditions(media_id,version,role)',
    'media_tracks(media_id,language)',
    'purchases(club_id,platform,external_id)',
    'space_digests(club_id,date)',
    'student_import_addresses(import_id,address_key,student_id)',
    'student_import_rows(import_id,row)',
    'student_import_rows(import_id,student_id)',
    'subscription_marks(subscription_id,kind,key)',
    'subscriptions(club_id,platform,external_id)',
    'transactional_mails(review_id)',
    'transactional_mails(session_id,template,session_sequence)',
    'webhook_attempts(delivery_id,fence,started_at)',
    'webhook_bodies(event_id,created_at)',
  ],
  'from the payment processor, whose events are recorded once (test/api/billing-notices.test.ts)': [
    'billing_events(id)',
    'club_plans(customer_id)',
  ],
  'a record of the installation, not of a club': [
    'migrations(id)',
    'releases(build_id)',
    'releases(is_current)',
    'schema_contractions(migration)',
    'upkeep_rounds(name)',
    'vault_secrets(name)',
  ],
};

/**
 * Returns the unique keys of all tables as `table(columns)`, without partitions. The list omits keys of one column `id`, if the service
 * itself creates the ids.
 */
async function keysOfCatalogue(): Promise<string[]> {
  const source = await testDatabase();
  const rows = await source.query<{ key: string }[]>(`
    SELECT DISTINCT relation.relname || '(' || string_agg(attribute.attname, ',' ORDER BY place) || ')' AS key
      FROM pg_index
      JOIN pg_class index ON index.oid = indexrelid AND NOT index.relispartition
      JOIN pg_class relation ON relation.oid = indrelid AND relation.relnamespace = 'public'::regnamespace
     CROSS JOIN unnest(indkey) WITH ORDINALITY AS column_(number, place)
      JOIN pg_attribute attribute ON attribute.attrelid = indrelid AND attribute.attnum = column_.number
     WHERE indisunique GROUP BY indexrelid, relation.relname`);
  return rows.map(({ key }) => key).filter((key) => !key.endsWith('(id)') || key in metBy || isListed(key));
}

const isListed = (key: string) => Object.values(chosenByNoRequest).some((keys) => keys.includes(key));
const writing = everyOperation.filter(({ method, fileBody }) => method !== 'get' && !fileBody);

const callerOf = ({ auth }: ContractOperation): CallerKind | undefined => (auth.includes('admin') ? 'admin' : auth[0]);

/** Returns a function that sends a valid request about the club's records. Each call of that function sends the same request. */
function requestOf(operation: ContractOperation, club: FurnishedClub): () => Promise<number> {
  const caller = callerOf(operation);
  const isOfClub = operation.pathParameters.includes('clubId');
  const named = isOfClub ? namedInPath(operation, caller ?? 'student') : [];
  const path = pathOf(operation, {
    clubId: club.id,
    reaction: 'heart',
    ...Object.fromEntries(named.map(({ place, record }) => [place, club.records[record]])),
  });
  const { headers, body } = { headers: {}, ...sentTo(operation) };
  const payload = isOfClub && operation.hasBody ? bodyAbout(operation, club.records) : body;
  const token = caller && (caller === 'student' ? club.student : club.owner).token;
  return async () => {
    const { port } = await testApi();
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: operation.method.toUpperCase(),
      headers: {
        'content-type': 'application/json',
        'x-forwarded-for': someAddress(),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...headers,
      },
      body: payload === undefined ? null : JSON.stringify(payload),
    });
    await response.body?.cancel();
    return response.status;
  };
}

describe('unique keys', () => {
  it('each have an entry in this file', async () => {
    const listed = [...Object.keys(metBy), ...Object.values(chosenByNoRequest).flat()];
    expect((await keysOfCatalogue()).toSorted()).to.deep.equal(listed.toSorted());
    expect(new Set(listed)).to.have.property('size', listed.length);
    for (const operationId of Object.values(metBy).flat()) operationOf(operationId);
  });

  it('of public ids have the names that the error mapping expects', async () => {
    const source = await testDatabase();
    await eachCase(Object.values(publicIdIndexes), async (name) => {
      const rows = await source.query<unknown[]>(
        `SELECT FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE relname = $1 AND indisunique`,
        [name],
      );
      expect(rows).to.have.length(1);
    });
  });
});

describe('three simultaneous requests and a repetition', () => {
  let club: FurnishedClub | undefined;
  let calls = 0;
  const declared = [501]; // the answer if this environment lacks a service, such as a payment processor

  for (const operation of writing)
    it(`cause no 5xx: ${nameOf(operation)}`, async () => {
      if (club === undefined || calls >= 40) [club, calls] = [await buildFurnishedClub(), 0];
      calls += 4;
      const send = requestOf(operation, club);
      const statuses = await Promise.all([send(), send(), send()]);
      statuses.push(await send());
      expect(statuses.filter((status) => status >= 500 && !declared.includes(status))).to.deep.equal([]);
      if (operation.method === 'delete') club = undefined; // other operations need the deleted record
    });
});

describe('a unique key that another record already uses', () => {
  let club: FurnishedClub;
  beforeEach(async () => {
    club = await buildFurnishedClub();
  });
  const ask = (method: string, path: string, body: unknown): Promise<Answer> =>
    call(method, `/v1/clubs/${club.id}${path}`, { token: club.owner.token, body });

  interface Rivalry {
    /** Creates the record that has the key. */
    path: string;
    body: Record<string, unknown>;
    key: readonly string[];
    other?: (club: FurnishedClub) => string;
    code: ErrorCode;
  }
  const rivalries: Readonly<Record<string, (of: FurnishedClub['records']) => Rivalry>> = {
    course: () => publicIdRivalry('/courses', { title: 'Knots' }, ({ records }) => `/courses/${records.course}`),
    lesson: ({ module }) =>
      publicIdRivalry(`/modules/${module}/lessons`, { title: 'Knots' }, ({ records }) => `/lessons/${records.lesson}`),
    agent: () => publicIdRivalry('/agents', { name: 'Knots' }, ({ records }) => `/agents/${records.agent}`),
    repository: () =>
      publicIdRivalry('/repositories', { title: 'Knots' }, ({ records }) => `/repositories/${records.repository}`),
    space: () =>
      publicIdRivalry('/community/spaces', { name: 'Knots' }, ({ records }) => `/community/spaces/${records.space}`),
    mentorship: ({ mentor }) =>
      publicIdRivalry(
        '/mentorships',
        { ...bodyAbout(operationOf('createMentorship'), club.records), mentor_id: mentor },
        ({ records }) => `/mentorships/${records.mentorship}`,
      ),
    tag: () => ({
      path: '/tags',
      body: { name: 'Sailor' },
      key: ['name'],
      other: ({ records }) => `/tags/${records.tag}`,
      code: 'name_taken',
    }),
    level: () => ({
      path: '/levels',
      body: { name: 'Sailor', points: 4_321 },
      key: ['points'],
      other: ({ records }) => `/levels/${records.level}`,
      code: 'points_taken',
    }),
    product: () => ({
      path: '/products',
      body: { platform: 'generic', external_id: 'taken', name: 'Knots' },
      key: ['platform', 'external_id'],
      other: ({ records }) => `/products/${records.product}`,
      code: 'product_exists',
    }),
    folder: () => ({
      path: '/media/folders',
      body: { name: 'Knots' },
      key: ['name'],
      other: ({ records }) => `/media/folders/${records.folder}`,
      code: 'name_taken',
    }),
    student: () => ({
      path: '/students',
      body: { name: 'Bea', email: 'bea@example.com' },
      key: ['email'],
      other: ({ records }) => `/students/${records.student}`,
      code: 'email_taken',
    }),
    'registration link': ({ delivery }) => ({
      path: '/registration-links',
      body: {
        ...bodyAbout(operationOf('createRegistrationLink'), club.records),
        code: 'TAKEN-CODE-1',
        delivery_ids: [delivery],
      },
      key: [], // the code of a link cannot change
      code: 'code_taken',
    }),
  };
  const publicIdRivalry = (
    path: string,
    body: Record<string, unknown>,
    other: (club: FurnishedClub) => string,
  ): Rivalry => ({
    path,
    body: { ...body, public_id: 'taken' },
    key: ['public_id'],
    other,
    code: 'public_id_taken',
  });

  for (const [kind, rivalryOf] of Object.entries(rivalries))
    it(`causes 409 for a creation and for a change: ${kind}`, async () => {
      const { path, body, key, other, code } = rivalryOf(club.records);
      expect((await ask('POST', path, body)).status).to.equal(201);
      expectError(await ask('POST', path, body), code);
      if (other)
        expectError(await ask('PATCH', other(club), Object.fromEntries(key.map((name) => [name, body[name]]))), code);
    });
});
