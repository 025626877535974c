/**
 * The contract against tables of its own: the operations that were fixed before the service was written (OP-1 to OP-15), with their
 * fields, enumerations, codes, limits and events. The tables are written by hand, and nothing in them is read from the contract.
 */
import { expect } from 'chai';
import { ruleFor } from '../../api/rate-limits/rules.policy.ts';
import { contractOperations, type ContractOperation } from '../../contract/contract.ts';
import { contractDocument } from '../../contract/document.ts';
import { dereference, isObject, isReference, type SchemaObject } from '../../contract/openapi.ts';
import { closedDocument } from '../../contract/published-schemas.ts';
import { errorStatus } from '../../platform/core/error-codes.ts';

const document = closedDocument(contractDocument);
const { schemas, responses } = document.components;
const operations = contractOperations();

const rowsOf = (table: string): string[][] =>
  table
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/));

/** Number, method, path, session, status and form of the success. `data:X` is `{data: X}`, `list:X` a list with its total. */
const fixed = rowsOf(`
  1  POST   /v1/clubs/{clubId}/classroom/agents/{publicId}/messages             student 200 stream
  2  POST   /v1/auth/verify-email                                               none    200 data:object
  3  GET    /v1/auth/session                                                    student 200 data:Student
  4  POST   /v1/clubs/{clubId}/classroom/assignment-files                       student 201 data:Media
  5  GET    /v1/clubs/{clubId}/assignment-submissions                           admin   200 list:AssignmentSubmission
  6  GET    /v1/clubs/{clubId}/campaigns/{campaignId}/deliveries                admin   200 list:CampaignDelivery
  7  GET    /v1/clubs/{clubId}/certificates                                     admin   200 list:Certificate
  8  POST   /webhooks/billing                                                   none    202 any
  9  GET    /v1/clubs/{clubId}/workflows/{workflowId}                           admin   200 data:Automation
  10 GET    /v1/clubs/{clubId}/repositories/{repositoryId}                      admin   200 data:Repository
  11 DELETE /v1/clubs/{clubId}/classroom/community/spaces/{spaceId}/membership  student 200 data:CommunitySpace
  12 POST   /v1/clubs/{clubId}/classroom/registration-links/{code}/claim        student 200 data:RegistrationLinkClaim
  13 GET    /v1/clubs/{clubId}/media/storage                                    admin   200 bare:StorageUsage
  14 GET    /v1/me                                                              admin   200 data:AdministratorProfile
  15 POST   /v1/clubs/{clubId}/webhook-endpoints                                admin   201 data:object`);

