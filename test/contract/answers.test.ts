/** Tests successful answers in the contract: their statuses (DEC-2), their forms (OP-2 to OP-15), and the pages and filters of lists. */
import { expect } from 'chai';
import { contractOperations, type ContractOperation } from '../../contract/contract.ts';
import { contractDocument } from '../../contract/document.ts';
import { dereference, isReference, type SchemaObject } from '../../contract/openapi.ts';

const { schemas, responses } = contractDocument.components;
const operations = contractOperations();
const named = ({ operationId }: ContractOperation) => operationId;

function successOf({ responses: own, successStatus }: ContractOperation): SchemaObject | undefined {
  const response = own[successStatus];
  if (!response) throw new Error('The operation has no successful response');
  const { content = {} } = dereference(response, responses);
  const [media] = Object.values(content) as { schema: SchemaObject }[];
  return media?.schema;
}

const resolved = (schema: SchemaObject): SchemaObject => dereference<SchemaObject>(schema, schemas);
const propertiesOf = (schema: SchemaObject) => (resolved(schema)['properties'] ?? {}) as Record<string, SchemaObject>;

describe('an operation and its success status (docs/reference/http-status-codes.md)', () => {
  const writes = operations.filter(({ method }) => method === 'post');
  /**
   * Whether the path ends in the name of a kind of record, so that a POST creates a record of this kind. `avatar` is singular, because a
   * student has only one.
   */
  const isCollection = ({ path }: ContractOperation) => /\/[a-z-]+s$|\/media$|\/avatar$/.test(path);
  /** Operations with an exceptional status. Most of them create no record immediately. Each comment says why. */
  const others: Readonly<Record<string, number>> = {
    askAgent: 200, // rule AGT-17 requires the status 200
    createMediaTrack: 202, // a run creates the record later
    enrollInAutomation: 202, // runs begin later, and not for all students
    followMailLink: 302, // a redirect
    joinIdentity: 200, // opens a session
    requestAdministratorPasskey: 200, // the options are not stored
    requestAdministratorPasskeyCreation: 200,
    requestClubExport: 202, // as for a student
    requestIdentityCode: 202, // the answer must not show whether a mail was sent
    requestOwnExport: 202, // a run writes the file, and a second request gets the same record
    requestStudentExport: 202,
    requestPasskeyForProof: 200,
    requestPasskeyForSignIn: 200,
    requestStudentPasskey: 200,
    requestStudentPasskeyCreation: 200,
    importStudents: 202, // the file is accepted, and its rows become students later
    openPublicMedia: 302, // a redirect to the current address of the file
    openPublicThumbnail: 302,
  };

  for (const operation of operations) {
    const { operationId, method, responses: own, successStatus } = operation;
    it(`has one success status, and its HTTP method allows this status: ${operationId}`, () => {
      expect(Object.keys(own).filter((status) => /^[23]/.test(status))).to.deep.equal([String(successStatus)]);
      if (method === 'get') expect(successStatus).to.equal(others[operationId] ?? 200);
      else if (method !== 'post') expect(successStatus).to.be.oneOf([200, 204]);
      else if (isCollection(operation)) expect(successStatus).to.equal(others[operationId] ?? 201);
      else expect(successStatus).to.be.oneOf([200, 202]);
    });
  }

  it('returns 204 exactly if its answer has no body', () => {
    const empty = operations.filter(
      (operation) => successOf(operation) === undefined && operation.successStatus !== 302,
    );
    expect(empty).not.to.deep.equal([]);
    expect(operations.filter(({ successStatus }) => successStatus === 204).map(named)).to.deep.equal(empty.map(named));
  });

  it('returns status 202 if its answer is the record Accepted', () => {
    const accepted = { $ref: '#/components/schemas/Accepted' };
    const acceptedOperations = operations.filter(
      (operation) => JSON.stringify(successOf(operation)) === JSON.stringify(accepted),
    );
    expect(acceptedOperations).to.have.length.above(5);
    // Some mail providers repeat a notice after any other status than 200 (BNC-2).
    const of = (operationId: string) =>
      ['receiveProviderNotice', 'receiveMailReport'].includes(operationId) ? 200 : 202;
    for (const { operationId, successStatus } of acceptedOperations)
      expect(successStatus, operationId).to.equal(of(operationId));
  });

  it('is listed as an exception only if it posts to a collection or redirects', () => {
    const posted: readonly string[] = writes.filter(isCollection).map(named);
    expect(posted).to.include.members(Object.keys(others).filter((operationId) => others[operationId] !== 302));
  });
});

/**
 * The specified answers of OP-2 to OP-15 in a short notation. OP-1 is missing, because it answers with a stream. OP-8 is missing, because
 * its answer only confirms that a notice was accepted.
 */
const specified = `
  verifyStudentEmail        {data: {token: string, expires_at: datetime, student: Student}}
  getSession                {data: Student}
  reserveAssignmentFile     {data: Media, upload: UploadDescriptor}
  listAssignmentSubmissions {data: [AssignmentSubmission], total, counts}
  listCampaignDeliveries    {data: [CampaignDelivery], total}
  listCertificates          {data: [Certificate], total}
  getAutomation             {data: Automation}
  getRepository             {data: Repository}
  leaveCommunitySpace       {data: CommunitySpace}
  claimRegistrationLink     {data: RegistrationLinkClaim}
  getStorageUsage           StorageUsage
  getProfile                {data: AdministratorProfile}
  registerWebhookEndpoint   {data: {endpoint: WebhookEndpoint, secret: string}}`
  .trim()
  .split('\n')
  .map((line) => /^(\w+) +(.*)$/.exec(line.trim()) ?? []);

