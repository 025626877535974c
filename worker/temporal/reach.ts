/** Why Temporal does not answer: asks by hand what gRPC does not tell, and says what to do. */
import net from 'node:net';
import tls from 'node:tls';
import { isGrpcServiceError, type ConnectionOptions } from '@temporalio/client';
import type { TemporalSettings } from '../../platform/infra/temporal-settings.ts';

/** How HTTP/2 begins, with empty settings. */
const preface = Buffer.concat([
  Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
]);
const withinMs = 3_000;

/** gRPC: permission denied, unauthenticated. */
const refusals: readonly number[] = [7, 16];
/** Of the workers' own connection, which knows no other authorities than the system's. */
const noAuthorities = /NativeCertsNotFound/;
/** The refusals as that connection says them. */
const nativeRefusals = /does not have (permission|valid authentication credentials)/;

/**
 * @param options by which it was tried @param error that came of it
 * @returns a sentence for operators
 */
export async function whyUnreachable(
  { address, apiKey, tls: settings }: TemporalSettings,
  options: ConnectionOptions['tls'],
  error: unknown,
): Promise<string> {
  const at = `Temporal at ${address}`;
  if (isRefusal(error))
    return apiKey
      ? `${at} refuses the key of TEMPORAL_API_KEY: give one that is valid for the namespace.`
      : `${at} refuses us without an API key: set TEMPORAL_API_KEY_FILE, or TEMPORAL_API_KEY.`;
  if (error instanceof Error && noAuthorities.test(error.message))
    return `The workers' connection to ${at} finds no certificates of authorities on this machine: install the package ca-certificates, or name an authority in TEMPORAL_TLS_SERVER_CA_CERT_PATH.`;
  const word = await firstWord(address, options);
  return describeWord(word, { address, tls: settings }) ?? cannotBeUsed(address, error);
}

/** @returns a sentence for operators, with the status of gRPC */
export const cannotBeUsed = (address: string, error: unknown): string =>
  `Temporal at ${address} cannot be used (${grpcStatus(error)}): its log may say why.`;

/** @returns a sentence for operators whose right to see the namespace is refused */
export const unseenNamespace = (namespace: string, error: unknown): string =>
  `Temporal does not let us see the namespace ${namespace} (${grpcStatus(error)}): give our API key or client certificate access to it, or set TEMPORAL_NAMESPACE to the one that they are for.`;

/**
 * Asks before gRPC does, which would try for long, and not say why it fails.
 * @returns a sentence for operators; undefined where the server speaks as we do, or is slow
 */
export async function whyUnlikeUs(
  settings: Pick<TemporalSettings, 'address' | 'tls'>,
  options: ConnectionOptions['tls'],
): Promise<string | undefined> {
  return describeWord(await firstWord(settings.address, options), settings);
}

/** @param code as {@link firstWord} returns it */
function describeWord(
  code: string,
  { address, tls: settings }: Pick<TemporalSettings, 'address' | 'tls'>,
): string | undefined {
  const at = `Temporal at ${address}`;
  const hasCertificate = (settings.clientCertFile ?? settings.clientCert) !== undefined;
  switch (code) {
    case answers:
    case silence:
      return undefined;
    case 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED':
    case 'ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE':
      return `${at} demands a client certificate: set TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH.`;
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `${at} has a certificate for another host name: set TEMPORAL_ADDRESS or TEMPORAL_TLS_SERVER_NAME to a name that it holds.`;
    case 'CERT_HAS_EXPIRED':
      return `${at} has a certificate that has expired: renew it there.`;
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
      return `${at} has a certificate of an authority that we do not know (${code}): give the authority in TEMPORAL_TLS_SERVER_CA_CERT_PATH.`;
    case otherwise:
      return `${at} speaks TLS, and we do not: set TEMPORAL_TLS to true.`;
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
    case 'ERR_SSL_PACKET_LENGTH_TOO_LONG':
      return `${at} does not speak TLS, and we do: leave out what begins with TEMPORAL_TLS, and TEMPORAL_API_KEY, or reach it where it does.`;
    default:
      return hasCertificate && (code.includes('ALERT') || code === closed)
        ? `${at} does not accept our client certificate (${code}): give one of an authority that it knows in TEMPORAL_TLS_CLIENT_CERT_PATH, with its key.`
        : `${at} cannot be reached (${code}): is TEMPORAL_ADDRESS right, and is the server up?`;
  }
}

/** The status that gRPC names in the error or in what caused it. */
function grpcStatus(error: unknown): string {
  if (isGrpcServiceError(error)) return `gRPC status ${error.code}`;
  if (!(error instanceof Error)) return 'no code';
  return error.cause === undefined ? error.message : grpcStatus(error.cause);
}

/** @returns whether the server has answered that we may not, in the error or in what caused it */
export function isRefusal(error: unknown): boolean {
  if (isGrpcServiceError(error)) return refusals.includes(error.code);
  if (!(error instanceof Error)) return false;
  return nativeRefusals.test(error.message) || isRefusal(error.cause);
}

/** What {@link firstWord} may return beside the codes of errors. */
const [answers, silence, closed, otherwise] = ['it answers', 'no answer', 'closed', 'speaks TLS'] as const;

/** Says hello by HTTP/2, with TLS or without. @returns the code of the error that comes, or one of the words above */
async function firstWord(address: string, options: ConnectionOptions['tls']): Promise<string> {
  const at = address.lastIndexOf(':');
  const [host, port] = [address.slice(0, at), Number(address.slice(at + 1))];
  const word = await hello(
    options
      ? tls.connect({ host, port, ALPNProtocols: ['h2'], ...tlsOptions(host, options) })
      : net.connect({ host, port }),
    options ? 'secureConnect' : 'connect',
  );
  if (options || (word !== closed && word !== 'ECONNRESET')) return word;
  // It may have hung up on us because it waited for a certificate. Nothing is said to it here, so it need not be proven.
  const again = await hello(
    tls.connect({ host, port, ALPNProtocols: ['h2'], rejectUnauthorized: false }),
    'secureConnect',
  );
  return again === answers || again.includes('ALERT') ? otherwise : word;
}

function hello(socket: net.Socket, connected: 'secureConnect' | 'connect'): Promise<string> {
  return new Promise((resolve) => {
    const end = (word: string) => {
      socket.destroy();
      resolve(word);
    };
    socket.setTimeout(withinMs, () => end(silence));
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.name));
    socket.once('close', () => end(closed));
    // A TLS server tells those who speak otherwise by a record of type 21, an alert.
    socket.once('data', (data: Buffer) => end(data[0] === 21 && connected === 'connect' ? otherwise : answers));
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