/** Fields with their types; `!` after a field that is always there, `?` after one that may be absent, neither where that is open. */
const records: Readonly<Record<string, string>> = {
  Student:
    'id uuid, name string, email email, verified boolean, has_password boolean, created_at datetime, club_id uuid, club_slug string, avatar_url string',
  AdministratorProfile:
    'id uuid, name string, email email, verified boolean, phone_verified boolean, has_password boolean, phone string, organizations [OrganizationMembership]',
  OrganizationMembership: 'organization_id uuid, name string, slug string, role string',
  AgentConversation: 'id! uuid, title! string, last_message_at! datetime, created_at! datetime',
  AgentMessage:
    'id! uuid, role! string, content! string, status! string, error_code? string, reply_to? uuid, images! [Media], citations! [AgentCitation], created_at! datetime, completed_at? datetime',
  AgentCitation:
    'cited_text! string, source_id? uuid, source_kind? string, source_title? string, media_id? uuid, lesson_id? uuid, page_from? int, page_to? int',
  AgentLimits: 'daily_limit! int, used! int, remaining! int, resets_at? datetime, club_budget_exhausted! boolean',
  Media:
    'id! uuid, kind! string, title! string, provider! string, status! string, visibility! string, archived! boolean, created_at! datetime, file_name? string, mime? string, size_bytes? int, external_id? string, error? string, duration_seconds? int, width? int, height? int, preview_url? string, thumbnail_url? string, folder_id? uuid, type? string, download_url? string, expires_at? datetime, favorite? boolean, usage_count? int',
  UploadDescriptor: 'method string, url string, headers object, expires_at datetime',
  AssignmentSubmission:
    'id uuid, status string, submitted_at datetime, late boolean, student object, lesson_public_id string, lesson_title string, course_id uuid, course_title string, file_count int, reviewed_at datetime, block_label string',
  AssignmentSubmissionCounts: 'submitted int, approved int, changes_requested int',
  CampaignDelivery:
    'id uuid, student_id uuid, student_name string, student_email string, status string, skip_reason string, last_error string, sent_at datetime, delivered_at datetime, bounced_at datetime, complained_at datetime, opened_at datetime, clicked_at datetime',
  Certificate:
    'id uuid, code string, code_formatted string, student_id uuid, student_name string, student_email string, course_id uuid, course_title string, course_public_id string, club_name string, lesson_count int, version int, issued_at datetime, completed_at datetime, revoked boolean, revoked_at datetime, revoked_reason string, verify_url string, hours int',
  Automation:
    'id uuid, name string, status string, draft AutomationDefinition, active_runs int, total_runs int, created_at datetime, updated_at datetime, published? AutomationVersion',
  AutomationVersion: 'id uuid, number int, trigger_kind string, published_at datetime, definition AutomationDefinition',
  AutomationDefinition:
    'trigger AutomationTrigger, reentry string, exit_on_access_lost boolean, exit_when AutomationCondition, steps [AutomationStep]',
  AutomationTrigger:
    'kind string, delivery_ids [uuid], product_ids [uuid], course_ids [uuid], lesson_ids [uuid], tag_ids [uuid], level_ids [uuid]',
  AutomationCondition: 'match string, rules [AutomationRule]',
  AutomationRule:
    'kind string, negate boolean, delivery_ids [uuid], cohort_ids [uuid], product_ids [uuid], tag_ids [uuid], lesson_id uuid, course_id uuid, percent int, step_id string',
  AutomationStep:
    'id string, kind string, points int, note string, tag_id uuid, email AutomationEmail, wait AutomationWait, condition AutomationCondition, then [AutomationStep], else [AutomationStep]',
  AutomationEmail: 'subject string, preheader string, reply_to string, blocks [EmailBlock]',
  EmailBlock: 'kind string, text string, level int, url string, media_id uuid, alt string',
  AutomationWait: 'kind string, amount int, unit string, days int',
  Repository:
    'id uuid, public_id string, title string, status string, file_count int, total_bytes int, created_at datetime, items [object], description string, instructor_name string, cover Media, published_at datetime',
  CommunitySpace:
    'id uuid, name string, posting string, private boolean, has_access boolean, can_post boolean, joined boolean, member_count int, unread boolean, muted boolean, digest boolean, description string, cover_url string',
  RegistrationLinkClaim: 'club_name string, name string, deliveries [string]',
  StorageUsage: 'bytes int, files int, by_kind [object], limit_bytes int',
  WebhookEndpoint:
    'id uuid, url string, description string, event_types [WebhookEventType], status string, disabled_reason string, disabled_at datetime, consecutive_failures int, failing_since datetime, hold_until datetime, last_success_at datetime, previous_secret_expires_at datetime, pending_deliveries int, created_at datetime, updated_at datetime',
  WebhookEnvelope: 'id uuid, type string, occurred_at datetime, club_id uuid, data object',
};

/** The field of a record, its values, and whether there are no others. */
const enumerations = rowsOf(`
  AgentMessage role            user,assistant                                                         all
  AgentMessage status          generating,complete,truncated,refused,failed                           all
  AgentCitation source_kind    media,lesson                                                           all
  Media kind                   video,audio,image,document                                             all
  Media provider               hostedvideo_stream,objstore,videosite1,videosite2,external,protectedvideo all
  Media status                 uploading,processing,ready,failed                                      all
  Media visibility             private,public                                                         all
  Media type                   video,image,audio,pdf,file,embed                                       all
  UploadDescriptor method      tus,put                                                                all
  AssignmentSubmission status  submitted,approved,changes_requested                                   all
  CampaignDelivery status      pending,sending,sent,skipped,failed                                    all
  CampaignDelivery skip_reason suppressed                                                             some
  Automation status            draft                                                                  some
  AutomationTrigger kind       access_granted                                                         some
  AutomationDefinition reentry once                                                                   some
  AutomationCondition match    all                                                                    some
  AutomationRule kind          has_access                                                             some
  AutomationStep kind          send_email                                                             some
  AutomationWait kind          delay                                                                  some
  AutomationWait unit          minutes                                                                some
  EmailBlock kind              heading                                                                some
  Repository status            published                                                              some
  CommunitySpace posting       members                                                                some
  OrganizationMembership role  owner                                                                  some
  WebhookEndpoint status       enabled,paused,disabled                                                all
  WebhookEndpoint disabled_reason manual,failing                                                      all
  WebhookDelivery status       pending,succeeded,failed,canceled                                      all
  WebhookDelivery cancel_reason expired,student_removed                                               all`);

