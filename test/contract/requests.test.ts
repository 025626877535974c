/**
 * Tests the compiled checks of an operation. A check accepts a request, or reports the faulty field with `malformed` (status 400) or
 * `invalid` (status 422).
 */
import { expect } from 'chai';
import fc from 'fast-check';
import {
  compileValidators,
  contractOperations,
  type Checked,
  type OperationId,
  type Validators,
} from '../../contract/contract.ts';
import { contractDocument } from '../../contract/document.ts';
import { isObject } from '../../contract/openapi.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';

const operations = contractOperations();

function validatorsOf(operationId: OperationId): Validators {
  const operation = operations.find((candidate) => candidate.operationId === operationId);
  if (!operation) throw new Error(`The contract has no operation ${operationId}.`);
  return compileValidators(operation);
}

const register = validatorsOf('registerWebhookEndpoint');
const signUp = validatorsOf('signUpStudent');
const ask = validatorsOf('askAgent');
const certificates = validatorsOf('listCertificates');
const deliveries = validatorsOf('listWebhookDeliveries');
const endpoint = validatorsOf('getWebhookEndpoint');

const uuid = '3c1f0a52-9f0e-4f3b-8a7d-1e2d3c4b5a69';
const goodEndpoint = { url: 'https://example.com', event_types: ['student.created'] };
const goodExchange = { club_id: uuid, email: 'ada@example.com', code_id: uuid };
const goodSignUp = { name: 'Ada', email: 'ada@example.com', password: 'long enough' };
const goodQuestion = { id: '1b4e28ba-2fa1-4d3b-883f-0016d3cca427', content: 'Why?' };

/** Returns `accepted`, or the kind and the message of the problem that the check reports. */
function verdict(checked: Checked<unknown>): string {
  return 'problem' in checked ? `${checked.problem.kind}: ${checked.problem.message}` : 'accepted';
}

function kindOf(checked: Checked<unknown>): string {
  return 'problem' in checked ? checked.problem.kind : 'accepted';
}

/** Returns this number of emoji. Each emoji is one code point but two UTF-16 units, and a limit counts code points. */
function characters(count: number): string {
  return '😀'.repeat(count);
}

