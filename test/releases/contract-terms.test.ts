import { expect } from 'chai';
import { brokenTerms } from './contract-terms.ts';

interface Changes {
  path?: string;
  parameters?: object[];
  operation?: object;
  bodyType?: string;
  body?: object;
  responses?: object;
  sentSchema?: object;
  receivedSchema?: object;
  /** A text that is added to the names of both schemas. */
  suffix?: string;
  further?: object;
}

const idInPath = { name: 'id', in: 'path', required: true, schema: { type: 'string' } };
const pageInQuery = { name: 'page', in: 'query', schema: { type: 'integer', maximum: 9 } };
const limitInQuery = { name: 'limit', in: 'query', schema: { type: 'integer', maximum: 5 } };
const byMail = { type: 'object', required: ['email'], properties: { email: { type: 'string' } } };
const byPost = { type: 'object', required: ['street'], properties: { street: { type: 'string', maxLength: 9 } } };
const byShortPost = { ...byPost, properties: { street: { type: 'string', maxLength: 5 } } };
const sentTitle = { type: 'string', maxLength: 10, minLength: 1 };
const sentThing = {
  type: 'object',
  required: ['title'],
  properties: { title: sentTitle, kind: { enum: ['a', 'b'] }, how: { oneOf: [byMail, byPost] } },
};
const receivedThing = {
  type: 'object',
  required: ['id'],
  properties: {
    id: { type: 'string' },
    state: { type: 'string', 'x-extensible-enum': ['open', 'ended'] },
    size: { enum: [1, 2] },
    at: { type: 'string', format: 'date-time' },
    parts: { items: { type: 'integer' } },
  },
};

function document(changes: Changes = {}): object {
  const { path = '/things/{id}', bodyType = 'application/json', suffix = '' } = changes;
  const schema = (name: string) => ({ $ref: `#/components/schemas/${name}${suffix}` });
  const operation = {
    parameters: changes.parameters ?? [idInPath, pageInQuery],
    security: [{ student: [] }, { admin: [] }],
    'x-roles': ['owner', 'admin'],
    'x-scope': ['things:write'],
    'x-error-codes': ['gone', 'forbidden'],
    requestBody: {
      required: true,
      content: { [bodyType]: { schema: schema('Sent'), 'x-max-bytes': 1000, ...changes.body } },
    },
    responses: changes.responses ?? { 200: { $ref: '#/components/responses/Thing' } },
    ...changes.operation,
  };
  return {
    paths: { [path]: { post: operation }, ...changes.further },
    components: {
      schemas: {
        [`Sent${suffix}`]: changes.sentSchema ?? sentThing,
        [`Received${suffix}`]: changes.receivedSchema ?? receivedThing,
      },
      responses: { Thing: { content: { 'application/json': { schema: schema('Received') } } } },
    },
  };
}

const withSent = (change: object) =>
  document({ sentSchema: { ...sentThing, properties: { ...sentThing.properties, ...change } } });
const withReceived = (change: object) =>
  document({ receivedSchema: { ...receivedThing, properties: { ...receivedThing.properties, ...change } } });
const withoutState = Object.fromEntries(Object.entries(receivedThing.properties).filter(([name]) => name !== 'state'));
const newOperation = {
  parameters: [{ ...idInPath, name: 'other' }],
  requestBody: { required: true, content: { 'application/json': { schema: { required: ['b'] } } } },
};

