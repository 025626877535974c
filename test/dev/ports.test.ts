import { expect } from 'chai';
import net from 'node:net';
import {
  ensurePortsAreFree,
  fixedPorts,
  freePorts,
  host,
  portsFromEnvironment,
  type PortName,
} from '../../dev/stack/ports.ts';
import { Problem } from '../../dev/problem.ts';
import { problemOf } from '../toolkit/assert/problem-of.ts';

describe('dev/ports', () => {
  describe('a port in use', () => {
    let server: net.Server;
    let port: number;
    before(async () => {
      server = net.createServer();
      await new Promise<void>((resolve) => server.listen(0, host, resolve));
      port = (server.address() as net.AddressInfo).port;
    });
    after(() => server.close());

    it('causes an error that names the port, the program that needs it and the variable for another port', async () => {
      const message = await problemOf(ensurePortsAreFree({ postgres: port }));
      expect(message).to.equal(
        `Port ${port} on 127.0.0.1 is in use: Postgres needs it. Choose another port: POSTGRES_PORT=<port> npm start\n` +
          `Find its process: lsof -nP -iTCP:${port} -sTCP:LISTEN`,
      );
    });

    it('delays the start on request, because the port may become free soon', async () => {
      setTimeout(() => server.close(), 100);
      await ensurePortsAreFree({ postgres: port }, 5_000);
    });
  });

  it('have different default numbers and different variables', () => {
    const values = Object.values(fixedPorts);
    expect(new Set(values.map(({ port }) => port)).size).to.equal(values.length);
    expect(new Set(values.map(({ variable }) => variable)).size).to.equal(values.length);
  });

  it('can be changed by a variable, but not by an empty variable', () => {
    expect(portsFromEnvironment(['api', 'worker'], { API_PORT: '9090', WORKER_PORT: '' })).to.deep.equal({
      api: 9090,
      worker: 8081,
    });
  });

  for (const value of ['0', '65536', '80.5', 'http']) {
    it(`refuses ${value} as a port`, () => {
      expect(() => portsFromEnvironment(['api'], { API_PORT: value })).to.throw(Problem, 'API_PORT must be a port');
    });
  }

  it('are refused if two of them are equal, and the error names both variables', () => {
    expect(() => portsFromEnvironment(['api', 'worker'], { API_PORT: '8081' })).to.throw(
      Problem,
      'WORKER_PORT and API_PORT are both 8081',
    );
  });

  it('are free and different from each other if the program chooses the numbers', async () => {
    const names: PortName[] = ['postgres', 'temporal', 'storage', 'smtp', 'mailbox'];
    const ports = await freePorts(names);
    expect(new Set(Object.values(ports)).size).to.equal(names.length);
    await ensurePortsAreFree(ports);
  });
});
