/** Finds out why an attempt got no answer. The contract documents these causes (HOOK-20). */
import { failureCauses, type FailureCause } from '../../../entities/webhooks/values.ts';
import type { PostAnswer } from '../../../platform/infra/egress/post.ts';

/** The error codes of Node, OpenSSL and undici for each cause. */
const codesByCause: Readonly<Record<FailureCause, readonly string[]>> = {
  name_not_found: ['ENOTFOUND', 'ENODATA', 'EBADNAME', 'ENONAME'],
  name_server_failed: [],
  address_refused: ['ADDRESS_REFUSED'],
  connection_refused: ['ECONNREFUSED'],
  connection_reset: ['ECONNRESET', 'EPIPE', 'ENOTCONN', 'ECONNABORTED'],
  connection_closed: ['UND_ERR_SOCKET'],
  connection_timed_out: ['ETIMEDOUT'],
  host_unreachable: ['EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'ENETDOWN', 'EADDRNOTAVAIL', 'EAFNOSUPPORT'],
  connection_failed: [],
  certificate_expired: ['CERT_HAS_EXPIRED'],
  certificate_not_yet_valid: ['CERT_NOT_YET_VALID'],
  certificate_name_mismatch: ['ERR_TLS_CERT_ALTNAME_INVALID', 'HOSTNAME_MISMATCH', 'ERR_TLS_CERT_ALTNAME_FORMAT'],
  certificate_untrusted: [
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'UNABLE_TO_GET_ISSUER_CERT',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'CERT_UNTRUSTED',
    'CERT_REJECTED',
    'CERT_REVOKED',
    'CERT_SIGNATURE_FAILURE',
    'CERT_CHAIN_TOO_LONG',
    'INVALID_CA',
    'INVALID_PURPOSE',
    'PATH_LENGTH_EXCEEDED',
  ],
  client_certificate_required: [
    'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
    'ERR_SSL_TLSV1_ALERT_CERTIFICATE_REQUIRED',
    'ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_REQUIRED',
  ],
  tls_failed: [],
  header_overflow: ['UND_ERR_HEADERS_OVERFLOW'],
  invalid_response: ['HTTP_PARSER', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'],
  connect_timeout: ['CONNECT_TIMEOUT'],
  response_timeout: ['RESPONSE_TIMEOUT'],
};

const causeByCode = new Map<string, FailureCause>(
  failureCauses.flatMap((cause) => codesByCause[cause].map((code) => [code, cause] as const)),
);

/** The cause of an outcome with any other error code. */
const causeByOutcome: Readonly<Partial<Record<PostAnswer['outcome'], FailureCause>>> = {
  dns_error: 'name_server_failed',
  connection_error: 'connection_failed',
  tls_error: 'tls_failed',
  timeout: 'response_timeout',
  address_refused: 'address_refused',
};

/** @returns undefined if an answer arrived, because the status of the answer says more */
export function failureCause({
  outcome,
  errorCode = '',
}: {
  outcome: PostAnswer['outcome'];
  errorCode?: string | undefined;
}): FailureCause | undefined {
  // A refused connection to a name server says nothing about the receiver.
  const listedCause = causeByCode.get(errorCode);
  if (outcome === 'dns_error') return listedCause === 'name_not_found' ? listedCause : 'name_server_failed';
  const byOutcome = causeByOutcome[outcome];
  return byOutcome === undefined ? undefined : (listedCause ?? byOutcome);
}
