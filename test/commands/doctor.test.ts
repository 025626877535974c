import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { readConfig } from '../../config.ts';
import { components } from '../../dev/components/catalogue.ts';
import { locate } from '../../dev/components.ts';
import { makeAuthority } from '../../dev/stack/certificates.ts';
import { scriptArguments } from '../../dev/project.ts';
import { createObjectStore } from '../../platform/infra/store/object-store.ts';
import { examine } from '../../commands/doctor.ts';
import { noteErasedRecords } from '../../commands/erased-records.ts';
import { writeMarker } from '../../domain/erasures/markers.ts';
import { startTemporalTerminator } from '../toolkit/fakes/temporal-terminator.ts';
import { buildClub, buildStudent } from '../toolkit/builders/clubs.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import { testStack } from '../toolkit/stack/stack.ts';
import { testBucket } from '../toolkit/stack/storage.ts';

const titles = [
  'Postgres: clock, schema, time limits, prepared statements, LISTEN',
  'Time zones: those of Node, and of Postgres',
  'Keys: MASTER_KEY, MASTER_KEYS_OLD',
  'Temporal: connections, version, namespace, search attributes',
  'Temporal: fairness between clubs',
  'S3: uploads from the pages of CORS_ORIGINS',
  'S3: everyone can read public files at PUBLIC_FILES_URL',
  'Erasures: Postgres has nothing again that was erased in the last 30 days',
  'SMTP: SMTP_URL',
  'ffmpeg: it creates renditions of videos',
] as const;
const withoutFfmpeg =
  'videos stay as they were uploaded; install ffmpeg with libx264 and AAC (Debian: apt-get install ffmpeg), or set FFMPEG_BINARY to one.';
const day = 86_400_000;
const origin = 'https://dashboard.example.com';

