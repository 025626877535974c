/**
 * The table of durable workflow types. The workflow client, workers, sweeper, metrics and docs/reference/workflows.md use it
 * (docs/how-to/add-a-workflow.md).
 */
import { bulk, type Priority } from '../../entities/facts/values.ts';
import { BulkJob } from '../../entities/bulk/bulk-job.ts';
import { StudentImport } from '../../entities/access/student-import.ts';
import { AgentAnswer } from '../../entities/agents/agent-answer.ts';
import { AgentSource } from '../../entities/knowledge/agent-source.ts';
import { Automation } from '../../entities/automations/automation.ts';
import { AutomationRun } from '../../entities/automations/automation-run.ts';
import { ClubExport } from '../../entities/exports/club-export.ts';
import { Campaign } from '../../entities/campaigns/campaign.ts';
import { TestMail } from '../../entities/campaigns/test-mail.ts';
import { CommunitySpace } from '../../entities/community/community-space.ts';
import { CourseCompletionLook } from '../../entities/learning/course-completion-look.ts';
import { StudentExport } from '../../entities/exports/student-export.ts';
import { SpaceDigest } from '../../entities/community/space-digest.ts';
import { AddOn } from '../../entities/billing/add-on.ts';
import { OverageCharge } from '../../entities/billing/overage-charge.ts';
import { Erasure } from '../../entities/erasures/erasure.ts';
import { Media } from '../../entities/media/media.ts';
import { MediaMove } from '../../entities/media/media-move.ts';
import { MediaTranscription } from '../../entities/media/media-transcription.ts';
import { MailDomain } from '../../entities/mail/mail-domain.ts';
import { MentorshipSession } from '../../entities/mentorships/mentorship-session.ts';
import { TransactionalMail } from '../../entities/mail/transactional-mail.ts';
import { PhoneCode } from '../../entities/identity/phone-code.ts';
import { SalesNotice } from '../../entities/sales/sales-notice.ts';
import { Subscription } from '../../entities/sales/subscription.ts';
import { WebhookDelivery } from '../../entities/webhooks/webhook-delivery.ts';
import { WebhookEndpoint } from '../../entities/webhooks/webhook-endpoint.ts';

export const taskQueues = [
  'webhooks',
  'mail',
  'bulk-mail',
  'campaigns',
  'automations',
  'sales',
  'imports',
  'billing',
  'domains',
  'agents',
  'indexing',
  'media',
  'moves',
  'subtitles',
  'upkeep',
] as const;
export type TaskQueue = (typeof taskQueues)[number];

/** Every user of the Temporal UI sees them, so they contain only ids and event types (ENG-12). */
export const searchAttributes = [
  'ClubId',
  'EndpointId',
  'EventType',
  'AgentId',
  'CampaignId',
  'AutomationId',
  'AutomationVersion',
] as const;
export type SearchAttribute = (typeof searchAttributes)[number];
export type WorkflowAttributes = Partial<Record<SearchAttribute, string>>;

type Entity<E> = new () => E;
type PropertyOf<E, Value> = { [K in keyof E]: E[K] extends Value ? K : never }[keyof E] & string;
type TimeColumn<E> = PropertyOf<E, Date | null>;
type TextColumn<E> = PropertyOf<E, string | null>;

/** The rows that need a running workflow from a time on. Each kind of row needs a partial index on `at`. */
interface Due<E> {
  at: TimeColumn<E>;
  /** SQL over `row` and the joined tables; null if `at` is the only condition. */
  where: string | null;
  join?: string;
  /** Whether the rows have a `lease_until`. */
  leased: E extends { leaseUntil: Date | null } ? boolean : false;
}

interface Definition<E, K, A> {
  /** The beginning of the workflow ids; the row's id follows. */
  id: string;
  taskQueue: TaskQueue;
  /** `taskQueue` if absent. */
  bulkTaskQueue?: TaskQueue;
  /** Normal if absent. The column `priority` of a row has precedence. */
  priority?: Priority;
  /** The column that identifies the run and is its argument; `id` if absent. */
  key?: K;
  /** The number of bulk starts that one wake counts as; 1 if absent. */
  bulkStarts?: number;
  /** A person waits for the run. So the worker that sends the first wake also starts the run, if it has capacity. */
  startsEagerly?: true;
  /** The column of each search attribute. */
  attributes: A & Record<Exclude<keyof A, SearchAttribute>, never>;
  /** For the Temporal UI. Names in braces are search attributes. */
  summary: string;
  due: readonly [Due<E>, ...Due<E>[]];
}

