import { expect } from 'chai';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { runCommand } from '../../dev/stack/commands.ts';
import { components } from '../../dev/components/catalogue.ts';
import { compiledRedis } from '../../dev/components/redis.ts';
import { locate } from '../../dev/components.ts';

describe('dev/components/redis', () => {
  let directory: string;
  let server: Server;
  let base: string;

  before(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'redis-'));
    server = createServer((request, response) => {
      createReadStream(path.join(directory, request.url ?? '')).pipe(response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(async () => {
    server.close();
    await rm(directory, { recursive: true, force: true });
  });

  const sourceOf = async (name: string, makefile: string) => {
    await mkdir(path.join(directory, name));
    await writeFile(path.join(directory, name, 'Makefile'), makefile);
    await runCommand('tar', ['-czf', path.join(directory, `${name}.tar.gz`), '-C', directory, name]);
    return compiledRedis({ url: `${base}/${name}.tar.gz` });
  };

  it('compiles the server from the official archive, and keeps only the compiled program', async () => {
    const script = `@mkdir src; printf '#!/bin/sh\\necho compiled with %s' $(MALLOC) >src/redis-server; chmod +x src/redis-server`;
    const source = await sourceOf('redis-1.2.3', `redis-server:\n\t${script}\n`);
    const into = await mkdtemp(path.join(directory, 'into-'));
    const lines: string[] = [];
    await source.fetch(into, (line) => void lines.push(line));
    expect(await readdir(into)).to.deep.equal(['redis-server']);
    expect(await runCommand(path.join(into, 'redis-server'), [])).to.equal('compiled with libc\n');
    expect(lines).to.deep.equal(['  building redis-server from source with make: about a minute or two']);
  });

  it('reports the output of the compiler if the code does not compile', async () => {
    const source = await sourceOf('redis-4.5.6', 'redis-server:\n\t@echo no such header >&2; false\n');
    const into = await mkdtemp(path.join(directory, 'into-'));
    const failure = await source.fetch(into, () => undefined).catch((error: unknown) => String(error));
    expect(failure).to.match(/^Error: make ended with exit code 2: .*no such header/);
  });

  it('finds a server that runs on this machine', async () => {
    const version = await runCommand(await locate(components.redis), ['--version']);
    expect(version).to.match(/^Redis server v=\d+\./);
  });
});
