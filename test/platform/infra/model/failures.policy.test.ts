import { expect } from 'chai';
import { failureOfStatus, failureOfType } from '../../../../platform/infra/model/failures.policy.ts';

describe('the classification of the model’s failures', () => {
  it('distinguishes overloaded, unavailable and rejected by the status', () => {
    const kinds = (...statuses: number[]) => [...new Set(statuses.map(failureOfStatus))];
    expect(kinds(429, 529)).to.deep.equal(['overloaded']);
    expect(kinds(500, 502, 503, 504, 599, 408, 409)).to.deep.equal(['unavailable']);
    expect(kinds(400, 401, 402, 403, 404, 413, 422)).to.deep.equal(['rejected']);
  });

  it('maps the type of an error event to a failure', () => {
    const kinds = {
      overloaded_error: 'overloaded',
      rate_limit_error: 'overloaded',
      invalid_request_error: 'rejected',
      authentication_error: 'rejected',
      permission_error: 'rejected',
      billing_error: 'rejected',
      not_found_error: 'rejected',
      request_too_large: 'rejected',
      api_error: 'unavailable',
      constructor: 'unavailable',
    };
    for (const [type, kind] of Object.entries(kinds)) expect(failureOfType(type), type).to.equal(kind);
  });
});
