/** Tests the error codes that an operation gets by rule, because of its method, session, parameters and body. */
import { expect } from 'chai';
import { codesByRule, traitsOf, type OperationTraits } from '../../../contract/rules/error-codes.ts';
import type { ErrorCode } from '../../../platform/core/error-codes.ts';

/** The traits of a public read without parameters. */
const plain: OperationTraits = {
  method: 'get',
  hasSession: false,
  isUnderClub: false,
  isForAdministrators: false,
  isOpenToLimitedSessions: false,
  hasRoles: false,
  hasScope: false,
  needsFreshFactor: false,
  hasBody: false,
  hasCursor: false,
  hasJudgedParameters: false,
  idempotency: undefined,
};

const further = (traits: Partial<OperationTraits>): ErrorCode[] => {
  const always = codesByRule(plain);
  return codesByRule({ ...plain, ...traits }).filter((code) => !always.includes(code));
};

describe('codesByRule', () => {
  it('returns only malformed_request, internal_error and busy for a plain operation', () => {
    expect(codesByRule(plain)).to.deep.equal(['malformed_request', 'internal_error', 'busy']);
  });

  const added: readonly [Partial<OperationTraits>, readonly ErrorCode[]][] = [
    [{ hasSession: true }, ['unauthenticated']],
    [{ isUnderClub: true }, ['forbidden']],
    [{ hasRoles: true }, ['role_not_permitted']],
    [{ isForAdministrators: true }, ['provider_session_limited']],
    [{ isForAdministrators: true, isOpenToLimitedSessions: true }, []],
    [{ hasBody: true }, ['body_too_large', 'unsupported_media_type', 'invalid_request']],
    [{ hasJudgedParameters: true }, ['invalid_request']],
    [{ method: 'delete' }, ['rate_limited']],
    [{ idempotency: 'kept' }, ['request_in_progress', 'result_removed', 'idempotency_key_reused']],
    [{ idempotency: 'own' }, []],
    [{ idempotency: 'repeatable' }, []],
  ];
  for (const [traits, codes] of added)
    it(`adds ${codes.join(', ')} for ${JSON.stringify(traits)}`, () => {
      expect(further(traits)).to.deep.equal(codes);
    });
});

describe('traitsOf', () => {
  const operation = { operationId: 'updateProfile', description: '', tags: [], security: [], responses: {} } as const;
  const parametersNamed = (...names: string[]) => names.map((name) => ({ name }));

  it('reports that an operation has a session, roles or a body', () => {
    const written = { ...operation, security: [{ admin: [] }], 'x-roles': ['owner'], requestBody: { content: {} } };
    expect(traitsOf('post', written, [])).to.deep.equal({
      ...plain,
      method: 'post',
      hasSession: true,
      isForAdministrators: true,
      isOpenToLimitedSessions: false,
      hasRoles: true,
      hasBody: true,
      idempotency: 'kept',
    });
  });

  it('treats a club id, a slug and a certificate code as parameters that never cause 422', () => {
    const traits = traitsOf('get', operation, parametersNamed('clubId', 'slug', 'certificateCode'));
    expect(traits).to.deep.equal({ ...plain, isUnderClub: true });
  });

  it('treats every other parameter as a parameter that can cause 422', () => {
    expect(traitsOf('get', operation, parametersNamed('page')).hasJudgedParameters).to.equal(true);
  });
});
