/**
 * Compares the contract with tables that were written by hand, independently of the contract. The tables contain the operations that were
 * fixed before the service was written (OP-1 to OP-16), with their bodies, parameters, codes and limits. records.test.ts tests records,
 * enumerations and events.
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

/**
 * Columns: number, method, path, session, success status, answer, id. `data:X` means the answer `{data: X}`, and `list:X` means a list of X
 * with its total.
 */
const fixed = rowsOf(`
  1  POST   /v1/clubs/{clubId}/classroom/agents/{publicId}/messages             student 200 stream                              askAgent
  2  POST   /v1/auth/verify-email                                               none    200 data:object                         verifyStudentEmail
  3  GET    /v1/auth/session                                                    student 200 data:Student                        getSession
  4  POST   /v1/clubs/{clubId}/classroom/assignment-files                       student 201 data:Media                          reserveAssignmentFile
  5  GET    /v1/clubs/{clubId}/assignment-submissions                           admin   200 list:AssignmentSubmission           listAssignmentSubmissions
  6  GET    /v1/clubs/{clubId}/campaigns/{campaignId}/deliveries                admin   200 list:CampaignDelivery               listCampaignDeliveries
  7  GET    /v1/clubs/{clubId}/certificates                                     admin   200 list:Certificate                    listCertificates
  8  POST   /webhooks/billing                                                   none    202 any                                 receiveBillingNotice
  9  GET    /v1/clubs/{clubId}/workflows/{workflowId}                           admin   200 data:Automation                     getAutomation
  10 GET    /v1/clubs/{clubId}/repositories/{repositoryId}                      admin   200 data:Repository                     getRepository
  11 DELETE /v1/clubs/{clubId}/classroom/community/spaces/{spaceId}/membership  student 200 data:CommunitySpace                 leaveCommunitySpace
  12 POST   /v1/clubs/{clubId}/classroom/registration-links/{code}/claim        student 200 data:RegistrationLinkClaim          claimRegistrationLink
  13 GET    /v1/clubs/{clubId}/media/storage                                    admin   200 bare:StorageUsage                   getStorageUsage
  14 GET    /v1/me                                                              admin   200 data:AdministratorProfile           getProfile
  15 POST   /v1/clubs/{clubId}/webhook-endpoints                                admin   201 data:object                         registerWebhookEndpoint`);

/**
 * Columns: method, path, sessions. The rows are the operations that OP-16 names, and the operation that receives notices of sales platforms
 * (SALE-1).
 */
const referenced = rowsOf(`
  POST   /v1/auth/sign-in                             none
  POST   /v1/auth/admin/sign-in                       none
  DELETE /v1/auth/session                             student,admin
  POST   /v1/clubs/{clubId}/classroom/agent-images    student
  POST   /v1/clubs/{clubId}/media/{mediaId}/complete  student,admin
  POST   /webhooks/{platform}/{token}                 none`);

/** Columns: an event of the stream of OP-1, and the fields of its data. */
const streamed = rowsOf(`
  accepted conversation=AgentConversation,question=AgentMessage,answer=AgentMessage,limits=AgentLimits
  delta    text=string
  done     answer=AgentMessage
  error    error=object,answer=AgentMessage`);

/** Columns: an operation, and the values of its parameter `status`. */
const filters = rowsOf(`
  5 submitted,approved,changes_requested
  6 pending,sending,sent,skipped,failed`);

/** Columns: an operation, and the error statuses that it must declare. It may declare further statuses. */
const failures = rowsOf(`
  1 401,403,409,422,429,501
  2 410,429,503`);

/** Paths whose reads have no rate limit. */
const reads = ['/v1/auth/session', '/v1/me', '/v1/clubs/c/certificates', '/v1/clubs/c/classroom/agents/a'];

/** Columns: an operation, a field of its body, and the type, presence and fixed bounds of the field. */
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

