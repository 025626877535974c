/** A line to a server on this machine that can be cut, and that can lose answers. */
import { once } from 'node:events';
import net from 'node:net';

export interface HttpLine {
  /** `http://127.0.0.1:<port>` */
  readonly base: string;
  /** The first lines of the requests so far, such as `GET /v1/me HTTP/1.1`. */
  readonly requests: readonly string[];
  /** Closes all open connections. New connections work. */
  cut(): void;
  /** The next request reaches the server. Its connection is closed instead of the answer. */
  loseNextAnswer(): void;
  stop(): void;
}

export async function startHttpLine(port: number): Promise<HttpLine> {
  const sockets = new Set<net.Socket>();
  const requests: string[] = [];
  let isAnswerLost = false;
  const server = net.createServer((near) => {
    const far = net.connect(port, '127.0.0.1');
    const end = () => {
      for (const socket of [near, far]) {
        sockets.delete(socket);
        socket.destroy();
      }
    };
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', end).on('close', end);
    }
    near.on('data', (bytes: Buffer) => {
      const [line] = /^[A-Z]+ \S+ HTTP\/1\.1/.exec(bytes.toString('latin1')) ?? [];
      if (line !== undefined) requests.push(line);
      far.write(bytes);
    });
    far.on('data', (bytes: Buffer) => {
      if (!isAnswerLost) near.write(bytes);
      else {
        isAnswerLost = false;
        end();
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    base: `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`,
    requests,
    cut,
    loseNextAnswer() {
      isAnswerLost = true;
    },
    stop() {
      cut();
      server.close();
    },
  };
}