/** Operation, field of its body, type, presence, and the bound that is fixed. */
const bodies = rowsOf(`
  1  id              uuid               required
  1  content         string             required minLength=1 maxLength=8000
  1  conversation_id uuid               optional
  1  image_ids       [uuid]             optional maxItems=2
  2  token           string             required minLength=1 maxLength=128
  4  file_name       string             required
  4  mime            string             required
  15 url             string             required minLength=1 maxLength=2048
  15 event_types     [WebhookEventType] required
  15 description     string             optional maxLength=200`);

/** Operation, parameter, where it stands, and its bounds. */
const parameters = rowsOf(`
  1  clubId    path  format=uuid
  1  publicId  path  minLength=1 maxLength=32
  5  status    query
  5  student_id query format=uuid
  5  page_size query minimum=1 maximum=100
  5  page      query minimum=1
  6  status    query
  6  page_size query minimum=1 maximum=100
  6  page      query minimum=1
  7  q         query maxLength=120
  7  course_id query format=uuid
  7  student_id query format=uuid
  7  revoked   query
  7  page_size query minimum=1 maximum=100
  7  page      query minimum=1
  9  workflowId path format=uuid
  10 repositoryId path format=uuid
  11 spaceId   path format=uuid
  12 code      path maxLength=64`);

/** Status, code, and the operation that says so; 0 where it is no single one. */
const codes = rowsOf(`
  402 feature_not_in_plan    0
  402 limit_reached          0
  402 payment_failed         0
  403 not_entitled           1
  409 message_exists         1
  409 generation_in_progress 1
  422 invalid_image          1
  429 daily_limit_reached    1
  429 club_budget_exhausted  1
  501 not_configured         1
  429 rate_limited           1
  503 rate_limit_unavailable 2`);

/** Method, path, calls, seconds, and whose calls are counted together. */
const limits = rowsOf(`
  POST   /v1/clubs/c/tags                                      60  60   club
  PUT    /v1/clubs/c/tags                                      60  60   club
  PATCH  /v1/clubs/c/tags                                      60  60   club
  DELETE /v1/clubs/c/tags                                      60  60   club
  PATCH  /v1/me                                                60  60   ip
  POST   /webhooks/billing                                     60  60   ip
  POST   /v1/auth/sign-in                                      10  60   ip
  POST   /v1/auth/admin/sign-in                                10  60   ip
  POST   /v1/auth/verify-email                                 10  60   ip
  DELETE /v1/auth/session                                      60  60   ip
  POST   /webhooks/shop/token                                  600 60   ip
  PUT    /v1/clubs/c/classroom/lessons/l/completion            600 60   student
  POST   /v1/clubs/c/classroom/lessons/l/comments              10  60   student
  POST   /v1/clubs/c/classroom/posts/p/comments                10  60   student
  POST   /v1/clubs/c/classroom/community/spaces/s/posts        20  3600 student
  POST   /v1/clubs/c/classroom/mentorships/m/bookings          30  3600 student
  DELETE /v1/clubs/c/classroom/mentorships/m/sessions/s        30  3600 student
  PUT    /v1/clubs/c/classroom/mentorships/m/sessions/s/agenda 600 60   student
  PUT    /v1/clubs/c/classroom/mentorships/m/sessions/s/rating 600 60   student
  POST   /v1/clubs/c/classroom/agents/a/messages               20  60   student`);