describe('worker/doctor', function () {
  this.timeout(60_000);
  let ffmpeg: string;
  before(async () => {
    await testStack();
    ffmpeg = await locate(components.ffmpeg);
  });

  async function run(env: Record<string, string>) {
    const lines: string[] = [];
    const environment = { ...process.env, FFMPEG_BINARY: ffmpeg, ...env };
    const isRight = await examine(readConfig(environment), (line) => lines.push(line));
    return { isRight, lines };
  }

  it('reports no fault in the development stack after the API has set the CORS rules of the bucket', async () => {
    const storage = createObjectStore(readConfig().storage);
    await storage.allowOrigins([origin]);
    storage.close();
    const { isRight, lines } = await run({ CORS_ORIGINS: origin, BULK_SMTP_URL: process.env['SMTP_URL'] ?? '' });
    expect(lines).to.deep.equal(titles.map((title) => `ok     ${title}`));
    expect(isRight).to.equal(true);
  });

  it('warns of time zones with different rules in Node and Postgres, but still succeeds', async () => {
    const source = await testDatabase();
    const { id } = await buildClub();
    await source.query(`UPDATE clubs SET time_zone = 'CET' WHERE id = $1`, [id]);
    const { isRight, lines } = await run({ CORS_ORIGINS: origin, BULK_SMTP_URL: process.env['SMTP_URL'] ?? '' });
    await source.query(`UPDATE clubs SET time_zone = 'UTC' WHERE id = $1`, [id]);
    expect(lines[1]).to.equal(`warn   ${titles[1]}`);
    expect(lines[2]).to.match(
      /^ {9}CET: from \d{4}-\d\d-\d\d on, at the latest, Node shows UTC\+2, and Postgres UTC\+1\.$/,
    );
    expect(lines[3]).to.match(/^ {9}No result depends on it: .*NODE_ICU_DATA; Postgres by the package tzdata/);
    expect(lines.slice(4)).to.deep.equal(titles.slice(2).map((title) => `ok     ${title}`));
    expect(isRight).to.equal(true);
  });

  it('warns of erased records that Postgres has again, with the command and the first day', async () => {
    const storage = createObjectStore(readConfig().storage);
    const [club, other] = [await buildClub(), await buildClub()];
    const { id: studentId } = await buildStudent(club.id);
    const [early, late] = [new Date(Date.now() - 29 * day), new Date(Date.now() - day)];
    await writeMarker(storage, { kind: 'club', subjectId: other.id, clubId: other.id }, early);
    await writeMarker(storage, { kind: 'student', subjectId: studentId, clubId: club.id }, late);
    await writeMarker(storage, { kind: 'club', subjectId: club.id, clubId: club.id }, new Date(Date.now() - 32 * day));
    const notes: string[] = [];
    await noteErasedRecords(readConfig(), (sentence) => notes.push(sentence));
    const { lines, isRight } = await run({ CORS_ORIGINS: origin });
    const isOurs = (key: string) => [club.id, other.id].some((id) => key.includes(id));
    await storage.removeUnder('erasures/', (key) => !isOurs(key));
    storage.close();
    const since = early.toISOString().slice(0, 10);
    expect(notes).to.deep.equal([
      `Postgres has 2 record(s) again that were erased: run \`node dist/main.js erase-again --since ${since}\` (docs/how-to/back-up-and-restore.md).`,
    ]);
    expect(lines).to.include(`warn   ${titles[7]}`);
    expect(lines).to.include(`         ${notes[0]}`);
    expect(isRight).to.equal(true);
  });

  it('reports all mistakes together, each with its remedy', async () => {
    const other = 'https://other.example.com';
    const { isRight, lines } = await run({
      DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none',
      TEMPORAL_ADDRESS: '127.0.0.1:9',
      S3_PUBLIC_BUCKET: 'missing',
      CORS_ORIGINS: other,
      SMTP_URL: 'smtp://127.0.0.1:9',
      BULK_SMTP_URL: 'smtp://127.0.0.1:19',
      FFMPEG_BINARY: '/nowhere/ffmpeg',
    });
    const away =
      'Temporal at 127.0.0.1:9 cannot be reached (ECONNREFUSED): check TEMPORAL_ADDRESS, and that the server runs.';
    const smtp = (name: string) =>
      `         The mail server of ${name} cannot be used (ESOCKET): is the address right, and TLS (smtps:// speaks it from the first byte)?`;
    expect(lines).to.deep.equal([
      `WRONG  ${titles[0]}`,
      '         Postgres cannot be used (ECONNREFUSED): is DATABASE_URL right, and is the server up?',
      `WRONG  ${titles[1]}`,
      '         This check did not run (ECONNREFUSED): correct the other mistakes first.',
      `ok     ${titles[2]}`,
      `WRONG  ${titles[3]}`,
      `         ${away}`,
      `WRONG  ${titles[4]}`,
      '         This check did not run: correct the other mistakes first.',
      `WRONG  ${titles[5]}`,
      `         S3 does not let pages of ${other} send files to the bucket club-private (S3_PRIVATE_BUCKET): an API process sets this rule when it starts, so start one first. If its key has no s3:PutBucketCORS, set it by hand (docs/how-to/operate.md, Let browsers upload).`,
      '         S3 answers 404 to an upload to the bucket missing (S3_PUBLIC_BUCKET): does it exist, and may the key of S3_ACCESS_KEY_ID write there (docs/how-to/deploy.md, Buckets)?',
      `WRONG  ${titles[6]}`,
      '         This check did not run (NoSuchBucket): correct the other mistakes first.',
      `WRONG  ${titles[7]}`,
      '         This check did not run (ECONNREFUSED): correct the other mistakes first.',
      `WRONG  ${titles[8]}`,
      smtp('SMTP_URL'),
      'WRONG  SMTP: BULK_SMTP_URL',
      smtp('BULK_SMTP_URL'),
      `WRONG  ${titles[9]}`,
      `         There is no ffmpeg at /nowhere/ffmpeg: ${withoutFfmpeg}`,
    ]);
    expect(isRight).to.equal(false);
  });

  it('accepts a machine without ffmpeg, but reports an ffmpeg that cannot create renditions', async () => {
    const directory = await mkdtemp(path.join(os.tmpdir(), 'club-doctor-'));
    const { PATH } = process.env;
    // The servers are unreachable, because the check of a reachable server takes longer.
    const away = {
      DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none',
      TEMPORAL_ADDRESS: '127.0.0.1:9',
      S3_ENDPOINT: 'http://127.0.0.1:9',
      SMTP_URL: 'smtp://127.0.0.1:9',
    };
    const ofFfmpeg = async (env: Record<string, string>) => {
      const { lines } = await run({ ...away, FFMPEG_BINARY: '', ...env });
      const at = lines.findIndex((line) => line.includes('ffmpeg'));
      return at < 0 ? [] : lines.slice(at);
    };
    try {
      process.env['PATH'] = directory;
      expect(await ofFfmpeg({})).to.deep.equal([
        `warn   ${titles[9]}`,
        `         There is no ffmpeg named ffmpeg on the PATH: ${withoutFfmpeg}`,
      ]);
      expect(await ofFfmpeg({ WORKER_TASK_QUEUES: 'webhooks' })).to.deep.equal([]);
      const lacking = path.join(directory, 'ffmpeg');
      await writeFile(lacking, '#!/bin/sh\necho "ffmpeg version 4.4.2"\n', { mode: 0o755 });
      const [verdict, mistake] = await ofFfmpeg({});
      expect(verdict).to.equal(`WRONG  ${titles[9]}`);
      expect(mistake).to.match(
        /ffmpeg \(ffmpeg 4\.4\.2\) lacks the encoders libx264, aac and png, the filters scale, setsar, setparams, sidedata, format, lut3d and premultiply, the muxers/,
      );
    } finally {
      process.env['PATH'] = PATH;
      await rm(directory, { recursive: true });
    }
  });

  it('tests a configured OCR program with a page in each language of the clubs', async () => {
    const ofOcr = async (command: string, env: Record<string, string> = {}) => {
      const away = { DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none', TEMPORAL_ADDRESS: '127.0.0.1:9', ...env };
      const servers = { S3_ENDPOINT: 'http://127.0.0.1:9', SMTP_URL: 'smtp://127.0.0.1:9' };
      const { lines } = await run({ ...away, ...servers, OCR_COMMAND: command });
      const at = lines.findIndex((line) => line.includes('OCR'));
      return at < 0 ? [] : lines.slice(at);
    };
    const title = 'OCR: the command reads a test page';
    const directory = await mkdtemp(path.join(os.tmpdir(), 'club-doctor-'));
    const program = path.join(directory, 'ocr');
    const args = '{input} {output} {languages}';
    const write = (words: string) => writeFile(program, `#!/bin/sh\n${words}\n`, { mode: 0o755 });
    const flaw = (languages: string) =>
      `         ${program} reads no trial page in ${languages} within its bounds (1536 MB of memory, 60 s): is it complete, and are these languages installed?`;
    try {
      await write('cp "$1" "$2"');
      expect(await ofOcr(`${program} ${args}`)).to.deep.equal([`ok     ${title}`]);
      expect(await ofOcr(`${program} ${args}`, { WORKER_TASK_QUEUES: 'media' })).to.deep.equal([]);
      await write('case "$3" in spa|ita) exit 3;; esac; cp "$1" "$2"');
      expect(await ofOcr(`${program} ${args}`)).to.deep.equal([`warn   ${title}`, flaw('spa'), flaw('ita')]);
      await write('exit 3');
      expect(await ofOcr(`${program} ${args}`)).to.deep.equal([`WRONG  ${title}`, flaw('eng')]);
      expect(await ofOcr(`/nowhere/ocr ${args}`)).to.deep.equal([
        `WRONG  ${title}`,
        '         There is no program /nowhere/ocr: install it, or name another in OCR_COMMAND.',
      ]);
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it('tests a configured subtitles command with a sound', async () => {
    const away = { DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none', TEMPORAL_ADDRESS: '127.0.0.1:9' };
    const servers = { S3_ENDPOINT: 'http://127.0.0.1:9', SMTP_URL: 'smtp://127.0.0.1:9' };
    const ofSubtitles = async (command: string, queues = 'subtitles') => {
      const env = { SUBTITLES_COMMAND: command, WORKER_TASK_QUEUES: queues };
      const { lines } = await run({ ...away, ...servers, ...env });
      const at = lines.findIndex((line) => line.includes('ffmpeg'));
      return at < 0 ? [] : lines.slice(at);
    };
    const title = 'Subtitles: the command transcribes a test sound';
    const directory = await mkdtemp(path.join(os.tmpdir(), 'club-doctor-'));
    const program = path.join(directory, 'speech');
    const command = `${program} {input} {output} {language}`;
    const write = (words: string) => writeFile(program, `#!/bin/sh\n${words}\n`, { mode: 0o755 });
    const right = [`ok     ${titles[9]}`, `ok     ${title}`];
    const wrong = [`ok     ${titles[9]}`, `WRONG  ${title}`];
    try {
      await write('[ "$(head -c 4 "$1")" = RIFF ] && [ "$3" = en ] && echo WEBVTT > "$2.vtt"');
      expect(await ofSubtitles(command)).to.deep.equal(right);
      expect(await ofSubtitles(command, 'moves')).to.deep.equal([]);
      await write('printf "1\\n00:00:00,000 --> 00:00:01,000\\n(silence)\\n" > "$2"');
      expect(await ofSubtitles(command)).to.deep.equal(right);
      await write('echo "{}" > "$2"');
      expect(await ofSubtitles(command)).to.deep.equal([
        ...wrong,
        `         ${program} wrote neither WebVTT nor SRT to {output} for a trial sound. Check that its command names one of these formats.`,
      ]);
      await write('exit 3');
      expect(await ofSubtitles(command)).to.deep.equal([
        ...wrong,
        `         ${program} made no subtitles of a trial sound within its limits (6144 MB of memory, 120 s). Check that it is complete with its model, and writes to {output}.`,
      ]);
      expect(await ofSubtitles('/nowhere/speech {input} {output}')).to.deep.equal([
        ...wrong,
        '         The program /nowhere/speech does not exist. Install it, or name another program in SUBTITLES_COMMAND.',
      ]);
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it('reports that the workers’ library finds no certificate authorities, although Node has some', async () => {
    const authority = await makeAuthority();
    const terminator = await startTemporalTerminator({ to: readConfig().temporal.address, authority });
    const directory = await mkdtemp(path.join(os.tmpdir(), 'club-doctor-'));
    const file = path.join(directory, 'authority.pem');
    await writeFile(file, authority.certificate);
    const way = { TEMPORAL_ADDRESS: terminator.address, TEMPORAL_TLS: 'true' };
    const ofCommands = { NODE_EXTRA_CA_CERTS: file, GRPC_DEFAULT_SSL_ROOTS_FILE_PATH: file };
    const trust = { ...ofCommands, SSL_CERT_FILE: '/dev/null', SSL_CERT_DIR: '/dev/null' };
    try {
      const env = { ...process.env, ...way, ...trust };
      const output = await new Promise<string>((resolve) => {
        execFile(process.execPath, [...scriptArguments('main.ts'), 'doctor'], { env }, (_, stdout) => resolve(stdout));
      });
      const lines = output.split('\n');
      expect(lines[lines.indexOf(`WRONG  ${titles[3]}`) + 1]).to.equal(
        `         The workers' connection to Temporal at ${terminator.address} finds no certificate authorities on this machine: install the package ca-certificates, or name an authority in TEMPORAL_TLS_SERVER_CA_CERT_PATH.`,
      );
    } finally {
      await rm(directory, { recursive: true });
      await terminator.stop();
    }
  });

  it('reports that not everyone can read public files, and leaves no test file behind', async () => {
    const { privateBucket } = readConfig().storage;
    const { lines } = await run({ S3_PUBLIC_BUCKET: privateBucket, CORS_ORIGINS: origin });
    expect(lines.filter((line) => line.includes('PUBLIC_FILES_URL'))).to.deep.equal([
      `WRONG  ${titles[6]}`,
      '         A file of the bucket club-private (S3_PUBLIC_BUCKET) is not publicly readable below PUBLIC_FILES_URL (403): allow s3:GetObject to everyone in the policy of the bucket. If the store has "Block public access", switch it off for the bucket first. Or let PUBLIC_FILES_URL lead to a server that may read it (docs/how-to/deploy.md, Buckets).',
    ]);
    expect(await (await testBucket()).objects('public/readable-', privateBucket)).to.deep.equal([]);
  });

  it('reports an object store that replaces a file although If-None-Match forbids it', async () => {
    const store = createServer((request, response) => {
      request.resume();
      request.on('end', () =>
        response.writeHead(200, { 'Content-Type': 'application/xml' }).end('<ListVersionsResult/>'),
      );
    }).listen(0, '127.0.0.1');
    await once(store, 'listening');
    const { lines } = await run({ S3_ENDPOINT: `http://127.0.0.1:${(store.address() as AddressInfo).port}` });
    store.close();
    store.closeAllConnections();
    expect(lines.filter((line) => line.includes('If-None-Match'))).to.deep.equal(
      ['club-private (S3_PRIVATE_BUCKET)', 'club-public (S3_PUBLIC_BUCKET)'].map(
        (named) =>
          `         S3 answers 200 when a file of the bucket ${named} is replaced although If-None-Match forbids it. Use a server that obeys this header. Otherwise a member can replace a file after its inspection.`,
      ),
    );
  });
});
