/**
 * Tests what the contract says about repeated requests: how each operation treats them, and how answers are stored (IDEM-1, IDEM-5,
 * IDEM-6).
 */
import { expect } from 'chai';
import { keptFormOf, type OperationId } from '../../contract/contract.ts';
import { contractDocument } from '../../contract/document.ts';
import { dereference, isObject, type JsonObject, type OperationObject } from '../../contract/openapi.ts';
import { signedFieldsOf, withoutSignedAddresses } from '../../contract/rules/answer-schemas.ts';
import { idempotencyOf, keyPattern, type Idempotency } from '../../contract/rules/idempotency.ts';
import { readKey } from '../../api/middleware/repetitions.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { everyOperation, operationOf } from '../toolkit/drive/every-operation.ts';

const { schemas } = contractDocument.components;
const named = (idempotency: Idempotency | undefined) =>
  everyOperation.filter((one) => one.idempotency === idempotency).map(({ operationId }) => operationId);
const keeping = everyOperation.filter(({ idempotency }) => idempotency === 'kept');

/** @returns the schema of the operation's successful JSON answer */
function answerSchemaOf({ path, method }: (typeof everyOperation)[number]): unknown {
  const { responses = {} } = contractDocument.paths[path]?.[method] ?? {};
  const [, response] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? [];
  const media = response && 'content' in response ? response.content?.['application/json'] : undefined;
  return isObject(media) ? media['schema'] : undefined;
}

describe('repeated requests in the contract', () => {
  it('have one class for each POST and PATCH with a session, and none for other operations', () => {
    const own: OperationId[] = ['askAgent', 'buyAddOn', 'importStudents', 'verifyPhone'];
    const repeatable: OperationId[] = [
      'addAdministratorPasskey',
      'beginTotp',
      'checkMailDomain',
      'completeMedia',
      'confirmTotp',
      'createStudentSessionLink',
      'downloadRepository',
      'dryRunAutomation',
      'eraseOwnAccount',
      'importSuppressions',
      'openBillingPortal',
      'openCheckout',
      'pauseCampaign',
      'proveIdentity',
      'recoverWebhookDeliveries',
      'renewRecoveryCodes',
      'renewUpload',
      'requestAdministratorPasskeyCreation',
      'requestPasskeyForProof',
      'requestStudentPasskeyCreation',
      'reserveAgentImage',
      'reserveAssignmentFile',
      'reserveAvatar',
      'reserveMedia',
      'reservePostFile',
    ];
    expect(named('own').toSorted()).to.deep.equal(own);
    expect(named('repeatable').toSorted()).to.deep.equal(repeatable);
    const takesKey = everyOperation.filter(({ method, auth }) => ['post', 'patch'].includes(method) && auth.length > 0);
    expect(named('kept')).to.have.length(takesKey.length - own.length - repeatable.length);
    expect(named(undefined)).to.have.length(everyOperation.length - takesKey.length);
  });

  it('are refused in the contract for a read or an operation without a session', () => {
    const read = { operationId: 'getProfile', security: [{ admin: [] }], 'x-idempotency': 'own' } as never;
    expect(() => idempotencyOf('get', read)).to.throw('getProfile takes no Idempotency-Key');
    const withoutSession = { operationId: 'signInStudent', security: [], 'x-idempotency': 'own' } as never;
    expect(() => idempotencyOf('post', withoutSession)).to.throw('signInStudent takes no Idempotency-Key');
  });

  it('declare the header Idempotency-Key only for operations that accept it', () => {
    const header = { $ref: '#/components/parameters/IdempotencyKey' };
    const operations = everyOperation.map(({ path, method, idempotency }) => ({
      written: contractDocument.paths[path]?.[method] as OperationObject,
      idempotency,
    }));
    for (const { written, idempotency } of operations) {
      const takes = (written.parameters ?? []).some((one) => JSON.stringify(one) === JSON.stringify(header));
      expect(takes, written.operationId).to.equal(idempotency !== undefined);
    }
  });

  it('declare the pattern of keys that the API accepts', async () => {
    const pattern = new RegExp(keyPattern);
    const accepts = (key: string) => {
      try {
        readKey([key]);
        return true;
      } catch {
        return false;
      }
    };
    const keys = ['a', 'a b', '"a"', '"a', 'a"', '""', '"', '', '"a\\"b"', '"a\\b"', '"a" ', 'é', 'x'.repeat(255)];
    const long = ['x'.repeat(256), `"${'x'.repeat(255)}"`, `"${'x'.repeat(256)}"`, `"${'\\"'.repeat(255)}"`, '\t'];
    await eachCase(
      [...keys, ...long].filter((key) => key === key.trim()),
      (key) => expect(accepts(key)).to.equal(pattern.test(key)),
    );
  });

  it('describe the fields that a repeated answer lacks', () => {
    const { description } = contractDocument.paths['/v1/clubs/{clubId}/courses']?.post ?? {};
    expect(description).to.contain(
      'A repeated answer lacks `preview_url`, `thumbnail_url`, `download_url`, `tracks`, because signed addresses are not kept',
    );
    expect(keeping.filter((one) => signedFieldsOf(answerSchemaOf(one), schemas).length > 0)).to.have.length(32);
  });

  it('store answers with data of a student only for the listed operations', () => {
    const about = keeping
      .filter((operation) => keptFormOf(operation).isAboutStudent)
      .map(({ operationId }) => operationId);
    const expected: OperationId[] = [
      'awardPoints',
      'cancelMentorshipSession',
      'cancelStudentImport',
      'createStudent',
      'enrollInAutomation',
      'exitAutomationRun',
      'grantEnrollment',
      'issueCertificate',
      'moderateComment',
      'moderatePost',
      'moveEnrollment',
      'publishLessonComment',
      'publishPostComment',
      'publishSpacePost',
      'reissueCertificate',
      'requestOwnExport',
      'requestStudentExport',
      'restoreEnrollment',
      'resumeAutomationRun',
      'reviewAssignmentSubmission',
      'revokeCertificate',
      'revokeEnrollment',
      'setStudentPassword',
      'updateOwnStudent',
      'updatePost',
      'updatePostComment',
      'updateStudent',
    ];
    expect(about.toSorted()).to.deep.equal(expected);
  });
});