const registered =
  'student.created student.updated student.removed access.granted access.revoked access.extended access.shortened access.restored access.moved purchase.paid purchase.refunded subscription.past_due subscription.canceled lesson.completed course.completed certificate.issued student.tagged student.untagged student.level_reached'.split(
    ' ',
  );

const formats: Readonly<Record<string, string>> = { uuid: 'uuid', datetime: 'date-time', email: 'email' };

function resolved(schema: unknown): SchemaObject {
  if (!isObject(schema)) return {};
  return isReference(schema) ? dereference<SchemaObject>(schema, schemas) : schema;
}

function propertyOf(record: SchemaObject, name: string): SchemaObject {
  const { properties } = record;
  const found = isObject(properties) ? properties[name] : undefined;
  if (!isObject(found)) throw new Error(`There is no field ${name}.`);
  return found;
}

/** @param word such as `uuid`, `[Media]` or the name of a record */
function expectType(schema: SchemaObject, word: string): void {
  const item = /^\[(.+)\]$/.exec(word)?.[1];
  const target = resolved(schema);
  if (item !== undefined) {
    expect(target.type).to.equal('array');
    return expectType(isObject(target['items']) ? target['items'] : {}, item);
  }
  if (/^[A-Z]/.test(word)) return void expect(schema['$ref']).to.match(new RegExp(`/${word}(Input)?$`));
  if (word === 'int') return void expect(target.type).to.equal('integer');
  const format = formats[word];
  expect(target.type).to.equal(word === 'boolean' || word === 'object' ? word : 'string');
  if (format !== undefined) expect(target.format).to.equal(format);
}

function expectPresence(record: SchemaObject, name: string, mark: string): void {
  const required: readonly unknown[] = Array.isArray(record['required']) ? record['required'] : [];
  if (mark !== '') expect(required.includes(name)).to.equal(mark === '!');
}

function expectBounds(schema: SchemaObject, bounds: readonly string[]): void {
  for (const bound of bounds) {
    const [word = '', value = ''] = bound.split('=');
    expect(String(schema[word]), word).to.equal(value);
  }
}

const operationOf = (number: string): ContractOperation => {
  const [, method = '', path = ''] = fixed.find(([each]) => each === number) ?? [];
  const found = operations.find((one) => one.path === path && one.method === method.toLowerCase());
  if (!found) throw new Error(`The contract has no ${method} ${path}.`);
  return found;
};

function successOf({ responses: declared, successStatus }: ContractOperation): SchemaObject {
  const entry = declared[successStatus];
  const { content = {} } = entry ? dereference(entry, responses) : {};
  const json = content['application/json'];
  return resolved(isObject(json) ? json['schema'] : undefined);
}

function bodyOf({ path, method }: ContractOperation): SchemaObject {
  const json = document.paths[path]?.[method]?.requestBody?.content['application/json'];
  return resolved(isObject(json) ? json['schema'] : undefined);
}

