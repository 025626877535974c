/** Tests the error responses that an operation gets by rule, because of its error codes. */
import { expect } from 'chai';
import type { OperationTraits } from '../../../contract/rules/error-codes.ts';
import { errorResponses } from '../../../contract/rules/error-responses.ts';

const publicRead: OperationTraits = {
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
};

const shared = (name: string) => ({ $ref: `../responses.yaml#/${name}` });

describe('errorResponses', () => {
  it('returns only a 400 and a default response for a public read', () => {
    expect(errorResponses([], publicRead)).to.deep.equal({
      400: shared('MalformedRequest'),
      default: shared('Otherwise'),
    });
  });

  it('returns the responses of every rule that applies to a write of an administrator in a club', () => {
    const write = {
      hasSession: true,
      isUnderClub: true,
      isForAdministrators: true,
      isOpenToLimitedSessions: false,
      hasRoles: true,
      hasScope: true,
      needsFreshFactor: false,
      hasBody: true,
      hasCursor: false,
      hasJudgedParameters: true,
    };
    expect(Object.keys(errorResponses([], { method: 'post', ...write }))).to.deep.equal([
      '400',
      '401',
      '403',
      '413',
      '415',
      '422',
      '429',
      'default',
    ]);
  });

  it('adds one response for each status of the operation’s own codes', () => {
    expect(errorResponses(['not_found', 'in_use', 'name_taken', 'not_configured'], publicRead)).to.deep.equal({
      400: shared('MalformedRequest'),
      404: shared('NotFound'),
      409: shared('Conflict'),
      501: shared('NotConfigured'),
      default: shared('Otherwise'),
    });
  });

  it('refuses an error code that is in no table', () => {
    expect(() => errorResponses(['not_fond'], publicRead)).to.throw('The error code not_fond is not in');
  });

  it('refuses an error code whose status has no shared response', () => {
    expect(() => errorResponses(['headers_too_large'], publicRead)).to.throw('No shared response has the status 431');
  });
});