/** Type-checks a row of the table against its entity. The fairness key of every run is `clubId` (ENG-9). */
export const row = <
  E extends { clubId: string | null },
  const A extends Partial<Record<SearchAttribute, TextColumn<E>>>,
  K extends TextColumn<E> = Extract<'id', TextColumn<E>>,
>(
  entity: Entity<E>,
  definition: Definition<E, K, A>,
) => ({
  startsEagerly: false,
  bulkStarts: 1,
  bulkTaskQueue: definition.taskQueue,
  priority: 1 as Priority,
  ...definition,
  entity,
  key: definition.key ?? ('id' as K),
});

const pending = { at: 'nextAttemptAt', where: `row.status = 'pending'`, leased: true } as const;

export const workflowTypes = {
  webhookDelivery: row(WebhookDelivery, {
    id: 'webhook-delivery',
    taskQueue: 'webhooks',
    attributes: { ClubId: 'clubId', EndpointId: 'endpointId', EventType: 'eventType' },
    summary: '{EventType} to endpoint {EndpointId}',
    bulkStarts: 1 / 2, // a waiting run gets a signal, and takes one step
    due: [
      {
        at: 'nextAttemptAt',
        where: `row.parked_at IS NULL AND (row.status = 'pending' OR row.requested IS NOT NULL OR row.in_flight IS NOT NULL)`,
        leased: true,
      },
    ],
  }),
  endpointGate: row(WebhookEndpoint, {
    id: 'endpoint-gate',
    taskQueue: 'webhooks',
    attributes: { ClubId: 'clubId', EndpointId: 'id' },
    summary: 'gate of endpoint {EndpointId}',
    due: [{ at: 'gateLooksAt', where: null, leased: false }],
  }),
  addOn: row(AddOn, {
    id: 'add-on',
    taskQueue: 'billing',
    attributes: { ClubId: 'clubId' },
    summary: 'the purchase of an add-on',
    due: [pending],
  }),
  overageCharge: row(OverageCharge, {
    id: 'overage-charge',
    taskQueue: 'billing',
    priority: bulk,
    attributes: { ClubId: 'clubId' },
    summary: 'the charge for the overage of a month',
    due: [pending],
  }),
  transactionalMail: row(TransactionalMail, {
    id: 'transactional-mail',
    taskQueue: 'mail',
    bulkTaskQueue: 'bulk-mail',
    attributes: { ClubId: 'clubId' },
    summary: 'an e-mail to send',
    due: [pending],
  }),
  phoneCode: row(PhoneCode, {
    id: 'phone-code',
    taskQueue: 'webhooks', // a code mostly waits for its receiver, and must not wait behind mails
    priority: 0,
    attributes: {},
    summary: 'a code to a telephone number',
    due: [pending],
  }),
  personErasure: row(Erasure, {
    id: 'person-erasure',
    key: 'subjectId',
    taskQueue: 'upkeep',
    priority: bulk,
    attributes: { ClubId: 'clubId' },
    summary: 'the erasure of a person outside Postgres',
    due: [{ at: 'looksAt', where: `row.kind <> 'club'`, leased: true }],
  }),
  mentorshipSession: row(MentorshipSession, {
    id: 'mentorship-session',
    taskQueue: 'mail',
    attributes: { ClubId: 'clubId' },
    summary: 'a session of a mentorship',
    due: [{ at: 'looksAt', where: null, leased: false }],
  }),
  mediaExpiry: row(Media, {
    id: 'media-expiry',
    taskQueue: 'upkeep',
    priority: bulk,
    attributes: { ClubId: 'clubId' },
    summary: 'the end of a video that the plan does not keep',
    due: [{ at: 'expiryLooksAt', where: 'row.removed_at IS NULL', leased: false }],
  }),
  salesNotice: row(SalesNotice, {
    id: 'sales-notice',
    taskQueue: 'sales',
    attributes: { ClubId: 'clubId' },
    summary: 'a notice of a sales platform',
    due: [pending],
  }),
  subscriptionEnd: row(Subscription, {
    id: 'subscription-end',
    taskQueue: 'sales',
    attributes: { ClubId: 'clubId' },
    summary: 'the end of access after a canceled subscription',
    due: [{ at: 'endLooksAt', where: null, leased: false }],
  }),
  studentImport: row(StudentImport, {
    id: 'student-import',
    taskQueue: 'imports',
    attributes: { ClubId: 'clubId' },
    summary: 'a file of students',
    due: [{ at: 'looksAt', where: null, leased: false }],
  }),
  bulkJob: row(BulkJob, {
    id: 'bulk-job',
    taskQueue: 'imports',
    priority: bulk,
    attributes: { ClubId: 'clubId' },
    summary: 'one action on many students',
    due: [{ at: 'looksAt', where: null, leased: false }],
  }),
  clubExport: row(ClubExport, {
    id: 'club-export',
    taskQueue: 'moves',
    priority: bulk,
    attributes: { ClubId: 'clubId' },
    summary: 'an export of the club',
    due: [{ at: 'looksAt', where: null, leased: true }],
  }),
  agentAnswer: row(AgentAnswer, {
    id: 'agent-answer',
    taskQueue: 'agents',
    key: 'questionId',
    priority: 0,
    startsEagerly: true,
    attributes: { ClubId: 'clubId', AgentId: 'agentId' },
    summary: 'an answer of agent {AgentId}',
    due: [
      { at: 'looksAt', where: `row.status = 'generating'`, leased: true },
      // The answers of an erased conversation end, but their runs must still record the final cost.
      {
        at: 'completedAt',
        join: 'JOIN agent_charges charge ON charge.answer_id = row.id',
        where: 'charge.settled_at IS NULL',
        leased: false,
      },
    ],
  }),
  campaignRun: row(Campaign, {
    id: 'campaign-run',
    taskQueue: 'campaigns',
    priority: bulk,
    attributes: { ClubId: 'clubId', CampaignId: 'id' },
    summary: 'campaign {CampaignId}',
    due: [{ at: 'looksAt', where: null, leased: false }],
  }),
  testMail: row(TestMail, {
    id: 'test-mail',
    taskQueue: 'campaigns',
    attributes: { ClubId: 'clubId', CampaignId: 'campaignId' },
    summary: 'a test of campaign {CampaignId}',
    due: [pending],
  }),
  mailDomain: row(MailDomain, {
    id: 'mail-domain',
    taskQueue: 'domains',
    priority: bulk,
    attributes: { ClubId: 'clubId' },
    summary: 'the DNS records of a mail domain',
    due: [{ at: 'looksAt', where: null, leased: false }],
  }),
  automationRun: row(AutomationRun, {
    id: 'automation-run',
    taskQueue: 'automations',
    bulkStarts: 3, // a run costs as much as several starts: it replays its history, and takes two or three steps before it waits again
    attributes: { ClubId: 'clubId', AutomationId: 'automationId', AutomationVersion: 'versionId' },
    summary: 'a run of automation {AutomationId}',
    due: [{ at: 'looksAt', where: null, leased: false }],
  }),
  automationGate: row(Automation, {
    id: 'automation-gate',
    taskQueue: 'automations',
    attributes: { ClubId: 'clubId', AutomationId: 'id' },
    summary: 'gate of automation {AutomationId}',
    due: [{ at: 'gateLooksAt', where: null, leased: false }],
  }),
  sourceIndex: row(AgentSource, {
    id: 'source-index',
    taskQueue: 'indexing',
    attributes: { ClubId: 'clubId' },
    summary: 'the indexing of a lesson or a file',
    due: [{ at: 'looksAt', where: null, leased: true }],
  }),
  mediaProcessing: row(Media, {
    id: 'media-processing',
    taskQueue: 'media',
    startsEagerly: true,
    attributes: { ClubId: 'clubId' },
    summary: 'the processing of a file',
    due: [{ at: 'looksAt', where: null, leased: true }],
  }),
  mediaMove: row(MediaMove, {
    id: 'media-move',
    taskQueue: 'moves',
    attributes: { ClubId: 'clubId' },
    summary: 'a file that becomes public or private',
    due: [{ at: 'looksAt', where: null, leased: true }],
  }),
  mediaTranscription: row(MediaTranscription, {
    id: 'media-transcription',
    taskQueue: 'subtitles',
    priority: bulk,
    attributes: { ClubId: 'clubId' },
    summary: 'subtitles that are made of the speech of a file',
    due: [{ at: 'looksAt', where: null, leased: true }],
  }),
  clubErasure: row(Erasure, {
    id: 'club-erasure',
    key: 'subjectId',
    taskQueue: 'upkeep',
    priority: bulk,
    attributes: { ClubId: 'clubId' },
    summary: 'the erasure of a club',
    due: [{ at: 'looksAt', where: `row.kind = 'club'`, leased: true }],
  }),
  studentExport: row(StudentExport, {
    id: 'student-export',
    taskQueue: 'moves', // like a move, it mostly waits for the store, and a club uses at most half of the slots (ENG-20)
    priority: bulk,
    attributes: { ClubId: 'clubId' },
    summary: 'the export of a student',
    due: [{ at: 'looksAt', where: null, leased: true }],
  }),
  courseCompletion: row(CourseCompletionLook, {
    id: 'course-completion',
    key: 'courseId',
    taskQueue: 'upkeep',
    priority: bulk,
    attributes: { ClubId: 'clubId' },
    summary: 'completions of a course that its students did not ask for',
    due: [{ at: 'looksAt', where: null, leased: false }],
  }),
  spaceFill: row(CommunitySpace, {
    id: 'space-fill',
    taskQueue: 'upkeep',
    priority: bulk,
    attributes: { ClubId: 'clubId' },
    summary: 'the memberships of a space',
    due: [{ at: 'fillLooksAt', where: null, leased: false }],
  }),
  spaceDigest: row(SpaceDigest, {
    id: 'space-digest',
    taskQueue: 'campaigns',
    priority: bulk,
    attributes: { ClubId: 'clubId' },
    summary: 'the daily mail of spaces',
    due: [{ at: 'looksAt', where: null, leased: false }],
  }),
} as const;