describe('the fixed operations', () => {
  for (const [number = '', method = '', path = '', auth = '', status = '', form = ''] of fixed) {
    it(`OP-${number} ${method} …${path.slice(-60)}: ${auth}, ${status} ${form}`, () => {
      const operation = operationOf(number);
      expect(operation.auth.join() || 'none').to.equal(auth);
      expect(operation.successStatus).to.equal(Number(status));
      if (form === 'stream') return void expect(operation.contentTypes).to.deep.equal(['text/event-stream']);
      const [wrapping, word = ''] = form.split(':');
      const answer = successOf(operation);
      if (wrapping === 'data') expectType(propertyOf(answer, 'data'), word);
      if (wrapping === 'list') {
        expectType(propertyOf(answer, 'data'), `[${word}]`);
        expectType(propertyOf(answer, 'total'), 'int');
      }
      if (wrapping === 'bare') expect(answer).to.deep.equal(schemas[word]);
    });
  }

  it('OP-2 answers token, expires_at and the student', () => {
    const answer = resolved(propertyOf(successOf(operationOf('2')), 'data'));
    expectType(propertyOf(answer, 'token'), 'string');
    expectType(propertyOf(answer, 'expires_at'), 'datetime');
    expectType(propertyOf(answer, 'student'), 'Student');
  });

  it('OP-4 answers the descriptor of the upload beside the file', () => {
    expectType(propertyOf(successOf(operationOf('4')), 'upload'), 'UploadDescriptor');
  });

  it('OP-5 answers the counts beside the list', () => {
    expectType(propertyOf(successOf(operationOf('5')), 'counts'), 'AssignmentSubmissionCounts');
  });

  it('OP-15 answers the endpoint and its secret', () => {
    const answer = resolved(propertyOf(successOf(operationOf('15')), 'data'));
    expectType(propertyOf(answer, 'endpoint'), 'WebhookEndpoint');
    expectType(propertyOf(answer, 'secret'), 'string');
  });

  for (const [number = '', name = '', type = '', presence = '', ...bounds] of bodies)
    it(`OP-${number} takes ${name} in its body: ${[type, presence, ...bounds].join(' ')}`, () => {
      const body = bodyOf(operationOf(number));
      const field = propertyOf(body, name);
      expectType(field, type);
      expectPresence(body, name, presence === 'required' ? '!' : '?');
      expectBounds(resolved(field), bounds);
      expect(body['additionalProperties']).to.equal(false);
    });

  for (const [number = '', name = '', place = '', ...bounds] of parameters)
    it(`OP-${number} takes ${name} in its ${place}: ${bounds.join(' ')}`, () => {
      const parameter = operationOf(number).parameters.find((one) => one.name === name && one.in === place);
      expect(parameter?.required).to.equal(place === 'path');
      expectBounds(parameter?.schema ?? {}, bounds);
    });
});

describe('the fixed records', () => {
  for (const [name, fields] of Object.entries(records))
    for (const field of fields.split(', '))
      it(`${name}: ${field}`, () => {
        const [, own = '', mark = '', type = ''] = /^(\w+)([!?]?) (.+)$/.exec(field) ?? [];
        const record = schemas[name] ?? {};
        expectType(propertyOf(record, own), type);
        expectPresence(record, own, mark);
      });

  for (const [record = '', field = '', values = '', extent] of enumerations)
    it(`${record}.${field} is ${values.length > 50 ? 'one of its values' : values}, ${extent} of them`, () => {
      const found = resolved(propertyOf(schemas[record] ?? {}, field))['enum'];
      if (extent === 'all') expect(found).to.have.members(values.split(','));
      else expect(found).to.include.members(values.split(','));
    });
});

describe('the fixed codes and limits', () => {
  it('an error is code, always, and message', () => {
    const error = resolved(propertyOf(resolved(schemas['Error']), 'error'));
    expectPresence(error, 'code', '!');
    expectPresence(error, 'message', '?');
  });

  for (const [status = '', code = '', number = ''] of codes)
    it(`${status} ${code}${number === '0' ? '' : ` is a code of OP-${number}`}`, () => {
      expect((errorStatus as Readonly<Record<string, number>>)[code]).to.equal(Number(status));
      if (number !== '0') expect(operationOf(number).errorCodes).to.include(code);
    });

  for (const [method = '', path = '', calls, seconds, scope] of limits)
    it(`${method} ${path}: ${calls} in ${seconds} s for each ${scope}`, () => {
      const rule = ruleFor({ method, path });
      expect(rule).to.include({ limit: Number(calls), windowSeconds: Number(seconds), scope });
    });
});

describe('the fixed events', () => {
  for (const type of [...registered, 'webhook.test'])
    it(`${type} has the envelope, its own type and data`, () => {
      const webhook = document.webhooks[type]?.post.requestBody?.content['application/json'];
      const body = resolved(isObject(webhook) ? webhook['schema'] : undefined);
      expect(body['allOf']).to.deep.equal([{ $ref: '#/components/schemas/WebhookEnvelope' }]);
      expect(propertyOf(body, 'type')['const']).to.equal(type);
      expectType(propertyOf(body, 'data'), 'object');
    });

  it('registration takes 19 types, each by its name, and not webhook.test', () => {
    expect(schemas['WebhookEventType']?.['enum']).to.deep.equal(registered);
    expect(registered).to.have.length(19);
  });
});