/** Lists the time fields of requests whose format does not limit the year, as `operation: path`. */
function unboundedTimes(): string[] {
  const walk = (schema: unknown, place: string, within: readonly string[] = []): string[] => {
    if (!isObject(schema)) return [];
    const { $ref, format, pattern, ...rest } = schema;
    if (typeof $ref === 'string') {
      if (within.includes($ref)) return []; // a recursive schema
      return walk(contractDocument.components.schemas[$ref.split('/').at(-1) ?? ''], place, [...within, $ref]);
    }
    const isTime = format === 'date-time' || format === 'date' || /\\d\{4\}|19\[7-9\]/.test(String(pattern));
    if (isTime) return /^\^\(\|?\(?19\[7-9\]/.test(String(pattern)) ? [] : [place];
    return Object.entries(rest).flatMap(([key, value]) =>
      key === 'examples' ? [] : walk(value, `${place}/${key}`, within),
    );
  };
  return operations.flatMap(({ operationId, parameters, path, method }) => [
    ...parameters.flatMap(({ name, schema }) => walk(schema, `${operationId}: ${name}`)),
    ...walk(contractDocument.paths[path]?.[method]?.requestBody?.content, `${operationId}: `),
  ]);
}

describe('bounds of values', () => {
  const bodies: readonly [limit: string, within: Checked<unknown>[], beyond: Checked<unknown>[]][] = [
    [
      'webhook url: 1 to 2048',
      [1, 2048].map((length) => register.body({ ...goodEndpoint, url: 'x'.repeat(length) })),
      [0, 2049].map((length) => register.body({ ...goodEndpoint, url: 'x'.repeat(length) })),
    ],
    [
      'webhook description: at most 200',
      [0, 200].map((length) => register.body({ ...goodEndpoint, description: characters(length) })),
      [register.body({ ...goodEndpoint, description: characters(201) })],
    ],
    [
      'confirm-e-mail token: 1 to 128',
      [1, 128].map((length) => validatorsOf('verifyStudentEmail').body({ token: characters(length) })),
      [0, 129].map((length) => validatorsOf('verifyStudentEmail').body({ token: characters(length) })),
    ],
    [
      'question content: 1 to 8000',
      [1, 8000].map((length) => ask.body({ ...goodQuestion, content: characters(length) })),
      [0, 8001].map((length) => ask.body({ ...goodQuestion, content: characters(length) })),
    ],
    [
      'image_ids: at most 2',
      [0, 2].map((count) => ask.body({ ...goodQuestion, image_ids: Array.from({ length: count }, () => uuid) })),
      [ask.body({ ...goodQuestion, image_ids: [uuid, uuid, uuid] })],
    ],
    [
      'agent publicId: 1 to 32',
      [1, 32].map((length) => ask.params({ clubId: uuid, publicId: 'a'.repeat(length) })),
      [0, 33].map((length) => ask.params({ clubId: uuid, publicId: 'a'.repeat(length) })),
    ],
    [
      'registration-link code: up to 64',
      [1, 64].map((length) => validatorsOf('claimRegistrationLink').params({ clubId: uuid, code: 'a'.repeat(length) })),
      [validatorsOf('claimRegistrationLink').params({ clubId: uuid, code: 'a'.repeat(65) })],
    ],
    [
      'certificates q: 120',
      [0, 120].map((length) => certificates.query({ q: characters(length) })),
      [certificates.query({ q: characters(121) })],
    ],
    [
      'students q: 120',
      [validatorsOf('listStudents').query({ q: characters(120) })],
      [validatorsOf('listStudents').query({ q: characters(121) })],
    ],
    [
      'name: 1 to 120',
      [1, 120].map((length) => signUp.body({ ...goodSignUp, name: characters(length) })),
      [0, 121].map((length) => signUp.body({ ...goodSignUp, name: characters(length) })),
    ],
    [
      'password: 8 to 128',
      [8, 128].map((length) => signUp.body({ ...goodSignUp, password: characters(length) })),
      [7, 129].map((length) => signUp.body({ ...goodSignUp, password: characters(length) })),
    ],
    [
      'registration code: 1 to 64',
      [1, 64].map((length) => signUp.body({ ...goodSignUp, registration_code: characters(length) })),
      [0, 65].map((length) => signUp.body({ ...goodSignUp, registration_code: characters(length) })),
    ],
    [
      'one-time code: six digits',
      [validatorsOf('exchangeStudentCode').body({ ...goodExchange, code: '012345' })],
      ['01234', '0123456', '01234a', '٠١٢٣٤٥', '12345\n'].map((code) =>
        validatorsOf('exchangeStudentCode').body({ ...goodExchange, code }),
      ),
    ],
  ];
  for (const [limit, within, beyond] of bodies) {
    it(`accept values at a limit, and refuse values beyond it: ${limit}`, () => {
      expect(within.map(kindOf)).to.deep.equal(within.map(() => 'accepted'));
      expect(beyond.map(kindOf)).to.deep.equal(beyond.map(() => 'invalid'));
    });
  }

  it('limit every month and every date-time of a request to the years 1970 to 2999', () => {
    const months = ['1970-01', '2999-12'].map((month) => validatorsOf('listAiUsage').query({ month }));
    expect(months.map(kindOf)).to.deep.equal(['accepted', 'accepted']);
    const beyond = ['0000-01', '1969-12', '3000-01', '2026-00', '2026-13', '2026-1', '9999-12', '+10000-01'];
    expect(beyond.map((month) => kindOf(validatorsOf('listAiUsage').query({ month })))).to.deep.equal(
      beyond.map(() => 'invalid'),
    );
    expect(unboundedTimes()).to.deep.equal([]);
    const { query } = validatorsOf('listWebhookDeliveries');
    const times = ['1970-01-01T00:00:00Z', '2999-12-31T23:59:59.999999Z', '2026-03-01t00:00:00z'];
    expect(times.map((since) => kindOf(query({ since })))).to.deep.equal(times.map(() => 'accepted'));
    const others = [
      '0000-01-01T00:00:00Z',
      '1969-12-31T23:59:59Z',
      '9999-12-31T23:59:59-23:59',
      '2016-12-31T23:59:60Z',
    ];
    expect(others.map((since) => kindOf(query({ since })))).to.deep.equal(others.map(() => 'invalid'));
  });

  it('limit page_size to 1 to 100 and page to at least 1 in every list', async () => {
    const lists = operations.filter(({ operationId }) => operationId.startsWith('list'));
    expect(lists).to.have.length.of.at.least(7);
    await eachCase(lists, (operation) => {
      const { query } = compileValidators(operation);
      expect(['1', '100'].map((size) => kindOf(query({ page_size: size })))).to.deep.equal(['accepted', 'accepted']);
      expect(['0', '101', '-1'].map((size) => kindOf(query({ page_size: size })))).to.deep.equal([
        'invalid',
        'invalid',
        'invalid',
      ]);
      if (operation.operationId === 'listEvents') return; // it has no pages with numbers (EVT-25)
      expect(kindOf(query({ page: '1' }))).to.equal('accepted');
      expect(['0', '-1', '9'.repeat(30), '9'.repeat(400)].map((page) => kindOf(query({ page })))).to.deep.equal([
        'invalid',
        'invalid',
        'invalid',
        'invalid',
      ]);
    });
  });
});

describe('400: an unreadable request', () => {
  const cases: readonly [what: string, body: unknown, message: string][] = [
    ['no body', undefined, 'the body is missing'],
    ['a body that is not an object', [], 'the body must be an object'],
    ['null', null, 'the body must be an object'],
    ['a missing property', { url: 'https://example.com' }, 'event_types is missing'],
    ['an unknown property', { ...goodEndpoint, secret: 'x' }, 'secret is not known here'],
    [
      '__proto__',
      JSON.parse('{"url":"x","event_types":["student.created"],"__proto__":{}}'),
      '__proto__ is not known here',
    ],
    ['a wrong JSON type', { ...goodEndpoint, url: 1 }, 'url must be a string'],
    ['null for an optional property', { ...goodEndpoint, description: null }, 'description must be a string'],
    [
      'a wrong JSON type within a list',
      { ...goodEndpoint, event_types: ['student.created', 7] },
      'event_types/1 must be a string',
    ],
    ['a number instead of a string', { ...goodEndpoint, description: 5 }, 'description must be a string'],
  ];
  for (const [what, body, message] of cases) {
    it(`is reported for ${what}, with the name of the field`, () =>
      expect(verdict(register.body(body))).to.equal(`malformed: ${message}`));
  }

  it('is reported, and 422 is not, if a request has errors of both kinds', () => {
    expect(verdict(register.body({ url: '', event_types: ['*'], extra: 1 }))).to.equal(
      'malformed: extra is not known here',
    );
    expect(verdict(register.body({ url: '\0', event_types: 'student.created' }))).to.equal(
      'malformed: event_types must be an array',
    );
    expect(verdict(deliveries.query({ status: 'lost', page: 'x' }))).to.equal('malformed: page must be an integer');
  });

  it('is reported if JSON has more than 64 levels of nesting, even if it has 200,000 levels', () => {
    const notice = validatorsOf('receiveBillingNotice');
    const nestedIn = (levels: number): unknown =>
      JSON.parse(`{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`);
    expect(kindOf(notice.body(nestedIn(64)))).to.equal('accepted');
    expect(verdict(notice.body(nestedIn(65)))).to.match(/^malformed: a\/0\/.* is nested deeper than 64 levels$/);
    expect(kindOf(notice.body(nestedIn(200_000)))).to.equal('malformed');
  });
});

describe('422: a value that violates a rule', () => {
  const types = (...list: string[]) => ({ ...goodEndpoint, event_types: list });
  const cases: readonly [what: string, body: unknown, message: RegExp][] = [
    ['an empty list', types(), /^event_types must have at least 1 item$/],
    ['a wildcard', types('*'), /^event_types\/0 must be one of student\.created, .*student\.level_reached$/],
    ['student.*', types('student.created', 'student.*'), /^event_types\/1 must be one of /],
    ['webhook.test', types('webhook.test'), /^event_types\/0 must be one of /],
    ['an unknown type', types('student.deleted'), /^event_types\/0 must be one of /],
    ['a duplicate', types('student.created', 'student.created'), /^event_types must not hold the same item twice$/],
    ['a NUL byte', { ...goodEndpoint, description: 'a\0b' }, /^description must not hold a NUL byte/],
    [
      'half of a surrogate pair',
      { ...goodEndpoint, description: 'a\ud83d' },
      /^description must not hold a NUL byte or half/,
    ],
  ];
  for (const [what, body, message] of cases) {
    it(`is reported for ${what}, with the name of the field`, () => {
      const checked = register.body(body);
      expect(kindOf(checked)).to.equal('invalid');
      expect('problem' in checked && checked.problem.message).to.match(message);
    });
  }

  it('is reported if an e-mail is malformed or a name is blank', () => {
    for (const email of [
      'ada',
      'ada@',
      '@example.com',
      'ada@example',
      'ada@example.com ',
      'ä@example.com',
      `${'a'.repeat(250)}@b.co`,
    ]) {
      expect(kindOf(signUp.body({ ...goodSignUp, email })), email).to.equal('invalid');
    }
    expect(verdict(signUp.body({ ...goodSignUp, name: ' \t ' }))).to.equal('invalid: name must not be blank');
  });

  it('is reported if an id is malformed, or if a question id is not a UUID of version 4', () => {
    expect(kindOf(ask.body({ ...goodQuestion, id: 'x' }))).to.equal('invalid');
    expect(kindOf(ask.body({ ...goodQuestion, id: '1b4e28ba-2fa1-1d3b-883f-0016d3cca427' }))).to.equal('invalid');
    expect(kindOf(ask.body({ ...goodQuestion, id: `urn:uuid:${goodQuestion.id}` }))).to.equal('invalid');
    expect(kindOf(ask.body({ ...goodQuestion, conversation_id: `urn:uuid:${uuid}` }))).to.equal('invalid');
  });

  it('is reported if a change contains no field', () => {
    expect(verdict(validatorsOf('updateStudent').body({}))).to.equal('invalid: the body must have at least 1 property');
  });

  it('is reported if any value or name in a billing notice contains a NUL character', () => {
    const notice = validatorsOf('receiveBillingNotice');
    expect(verdict(notice.body({ a: [{ b: 'x\0' }] }))).to.match(/^invalid: a\/0\/b must not hold/);
    expect(verdict(notice.body({ a: { 'k\0': 1 } }))).to.match(/^invalid: a\/k\? must not hold/);
  });

  it('is not reported if a sales notice contains NUL characters, because it is stored as bytes', async () => {
    const notice = validatorsOf('receiveSalesNotice');
    await eachCase([{ a: [{ b: 'x\0' }] }, { 'k\ud800': 1 }], (body) =>
      expect(kindOf(notice.body(body))).to.equal('accepted'),
    );
    const nested: unknown = JSON.parse(`{"a\\u0000":${'['.repeat(64)}${']'.repeat(64)}}`);
    expect(kindOf(notice.body(nested))).to.equal('malformed');
  });

  it('is reported in a message that never contains the wrong value', async () => {
    const secret = 'hunter2-hunter2';
    const answers = [
      register.body({ ...goodEndpoint, event_types: [secret] }),
      signUp.body({ ...goodSignUp, email: secret }),
      signUp.body({ ...goodSignUp, password: `${secret}\0` }),
      deliveries.query({ status: secret }),
      deliveries.query({ page: secret }),
      endpoint.params({ clubId: uuid, endpointId: secret }),
    ];
    await eachCase(answers, (answer) => {
      expect(kindOf(answer)).not.to.equal('accepted');
      expect(verdict(answer)).not.to.contain(secret);
    });
  });
});

describe('query parameters', () => {
  it('are converted to integers, booleans or texts, and get the contract’s default if omitted', () => {
    expect(certificates.query({ revoked: 'false', page: '3', q: '' })).to.deep.equal({
      value: { revoked: false, page: 3, page_size: 20, q: '' },
    });
    expect(certificates.query({})).to.deep.equal({ value: { page: 1, page_size: 20 } });
  });

  it('cause 400 if they are unknown, repeated or unreadable', () => {
    expect(verdict(deliveries.query({ colour: 'red' }))).to.equal('malformed: colour is not a known parameter');
    expect(verdict(endpoint.query({ page: '1' }))).to.equal('malformed: page is not a known parameter');
    expect(verdict(deliveries.query({ status: ['failed', 'failed'] }))).to.equal(
      'malformed: status must be given once',
    );
    for (const page of ['', 'x', '1.5', '1e2', '0x10', ' 1', '+1', 'NaN', '1,2']) {
      expect(verdict(deliveries.query({ page })), page).to.equal('malformed: page must be an integer');
    }
    for (const revoked of ['', '1', 'yes', 'TRUE', 'null']) {
      expect(verdict(certificates.query({ revoked })), revoked).to.equal('malformed: revoked must be true or false');
    }
  });

  it('cause 422 for a value outside the enumeration, a malformed id or a NUL byte', () => {
    expect(verdict(deliveries.query({ status: 'lost' }))).to.equal(
      'invalid: status must be one of pending, succeeded, failed, canceled',
    );
    expect(verdict(certificates.query({ student_id: 'x' }))).to.equal('invalid: student_id must be a UUID');
    expect(verdict(certificates.query({ q: 'a\0' }))).to.match(/^invalid: q must not hold a NUL byte/);
    expect(kindOf(deliveries.query({ event_type: 'webhook.test' }))).to.equal('accepted');
  });
});

describe('path parameters', () => {
  it('are converted to lower case if they are ids, and cause 422 if they are malformed', () => {
    expect(endpoint.params({ clubId: uuid, endpointId: uuid.toUpperCase() })).to.deep.equal({
      value: { clubId: uuid, endpointId: uuid },
    });
    expect(verdict(endpoint.params({ clubId: uuid, endpointId: 'x' }))).to.equal('invalid: endpointId must be a UUID');
    expect(kindOf(endpoint.params({ clubId: uuid, endpointId: `${uuid}\0` }))).to.equal('invalid');
    expect(kindOf(ask.params({ clubId: uuid, publicId: 'a\0' }))).to.equal('invalid');
  });

  it('may contain any clubId, because the membership check refuses a malformed clubId with 403', () => {
    expect(kindOf(endpoint.params({ clubId: 'no club', endpointId: uuid }))).to.equal('accepted');
  });
});

describe('the checks of all operations', () => {
  it('never throw, for any JSON', () => {
    const bodies = operations
      .filter((operation) => operation.hasBody && !operation.fileBody)
      .map((operation) => [operation.operationId, compileValidators(operation).body] as const);
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        for (const [operationId, body] of bodies)
          expect(['accepted', 'malformed', 'invalid'], operationId).to.include(kindOf(body(value)));
      }),
      { numRuns: 300 },
    );
  });

  it('return 400 for a sign-up with a missing, unknown or wrongly typed property', () => {
    const name = fc.constantFrom('name', 'email', 'password');
    fc.assert(
      fc.property(name, fc.constantFrom(1, null, true, [], {}), (property, other) => {
        const { [property]: _left, ...rest }: Record<string, unknown> = goodSignUp;
        expect(kindOf(signUp.body(rest))).to.equal('malformed');
        expect(kindOf(signUp.body({ ...goodSignUp, [property]: other }))).to.equal('malformed');
        expect(kindOf(signUp.body({ ...goodSignUp, [`${property}_`]: 'x' }))).to.equal('malformed');
      }),
    );
  });

  it('allow unknown properties only in notices whose format another service defines', () => {
    for (const operation of operations) {
      if (!operation.hasBody || operation.fileBody) continue;
      if (operation.operationId === 'receiveProviderNotice') continue; // a notice, or a list of notices
      const isNotice = operation.path.startsWith('/webhooks/') && operation.operationId !== 'receiveMailEvents'; // our own format
      const body = contractDocument.paths[operation.path]?.[operation.method]?.requestBody?.content['application/json'];
      const reference = isObject(body) && isObject(body['schema']) ? String(body['schema']['$ref']) : '';
      const schema = contractDocument.components.schemas[reference.split('/').at(-1) ?? ''];
      expect(schema?.['additionalProperties'], operation.operationId).to.equal(isNotice);
    }
  });

  it('choose between forms of a body only by its discriminator field', () => {
    const bodies = Object.entries(contractDocument.components.schemas).filter(([name]) => !name.endsWith('Event'));
    for (const [name, schema] of bodies) {
      expect(schema, name).not.to.have.any.keys('anyOf', 'not', 'if');
      if ('oneOf' in schema) expect(schema, name).to.have.property('discriminator');
    }
  });

  it('apply only the rules of the chosen form', () => {
    const faultOf = (opens: unknown) => {
      const checked = validatorsOf('createDelivery').body({ name: 'Knots', opens });
      return 'problem' in checked ? `${checked.problem.kind}: ${checked.problem.message}` : 'good';
    };
    const id = '886313e1-3b8a-4372-9b90-0c9aee199e5d';
    expect(faultOf({ kind: 'course', course_id: id })).to.equal('good');
    expect(faultOf({ kind: 'course', course_id: id, cohort_id: id })).to.equal('good');
    expect(faultOf({ kind: 'agent', agent_id: id })).to.equal('good');
    expect(faultOf({ kind: 'course' })).to.equal('malformed: opens/course_id is missing');
    expect(faultOf({ kind: 'agent' })).to.equal('malformed: opens/agent_id is missing');
    expect(faultOf({ kind: 'agent', agent_id: id, course_id: id })).to.equal(
      'malformed: opens/course_id is not known here',
    );
    expect(faultOf({ kind: 'agent', agent_id: id, cohort_id: id })).to.equal(
      'malformed: opens/cohort_id is not known here',
    );
    expect(faultOf({ kind: 'course', course_id: id, agent_id: id })).to.equal(
      'malformed: opens/agent_id is not known here',
    );
    expect(faultOf({ kind: 'agent', agent_id: 5 })).to.equal('malformed: opens/agent_id must be a string');
    expect(faultOf({ kind: 'agent', agent_id: 'x' })).to.equal('invalid: opens/agent_id must be a UUID');
    expect(faultOf({ agent_id: id })).to.equal('malformed: opens/kind is missing');
    expect(faultOf({ kind: 5, agent_id: id })).to.equal('malformed: opens/kind must be a string');
    expect(faultOf({ kind: 'repository', repository_id: id })).to.equal('good');
    expect(faultOf({ kind: 'space', space_id: id })).to.equal('good');
    expect(faultOf({ kind: 'space', repository_id: id })).to.equal('malformed: opens/space_id is missing');
    expect(faultOf({ kind: 'shop', shop_id: id })).to.equal(
      'invalid: opens/kind must be one of course, agent, repository, space',
    );
  });
});

