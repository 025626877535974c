/** Refuses input that is not a valid HTTP request, with the usual error body and headers. */
import { STATUS_CODES, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { errorStatus, type ErrorCode } from '../platform/core/error-codes.ts';
import { headFault } from './request-head.policy.ts';

interface Refusal {
  status: number;
  body: string;
  headers: Readonly<Record<string, string>>;
}

/**
 * Refuses unreadable and ambiguous requests, and then closes the connection, because the start of the next request is unknown.
 * @param headers of every answer
 */
export function serveReadable(server: Server, serve: RequestListener, headers: Readonly<Record<string, string>>): void {
  const refusal = (code: ErrorCode, message: string): Refusal => {
    const body = JSON.stringify({ error: { code, message } });
    const length = String(Buffer.byteLength(body));
    const own = { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': length, Connection: 'close' };
    return { status: errorStatus[code], body, headers: { ...headers, ...own } };
  };
  /** The latest response of each connection. */
  const responses = new WeakMap<Socket, ServerResponse>();
  const closing = new WeakSet<Socket>();
  const listener: RequestListener = (request, response) => {
    if (closing.has(request.socket)) return undefined; // an earlier request of this connection was refused, so the connection is closing
    responses.set(request.socket, response);
    const fault = headFault(request);
    if (fault === undefined) return serve(request, response);
    closing.add(request.socket);
    const { status, body, headers: fields } = refusal('malformed_request', fault);
    response.shouldKeepAlive = false;
    return void response.writeHead(status, fields).end(body);
  };
  server.on('request', listener);
  server.on('checkExpectation', listener); // without this line, Node would refuse a request with an unknown `Expect` header
  const refuse = (socket: Socket, code: ErrorCode, message: string) => {
    const response = responses.get(socket);
    const isWithin = response?.headersSent === true && !response.writableFinished;
    if (socket.writable && !isWithin) socket.end(asText(refusal(code, message)));
    else socket.destroy(); // an answer is half sent, and the text would become a part of its body
  };
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET') socket.destroy();
    else if (error.code === 'HPE_HEADER_OVERFLOW')
      refuse(socket, 'headers_too_large', 'The headers are larger than 16 KB.');
    else refuse(socket, 'malformed_request', 'This is not a readable HTTP request.');
  });
  // Node would close the connection of a CONNECT request without an answer.
  server.on('connect', (_, socket: Socket) => refuse(socket, 'malformed_request', 'This server is not a proxy.'));
}

function asText({ status, headers, body }: Refusal): string {
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...fields, '', body].join('\r\n');
}
