/** Imports the archive of an export into an empty club, by the public API only. */
import { createHash } from 'node:crypto';
import { Problem } from '../../../../dev/problem.ts';
import { uploadCopy, type CopiedRecord, type Owner } from './api.ts';

export interface Line {
  of?: Record<string, string>;
  record: CopiedRecord;
}

export interface ExportedClub {
  lines: Readonly<Record<string, readonly Line[]>>;
  /** The content of each file, by the id of its media. */
  files: ReadonlyMap<string, Buffer>;
}

/** The ids of the first club, and the ids of the same records in the second club. */
export type Ids = Map<string, string>;

interface Target {
  owner: Owner;
  ids: Ids;
  files: ReadonlyMap<string, Buffer>;
  /** Replaces ids of the first club in a value. */
  mapped: (value: CopiedRecord) => CopiedRecord;
}

type Import = (target: Target, line: Line) => Promise<unknown>;

const pick = (record: CopiedRecord, names: string) =>
  Object.fromEntries(names.split(' ').flatMap((name) => (record[name] === undefined ? [] : [[name, record[name]]])));

/** Creates a record from the fields that its creation has in common with it. */
const created =
  (path: (line: Line) => string, names: string, more: (record: CopiedRecord) => object = () => ({})): Import =>
  async ({ owner, ids, mapped }, line) => {
    const body = mapped({ ...pick(line.record, names), ...more(line.record) });
    const answer = await owner.ask('POST', mapped(path(line)), body);
    const { id } = answer.data.endpoint ?? answer.data.api_key ?? answer.data;
    ids.set(line.record.id, id);
  };

const settings =
  (path: (line: Line) => string, names: string, method = 'PUT'): Import =>
  ({ owner, mapped }, line) =>
    owner.ask(method, mapped(path(line)), mapped(pick(line.record, names)));

/** The types that the public API can create, in the order of their dependencies. */
const imports: readonly (readonly [string, Import])[] = [
  ['Club', settings(() => '', 'name time_zone language', 'PATCH')],
  ['Branding', settings(() => '/branding', 'accent_color reply_to legal_footer links')],
  ['Tag', created(() => '/tags', 'name')],
  ['Level', created(() => '/levels', 'name points')],
  ['Student', created(() => '/students', 'name email')],
  [
    'Standing',
    async ({ owner, mapped }, { of, record }) => {
      for (const { id } of record.tags) await owner.ask('PUT', mapped(`/students/${of?.['studentId']}/tags/${id}`));
    },
  ],
  [
    'PointAward',
    ({ owner, mapped }, { of, record }) =>
      owner.ask('POST', mapped(`/students/${of?.['studentId']}/points`), pick(record, 'id points note')),
  ],
  ['MediaFolder', created(() => '/media/folders', 'name parent_id')],
  [
    'Media',
    async ({ owner, ids, files, mapped }, { record }) => {
      const bytes = files.get(record.id);
      if (!bytes) throw new Problem(`The export has no content of the file ${record.id}`);
      const id = await uploadCopy(owner, { name: record.file_name, mime: record.mime, bytes, title: record.title });
      ids.set(record.id, id);
      if (record.folder_id !== undefined) await owner.ask('PATCH', `/media/${id}`, mapped(pick(record, 'folder_id')));
    },
  ],
  [
    'CourseOutline',
    async (target, line) => {
      await created(() => '/courses', 'title description public_id hours certificate_on_completion')(target, line);
      for (const module of line.record.modules)
        await created(() => `/courses/${line.record.id}/modules`, 'title')(target, { record: module });
    },
  ],
  [
    'Lesson',
    created(({ record }) => `/modules/${record.module_id}/lessons`, 'title content public_id points published'),
  ],
  ['Cohort', created(({ record }) => `/courses/${record.course_id}/cohorts`, 'name starts_at ends_at')],
  [
    'Assignment',
    created(
      ({ record }) => `/lessons/${record.lesson_id}/assignments`,
      'block_label prompt due_at closes_at takes_text max_files required',
    ),
  ],
  [
    'Repository',
    async (target, line) => {
      await created(() => '/repositories', 'title description instructor_name public_id')(target, line);
      const media = line.record.items.map((item: CopiedRecord) => item.media?.id ?? item.id ?? item.media_id);
      await target.owner.ask(
        'PUT',
        target.mapped(`/repositories/${line.record.id}/items`),
        target.mapped({ media_ids: media }),
      );
    },
  ],
  ['Delivery', created(() => '/deliveries', 'name opens free access_days')],
  [
    'RegistrationLink',
    created(
      () => '/registration-links',
      'name code max_uses expires_at',
      ({ deliveries }) => ({ delivery_ids: deliveries.map(({ id }: CopiedRecord) => id) }),
    ),
  ],
  ['Product', created(() => '/products', 'platform external_id name delivery_ids partial_refund_ends_access')],
  [
    'Enrollment',
    created(
      () => '/enrollments',
      'cohort_id starts_at ends_at',
      ({ student, delivery }) => ({ student_id: student.id, delivery_id: delivery.id }),
    ),
  ],
  [
    'Space',
    created(() => '/community/spaces', 'name public_id description posting private hidden auto_join digest_by_default'),
  ],
  [
    'Mentorship',
    created(
      () => '/mentorships',
      'title public_id description delivery_ids duration_minutes buffer_minutes time_zone weekly_hours exceptions notice_minutes horizon_days max_upcoming cancel_deadline_minutes meeting_url',
      ({ mentor }) => ({ mentor_id: mentor.id ?? mentor.administrator_id }),
    ),
  ],
  ['MailSender', settings(() => '/mail/sender', 'from_name reply_to postal_address tracking mails_per_minute')],
  [
    'MailText',
    ({ owner, mapped }, { record }) =>
      owner.ask('PUT', `/mail/texts/${record.template}/${record.language}`, mapped(record.own)),
  ],
  ['Campaign', created(() => '/campaigns', 'name content audience send_window')],
  ['Automation', created(() => '/workflows', 'name draft')],
  [
    'AgentSettings',
    created(() => '/agents', 'name public_id description instructions model daily_limit answer_max_tokens'),
  ],
  ['AgentMaterial', settings(({ of }) => `/agents/${of?.['agentId']}/material`, 'course_ids lesson_ids media_ids')],
  ['WebhookEndpoint', created(() => '/webhook-endpoints', 'url event_types description')],
  ['ApiKey', created(() => '/api-keys', 'name scopes allowed_networks expires_at')],
];

