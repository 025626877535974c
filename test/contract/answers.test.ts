/** Successful answers of the contract: their statuses (DEC-2), their shapes (OP-2 to OP-15), and how lists are paged and filtered. */
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

describe('statuses of success, as docs/reference/http-status-codes.md chooses them', () => {
  const writes = operations.filter(({ method }) => method === 'post');
  /** A path that ends in the name of records, of which a student may have only one: what is posted there becomes one of them. */
  const isCollection = ({ path }: ContractOperation) => /\/[a-z-]+s$|\/media$|\/avatar$/.test(path);
  /** Those that answer something else than a new record, and why. */
  const others: Readonly<Record<string, number>> = {
    askAgent: 200, // the status stays 200 (AGT-17)
    createMediaTrack: 202, // a run makes it later
    enrollInAutomation: 202, // runs begin later, and not for all students
    followMailLink: 302, // it leads elsewhere
    importStudents: 202, // the file is taken; its rows become students later
    openPublicMedia: 302, // it leads to where the file is now
    openPublicThumbnail: 302,
  };

  for (const operation of operations) {
    const { operationId, method, responses: own, successStatus } = operation;
    it(`${operationId} has one status of success, which goes with its method`, () => {
      expect(Object.keys(own).filter((status) => /^[23]/.test(status))).to.deep.equal([String(successStatus)]);
      if (method === 'get') expect(successStatus).to.equal(others[operationId] ?? 200);
      else if (method !== 'post') expect(successStatus).to.be.oneOf([200, 204]);
      else if (isCollection(operation)) expect(successStatus).to.equal(others[operationId] ?? 201);
      else expect(successStatus).to.be.oneOf([200, 202]);
    });
  }

  it('answers 204 exactly if there is nothing to return', () => {
    const empty = operations.filter(
      (operation) => successOf(operation) === undefined && operation.successStatus !== 302,
    );
    expect(empty).not.to.deep.equal([]);
    expect(operations.filter(({ successStatus }) => successStatus === 204).map(named)).to.deep.equal(empty.map(named));
  });

  it('answers 202 if only the acceptance is reported', () => {
    const accepted = { $ref: '#/components/schemas/Accepted' };
    const acceptedOperations = operations.filter(
      (operation) => JSON.stringify(successOf(operation)) === JSON.stringify(accepted),
    );
    expect(acceptedOperations).to.have.length.above(5);
    for (const { operationId, successStatus } of acceptedOperations) expect(successStatus, operationId).to.equal(202);
  });

  it('each of the exceptions is an operation that posts to a collection', () => {
    const posted: readonly string[] = writes.filter(isCollection).map(named);
    expect(posted).to.include.members(Object.keys(others).filter((operationId) => others[operationId] !== 302));
  });
});

/**
 * The answers of OP-2 to OP-15, in a notation of their own, with the names of records run together. OP-1
 * is a stream; 8 is an accepted notice.
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

describe('shapes of success (OP-2 to OP-15)', () => {
  const text = specified.map(([, , shape = '']) => shape).join(' ');

  /** In the same notation: a record that a rule names by its name, every other one by its fields. */
  function shapeOf(schema: SchemaObject): string {
    if (isReference(schema)) {
      const name = schema.$ref.split('/').at(-1) ?? '';
      return new RegExp(`\\b${name}\\b`).test(text) ? name : shapeOf(resolved(schema));
    }
    if (schema.type === 'array') return `[${shapeOf(schema['items'] as SchemaObject)}]`;
    if (schema.type !== 'object') return schema.format === 'date-time' ? 'datetime' : String(schema.type);
    // A shortened page says so (REC-10); the specification's shapes belong to complete pages.
    const { shortened: _, ...properties } = propertiesOf(schema);
    const fields = Object.entries(properties).map(([name, field]) =>
      name === 'total' || name === 'counts' ? name : `${name}: ${shapeOf(field)}`,
    );
    expect(schema['required'], 'every field is always there').to.deep.equal(Object.keys(properties));
    return `{${fields.join(', ')}}`;
  }

  for (const [, operationId = '', shape] of specified) {
    it(`${operationId} answers ${shape}`, () => {
      const operation = operations.find((one) => one.operationId === operationId);
      const schema = operation && successOf(operation);
      expect(schema && shapeOf(schema)).to.equal(shape);
    });
  }

  it('askAgent answers with a stream of events', () => {
    const operation = operations.find(({ operationId }) => operationId === 'askAgent');
    expect(operation?.contentTypes).to.deep.equal(['text/event-stream']);
  });
});

describe('lists', () => {
  const isList = (operation: ContractOperation) => propertiesOf(successOf(operation) ?? {})['data']?.type === 'array';
  const lists = operations.filter(isList);
  const filtersOf = ({ parameters }: ContractOperation) =>
    parameters.filter(({ in: place, name }) => place === 'query' && !name.startsWith('page'));

  it('are what is called a list, and nothing else is', () => {
    const called = operations.filter(({ operationId }) => operationId.startsWith('list'));
    expect(called).not.to.deep.equal([]);
    expect(lists.map(named)).to.deep.equal(called.map(named));
  });

  for (const operation of lists) {
    it(`${operation.operationId} is paged, says its total, and filters by fields of its records`, () => {
      const names = operation.parameters.map(({ name }) => name);
      expect(names).to.include.members(['page', 'page_size']);
      const body = propertiesOf(successOf(operation) ?? {});
      expect(body).to.include.keys('data', 'total');
      const fields = Object.keys(propertiesOf((body['data']?.['items'] ?? {}) as SchemaObject));
      expect(fields).not.to.deep.equal([]);
      for (const { name } of filtersOf(operation)) {
        if (['q', 'since', 'until'].includes(name)) continue; // A field may hold the whole record of the filter, or a time. A filter may take several values, and a field may hold several.
        // A record may hold another one whole, or say by a time what the filter asks for; a filter may take several values, a field hold them.
        const possible = [name, name.replace(/_id$/, ''), name.replace(/s$/, ''), `${name}s`, `${name}_at`];
        expect(fields, name).to.include.oneOf(possible);
      }
    });
  }

  /** The number of filters of OP-5 to OP-7, and their values. */
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
    it(`${operationId} takes the filters of OP-5 to OP-7, and a page size of 1 to 100 (REC-6)`, () => {
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
