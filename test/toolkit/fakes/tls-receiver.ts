/** Webhook receivers for tests. They use real TLS on the loopback address, and a test chooses every byte of their answers. */
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';
import tls, { type TLSSocket } from 'node:tls';
import { Worker } from 'node:worker_threads';
import { PemConverter, SubjectAlternativeNameExtension, X509CertificateGenerator } from '@peculiar/x509';
import type { Certificate } from '../../../dev/stack/certificates.ts';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const day = 86_400_000;

/** A self-signed certificate. @param notBefore the beginning of the certificate's validity, which lasts two days */
export async function selfSigned(name: string, notBefore = new Date(Date.now() - day)): Promise<Certificate> {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    notBefore,
    notAfter: new Date(notBefore.getTime() + 2 * day),
    signingAlgorithm: algorithm,
    keys,
    extensions: [new SubjectAlternativeNameExtension([{ type: 'dns', value: name }])],
  });
  const key = PemConverter.encode(
    await webcrypto.subtle.exportKey('pkcs8', keys.privateKey),
    PemConverter.PrivateKeyTag,
  );
  return { key, cert: certificate.toString('pem') };
}

/** A request as it arrived: the first line, headers by lower-case name, and the body's raw bytes. */
interface ReceivedRequest {
  line: string;
  headers: Record<string, string>;
  body: Buffer;
}

export interface Receiver {
  port: number;
  requests: ReceivedRequest[];
  connections(): number;
  /** The server names that clients have sent (SNI). The value is false for a client without SNI. */
  serverNames: (string | false)[];
  /** Cuts every open connection by a TCP reset. */
  reset(): void;
  stop(): Promise<void>;
}

/** `number` counts the requests of all connections from 1. */
export type Respond = (socket: TLSSocket, request: ReceivedRequest, number: number) => void;

export const respondWith =
  (...parts: readonly (string | Buffer)[]): Respond =>
  (socket) => {
    for (const part of parts) socket.write(part);
  };

export async function startReceiver(
  certificate: Certificate,
  respond: Respond,
  options: tls.TlsOptions = {},
): Promise<Receiver> {
  const requests: ReceivedRequest[] = [];
  const serverNames: (string | false)[] = [];
  const server = tls.createServer({ ...certificate, ALPNProtocols: ['http/1.1'], ...options }, (socket) => {
    serverNames.push(socket.servername || false);
    let bytes = Buffer.alloc(0);
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      const request = parseRequest(bytes);
      if (!request) return;
      bytes = Buffer.alloc(0);
      requests.push(request);
      respond(socket, request, requests.length);
    });
  });
  return { ...(await listening(server)), requests, serverNames };
}

/** A receiver of TCP connections without TLS. The callback gets each new connection. */
export async function startTcpReceiver(
  onConnection: (socket: net.Socket) => void,
): Promise<Omit<Receiver, 'requests'>> {
  return { ...(await listening(net.createServer(onConnection))), serverNames: [] };
}

/** Writes these bytes repeatedly, as fast as the client reads, until the connection ends. */
export function flood(socket: TLSSocket, bytes: Buffer): { written: number } {
  const state = { written: 0 };
  const more = (): void => {
    for (let isWritable = true; isWritable && !socket.destroyed; state.written += bytes.length)
      isWritable = socket.write(bytes);
  };
  socket.on('drain', more);
  more();
  return state;
}

/** Writes this text at this interval, in milliseconds, until the connection ends. */
export function drip(socket: net.Socket, text: string | Buffer, everyMs = 20): void {
  const timer = setInterval(() => socket.write(text), everyMs);
  socket.on('close', () => clearInterval(timer));
}

async function listening(server: net.Server): Promise<Pick<Receiver, 'port' | 'connections' | 'reset' | 'stop'>> {
  let connections = 0;
  const open = new Set<net.Socket>();
  server.on('connection', (socket: net.Socket) => {
    connections += 1;
    open.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => open.delete(socket));
  });
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('A receiver listens on a port.');
  return {
    port: address.port,
    connections: () => connections,
    reset() {
      for (const socket of open) socket.resetAndDestroy();
    },
    async stop() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

function parseRequest(bytes: Buffer): ReceivedRequest | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [line = '', ...fields] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const headers = Object.fromEntries(
    fields.map((field) => [field.split(':', 1)[0]?.toLowerCase() ?? '', field.slice(field.indexOf(':') + 1).trim()]),
  );
  const body = bytes.subarray(end + 4);
  return body.length < Number(headers['content-length'] ?? 0) ? undefined : { line, headers, body };
}

/**
 * A port that never accepts a connection. The thread of its listener sleeps and the listener's short queue is full, so each new connection
 * hangs.
 */
export async function startDeafListener(): Promise<{ port: number; stop(): Promise<void> }> {
  const worker = new Worker(
    `const { parentPort } = require('node:worker_threads');
     const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
       parentPort.postMessage(server.address().port);
       setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
     });`,
    { eval: true },
  );
  const port = Number((await once(worker, 'message'))[0]);
  const fillers = Array.from({ length: 4 }, () => net.connect(port, '127.0.0.1').on('error', () => {}));
  await new Promise((resolve) => setTimeout(resolve, 50));
  return {
    port,
    async stop() {
      for (const filler of fillers) filler.destroy();
      await worker.terminate();
    },
  };
}
