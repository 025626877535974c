/** Tests the published contract: answers allow unknown fields, but requests do not (VER-4). Every part has a description. */
import { expect } from 'chai';
import { compileValidators, contractOperations } from '../../contract/contract.ts';
import { contractDocument } from '../../contract/document.ts';
import { createVault } from '../../platform/infra/keys/vault.ts';
import { Secret } from '../../platform/core/secret.ts';
import { newId } from '../../platform/core/ids.ts';
import { tokenText } from '../../domain/mail/codes/one-time-tokens.ts';
import { unsubscribeToken } from '../../domain/mail/suppressions/unsubscribe-link.ts';
import { dereference, isObject, methods, type JsonObject, type ResponseObject } from '../../contract/openapi.ts';

const { paths, webhooks, components } = contractDocument;
const { schemas } = components;
const operations = contractOperations();
const objects = Object.entries(paths).flatMap(([path, item]) =>
  methods.flatMap((method) => {
    const operation = item[method];
    return operation ? [{ path, operation }] : [];
  }),
);

interface Place {
  readonly at: string;
  readonly schema: JsonObject;
}

/** Returns each schema once that the part references, directly or indirectly. */
function placesIn(part: unknown, at: string, met = new Set<string>()): Place[] {
  if (!isObject(part)) return [];
  const { $ref } = part;
  if (typeof $ref === 'string') {
    const [, kind = '', name = ''] = /^#\/components\/(\w+)\/(.+)$/.exec($ref) ?? [];
    if (met.has($ref)) return [];
    met.add($ref);
    return placesIn((components as unknown as Record<string, JsonObject>)[kind]?.[name], name, met);
  }
  const isSchema = ['type', 'properties', 'oneOf', 'allOf', 'const'].some((word) => word in part);
  const inside = Object.entries(part).filter(([key]) => !['example', 'examples', 'x-codes'].includes(key));
  return [
    ...(isSchema && !('in' in part) ? [{ at, schema: part }] : []),
    ...inside.flatMap(([key, child]) => placesIn(child, key === 'properties' ? at : `${at}/${key}`, met)),
  ];
}

const answers = [
  ...placesIn(
    objects.map(({ operation }) => operation.responses),
    'responses',
  ),
  ...placesIn(webhooks, 'webhooks'),
];
const requests = placesIn(
  objects.map(({ operation }) => [operation.parameters, operation.requestBody]),
  'requests',
);

/** Enumerations of states. Clients decide by these states, so a new value needs a new major version. */
const fixed = [
  'AgentMessageRole',
  'AgentMessageStatus',
  'ApiKey/status',
  'AssignmentSubmissionStatus',
  'AutomationCondition/match',
  'CampaignDeliveryStatus',
  'EnrollmentStatus',
  'EventEnrollment/status',
  'MediaStatus',
  'MediaVisibility',
  'MentorshipSessionStatus',
  'ReviewOutcome',
  'UploadDescriptor/method',
  'WebhookDeliveryStatus',
  'WebhookEndpointStatus',
];