describe('comparison of a contract with a later contract', () => {
  const additions: [what: string, later: object][] = [
    ['no change', document()],
    ['a new property in an answer', withReceived({ more: { type: 'string' } })],
    ['a new optional property with a bound', withSent({ more: { type: 'string', maxLength: 5, pattern: '^x' } })],
    ['a new accepted value', withSent({ kind: { enum: ['a', 'b', 'c'] } })],
    ['a longer accepted text', withSent({ title: { ...sentTitle, maxLength: 20 } })],
    ['a shorter accepted text', withSent({ title: { ...sentTitle, minLength: 0 } })],
    ['a dropped bound', withSent({ title: { type: 'string' } })],
    ['a property that is no longer required', document({ sentSchema: { ...sentThing, required: [] } })],
    ['a new operation that has requirements', document({ further: { '/others/{other}': { post: newOperation } } })],
    ['a new method of a path', document({ further: { '/others': { get: {} } } })],
    ['a new optional parameter with a bound', document({ parameters: [idInPath, pageInQuery, limitInQuery] })],
    ['a change of the names of schemas', document({ suffix: '-2' })],
    [
      'a new value of an extensible list',
      withReceived({ state: { type: 'string', 'x-extensible-enum': ['open', 'new', 'ended'] } }),
    ],
    ['a new error code', document({ operation: { 'x-error-codes': ['gone', 'forbidden', 'late'] } })],
    ['a new role', document({ operation: { 'x-roles': ['owner', 'admin', 'editor'] } })],
    ['the removal of the list of roles', document({ operation: { 'x-roles': undefined } })],
    ['a new kind of caller', document({ operation: { security: [{ student: [] }, { admin: [] }, { key: [] }] } })],
    ['the removal of authentication', document({ operation: { security: [] } })],
    ['a larger body', document({ body: { 'x-max-bytes': 2000 } })],
    ['a new status', document({ responses: { 200: { $ref: '#/components/responses/Thing' }, 404: {} } })],
    [
      'a new alternative in the oneOf of a sent property',
      withSent({ how: { oneOf: [{ type: 'null' }, byMail, byPost] } }),
    ],
    [
      'a schema that moved into allOf',
      withSent({ title: { allOf: [{ type: 'string' }, { maxLength: 10, minLength: 1 }] } }),
    ],
  ];
  for (const [what, later] of additions)
    it(`finds no broken term after ${what}`, () => expect(brokenTerms(document(), later)).to.deep.equal([]));

  const breaks: [line: string, later: object][] = [
    ['no longer: post /things/{id}', document({ path: '/others/{id}' })],
    ['no longer: post /things/{id} 200', document({ responses: {} })],
    ['no longer: post /things/{id} query page', document({ parameters: [idInPath] })],
    ['no longer: post /things/{id} body application/json', document({ bodyType: 'text/csv' })],
    ['no longer: schemas/Received/id type "string"', withReceived({ id: { type: 'integer' } })],
    [
      'no longer: schemas/Received/at type "string"',
      withReceived({ at: { type: ['string', 'null'], format: 'date-time' } }),
    ],
    ['no longer: schemas/Received/parts/items type "integer"', withReceived({ parts: { items: { type: 'number' } } })],
    [
      'no longer: schemas/Received/state knows "open"',
      withReceived({ state: { type: 'string', 'x-extensible-enum': ['ended'] } }),
    ],
    ['no longer: schemas/Received/size is one of [1,2]', withReceived({ size: { enum: [1, 2, 3] } })],
    ['no longer: schemas/Received/at format "date-time"', withReceived({ at: { type: 'string' } })],
    [
      'no longer: schemas/Received/id is always there',
      document({ receivedSchema: { ...receivedThing, required: [] } }),
    ],
    ['no longer: schemas/Received/state', document({ receivedSchema: { ...receivedThing, properties: withoutState } })],
    ['no longer: schemas/Sent/kind accepts "b"', withSent({ kind: { enum: ['a'] } })],
    ['asked now: schemas/Sent/title maxLength 9', withSent({ title: { ...sentTitle, maxLength: 9 } })],
    ['asked now: schemas/Sent/title minLength 2', withSent({ title: { ...sentTitle, minLength: 2 } })],
    ['asked now: schemas/Sent/title pattern ^x', withSent({ title: { ...sentTitle, pattern: '^x' } })],
    ['asked now: schemas/Sent/title format email', withSent({ title: { ...sentTitle, format: 'email' } })],
    ['asked now: schemas/Sent/how/oneOf/1/street maxLength 5', withSent({ how: { oneOf: [byMail, byShortPost] } })],
    [
      'asked now: schemas/Sent additionalProperties false',
      document({ sentSchema: { ...sentThing, additionalProperties: false } }),
    ],
    [
      'asked now: schemas/Sent/kind is always there true',
      document({ sentSchema: { ...sentThing, required: ['title', 'kind'] } }),
    ],
    [
      'asked now: schemas/Sent/more is always there true',
      document({ sentSchema: { ...sentThing, required: ['title', 'more'] } }),
    ],
    [
      'asked now: post /things/{id} query page is always there true',
      document({ parameters: [idInPath, { ...pageInQuery, required: true }] }),
    ],
    [
      'asked now: post /things/{id} query limit is always there true',
      document({ parameters: [idInPath, pageInQuery, { ...limitInQuery, required: true }] }),
    ],
    [
      'no longer: post /things/{id} security admin',
      document({ operation: { security: [{ student: [] }, { key: [] }] } }),
    ],
    ['no longer: post /things/{id} x-roles admin', document({ operation: { 'x-roles': ['owner'] } })],
    ['no longer: post /things/{id} x-scope things:write', document({ operation: { 'x-scope': ['things:all'] } })],
    ['no longer: post /things/{id} x-error-codes gone', document({ operation: { 'x-error-codes': ['forbidden'] } })],
    ['asked now: post /things/{id} body application/json x-max-bytes 500', document({ body: { 'x-max-bytes': 500 } })],
  ];
  for (const [line, later] of breaks)
    it(`finds the broken term "${line}"`, () => expect(brokenTerms(document(), later)).to.deep.equal([line]));

  it('finds the roles that an operation now requires if earlier every role could call the operation', () => {
    const earlier = document({ operation: { 'x-roles': undefined } });
    expect(brokenTerms(earlier, document())).to.deep.equal(['asked now: post /things/{id} x-roles owner, admin']);
  });

  it('finds the session that an operation now requires if the operation earlier required none', () => {
    const earlier = document({ operation: { security: [] } });
    expect(brokenTerms(earlier, document())).to.deep.equal(['asked now: post /things/{id} security student or admin']);
  });

  it('finds the narrowing of one use of a schema that has several uses', () => {
    const name = { $ref: '#/components/schemas/Received' };
    const uses = (second: object) =>
      document({
        sentSchema: { properties: { first: name, second } },
        receivedSchema: { type: 'string', maxLength: 9 },
      });
    const line = 'asked now: schemas/Sent/second maxLength 5';
    expect(brokenTerms(uses(name), uses({ ...name, maxLength: 5 }))).to.deep.equal([line]);
    expect(brokenTerms(uses(name), uses({ type: 'string', maxLength: 5 }))).to.deep.equal([line]);
    expect(brokenTerms(uses(name), uses({ ...name, description: 'A name.' }))).to.deep.equal([]);
  });

  it('finds a header that may be absent now', () => {
    const withHeader = (header: object) => document({ responses: { 200: { headers: { Age: header } } } });
    expect(brokenTerms(withHeader({ required: true }), withHeader({}))).to.deep.equal([
      'no longer: post /things/{id} 200 header Age is always there',
    ]);
  });

  it('refuses a keyword that it does not judge', () => {
    expect(() => brokenTerms(document(), withSent({ title: { ...sentTitle, multipleOf: 2 } }))).to.throw(
      'The comparison does not know the keyword multipleOf of schemas/Sent/title',
    );
  });

  it('compares schemas that refer to themselves', () => {
    const tree = { type: 'object', properties: { parts: { items: { $ref: '#/components/schemas/Sent' } } } };
    expect(brokenTerms(document({ sentSchema: tree }), document({ sentSchema: tree }))).to.deep.equal([]);
  });
});
