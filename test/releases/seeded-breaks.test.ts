/** Seeds breaks and additions into the contract of today, one at a time, and tests that the comparison finds exactly the breaks (VER-4). */
import { expect } from 'chai';
import { contractText } from '../../contract/contract.ts';
import { brokenTerms } from './contract-terms.ts';
import type { DocumentPart } from './document-parts.ts';

const club = '/v1/clubs/{clubId}';
const tags = ['paths', `${club}/tags`];
const listTags = [...tags, 'get'];
const createTag = [...tags, 'post'];
const listStudents = ['paths', `${club}/students`, 'get'];
const inSchema = (name: string, ...path: string[]) => ['components', 'schemas', name, ...path];
const json = ['content', 'application/json'];

/** Changes the value at a path of the document. `undefined` removes it. */
type Edit = readonly [path: readonly string[], change: (value: never) => unknown];

const remove = (...path: string[]): Edit => [path, () => undefined];
const set = (path: readonly string[], value: unknown): Edit => [path, () => value];
const merge = (path: readonly string[], more: DocumentPart): Edit => [
  path,
  (value: DocumentPart) => ({ ...value, ...more }),
];
const append = (path: readonly string[], ...more: unknown[]): Edit => [
  path,
  (value: unknown[] | undefined) => [...(value ?? []), ...more],
];
const without = (path: readonly string[], ...values: string[]): Edit => [
  path,
  (value: unknown[]) =>
    value.filter((one) => !values.includes(typeof one === 'string' ? one : lastPart(one as DocumentPart))),
];
/** The name of a parameter, a reference or a security scheme. */
const lastPart = (one: DocumentPart): string => {
  const { $ref: target, name } = one;
  if (typeof target === 'string') return target.split('/').at(-1) ?? '';
  return typeof name === 'string' ? name : (Object.keys(one)[0] ?? '');
};

const contract = JSON.parse(contractText) as DocumentPart;

/** @returns the contract of today after the edits @throws Error if the path of an edit leads nowhere */
const contractAfter = (...edits: readonly Edit[]): DocumentPart =>
  edits.reduce((document, [path, change]) => edited(document, path, change), contract);

/** @returns a copy that differs only along the path */
function edited(part: DocumentPart, [name = '', ...rest]: readonly string[], change: Edit[1]): DocumentPart {
  const { [name]: inner, ...others } = part;
  if (rest.length > 0 && (typeof inner !== 'object' || inner === null)) throw new Error(`The contract has no ${name}.`);
  const value = rest.length === 0 ? change(inner as never) : edited(inner as DocumentPart, rest, change);
  return value === undefined ? others : { ...part, [name]: value };
}

const tagName = inSchema('TagInput', 'properties', 'name');
const limit = { name: 'limit', in: 'query', schema: { type: 'integer', maximum: 5 } };
/** Replaces the parameter `verified` of the list of students. */
const withVerified = (changes: DocumentPart): Edit => [
  [...listStudents, 'parameters'],
  (list: DocumentPart[]) => list.map((one) => (one['name'] === 'verified' ? { ...one, ...changes } : one)),
];

