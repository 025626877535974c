import { expect } from 'chai';
import { once } from 'node:events';
import net from 'node:net';
import { freePorts, host } from '../../../../dev/stack/ports.ts';
import { startBalancer, type Balancer } from './balancer.ts';

describe('startBalancer', () => {
  let balancer: Balancer;
  const servers: net.Server[] = [];
  const listen = async (name: string, port: number) => {
    const server = net.createServer((socket) => socket.on('error', () => undefined).write(name));
    servers.push(server);
    server.listen(port, host);
    await once(server, 'listening');
  };
  /** @returns the name of the server that answered; undefined if the connection was closed */
  const answer = async (): Promise<string | undefined> => {
    const socket = net.connect(Number(balancer.address.split(':')[1]), host);
    const reply = await Promise.race([
      once(socket, 'data').then(([bytes]) => String(bytes)),
      once(socket, 'close').then(() => undefined),
    ]);
    socket.destroy();
    return reply;
  };
  afterEach(() => {
    balancer.stop();
    for (const server of servers.splice(0)) server.close();
  });

  it('distributes connections over the frontends that accept connections', async () => {
    const ports = await freePorts(['one', 'other']);
    balancer = await startBalancer([ports.one, ports.other]);
    expect(await answer()).to.equal(undefined);
    await listen('one', ports.one);
    expect(await answer()).to.equal('one');
    expect(await answer()).to.equal('one');
    await listen('other', ports.other);
    expect([await answer(), await answer()]).to.have.members(['one', 'other']);
  });
});