/** Types that no public operation creates, with the reason. */
export const notImportable: Readonly<Record<string, string>> = {
  AddOn: 'is a purchase at the payment processor',
  AgentConversationReviewMessages: 'only students ask agents',
  AgentSource: 'follows from the material, and is indexed in the background',
  AgentUsage: 'counts what was used',
  AiBudget: 'counts what was used',
  AssignmentExtension: 'is not furnished',
  AssignmentSubmissionDetail: 'only students hand in',
  AuditEntry: 'says what was done in the first club',
  AutomationRun: 'is what students went through',
  AutomationVersion: 'is a published draft',
  BulkJob: 'says what was done in the first club',
  CampaignDelivery: 'is a mail that was sent',
  CampaignStatistics: 'counts mails that were sent',
  Certificate: 'has a code that only the service gives',
  ClubPlan: 'belongs to the payment processor',
  ClubProvider: 'has a secret that no export shows',
  CommunityComment: 'has an author',
  CommunityModeration: 'says what was done in the first club',
  CommunityPost: 'has an author',
  CommunityReport: 'only students report',
  CourseProgress: 'only students complete lessons',
  LessonComment: 'only students comment',
  MailDomain: 'belongs to one club at a time',
  MailSuppression: 'stores a keyed hash instead of the address',
  Member: 'is a person who must accept an invitation',
  MentorshipSession: 'only students book',
  Purchase: 'comes from a sales platform',
  SalesConnection: 'has a secret that no export shows',
  SalesNotice: 'comes from a sales platform',
  SignInRules: 'concerns the sessions of administrators',
  SpaceMember: 'only students join',
  StudentImport: 'says what was done in the first club',
  Subscription: 'comes from a sales platform',
  TestMail: 'is a mail that was sent',
  WebhookDelivery: 'is a delivery that was made',
};

/** Types that follow from other imported types, so they are compared without an import. */
const derived: ReadonlySet<string> = new Set(['ClubExportFile']);

export const isCompared = (type: string): boolean => derived.has(type) || imports.some(([name]) => name === type);

/** @returns the ids of both clubs @throws Problem with the first refusal */
export async function importClub(owner: Owner, club: ExportedClub, firstOwner: string): Promise<Ids> {
  const ids: Ids = new Map([[firstOwner, owner.administratorId]]);
  const mapped = (value: CopiedRecord): CopiedRecord => {
    if (typeof value === 'string')
      return value.replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => ids.get(id) ?? id);
    if (Array.isArray(value)) return value.map(mapped);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, mapped(part)]));
  };
  const target: Target = { owner, ids, files: club.files, mapped };
  for (const [type, run] of imports) {
    // Lists show the newest first, and a copy keeps their order. Folders and courses name earlier ones.
    const lines = type === 'Lesson' ? (club.lines[type] ?? []) : (club.lines[type] ?? []).toReversed();
    for (const line of lines) await run(target, line);
  }
  for (const { record } of club.lines['CourseOutline'] ?? [])
    if (record.status !== 'draft') await owner.ask('PATCH', mapped(`/courses/${record.id}`), pick(record, 'status'));
  return ids;
}

export const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