describe('addresses in answers', () => {
  /** Addresses that are not signed, by the end of their path in the schemas, with the reason. */
  const unsigned: Readonly<Record<string, string>> = {
    'AccountErasure/certificate_url': 'a lasting address; the answer is not kept',
    'ClubErasure/certificate_url': 'a lasting address, which owners must be able to read again',
    'StudentErasure/certificate_url': 'a lasting address',
    'ExportedCertificate/verify_url': 'a public page',
    'ExportedMailClick/url': 'a link that the club has written',
    'BrandingLink/url': 'a link that the club has written',
    'PublicBranding/logo_url': 'a lasting address',
    'Branding/logo_url': 'a lasting address',
    'WebhookEndpoint/url': 'the receiver of the club',
    'CampaignEmailBlock/url': 'a link that the club has written',
    'CampaignStatistics/links/url': 'a link that the club has written',
    'Certificate/verify_url': 'a public page',
    'CertificateVerification/verify_url': 'a public page',
    'CheckoutSession/url': 'a page of the payment processor; the answer is not kept',
    'PortalSession/url': 'a page of the payment processor; the answer is not kept',
    ReturnAddress: 'an address that the request names',
    'EmailBlock/url': 'a link that the club has written',
    'RegistrationLink/url': 'a page of the classroom',
    'Mentorship/meeting_url': 'a link that the club has written',
    'OwnMentorshipSession/meeting_url': 'a link that the club has written',
    'ProviderSignIn/url': 'a page of the identity provider; the answer is not stored',
    'SessionLink/url': 'a credential, in an answer that is never stored',
    'SalesConnectionWithToken/url':
      'a lasting address, which an administrator must be able to read again after a lost answer',
    'EventCertificate/verify_url': 'a public page',
  };

  const found: string[] = [];
  function look(part: unknown, way: string, name: string): void {
    if (!isObject(part)) return;
    const isAddress = name === 'url' || name.endsWith('_url') || String(part['format']).startsWith('uri');
    const isText = part['type'] === 'string' && part['x-signed-address'] !== true;
    if (isAddress && isText) found.push(way);
    for (const [property, inner] of Object.entries(isObject(part['properties']) ? part['properties'] : {}))
      look(inner, `${way}/${property}`, property);
    look(part['items'], way, name);
    for (const list of [part['allOf'], part['oneOf'], part['anyOf']])
      for (const inner of Array.isArray(list) ? (list as unknown[]) : []) look(inner, way, name);
  }
  const isInput = (name: string) => /(?:Input|Registration|Change)$/.test(name);

  it('are marked by x-signed-address, or listed in this test with the reason', () => {
    for (const [name, schema] of Object.entries(schemas)) if (!isInput(name)) look(schema, name, name);
    expect(found.toSorted()).to.deep.equal(Object.keys(unsigned).toSorted());
  });

  it('are never all of a stored answer', () => {
    for (const operation of keeping) {
      const schema = answerSchemaOf(operation);
      const { bodyToKeep } = keptFormOf(operation);
      const media = isObject(schema) ? filled(schema) : undefined;
      expect(() => bodyToKeep(media), operation.operationId).not.to.throw();
    }
  });

  /** @returns a value with each property of the schema, and a list with one item for each list */
  function filled(schema: JsonObject, depth = 0): unknown {
    const part = dereference<JsonObject>(schema, schemas);
    if (depth > 12) return 'deep';
    if (isObject(part['items'])) return [filled(part['items'], depth + 1)];
    const branches = [part['allOf'], part['oneOf'], part['anyOf']].flatMap((list) =>
      Array.isArray(list) ? (list as unknown[]).filter(isObject) : [],
    );
    const own = isObject(part['properties']) ? part['properties'] : undefined;
    if (!own && branches.length === 0) return 'text';
    const properties = Object.entries(own ?? {}).map(([name, inner]) => [name, filled(inner as JsonObject, depth + 1)]);
    const others = branches.map((branch) => filled(branch, depth + 1)).filter(isObject);
    return Object.assign({}, Object.fromEntries(properties), ...others) as unknown;
  }

  it('are removed with the nearest optional property if their record requires them', () => {
    const track = { language: 'pt-BR', label: 'Português', kind: 'subtitles', url: 'https://signed' };
    const file = { id: '1', title: 'a.mp4', preview_url: 'https://signed', tracks: [track] };
    const answer = { data: { id: '2', files: [file, { id: '3' }] } };
    const schema = answerSchemaOf(operationOf('publishSpacePost'));
    expect(withoutSignedAddresses(answer, schema, schemas)).to.deep.equal({
      data: { id: '2', files: [{ id: '1', title: 'a.mp4' }, { id: '3' }] },
    });
  });

  it('cause an error if a required part of the answer contains one', () => {
    const schema = {
      type: 'object',
      required: ['data'],
      properties: { data: { $ref: '#/components/schemas/MediaTrack' } },
    };
    expect(() => withoutSignedAddresses({ data: { url: 'https://signed' } }, schema, schemas)).to.throw(
      'cannot be kept',
    );
  });
});
