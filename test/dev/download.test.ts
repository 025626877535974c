import { runCommand } from '../../dev/stack/commands.ts';
import { downloadArchive } from '../../dev/components/download.ts';
import { expect } from 'chai';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';

describe('dev/components/download', () => {
  let directory: string;
  let server: Server;
  let base: string;
  const files = new Map<string, Buffer | string>();

  before(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'download-'));
    await mkdir(path.join(directory, 'thing_1_linux'));
    await writeFile(path.join(directory, 'thing_1_linux', 'thing'), 'the program');
    await runCommand('tar', ['-czf', path.join(directory, 'thing.tar.gz'), '-C', directory, 'thing_1_linux']);
    const archive = await readFile(path.join(directory, 'thing.tar.gz'));
    files.set('/thing.tar.gz', archive);
    files.set(
      '/checksums.txt',
      `${'0'.repeat(64)}  other.tar.gz\n${createHash('sha256').update(archive).digest('hex')}  thing.tar.gz\n`,
    );
    files.set(
      '/long.txt',
      `hash thing.tar.gz sha256 ${createHash('sha256').update(archive).digest('hex')} http://example.com/thing.tar.gz\n`,
    );
    files.set('/wrong.txt', `${'0'.repeat(64)}  thing.tar.gz\n`);
    files.set('/none.txt', `${'0'.repeat(64)}  other.tar.gz\n`);
    server = createServer((request, response) => {
      const file = files.get(request.url ?? '');
      response.writeHead(file === undefined ? 404 : 200).end(file);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(async () => {
    server.close();
    await rm(directory, { recursive: true, force: true });
  });

  const download = async (archive: string, checksums?: string) => {
    const into = await mkdtemp(path.join(directory, 'into-'));
    const source = downloadArchive({
      url: `${base}/${archive}`,
      member: 'thing_1_linux/thing',
      ...(checksums === undefined ? {} : { checksums: `${base}/${checksums}` }),
    });
    await source.fetch(into, () => undefined);
    return into;
  };
  const failureOf = (work: Promise<unknown>) =>
    work.then(
      () => 'it worked',
      (error: Error) => error.message,
    );

  it('unpacks the executable if the publisher’s checksum matches', async () => {
    const into = await download('thing.tar.gz', 'checksums.txt');
    expect(await readdir(into)).to.deep.equal(['thing']);
    expect(await readFile(path.join(into, 'thing'), 'utf8')).to.equal('the program');
  });

  it("finds the checksum by the archive's name, whatever else the line contains", async () => {
    expect(await readdir(await download('thing.tar.gz', 'long.txt'))).to.deep.equal(['thing']);
  });

  it('needs no checksum if the publisher provides none', async () => {
    expect(await readdir(await download('thing.tar.gz'))).to.deep.equal(['thing']);
  });

  it('refuses an archive with a wrong checksum, and an archive that the publisher does not list', async () => {
    expect(await failureOf(download('thing.tar.gz', 'wrong.txt'))).to.match(
      /^its SHA-256 is [0-9a-f]{64}, but the publisher says 0{64}$/,
    );
    expect(await failureOf(download('thing.tar.gz', 'none.txt'))).to.equal(
      `${base}/none.txt has no line for thing.tar.gz`,
    );
  });

  it('reports the HTTP status if the server has no such file', async () => {
    expect(await failureOf(download('gone.tar.gz'))).to.equal('it answers 404');
  });
});