const breaks: readonly [what: string, edits: readonly Edit[], lines: readonly string[]][] = [
  ['a removed path', [remove('paths', `${club}/audit-log/export`)], [`no longer: get ${club}/audit-log/export`]],
  ['a removed method', [remove(...createTag)], [`no longer: post ${club}/tags`]],
  [
    'another id of an operation',
    [set([...listTags, 'operationId'], 'listLabels')],
    [`no longer: get ${club}/tags operationId listTags`],
  ],
  ['a removed error status', [remove(...createTag, 'responses', '409')], [`no longer: post ${club}/tags 409`]],
  [
    'another status of success',
    [set([...createTag, 'responses', '202'], { description: 'Later.' })],
    [`asked now: post ${club}/tags 202`],
  ],
  [
    'another content type of an answer',
    [
      [
        [...listTags, 'responses', '200', 'content'],
        (content: DocumentPart) => ({ 'text/csv': content['application/json'] }),
      ],
    ],
    [`no longer: get ${club}/tags 200 application/json`],
  ],
  [
    'another content type of a body',
    [
      [
        [...createTag, 'requestBody', 'content'],
        (content: DocumentPart) => ({ 'text/csv': content['application/json'] }),
      ],
    ],
    [`no longer: post ${club}/tags body application/json`],
  ],
  [
    'a removed header of an answer',
    [remove('paths', `${club}/workflows/{workflowId}`, 'get', 'responses', '200', 'headers', 'ETag')],
    [`no longer: get ${club}/workflows/{workflowId} 200 header ETag`],
  ],
  [
    'another type of a header',
    [
      set(['paths', `${club}/workflows/{workflowId}`, 'get', 'responses', '200', 'headers', 'ETag'], {
        schema: { type: 'integer' },
      }),
    ],
    [`no longer: get ${club}/workflows/{workflowId} 200 header ETag type "string"`],
  ],
  ['a removed field of an answer', [remove(...inSchema('Tag', 'properties', 'name'))], ['no longer: schemas/Tag/name']],
  [
    'a field of an answer that may be absent',
    [without(inSchema('Tag', 'required'), 'name')],
    ['no longer: schemas/Tag/name is always there'],
  ],
  [
    'a field of an answer with a further type',
    [set(inSchema('Tag', 'properties', 'name', 'type'), ['string', 'null'])],
    ['no longer: schemas/Tag/name type "string"'],
  ],
  [
    'another format of a field',
    [set(inSchema('Tag', 'properties', 'created_at', 'format'), 'date')],
    ['no longer: schemas/Tag/created_at format "date-time"'],
  ],
  [
    'a new required field of a body',
    [
      merge(inSchema('TagInput', 'properties'), { colour: { type: 'string' } }),
      append(inSchema('TagInput', 'required'), 'colour'),
    ],
    ['asked now: schemas/TagInput/colour is always there true'],
  ],
  [
    'a removed field of a body',
    [remove(...inSchema('StudentCreation', 'properties', 'delivery_ids'))],
    ['no longer: schemas/StudentCreation/delivery_ids'],
  ],
  ['a lower bound of a text', [merge(tagName, { maxLength: 5 })], ['asked now: schemas/TagInput/name maxLength 5']],
  [
    'a new pattern of a text',
    [merge(tagName, { pattern: '^[a-z]+$' })],
    ['asked now: schemas/TagInput/name pattern ^[a-z]+$'],
  ],
  ['a new format of a text', [merge(tagName, { format: 'email' })], ['asked now: schemas/TagInput/name format email']],
  [
    'a narrower type of a field',
    [merge(tagName, { type: 'integer' })],
    ['no longer: schemas/TagInput/name type "string"'],
  ],
  [
    'a new list of accepted values',
    [merge(tagName, { enum: ['vip'] })],
    ['asked now: schemas/TagInput/name is one of ["vip"]'],
  ],
  [
    'a lower number of elements',
    [merge(inSchema('StudentCreation', 'properties', 'delivery_ids'), { maxItems: 49 })],
    ['asked now: schemas/StudentCreation/delivery_ids maxItems 49'],
  ],
  [
    'a new default of a field',
    [merge(inSchema('StudentCreation', 'properties', 'delivery_ids'), { default: [] })],
    ['no longer: schemas/StudentCreation/delivery_ids has no default'],
  ],
  [
    'a body that a caller must send now',
    [
      set(['paths', `${club}/webhook-endpoints/{endpointId}/test`, 'post', 'requestBody'], {
        required: true,
        content: { 'application/json': { schema: {} } },
      }),
    ],
    [`asked now: post ${club}/webhook-endpoints/{endpointId}/test body is always there true`],
  ],
  [
    'a smaller body',
    [merge([...createTag, 'requestBody', ...json], { 'x-max-bytes': 100 })],
    [`asked now: post ${club}/tags body application/json x-max-bytes 100`],
  ],
  ['a removed cursor', [without([...listTags, 'parameters'], 'Cursor')], [`no longer: get ${club}/tags query cursor`]],
  ['a removed filter', [without([...listStudents, 'parameters'], 'q')], [`no longer: get ${club}/students query q`]],
  [
    'a new required parameter',
    [append([...listTags, 'parameters'], { ...limit, required: true })],
    [`asked now: get ${club}/tags query limit is always there true`],
  ],
  [
    'a parameter that a caller must send now',
    [withVerified({ required: true })],
    [`asked now: get ${club}/students query verified is always there true`],
  ],
  [
    'a parameter at another place',
    [withVerified({ in: 'header' })],
    [`no longer: get ${club}/students query verified`],
  ],
  [
    'another style of a parameter',
    [withVerified({ style: 'deepObject' })],
    [`no longer: get ${club}/students query verified style by default`],
  ],
  [
    'a removed idempotency key',
    [without([...createTag, 'parameters'], 'IdempotencyKey')],
    [`no longer: post ${club}/tags header Idempotency-Key`],
  ],
  [
    'an answer that is no longer kept',
    [merge(createTag, { 'x-idempotency': 'repeatable' })],
    [`no longer: post ${club}/tags x-idempotency kept`],
  ],
  [
    'a kind of caller that is refused now',
    [without([...listTags, 'security'], 'apiKey')],
    [`no longer: get ${club}/tags security apiKey`],
  ],
  [
    'another scheme of a session',
    [merge(['components', 'securitySchemes', 'admin'], { scheme: 'basic' })],
    ['no longer: security scheme admin scheme bearer'],
  ],
  ['a removed role', [without([...createTag, 'x-roles'], 'editor')], [`no longer: post ${club}/tags x-roles editor`]],
  ['a new list of roles', [merge(listTags, { 'x-roles': ['owner'] })], [`asked now: get ${club}/tags x-roles owner`]],
  ['another scope', [merge(listTags, { 'x-scope': 'labels:read' })], [`no longer: get ${club}/tags x-scope tags:read`]],
  [
    'a code that left an operation',
    [without([...createTag, 'x-error-codes'], 'name_taken')],
    [`no longer: post ${club}/tags x-error-codes name_taken`],
  ],
  [
    'a code that left the table',
    [remove(...inSchema('ErrorCode', 'x-codes', 'name_taken'))],
    ['no longer: x-codes name_taken'],
  ],
  [
    'another status of a code',
    [merge(inSchema('ErrorCode', 'x-codes', 'name_taken'), { status: 422 })],
    ['no longer: x-codes name_taken status 409'],
  ],
  [
    'a value that left an extensible enumeration',
    [without(inSchema('Member', 'properties', 'status', 'x-extensible-enum'), 'invited')],
    ['no longer: schemas/Member/status knows "invited"'],
  ],
  [
    'a variant that a receiver does not know',
    [append(inSchema('AgentStreamEvent', 'oneOf'), { type: 'string' })],
    ['asked now: schemas/AgentStreamEvent/oneOf/4 is known'],
  ],
  [
    'a pattern of a field that no longer holds',
    [set(inSchema('Purchase', 'properties', 'currency', 'pattern'), '.')],
    ['no longer: schemas/Purchase/currency pattern "^[A-Z]{3}$"'],
  ],
  [
    'another default of a field',
    [set(inSchema('SpaceCreation', 'properties', 'private', 'default'), true)],
    ['no longer: schemas/SpaceCreation/private default false'],
  ],
  ['a removed event', [remove('webhooks', 'student.tagged')], ['no longer: webhook student.tagged']],
  [
    'a closed notice',
    [remove('paths', '/webhooks/{platform}/{token}', 'post', 'x-any-query')],
    ['no longer: post /webhooks/{platform}/{token} x-any-query'],
  ],
];