export type WorkflowType = keyof typeof workflowTypes;
export const workflowTypeNames = Object.keys(workflowTypes) as readonly WorkflowType[];

type EntityOf<T extends WorkflowType> = InstanceType<(typeof workflowTypes)[T]['entity']>;
type AttributesOf<T extends WorkflowType> = (typeof workflowTypes)[T]['attributes'];
type SubjectColumn<T extends WorkflowType> =
  | 'clubId'
  | 'priority'
  | (typeof workflowTypes)[T]['key']
  | AttributesOf<T>[keyof AttributesOf<T>];

export type Subject<T extends WorkflowType> = Pick<EntityOf<T>, Extract<SubjectColumn<T>, keyof EntityOf<T>>>;

export interface Run {
  workflowType: WorkflowType;
  /** The key column of the row. It is the only argument of the run. */
  subjectId: string;
  /** The fairness key (ENG-9); null if the row belongs to no club. */
  clubId: string | null;
  attributes: WorkflowAttributes;
  /** The priority of its type if absent. */
  priority?: Priority;
}

export function runOf<T extends WorkflowType>(workflowType: T, subject: Subject<T>): Run {
  const { key, attributes } = workflowTypes[workflowType];
  const { priority } = subject as { priority?: Priority };
  const values = subject as unknown as { clubId: string | null } & Readonly<Record<string, string | null>>;
  const columnValues = Object.entries(attributes).map(([name, column]) => [name, values[column]] as const);
  return {
    workflowType,
    subjectId: String(values[key]),
    clubId: values.clubId,
    attributes: Object.fromEntries(columnValues.filter(([, value]) => value !== null)) as WorkflowAttributes,
    ...(priority !== undefined && { priority }),
  };
}

export function priorityOf({ workflowType, priority }: Pick<Run, 'workflowType' | 'priority'>): Priority {
  return priority ?? workflowTypes[workflowType].priority;
}

export function taskQueueOf(run: Pick<Run, 'workflowType' | 'priority'>): TaskQueue {
  const { taskQueue, bulkTaskQueue } = workflowTypes[run.workflowType];
  return priorityOf(run) === bulk ? bulkTaskQueue : taskQueue;
}

/** Such as `webhook-delivery/<id of the delivery>` or `space-digest/<id of the club>/<date>`. */
export function workflowIdOf(type: WorkflowType, subjectId: string): string {
  return `${workflowTypes[type].id}/${subjectId}`;
}

export function summaryOf({ workflowType, attributes }: Pick<Run, 'workflowType' | 'attributes'>): string {
  return workflowTypes[workflowType].summary.replace(/\{(\w+)\}/g, (_, name: SearchAttribute) =>
    String(attributes[name]),
  );
}
