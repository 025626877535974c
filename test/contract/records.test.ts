/**
 * Compares each record and enumeration of the contract with tables of the rules. The fields, their types and the values must be the same.
 */
import { expect } from 'chai';
import { contractDocument } from '../../contract/document.ts';
import { isObject, type SchemaObject } from '../../contract/openapi.ts';
import { closedDocument } from '../../contract/published-schemas.ts';
import { eventTypes } from '../../platform/core/event-types.ts';
import { roles } from '../../entities/clubs/values.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';

/** Reads the sources of the contract, because the published answers also allow unknown fields (VER-4). */
const { schemas } = closedDocument(contractDocument).components;

/**
 * The records that the rules require, with each field as `field type`. `!` marks a field that is always present. `[T]` is an array of T. If
 * a rule does not say whether a field is always present, this table and the description of the record decide.
 */
const records: Readonly<Record<string, string>> = {
  Student:
    'id! uuid, name! string, email! email, verified! boolean, has_password! boolean, created_at! datetime, club_id! uuid, club_slug! string, language SpokenLanguage, avatar_url string',
  AdministratorProfile:
    'id! uuid, name! string, email! email, verified! boolean, phone_verified! boolean, has_password! boolean, phone string, language SpokenLanguage, avatar_url string, organizations! [OrganizationMembership]',
  SignInSession:
    'id! uuid, current! boolean, device string, network string, opened_by! password|mail|provider|passkey|link, created_at! datetime, last_used_at! datetime, expires_at! datetime',
  OrganizationMembership: 'organization_id! uuid, name! string, slug! string, role! Role',
  Club: 'id! uuid, name! string, slug! string, time_zone! string, language! Language, created_at! datetime, erases_at datetime',
  ClubErasure:
    'id! uuid, status! planned|running, requested_at! datetime, requested_by uuid, erases_at! datetime, certificate_url! string',
  ClubFront:
    'id! uuid, name! string, slug! string, language! SpokenLanguage, languages! [SpokenLanguage], branding! PublicBranding',
  AgentConversation: 'id! uuid, title! string, last_message_at! datetime, created_at! datetime',
  AgentMessage:
    'id! uuid, role! AgentMessageRole, content! string, status! AgentMessageStatus, error_code string, reply_to uuid, images! [Media], citations! [AgentCitation], created_at! datetime, completed_at datetime',
  AgentCitation:
    'cited_text! string, source_id uuid, source_kind media|lesson, source_title string, media_id uuid, lesson_id uuid, page_from int, page_to int, from_seconds int, to_seconds int',
  AgentLimits: 'daily_limit! int, used! int, remaining! int, resets_at datetime, club_budget_exhausted! boolean',
  AgentMessageCreation: 'id! uuid, content! string, conversation_id uuid, image_ids [uuid]',
  Media:
    'id! uuid, kind! MediaKind, title! string, provider! MediaProvider, status! MediaStatus, visibility! MediaVisibility, archived! boolean, created_at! datetime, file_name string, mime string, size_bytes int64, external_id string, error string, duration_seconds int, width int, height int, mp4 MediaMp4, preview_url string, thumbnail_url string, folder_id uuid, type MediaScreenType, download_url string, tracks [MediaTrack], transcription MediaTranscription, expires_at datetime, favorite boolean, usage_count int',
  UploadDescriptor: 'method! tus|put, url! string, headers! object, expires_at! datetime',
  AssignmentSubmission:
    'id! uuid, status! AssignmentSubmissionStatus, submitted_at! datetime, late! boolean, student! object, lesson_public_id! string, lesson_title! string, course_id! uuid, course_title! string, file_count! int, reviewed_at datetime, block_label string',
  AssignmentSubmissionCounts: 'submitted! int, approved! int, changes_requested! int',
  CampaignDelivery:
    'id! uuid, student_id! uuid, student_name! string, student_email! string, status! CampaignDeliveryStatus, skip_reason suppressed|unsubscribed|bounced|complained|invalid_email|no_longer_eligible|student_removed|canceled, last_error string, sent_at datetime, delivered_at datetime, bounced_at datetime, complained_at datetime, opened_at datetime, clicked_at datetime',
  Certificate:
    'id! uuid, code! string, code_formatted! string, student_id! uuid, student_name! string, student_email! string, course_id! uuid, course_title! string, course_public_id! string, club_name! string, lesson_count! int, version! int, issued_at! datetime, completed_at datetime, revoked! boolean, revoked_at datetime, revoked_reason string, verify_url! string, hours int, warnings [CertificateWarning]',
  CertificateWarning: 'code! CertificateWarningCode, fields! [CertificateText]',
  Automation:
    'id! uuid, name! string, status! AutomationStatus, draft! AutomationDefinition, active_runs! int, total_runs! int, created_at! datetime, updated_at! datetime, published AutomationVersion',
  AutomationVersion:
    'id! uuid, number! int, trigger_kind! AutomationTriggerKind, published_at! datetime, definition! AutomationDefinition',
  AutomationDefinition:
    'trigger! AutomationTrigger, reentry! once|after_exit|always, exit_on_access_lost! boolean, exit_when AutomationCondition, steps! [AutomationStep]',
  AutomationTrigger:
    'kind! AutomationTriggerKind, delivery_ids [uuid], product_ids [uuid], course_ids [uuid], lesson_ids [uuid], tag_ids [uuid], level_ids [uuid]',
  AutomationCondition: 'match! all|any, rules! [AutomationRule]',
  AutomationRule:
    'kind! has_access|has_purchased|has_tag|lesson_completed|course_completed|course_progress|email_opened|email_clicked, negate! boolean, delivery_ids [uuid], cohort_ids [uuid], product_ids [uuid], tag_ids [uuid], lesson_id uuid, course_id uuid, percent int, step_id string',
  AutomationStep:
    'id! string, kind! send_email|wait|condition|add_tag|remove_tag|award_points|exit, points int, note string, tag_id uuid, email AutomationEmail, wait AutomationWait, condition AutomationCondition, then [AutomationStep], else [AutomationStep]',
  AutomationEmail: 'subject! string, preheader string, reply_to string, blocks! [EmailBlock]',
  EmailBlock: 'kind! heading|text|image|button|divider, text string, level int, url string, media_id uuid, alt string',
  AutomationWait: 'kind! delay|until_condition|until_time, amount int, unit minutes|hours|days|weeks, days int',
  Repository:
    'id! uuid, public_id! string, title! string, status! RepositoryStatus, file_count! int, total_bytes! int64, created_at! datetime, items! [object], description string, instructor_name string, cover Media, published_at datetime',
  CommunitySpace:
    'id! uuid, name! string, posting! members|admins, private! boolean, has_access! boolean, can_post! boolean, joined! boolean, member_count! int, unread! boolean, muted! boolean, digest! boolean, description string, cover_url string',
  RegistrationLinkClaim: 'club_name! string, name! string, deliveries! [string]',
  StorageUsage: 'bytes! int64, files! int, by_kind! [object], limit_bytes! int64',
  WebhookEndpoint:
    'id! uuid, url! string, description string, event_types! [WebhookEventType], status! WebhookEndpointStatus, disabled_reason manual|failing|gone, disabled_at datetime, consecutive_failures! int, failing_since datetime, hold_until datetime, last_success_at datetime, previous_secret_expires_at datetime, pending_deliveries! int, created_at! datetime, updated_at! datetime',
  WebhookDelivery:
    'id! uuid, event_id! uuid, event_type! WebhookDeliveryEventType, endpoint_id! uuid, status! WebhookDeliveryStatus, cancel_reason expired|student_removed, payload_purged! boolean, attempt_count! int, next_attempt_at datetime, created_at! datetime, completed_at datetime',
  PageOfEvents: 'data! [WebhookEnvelope], next_cursor! string, has_more! boolean, logged_since! datetime',
  ReplayRequest: 'endpoint_id! uuid',
  WebhookAttempt:
    'number! int, trigger! schedule|manual|recovery|test, started_at! datetime, duration_ms int, outcome! succeeded|http_error|timeout|connection_error|tls_error|dns_error|address_refused|interrupted, response_status int, error_code name_not_found|name_server_failed|address_refused|connection_refused|connection_reset|connection_closed|connection_timed_out|host_unreachable|connection_failed|certificate_expired|certificate_not_yet_valid|certificate_name_mismatch|certificate_untrusted|client_certificate_required|tls_failed|header_overflow|invalid_response|connect_timeout|response_timeout, response_excerpt string, retry_after_seconds int',
};