describe('the published contract', () => {
  it('allows unknown fields in answers, so that clients accept new fields (VER-4)', () => {
    const closed = answers.filter(
      ({ schema }) => schema['additionalProperties'] === false || schema['unevaluatedProperties'] === false,
    );
    expect(answers).to.have.length.above(1_000);
    expect(closed.map(({ at }) => at)).to.deep.equal([]);
  });

  it('allows no unknown fields in requests, except in notices and in answers of authenticators', () => {
    const open = requests.filter(
      ({ schema }) => isObject(schema['properties']) && !schema['oneOf'] && schema['additionalProperties'] !== false,
    );
    expect(requests).to.have.length.above(200);
    const ofBrowsers = [
      'PasskeyAssertion',
      'PasskeyAssertion/response',
      'PasskeyRegistration',
      'PasskeyRegistration/response',
    ];
    expect(open.map(({ at }) => at)).to.deep.equal(ofBrowsers);
  });

  it('says of each enumeration in answers that it may grow, except fixed lists of states (VER-4)', () => {
    const lists = answers.filter(({ schema }) => Array.isArray(schema['enum']));
    expect(lists.map(({ at }) => at).toSorted()).to.deep.equal(fixed);
    const growing = answers.filter(({ schema }) => Array.isArray(schema['x-extensible-enum']));
    expect(growing).to.have.length.above(40);
    for (const { at, schema } of growing)
      expect(schema['description'], at).to.match(/accept those that you do not know/);
  });

  it('names every kind of item that a delivery opens in the events about access', () => {
    const kind = placesIn(webhooks, 'webhooks').find(({ at }) => at === 'EventOpening/kind');
    expect(kind?.schema['x-extensible-enum']).to.deep.equal(['course', 'agent', 'repository', 'space']);
  });

  it('has only fixed enumerations in requests', () => {
    for (const { at, schema } of requests) expect(schema, at).not.to.have.any.keys('x-extensible-enum', 'x-extensible');
  });

  it('provides checks that find undeclared fields and unknown values in answers', () => {
    const member = operations.find(({ operationId }) => operationId === 'inviteMember');
    if (!member) throw new Error('The contract has no inviteMember');
    const { response } = compileValidators(member);
    const good = { email: 'ada@example.com', role: 'editor', status: 'invited' };
    expect(response(201, { data: good })).to.deep.equal([]);
    expect(response(201, { data: { ...good, password: 'x' } })).to.have.length(1);
    expect(response(201, { data: { ...good, role: 'janitor' } })).to.have.length(1);
  });

  it('describes every schema, every property and every parameter', () => {
    const described = (part: unknown): boolean =>
      isObject(part) &&
      (typeof part['$ref'] === 'string' || (typeof part['description'] === 'string' && part['description'].length > 4));
    const bare = Object.entries(schemas).flatMap(([name, schema]) => (described(schema) ? [] : [name]));
    const properties = [...answers, ...requests].flatMap(({ at, schema }) =>
      Object.entries(isObject(schema['properties']) ? schema['properties'] : {}).flatMap(([name, property]) =>
        described(property) ? [] : [`${at}/${name}`],
      ),
    );
    const parameters = objects.flatMap(({ path, operation }) =>
      (operation.parameters ?? []).filter((parameter) => !described(parameter)).map(() => path),
    );
    expect({ bare, properties, parameters }).to.deep.equal({ bare: [], properties: [], parameters: [] });
  });

  it('shows an example of each operation’s answer, which matches its schema', () => {
    for (const operation of operations) {
      const entry = operation.responses[operation.successStatus];
      const { content = {} } = entry ? dereference<ResponseObject>(entry, components.responses) : {};
      for (const [type, media] of Object.entries(content)) {
        if (type !== 'application/json' && type !== 'text/event-stream') continue;
        const example = isObject(media) ? media['example'] : undefined;
        expect(example, operation.operationId).to.be.an('object');
        if (type !== 'application/json') continue; // test/contract/examples.test.ts checks the examples of streams
        const faults = compileValidators(operation).response(operation.successStatus, example, type);
        expect(faults, operation.operationId).to.deep.equal([]);
      }
    }
  });

  it('contains examples of tokens and secrets in their real forms', () => {
    const forms: Record<string, RegExp> = {
      'a token of a session': /^cls_[\w-]{43}$/,
      'a token of a mail or of a sales connection': /^[\w-]{43}$/,
      'a token of an unsubscribe link': /^A[AQ][\w-]{42}$/,
      'a secret of a webhook endpoint': /^whsec_[\w+/]{43}=$/,
      'an API key': /^clk_[0-9a-f]{8}_[\w-]{43}[0-9A-Za-z]{6}$/,
      'a secret of an authenticator app': /^[A-Z2-7]{32}$/,
      'a secret that an administrator has chosen': /^a-key-of-your-own$/,
    };
    const text = JSON.stringify(contractDocument);
    const exampleSecrets = [...text.matchAll(/"(?:token|secret)":"([^"]*)"/g)].map(([, token = '']) => token);
    const met = exampleSecrets.map((token) => Object.keys(forms).find((name) => forms[name]?.test(token)) ?? token);
    expect([...new Set(met)]).to.have.members(Object.keys(forms));
    const codes = [...text.matchAll(/"code_id":"[^"]*","code":"([^"]*)"/g)].map(([, code]) => code);
    expect(codes).to.have.length.above(0);
    for (const code of codes) expect(code).to.match(/^\d{6}$/);
  });

  it('contains examples of tokens in their real lengths', () => {
    const vault = createVault(new Secret(Buffer.alloc(32, 7)));
    expect(tokenText(vault, 'student_verify_email', newId())).to.match(/^[\w-]{43}$/);
    expect(unsubscribeToken(vault, { kind: 'automations', studentId: newId() })).to.match(/^A[AQ][\w-]{42}$/);
  });
});