describe('successful answers (OP-2 to OP-15)', () => {
  const text = specified.map(([, , shape = '']) => shape).join(' ');

  /**
   * Returns the form of an answer. A record is given by its name if one of the expected forms contains this name, and otherwise by its
   * fields.
   */
  function shapeOf(schema: SchemaObject): string {
    if (isReference(schema)) {
      const name = schema.$ref.split('/').at(-1) ?? '';
      return new RegExp(`\\b${name}\\b`).test(text) ? name : shapeOf(resolved(schema));
    }
    if (schema.type === 'array') return `[${shapeOf(schema['items'] as SchemaObject)}]`;
    if (schema.type !== 'object') return schema.format === 'date-time' ? 'datetime' : String(schema.type);
    // The field `shortened` marks an incomplete page (REC-10), `next_cursor` a page before the last, and `next_updated_since` a page of
    // changes (CUR-7). The table `specified` describes complete lists.
    const {
      shortened: _shortened,
      next_cursor: _next,
      next_updated_since: _since,
      ...properties
    } = propertiesOf(schema);
    const fields = Object.entries(properties).map(([name, field]) =>
      name === 'total' || name === 'counts' ? name : `${name}: ${shapeOf(field)}`,
    );
    expect(schema['required'], 'every field is required').to.deep.equal(Object.keys(properties));
    return `{${fields.join(', ')}}`;
  }

  for (const [, operationId = '', shape] of specified) {
    it(`have the specified form: ${operationId} ${shape}`, () => {
      const operation = operations.find((one) => one.operationId === operationId);
      const schema = operation && successOf(operation);
      expect(schema && shapeOf(schema)).to.equal(shape);
    });
  }

  it('are a stream of events for a question: askAgent', () => {
    const operation = operations.find(({ operationId }) => operationId === 'askAgent');
    expect(operation?.contentTypes).to.deep.equal(['text/event-stream']);
  });
});

describe('lists', () => {
  const isList = (operation: ContractOperation) => propertiesOf(successOf(operation) ?? {})['data']?.type === 'array';
  const lists = operations.filter(isList);
  const filtersOf = ({ parameters }: ContractOperation) =>
    parameters.filter(
      ({ in: place, name }) => place === 'query' && !/^(page|page_size|cursor|updated_since)$/.test(name),
    );

  it('are exactly the operations whose names begin with `list`', () => {
    const called = operations.filter(({ operationId }) => operationId.startsWith('list'));
    expect(called).not.to.deep.equal([]);
    expect(lists.map(named)).to.deep.equal(called.map(named));
  });

  /** A log, which a reader follows (EVT-24). */
  const readByCursor = lists.filter(({ operationId }) => operationId === 'listEvents');

  it('have a cursor, but no pages and no total, if they are a log: listEvents', () => {
    expect(readByCursor).to.have.length(1);
    for (const operation of readByCursor) {
      const names = operation.parameters.map(({ name }) => name);
      expect(names).to.include.members(['cursor', 'page_size']);
      expect(names).not.to.include('page');
      expect(propertiesOf(successOf(operation) ?? {})).to.have.all.keys(
        'data',
        'next_cursor',
        'has_more',
        'logged_since',
      );
    }
  });

  for (const operation of lists.filter((list) => !readByCursor.includes(list))) {
    it(`have pages and a total, and filter only by fields of their records: ${operation.operationId}`, () => {
      const names = operation.parameters.map(({ name }) => name);
      expect(names).to.include.members(['page', 'page_size']);
      const body = propertiesOf(successOf(operation) ?? {});
      expect(body).to.include.keys('data', 'total');
      const fields = Object.keys(propertiesOf((body['data']?.['items'] ?? {}) as SchemaObject));
      expect(fields).not.to.deep.equal([]);
      for (const { name } of filtersOf(operation)) {
        if (['q', 'since', 'until'].includes(name)) continue;
        // The field may have the name of the filter, or this name without `_id`, with `_at`, or in the other number (singular or plural).
        const ofRecord = name.replace(/_id$/, '');
        const possible = [name, ofRecord, `${ofRecord}s`, name.replace(/s$/, ''), `${name}s`, `${name}_at`];
        expect(fields, name).to.include.oneOf(possible);
      }
    });
  }

  /** The filters of OP-5 to OP-7, with their values. */
  const filters: Readonly<Record<string, readonly object[]>> = {
    listAssignmentSubmissions: [
      { enum: ['submitted', 'approved', 'changes_requested'] },
      { type: 'string', format: 'uuid' }, // one student's
    ],
    listCampaignDeliveries: [{ enum: ['pending', 'sending', 'sent', 'skipped', 'failed'] }],
    listCertificates: [
      { maxLength: 120 },
      { type: 'string', format: 'uuid' }, // by course
      { type: 'string', format: 'uuid' }, // by student
      { type: 'boolean' }, // revoked or not
    ],
  };
  for (const [operationId, given] of Object.entries(filters)) {
    it(`accept the filters of OP-5 to OP-7 and a page size of 1 to 100 (REC-6): ${operationId}`, () => {
      const operation = operations.find((one) => one.operationId === operationId);
      const acceptedFilters = operation ? filtersOf(operation) : [];
      expect(acceptedFilters).to.have.length(given.length);
      for (const [place, schema] of given.entries()) expect(acceptedFilters[place]?.schema).to.deep.include(schema);
      const sizes = operation?.parameters.find(({ name }) => name === 'page_size')?.schema;
      expect(sizes).to.include({ type: 'integer', minimum: 1, maximum: 100 });
      expect(operation?.parameters.find(({ name }) => name === 'page')?.schema).to.include({ minimum: 1 });
    });
  }
});
