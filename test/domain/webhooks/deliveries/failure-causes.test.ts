import { expect } from 'chai';
import { contractText } from '../../../../contract/document.ts';
import { failureCause } from '../../../../domain/webhooks/attempts/failure-causes.ts';
import { failureCauses } from '../../../../entities/webhooks/values.ts';

describe('the cause of an attempt without an answer', () => {
  const causes = [
    ['dns_error', 'ENOTFOUND', 'name_not_found'],
    ['dns_error', 'ENODATA', 'name_not_found'],
    ['dns_error', 'ESERVFAIL', 'name_server_failed'],
    ['dns_error', 'ECONNREFUSED', 'name_server_failed'],
    ['address_refused', 'ADDRESS_REFUSED', 'address_refused'],
    ['connection_error', 'ECONNREFUSED', 'connection_refused'],
    ['connection_error', 'EPIPE', 'connection_reset'],
    ['connection_error', 'UND_ERR_SOCKET', 'connection_closed'],
    ['connection_error', 'ENETUNREACH', 'host_unreachable'],
    ['connection_error', 'EPROTO', 'connection_failed'],
    ['connection_error', 'UND_ERR_HEADERS_OVERFLOW', 'header_overflow'],
    ['connection_error', 'HTTP_PARSER', 'invalid_response'],
    ['tls_error', 'CERT_HAS_EXPIRED', 'certificate_expired'],
    ['tls_error', 'CERT_NOT_YET_VALID', 'certificate_not_yet_valid'],
    ['tls_error', 'ERR_TLS_CERT_ALTNAME_INVALID', 'certificate_name_mismatch'],
    ['tls_error', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'certificate_untrusted'],
    ['tls_error', 'ERR_SSL_WRONG_VERSION_NUMBER', 'tls_failed'],
    ['timeout', 'CONNECT_TIMEOUT', 'connect_timeout'],
    ['timeout', 'RESPONSE_TIMEOUT', 'response_timeout'],
    ['timeout', undefined, 'response_timeout'],
    ['http_error', undefined, undefined],
    ['succeeded', undefined, undefined],
  ] as const;
  for (const [outcome, errorCode, cause] of causes)
    it(`is ${cause ?? 'absent'} if the outcome is ${outcome} and the error code is ${errorCode ?? 'absent'}`, () =>
      expect(failureCause({ outcome, errorCode })).to.equal(cause));

  it('is a value of the contract’s enumeration', () => {
    const { components } = JSON.parse(contractText) as {
      components: { schemas: { WebhookAttempt: { properties: { error_code: { 'x-extensible-enum': string[] } } } } };
    };
    const documented = components.schemas.WebhookAttempt.properties.error_code['x-extensible-enum'];
    expect(documented).to.deep.equal(failureCauses);
  });
});