/** Records that stand inside other records, with their paths. */
const nested: readonly { readonly record: string; readonly way: readonly string[]; readonly fields: string }[] = [
  { record: 'AssignmentSubmission', way: ['properties', 'student'], fields: 'id! uuid, name! string, email! string' },
  { record: 'Repository', way: ['properties', 'items', 'items'], fields: 'media! Media, added_at! datetime' },
  {
    record: 'StorageUsage',
    way: ['properties', 'by_kind', 'items'],
    fields: 'kind! MediaKind, bytes! int64, files! int',
  },
];

const enumerations: Readonly<Record<string, readonly string[]>> = {
  AgentMessageRole: ['user', 'assistant'],
  AgentMessageStatus: ['generating', 'complete', 'truncated', 'refused', 'failed'],
  MediaKind: ['video', 'audio', 'image', 'document'],
  MediaProvider: ['hostedvideo_stream', 'objstore', 'videosite1', 'videosite2', 'external', 'protectedvideo'],
  MediaStatus: ['uploading', 'processing', 'ready', 'failed'],
  MediaVisibility: ['private', 'public'],
  MediaScreenType: ['video', 'image', 'audio', 'pdf', 'file', 'embed'],
  AssignmentSubmissionStatus: ['submitted', 'approved', 'changes_requested'],
  CampaignDeliveryStatus: ['pending', 'sending', 'sent', 'skipped', 'failed'],
  WebhookEndpointStatus: ['enabled', 'paused', 'disabled'],
  RepositoryStatus: ['draft', 'published', 'archived'],
  AutomationStatus: ['draft', 'active', 'paused', 'archived'],
  WebhookDeliveryStatus: ['pending', 'succeeded', 'failed', 'canceled'],
  Role: roles,
  AutomationTriggerKind: [
    'student_created',
    'access_granted',
    'access_revoked',
    'purchase_paid',
    'purchase_refunded',
    'subscription_past_due',
    'subscription_canceled',
    'lesson_completed',
    'course_completed',
    'certificate_issued',
    'student_tagged',
    'student_untagged',
    'student_level_reached',
    'manual',
  ],
};

