import { once } from 'node:events';
import net from 'node:net';
import { expect } from 'chai';
import { Secret } from '../../platform/core/secret.ts';
import { createDataSource } from '../../entities/data-source.ts';

/** What a server says, in Postgres' words, that is killed in the moment in which it has let somebody in. */
const welcomeAndFarewell = Buffer.concat([
  message('R', Buffer.alloc(4)), // AuthenticationOk
  message('Z', Buffer.from('I')), // ReadyForQuery
  message('E', Buffer.from('SFATAL\0C57P01\0Mterminating connection due to unexpected postmaster exit\0\0')),
]);

describe('a connection to Postgres', () => {
  it('that is cut while it is made fails its query, not the process', async () => {
    const server = net.createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.once('data', () => socket.end(welcomeAndFarewell));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as net.AddressInfo;

    const url = new Secret(`postgres://somebody@127.0.0.1:${port}/theirs`);
    const outcome = await createDataSource({ url, poolSize: 2 }, 'club-test')
      .initialize()
      .then(
        () => 'connected',
        () => 'refused',
      );
    expect(outcome).to.equal('refused');
    server.close();
  });
});

/** A message of Postgres' protocol: a letter, the length of itself and the rest, the rest. */
function message(letter: string, content: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(length.length + content.length);
  return Buffer.concat([Buffer.from(letter), length, content]);
}
