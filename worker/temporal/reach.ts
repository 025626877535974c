/**
 * Finds out why Temporal does not answer. gRPC does not report the reason. So this code makes a connection of its own, and tells operators
 * what to do.
 */
import net from 'node:net';
import tls from 'node:tls';
import { isGrpcServiceError, type ConnectionOptions } from '@temporalio/client';
import type { TemporalSettings } from '../../platform/infra/temporal-settings.ts';

/** The first bytes that a client sends on an HTTP/2 connection, with empty settings. */
const preface = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
]);
const withinMs = 3_000;

/** The gRPC codes of a refusal: "permission denied" and "unauthenticated". */
const refusals: readonly number[] = [7, 16];
/** Matches the error of the workers' connection on a machine without certificate authorities. */
const noAuthorities = /NativeCertsNotFound/;
/** Matches the message of an error with which the server refuses the workers' connection. */
const nativeRefusals = /does not have (permission|valid authentication credentials)/;

/** @returns a sentence for operators */
export async function whyUnreachable(
  { address, apiKey, tls: settings }: TemporalSettings,
  options: ConnectionOptions['tls'],
  error: unknown,
): Promise<string> {
  const at = `Temporal at ${address}`;
  if (isRefusal(error))
    return apiKey
      ? `${at} refuses the key of TEMPORAL_API_KEY: set a valid key of the namespace.`
      : `${at} requires an API key: set TEMPORAL_API_KEY_FILE, or TEMPORAL_API_KEY.`;
  if (error instanceof Error && noAuthorities.test(error.message))
    return `The workers' connection to ${at} finds no certificate authorities on this machine: install the package ca-certificates, or name an authority in TEMPORAL_TLS_SERVER_CA_CERT_PATH.`;
  const reply = await firstReply(address, options);
  return describeReply(reply, { address, tls: settings }) ?? cannotBeUsed(address, error);
}

/** @returns a sentence for operators, which contains the gRPC status of the error */
export const cannotBeUsed = (address: string, error: unknown): string =>
  `Temporal at ${address} cannot be used (${grpcStatus(error)}): see its log.`;

export const unseenNamespace = (namespace: string, error: unknown): string =>
  `Temporal does not show us the namespace ${namespace} (${grpcStatus(error)}): give our API key or client certificate access to it, or set TEMPORAL_NAMESPACE to their namespace.`;

/**
 * Tests the connection before gRPC uses the address. gRPC itself would retry for a long time, and would report no reason.
 * @returns a sentence for operators; undefined if the server is slow, or if the server and our settings agree about TLS
 */
export async function tlsMismatch(
  settings: Pick<TemporalSettings, 'address' | 'tls'>,
  options: ConnectionOptions['tls'],
): Promise<string | undefined> {
  return describeReply(await firstReply(settings.address, options), settings);
}

function describeReply(
  code: string,
  { address, tls: settings }: Pick<TemporalSettings, 'address' | 'tls'>,
): string | undefined {
  const at = `Temporal at ${address}`;
  const hasCertificate = (settings.clientCertFile ?? settings.clientCert) !== undefined;
  switch (code) {
    case answered:
    case silence:
      return undefined;
    case 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED':
    case 'ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE':
      return `${at} demands a client certificate: set TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH.`;
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `${at} has a certificate for another host name: set TEMPORAL_ADDRESS or TEMPORAL_TLS_SERVER_NAME to a name in that certificate.`;
    case 'CERT_HAS_EXPIRED':
      return `${at} has an expired certificate: renew it there.`;
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
      return `${at} has a certificate of an unknown authority (${code}): set the authority in TEMPORAL_TLS_SERVER_CA_CERT_PATH.`;
    case usesTls:
      return `${at} uses TLS, and we do not: set TEMPORAL_TLS to true.`;
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
    case 'ERR_SSL_PACKET_LENGTH_TOO_LONG':
      return `${at} does not use TLS, and we do: remove all settings that begin with TEMPORAL_TLS, and TEMPORAL_API_KEY, or use an address with TLS.`;
    default:
      return hasCertificate && (code.includes('ALERT') || code === closed)
        ? `${at} does not accept our client certificate (${code}): set a certificate of an authority that the server knows in TEMPORAL_TLS_CLIENT_CERT_PATH, with its key.`
        : `${at} cannot be reached (${code}): check TEMPORAL_ADDRESS, and that the server runs.`;
  }
}

function grpcStatus(error: unknown): string {
  if (isGrpcServiceError(error)) return `gRPC status ${error.code}`;
  if (!(error instanceof Error)) return 'no code';
  return error.cause === undefined ? error.message : grpcStatus(error.cause);
}

export function isRefusal(error: unknown): boolean {
  if (isGrpcServiceError(error)) return refusals.includes(error.code);
  if (!(error instanceof Error)) return false;
  return nativeRefusals.test(error.message) || isRefusal(error.cause);
}

/** The results of {@link firstReply} that are not error codes. */
const [answered, silence, closed, usesTls] = ['it answers', 'no answer', 'closed', 'uses TLS'] as const;

async function firstReply(address: string, options: ConnectionOptions['tls']): Promise<string> {
  const at = address.lastIndexOf(':');
  const [host, port] = [address.slice(0, at), Number(address.slice(at + 1))];
  const reply = await connectOnce(
    options
      ? tls.connect({ host, port, ALPNProtocols: ['h2'], ...tlsOptions(host, options) })
      : net.connect({ host, port }),
    options ? 'secureConnect' : 'connect',
  );
  if (options || (reply !== closed && reply !== 'ECONNRESET')) return reply;
  // The server has closed the plain connection, perhaps because it uses TLS. This second connection finds out. It sends no data of ours, so
  // it need not verify the server.
  const again = await connectOnce(
    tls.connect({ host, port, ALPNProtocols: ['h2'], rejectUnauthorized: false }),
    'secureConnect',
  );
  return again === answered || again.includes('ALERT') ? usesTls : reply;
}

function connectOnce(socket: net.Socket, connected: 'secureConnect' | 'connect'): Promise<string> {
  return new Promise((resolve) => {
    const end = (word: string) => {
      socket.destroy();
      resolve(word);
    };
    socket.setTimeout(withinMs, () => end(silence));
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.name));
    socket.once('close', () => end(closed));
    // A TLS server answers a client without TLS with an alert, which is a record of type 21.
    socket.once('data', (data: Buffer) => end(data[0] === 21 && connected === 'connect' ? usesTls : answered));
    socket.once(connected, () => socket.write(preface));
  });
}

function tlsOptions(host: string, options: NonNullable<ConnectionOptions['tls']>): tls.ConnectionOptions {
  if (options === true || options === false) return net.isIP(host) === 0 ? { servername: host } : {};
  const { serverNameOverride, serverRootCACertificate, clientCertPair } = options;
  const name = serverNameOverride ?? (net.isIP(host) === 0 ? host : undefined);
  return {
    ...(name !== undefined && { servername: name }),
    ...(serverRootCACertificate && { ca: Buffer.from(serverRootCACertificate) }),
    ...(clientCertPair && { cert: Buffer.from(clientCertPair.crt), key: Buffer.from(clientCertPair.key) }),
  };
}