/** The 19 event types of WEP-3, in the order of the catalogue. */
const registrationTypes =
  'student.created student.updated student.removed access.granted access.revoked access.extended access.shortened access.restored access.moved purchase.paid purchase.refunded subscription.past_due subscription.canceled lesson.completed course.completed certificate.issued student.tagged student.untagged student.level_reached'.split(
    ' ',
  );

function typeWord(schema: SchemaObject): string {
  const { $ref: reference, enum: values, items, format, type = '' } = schema;
  if (typeof reference === 'string') return reference.slice(reference.lastIndexOf('/') + 1);
  if (Array.isArray(values)) return values.join('|');
  if (isObject(items)) return `[${typeWord(items)}]`;
  const words: Readonly<Record<string, string>> = {
    'date-time': 'datetime',
    int64: 'int64',
    uuid: 'uuid',
    email: 'email',
  };
  return words[format ?? ''] ?? (type === 'integer' ? 'int' : type);
}

function fieldsOf({ properties, required }: SchemaObject): string[] {
  if (!isObject(properties)) return [];
  const present: readonly unknown[] = Array.isArray(required) ? required : [];
  return Object.entries(properties).map(
    ([name, schema]) => `${name}${present.includes(name) ? '!' : ''} ${isObject(schema) ? typeWord(schema) : ''}`,
  );
}

function schemaNamed(name: string): SchemaObject {
  const schema = schemas[name];
  if (!schema) throw new Error(`The contract has no schema ${name}.`);
  return schema;
}

function follow(schema: SchemaObject, way: readonly string[]): SchemaObject {
  return way.reduce<SchemaObject>((at, step) => {
    const next = at[step];
    return isObject(next) ? next : {};
  }, schema);
}

/** `student.level_reached` → `StudentLevelReachedEvent`. */
function schemaNameOf(type: string): string {
  const words = type.split(/[._]/).map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return `${words.join('')}Event`;
}

const schemaOf = (type: string): SchemaObject => schemaNamed(schemaNameOf(type));

describe('records of the contract', () => {
  for (const [name, fields] of Object.entries(records)) {
    it(`have exactly the fields that the rule requires, with their types (REC-4): ${name}`, () => {
      expect(fieldsOf(schemaNamed(name))).to.have.members(fields.split(', '));
    });
  }

  for (const { record, way, fields } of nested) {
    it(`have exactly the fields of REC-4 in ${record}/${way.join('/')}`, () => {
      expect(fieldsOf(follow(schemaNamed(record), way))).to.have.members(fields.split(', '));
    });
  }

  it('allow no undeclared field', () => {
    for (const name of Object.keys(records)) expect(schemaNamed(name)['additionalProperties'], name).to.equal(false);
  });

  it('never allow null', () => {
    expect(JSON.stringify(schemas)).not.to.contain('"null"');
  });
});

