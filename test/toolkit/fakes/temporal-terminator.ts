/**
 * A proxy in front of the Temporal of the test run. It terminates TLS, requires a client certificate and an API key, and answers some calls
 * without Temporal.
 */
import { once } from 'node:events';
import http2 from 'node:http2';
import type net from 'node:net';
import type { Authority } from '../../../dev/stack/certificates.ts';

export interface TerminatorOptions {
  readonly to: string;
  readonly authority: Authority;
  readonly hosts?: readonly string[];
  /** The certificate authority of the clients that the proxy accepts. If it is absent, clients need no certificate. */
  readonly clientsOf?: Authority;
  readonly serverVersion?: string;
  /** Whether the proxy refuses calls of the operator service and the creation of a namespace, as Temporal Cloud does. */
  readonly refusesOperators?: boolean;
  /** gRPC status codes that replace the server's answers. The key is the name of a call, and the value is the code in digits. */
  readonly statuses?: Readonly<Record<string, string>>;
}

export interface TemporalTerminator {
  readonly address: string;
  /** The API keys that the proxy accepts. If the list is empty, clients need no key. */
  apiKeys: readonly string[];
  readonly callsBy: Map<string, number>;
  stop(): Promise<void>;
}

const permissionDenied = '7';
const unauthenticated = '16';

export async function startTemporalTerminator(options: TerminatorOptions): Promise<TemporalTerminator> {
  const upstream = upstreamTo(`http://${options.to}`);
  const server = http2.createSecureServer({
    ...(await options.authority.issue(options.hosts ?? ['127.0.0.1', 'localhost'])),
    ...(options.clientsOf && { ca: options.clientsOf.certificate, requestCert: true, rejectUnauthorized: true }),
  });
  const sockets = new Set<net.Socket>();
  server.on('connection', (socket: net.Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  const callsBy = new Map<string, number>();
  const terminator = { apiKeys: [] as readonly string[] };
  server.on('stream', (near, headers) => {
    near.on('error', () => undefined);
    const refuse = (code: string) =>
      near.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': code }, { endStream: true });
    const key = headers.authorization?.replace(/^Bearer /, '') ?? '';
    callsBy.set(key, (callsBy.get(key) ?? 0) + 1);
    if (terminator.apiKeys.length > 0 && !terminator.apiKeys.includes(key)) return refuse(unauthenticated);
    const path = headers[':path'] ?? '';
    if (options.refusesOperators && /OperatorService|\/RegisterNamespace$/.test(path)) return refuse(permissionDenied);
    const status = options.statuses?.[path.slice(path.lastIndexOf('/') + 1)];
    if (status !== undefined) return refuse(status);
    if (options.serverVersion !== undefined && path.endsWith('/GetSystemInfo'))
      return answerVersion(near, options.serverVersion);
    passOn(near, headers, upstream.session());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(terminator, {
    address: `127.0.0.1:${(server.address() as net.AddressInfo).port}`,
    callsBy,
    async stop() {
      upstream.end();
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  });
}

/** The server ends a connection after some minutes or when it is idle; the next call opens a new connection. */
function upstreamTo(url: string): { session(): http2.ClientHttp2Session; end(): void } {
  const all = new Set<http2.ClientHttp2Session>();
  let current: http2.ClientHttp2Session | undefined;
  return {
    session() {
      if (current !== undefined && !current.closed && !current.destroyed) return current;
      const fresh = http2.connect(url);
      const forget = () => {
        if (current === fresh) current = undefined;
      };
      all.add(fresh);
      fresh
        .on('error', forget)
        .on('goaway', forget)
        .on('close', () => {
          forget();
          all.delete(fresh);
        });
      return (current = fresh);
    },
    end() {
      for (const session of all) session.destroy();
    },
  };
}

function passOn(
  near: http2.ServerHttp2Stream,
  headers: http2.IncomingHttpHeaders,
  upstream: http2.ClientHttp2Session,
): void {
  const { authorization: _, ...others } = headers;
  const far = upstream.request(others);
  let trailers: http2.IncomingHttpHeaders = {};
  far.on('error', () => near.close(http2.constants.NGHTTP2_INTERNAL_ERROR));
  near.on('close', () => far.close());
  far.on('trailers', (last) => (trailers = last));
  far.on('response', (answer, flags) => {
    if (near.destroyed) return;
    const isOver = (flags & http2.constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    near.respond(answer, { endStream: isOver, waitForTrailers: !isOver });
    if (!isOver) far.pipe(near);
  });
  near.on('wantTrailers', () => near.sendTrailers(trailers));
  near.pipe(far);
}

/** Answers a call in protobuf as the server does. The first field is the version. */
function answerVersion(near: http2.ServerHttp2Stream, version: string): void {
  const field = Buffer.concat([Buffer.from([0x0a, version.length]), Buffer.from(version)]);
  near.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  near.on('wantTrailers', () => near.sendTrailers({ 'grpc-status': '0' }));
  near.end(Buffer.concat([Buffer.from([0, 0, 0, 0, field.length]), field]));
}