/** Columns: an operation, a parameter, and the location and bounds of the parameter. */
const parameters = rowsOf(`
  1  clubId    path  format=uuid
  1  publicId  path  minLength=1 maxLength=32
  4  clubId    path  format=uuid
  5  clubId    path  format=uuid
  6  clubId    path  format=uuid
  7  clubId    path  format=uuid
  9  clubId    path  format=uuid
  10 clubId    path  format=uuid
  11 clubId    path  format=uuid
  12 clubId    path  format=uuid
  13 clubId    path  format=uuid
  15 clubId    path  format=uuid
  6  campaignId path  format=uuid
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

/**
 * Columns: a status, a code, and the number of the operation that returns the code. The number is 0 if the code does not belong to a single
 * operation.
 */
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

/** Columns: method and path of a call, and method and path of a second call that counts against the same limit. */
const combined = rowsOf(`
  POST /v1/clubs/c/classroom/mentorships/m/bookings DELETE /v1/clubs/c/classroom/mentorships/m/sessions/s
  POST /v1/auth/sign-in                             POST   /v1/auth/verify-email`);

/** Columns: method, path, number of calls, seconds, and the subject whose calls are counted together. */
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

const formats: Readonly<Record<string, string>> = { uuid: 'uuid', datetime: 'date-time', email: 'email' };

function resolved(schema: unknown): SchemaObject {
  if (!isObject(schema)) return {};
  return isReference(schema) ? dereference<SchemaObject>(schema, schemas) : schema;
}

function propertyOf(record: SchemaObject, name: string): SchemaObject {
  const { properties } = record;
  const found = isObject(properties) ? properties[name] : undefined;
  if (!isObject(found)) throw new Error(`Field ${name} does not exist.`);
  return found;
}

/** @param word the expected type, such as `uuid`, `[Media]` or the name of a record */
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
  return operationAt(method, path);
};

const operationAt = (method: string, path: string): ContractOperation => {
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
  for (const [number = '', method = '', path = '', auth = '', status = '', form = '', id] of fixed) {
    it(`declare the fixed values of OP-${number}: ${method} …${path.slice(-60)}: ${auth}, ${status} ${form}`, () => {
      const operation = operationOf(number);
      expect(operation.operationId).to.equal(id);
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

  for (const [method = '', path = '', auth] of referenced)
    it(`declare the session: ${method} ${path}: ${auth}`, () => {
      expect(operationAt(method, path).auth.join() || 'none').to.equal(auth);
    });

  it('return token, expires_at and the student in OP-2', () => {
    const answer = resolved(propertyOf(successOf(operationOf('2')), 'data'));
    expectType(propertyOf(answer, 'token'), 'string');
    expectType(propertyOf(answer, 'expires_at'), 'datetime');
    expectType(propertyOf(answer, 'student'), 'Student');
  });

  it('return the upload descriptor next to the file in OP-4', () => {
    expectType(propertyOf(successOf(operationOf('4')), 'upload'), 'UploadDescriptor');
  });

  it('return the counts next to the list in OP-5', () => {
    expectType(propertyOf(successOf(operationOf('5')), 'counts'), 'AssignmentSubmissionCounts');
  });

  it('return the endpoint and its secret in OP-15', () => {
    const answer = resolved(propertyOf(successOf(operationOf('15')), 'data'));
    expectType(propertyOf(answer, 'endpoint'), 'WebhookEndpoint');
    expectType(propertyOf(answer, 'secret'), 'string');
  });

  for (const [number = '', name = '', type = '', presence = '', ...bounds] of bodies)
    it(`accept a field in the body: OP-${number} ${name}: ${[type, presence, ...bounds].join(' ')}`, () => {
      const body = bodyOf(operationOf(number));
      const field = propertyOf(body, name);
      expectType(field, type);
      expectPresence(body, name, presence === 'required' ? '!' : '?');
      expectBounds(resolved(field), bounds);
      expect(body['additionalProperties']).to.equal(false);
    });

  for (const [number = '', name = '', place = '', ...bounds] of parameters)
    it(`accept a parameter: OP-${number} ${name} in its ${place}: ${bounds.join(' ')}`, () => {
      const parameter = operationOf(number).parameters.find((one) => one.name === name && one.in === place);
      expect(parameter?.required).to.equal(place === 'path');
      expectBounds(parameter?.schema ?? {}, bounds);
    });

  for (const [number = '', values = ''] of filters)
    it(`filter by status: OP-${number}: ${values}`, () => {
      const parameter = operationOf(number).parameters.find(({ name }) => name === 'status');
      expect(parameter?.schema['enum']).to.have.members(values.split(','));
    });

  for (const [number = '', statuses = ''] of failures)
    it(`declare error statuses: OP-${number}: ${statuses}`, () => {
      expect(Object.keys(operationOf(number).responses)).to.include.members(statuses.split(','));
    });

  for (const [event = '', fields = ''] of streamed)
    it(`stream an event: OP-1 ${event} with ${fields.replaceAll(/=\w+/g, '')}`, () => {
      const variants = schemas['AgentStreamEvent']?.['oneOf'];
      const found = (Array.isArray(variants) ? variants : [])
        .map(resolved)
        .find((variant) => resolved(propertyOf(variant, 'event'))['const'] === event);
      const data = resolved(propertyOf(found ?? {}, 'data'));
      for (const field of fields.split(',')) {
        const [name = '', type = ''] = field.split('=');
        expectType(propertyOf(data, name), type);
      }
      expect(Object.keys(data['properties'] ?? {})).to.have.members(
        fields.split(',').map((each) => each.split('=')[0]),
      );
    });

  it('stream four kinds of events in OP-1', () => {
    expect(schemas['AgentStreamEvent']?.['oneOf']).to.have.length(streamed.length);
  });

  it('are part of version 0.2.0 of the contract', () => {
    expect(document.info.version).to.equal('0.2.0');
  });
});

describe('the fixed codes and limits', () => {
  it('give every error a code and a message', () => {
    const error = resolved(propertyOf(resolved(schemas['Error']), 'error'));
    expectPresence(error, 'code', '!');
    expectPresence(error, 'message', '?');
  });

  for (const [status = '', code = '', number = ''] of codes)
    it(`contain ${status} ${code}${number === '0' ? '' : ` of OP-${number}`}`, () => {
      expect((errorStatus as Readonly<Record<string, number>>)[code]).to.equal(Number(status));
      if (number !== '0') expect(operationOf(number).errorCodes).to.include(code);
    });

  for (const [method = '', path = '', calls, seconds, scope] of limits)
    it(`allow each ${scope} ${calls} calls of ${method} ${path} in ${seconds} s`, () => {
      const rule = ruleFor({ method, path });
      expect(rule).to.include({ limit: Number(calls), windowSeconds: Number(seconds), scope });
    });

  for (const [method = '', path = '', otherMethod = '', other = ''] of combined)
    it(`count together ${method} ${path.slice(-30)} and ${otherMethod} ${other.slice(-30)}`, () => {
      const rule = ruleFor({ method, path });
      expect(rule).not.to.equal(undefined);
      expect(ruleFor({ method: otherMethod, path: other })?.counter).to.equal(rule?.counter);
    });

  for (const path of reads)
    it(`do not limit GET ${path}`, () => {
      expect(ruleFor({ method: 'GET', path })).to.equal(undefined);
    });

  it('declare the header Retry-After, in seconds, for a 429', () => {
    expect(responses['RateLimited']).to.have.nested.property('headers.Retry-After.schema.type', 'integer');
  });
});