describe('enumerations of the contract', () => {
  for (const [name, values] of Object.entries(enumerations)) {
    it(`have exactly the values that the rule requires: ${name}`, () => {
      expect(schemaNamed(name)['enum']).to.deep.equal(values);
    });
  }

  it('contain the 19 event types to which an endpoint can subscribe, in the order of WEP-3', () => {
    expect(registrationTypes).to.have.length(19);
    expect(schemaNamed('WebhookEventType')['enum']).to.deep.equal(registrationTypes);
    expect(eventTypes).to.deep.equal(registrationTypes);
  });

  it('contain the 19 event types and webhook.test as the types of a delivery', () => {
    expect(schemaNamed('WebhookDeliveryEventType')['enum']).to.deep.equal([...registrationTypes, 'webhook.test']);
  });
});

describe('outbound events of the contract', () => {
  const envelope = [
    'id! uuid',
    'type! WebhookDeliveryEventType',
    'occurred_at! datetime',
    'club_id! uuid',
    'data! object',
  ];
  /** The fields of `data` for each event type, with `?` after fields that may be absent. */
  const data: Readonly<Record<string, string>> = {
    'student.created': 'student',
    'student.updated': 'student',
    'student.removed': 'student',
    'access.granted': 'enrollment delivery has_access student',
    'access.revoked': 'enrollment delivery has_access student',
    'access.extended': 'enrollment delivery has_access student previous_ends_at?',
    'access.shortened': 'enrollment delivery has_access student previous_ends_at?',
    'access.restored': 'enrollment delivery has_access student',
    'access.moved': 'enrollment delivery has_access student previous_cohort_id?',
    'purchase.paid': 'purchase student',
    'purchase.refunded': 'purchase student',
    'subscription.past_due': 'subscription student',
    'subscription.canceled': 'subscription student',
    'lesson.completed': 'lesson course completed_at student',
    'course.completed': 'course completed_at student',
    'certificate.issued': 'certificate course student',
    'student.tagged': 'tag student',
    'student.untagged': 'tag student',
    'student.level_reached': 'level student',
    'webhook.test': 'endpoint',
  };

  it('consist of one webhook operation for each event type, and one for webhook.test', async () => {
    expect(Object.keys(contractDocument.webhooks)).to.have.members([...registrationTypes, 'webhook.test']);
    await eachCase(Object.entries(contractDocument.webhooks), ([type, { post }]) =>
      expect(post.operationId).to.equal(type),
    );
  });

  it('share one envelope', () => {
    expect(fieldsOf(schemaNamed('WebhookEnvelope'))).to.deep.equal(envelope);
  });

  for (const [type, fields] of Object.entries(data)) {
    it(`contain exactly ${fields.replaceAll(' ', ', ')}: ${type}`, () => {
      const schema = schemaOf(type);
      const body = contractDocument.webhooks[type]?.post.requestBody?.content['application/json'];
      expect(body).to.have.nested.property('schema.$ref', `#/components/schemas/${schemaNameOf(type)}`);
      expect(schema['allOf']).to.deep.equal([{ $ref: '#/components/schemas/WebhookEnvelope' }]);
      expect(schema['unevaluatedProperties']).to.equal(false);
      expect(follow(schema, ['properties', 'type'])['const']).to.equal(type);
      const found = fieldsOf(follow(schema, ['properties', 'data'])).map((field) => field.split(' ')[0] ?? '');
      const expected = fields.split(' ').map((field) => (field.endsWith('?') ? field.slice(0, -1) : `${field}!`));
      expect(found).to.have.members(expected);
    });
  }

  it('contain only the student’s id if the event is student.removed', () => {
    const student = follow(schemaOf('student.removed'), ['properties', 'data', 'properties', 'student']);
    expect(fieldsOf(student)).to.deep.equal(['id! uuid']);
    expect(student['additionalProperties']).to.equal(false);
  });

  it('show id, name, e-mail, confirmation and creation time of a student', () => {
    expect(fieldsOf(schemaNamed('EventStudent'))).to.deep.equal([
      'id! uuid',
      'name! string',
      'email! email',
      'verified! boolean',
      'created_at! datetime',
    ]);
  });

  it('allow no undeclared field, and no field whose name means a tax document', () => {
    const ofEvents = Object.entries(schemas).filter(([name]) => name.startsWith('Event'));
    expect(ofEvents).to.have.length(12);
    for (const [name, schema] of ofEvents) {
      expect(schema['additionalProperties'], name).to.equal(false);
      expect(fieldsOf(schema).join(' '), name).not.to.match(/tax|document|national|cpf|ssn|vat/i);
    }
  });
});