const additions: readonly [what: string, edits: readonly Edit[]][] = [
  [
    'a new path with requirements',
    [
      set(['paths', `${club}/knots`], {
        post: {
          operationId: 'tieKnot',
          security: [{ admin: [] }],
          'x-roles': ['owner'],
          parameters: [{ ...limit, required: true }],
          requestBody: { required: true, content: {} },
          responses: { 201: { description: 'Tied.' } },
        },
      }),
    ],
  ],
  [
    'a new method of a path',
    [set([...tags, 'delete'], { operationId: 'deleteTags', responses: { 204: { description: 'Gone.' } } })],
  ],
  ['a new optional parameter', [append([...listTags, 'parameters'], limit)]],
  [
    'a new field of an answer that is always there',
    [
      merge(inSchema('Tag', 'properties'), { colour: { type: 'string' } }),
      append(inSchema('Tag', 'required'), 'colour'),
    ],
  ],
  [
    'a new optional field of a body',
    [merge(inSchema('TagInput', 'properties'), { colour: { type: 'string', maxLength: 9, default: 'red' } })],
  ],
  ['a higher bound', [merge(inSchema('StudentCreation', 'properties', 'delivery_ids'), { maxItems: 51 })]],
  ['a field of a body that may be absent', [without(inSchema('StudentCreation', 'required'), 'name')]],
  [
    'a new value of an extensible enumeration',
    [append(inSchema('Member', 'properties', 'status', 'x-extensible-enum'), 'asleep')],
  ],
  [
    'a new error code with its status',
    [
      append([...listTags, 'x-error-codes'], 'gone_fishing'),
      merge(inSchema('ErrorCode', 'x-codes'), { gone_fishing: { status: 410, meaning: 'No.' } }),
      append(inSchema('ErrorCode', 'x-extensible-enum'), 'gone_fishing'),
      set([...listTags, 'responses', '410'], { description: 'Gone.' }),
    ],
  ],
  [
    'a new role and a new kind of caller',
    [append([...createTag, 'x-roles'], 'guest'), append([...listTags, 'security'], { student: [] })],
  ],
  [
    'a new header of an answer',
    [set([...listTags, 'responses', '200', 'headers'], { Age: { schema: { type: 'integer' } } })],
  ],
  [
    'an answer that is kept from now on',
    [remove('paths', `${club}/campaigns/{campaignId}/pause`, 'post', 'x-idempotency')],
  ],
  ['a new event', [set(['webhooks', 'knot.tied'], { post: { requestBody: { content: {} } } })]],
  [
    'the announcement of an end',
    [
      merge(listTags, {
        deprecated: true,
        'x-deprecation': { since: '2027-01-31', sunset: '2027-07-31', reason: 'No use.' },
      }),
    ],
  ],
  [
    'other texts and examples',
    [
      set([...listTags, 'description'], 'Other.'),
      set(inSchema('Tag', 'description'), 'Other.'),
      set(inSchema('Tag', 'examples'), []),
    ],
  ],
];

describe('breaks that are seeded into the contract of today', () => {
  for (const [what, edits, lines] of breaks)
    it(`are found: ${what}`, () => {
      expect(brokenTerms(contract, contractAfter(...edits))).to.deep.equal(lines);
    });
});

describe('additions that are seeded into the contract of today', () => {
  for (const [what, edits] of additions)
    it(`break nothing: ${what}`, () => {
      const later = contractAfter(...edits);
      expect(later).not.to.equal(contract);
      expect(brokenTerms(contract, later)).to.deep.equal([]);
    });
});
