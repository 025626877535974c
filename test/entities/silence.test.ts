import { once } from 'node:events';
import net from 'node:net';
import { expect } from 'chai';
import pg from 'pg';
import { socketThatNoticesSilence } from '../../entities/data-source.ts';
import { testStack } from '../toolkit/stack/stack.ts';

describe('a connection to Postgres', () => {
  it('is closed if the server becomes silent, and the running query fails', async () => {
    const { environment } = await testStack();
    const url = new URL(environment['DATABASE_URL'] ?? '');
    const real = { port: Number(url.port), host: url.hostname };
    const pipes: net.Socket[] = [];
    const between = net.createServer((near) => {
      const far = net.connect(real);
      pipes.push(near, far);
      near.pipe(far).pipe(near);
      for (const socket of [near, far]) socket.on('error', () => socket.destroy());
    });
    between.listen(0, '127.0.0.1');
    await once(between, 'listening');
    url.port = String((between.address() as net.AddressInfo).port);

    const client = new pg.Client({ connectionString: url.href, stream: () => socketThatNoticesSilence(1_000) });
    client.on('error', () => {});
    await client.connect();
    expect((await client.query('SELECT 1 AS one')).rows).to.deep.equal([{ one: 1 }]);
    for (const pipe of pipes) pipe.unpipe().pause();
    const outcome = await client.query('SELECT 1').then(
      () => 'answered',
      () => 'ended',
    );
    expect(outcome).to.equal('ended');

    for (const pipe of pipes) pipe.destroy();
    between.close();
  });
});