describe('checks of responses in tests', () => {
  const student = contractDocument.components.schemas['Student']?.['examples'];
  const data: unknown = Array.isArray(student) ? student[0] : undefined;
  const session = validatorsOf('getSession');

  it('accept declared responses', () => {
    expect(session.response(200, { data })).to.deep.equal([]);
    expect(session.response(401, { error: { code: 'unauthenticated', message: 'x' } })).to.deep.equal([]);
    expect(session.response(500, { error: { code: 'internal_error' } })).to.deep.equal([]);
    expect(validatorsOf('endSession').response(204, undefined)).to.deep.equal([]);
  });

  it('refuse a status, field, code or body that is not declared, and a code with a wrong status', () => {
    expect(session.response(201, { data })).to.deep.equal(['getSession declares no response 201']);
    expect(session.response(200, { data: { ...(isObject(data) ? data : {}), password_hash: 'x' } })).to.have.length(1);
    expect(session.response(401, { error: { code: 'last_owner' } })).to.deep.equal([
      'getSession does not declare the code last_owner',
    ]);
    expect(session.response(400, { error: { code: 'unauthenticated' } })).to.deep.equal([
      'unauthenticated goes with 401, not with 400',
    ]);
    expect(session.response(401, { error: { code: 'unauthenticated', stack: 'x' } })).to.have.length(1);
    expect(validatorsOf('endSession').response(204, { data: {} })).to.deep.equal(['204 has no JSON body']);
  });

  it('accept any body of a declared type other than JSON, but no other type', () => {
    const pdf = validatorsOf('getCertificatePdf');
    expect(pdf.response(200, '%PDF-1.3', 'application/pdf')).to.deep.equal([]);
    expect(pdf.response(200, '', 'application/pdf')).to.deep.equal(['200 has no body']);
    expect(pdf.response(200, { data: {} })).to.deep.equal(['getCertificatePdf declares no application/json with 200']);
    expect(pdf.response(404, '<p>', 'text/html')).to.deep.equal(['getCertificatePdf declares no text/html with 404']);
    expect(pdf.response(404, { error: { code: 'not_found' } })).to.deep.equal([]);
    expect(session.response(200, '<p>', 'text/html')).to.deep.equal(['getSession declares no text/html with 200']);
    const page = validatorsOf('verifyCertificate');
    expect(page.response(200, '<!doctype html>', 'text/html')).to.deep.equal([]);
    expect(page.response(200, { data: {} })).to.have.length(1);
  });

  it('accept the code not_configured only from operations that declare the code', () => {
    const body = { error: { code: 'not_configured' } };
    expect(session.response(501, body)).to.deep.equal(['getSession does not declare the code not_configured']);
  });
});
