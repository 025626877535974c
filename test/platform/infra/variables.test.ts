import { expect } from 'chai';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {
  anyOf,
  counts,
  filePath,
  integer,
  key,
  list,
  oneOf,
  optional,
  readVariables,
  secret,
  text,
  url,
  variablesIn,
  type Environment,
} from '../../../platform/infra/variables.ts';
import { eachCase } from '../../toolkit/assert/each-case.ts';

const declared = {
  name: text('NAME', 'A name.', { default: 'club', pattern: /^[a-z]+$/ }),
  nested: {
    port: integer('PORT', 'A port.', { default: 80, from: 1, to: 90 }),
    lists: {
      queues: anyOf('QUEUES', 'Queues.', ['mail', 'sales']),
      even: list('EVEN', 'Even lengths.', { accepts: (item) => item.length % 2 === 0, each: 'of even length' }),
    },
  },
  level: oneOf('LEVEL', 'A level.', { of: ['low', 'high'], default: 'low' }),
  base: url('BASE_URL', 'A base.', { protocols: ['http:', 'https:'] }),
  pace: counts('PACE', 'A pace.', { default: '1,2' }),
  ca: optional(filePath('CA', 'An authority.')),
  token: optional(secret(text('TOKEN', 'A token.', { pattern: /^\w{4}$/ }))),
  master: secret(key('MASTER', 'A key.', { bytes: 2 })),
};
const required = { BASE_URL: 'https://base.example.com', MASTER: 'AQI=' };

function readFrom(env: Environment) {
  const problems: string[] = [];
  return { read: readVariables(declared, env, problems), problems };
}

describe('variables', () => {
  it('are parsed into the types of their declarations, with their defaults', () => {
    const { read, problems } = readFrom(required);
    expect(problems).to.deep.equal([]);
    const { master, ...others } = read;
    expect(others).to.deep.equal({
      name: 'club',
      nested: { port: 80, lists: { queues: [], even: [] } },
      level: 'low',
      base: 'https://base.example.com',
      pace: [1, 2],
      ca: undefined,
      token: undefined,
    });
    expect(master.reveal()).to.deep.equal(Buffer.from([1, 2]));
  });

  it('are parsed from the environment', () => {
    const { read, problems } = readFrom({
      NAME: 'other',
      PORT: '90',
      QUEUES: 'sales, mail,',
      EVEN: 'ab',
      LEVEL: 'high',
      BASE_URL: 'http://base.example.com/',
      PACE: 'off',
      CA: '/ca.pem',
      TOKEN: 'abcd',
      MASTER: 'AQI=',
    });
    expect(problems).to.deep.equal([]);
    expect({ ...read, token: read.token?.reveal(), master: read.master.reveal() }).to.deep.equal({
      name: 'other',
      nested: { port: 90, lists: { queues: ['sales', 'mail'], even: ['ab'] } },
      level: 'high',
      base: 'http://base.example.com',
      pace: [],
      ca: '/ca.pem',
      token: 'abcd',
      master: Buffer.from([1, 2]),
    });
  });

  it('report all mistakes, one sentence for each, in the order of the declarations', () => {
    expect(
      readFrom({
        NAME: 'Club1',
        PORT: '91',
        QUEUES: 'mail,bulk',
        EVEN: 'abc',
        LEVEL: 'middle',
        BASE_URL: 'ftp://base.example.com',
        PACE: '1,0',
        TOKEN: 'abcde',
      }).problems,
    ).to.deep.equal([
      'NAME must match ^[a-z]+$',
      'PORT must be a whole number from 1 to 90',
      'QUEUES must be a list, separated by commas, each item one of mail, sales',
      'EVEN must be a list, separated by commas, each item of even length',
      'LEVEL must be one of low, high',
      'BASE_URL must be a URL that begins with http:// or https://',
      'PACE must be whole numbers from 1, separated by commas, or off',
      'TOKEN must match ^\\w{4}$',
      'MASTER is missing',
    ]);
    expect(readFrom({ ...required, MASTER: 'AQ==' }).problems).to.deep.equal(['MASTER must be 2 bytes in base64']);
  });

  it('are listed in the order of their declarations', () => {
    expect(variablesIn(declared).map(({ name }) => name)).to.deep.equal([
      'NAME',
      'PORT',
      'QUEUES',
      'EVEN',
      'LEVEL',
      'BASE_URL',
      'PACE',
      'CA',
      'TOKEN',
      'MASTER',
    ]);
  });
});

describe('a secret in a file', () => {
  let directory: string;
  beforeEach(() => (directory = mkdtempSync(path.join(os.tmpdir(), 'secrets-'))));
  afterEach(() => rmSync(directory, { recursive: true }));
  const fileWith = (content: string) => {
    const file = path.join(directory, 'secret');
    writeFileSync(file, content);
    return file;
  };

  it('is read without the newline at its end', async () => {
    await eachCase(['abcd', 'abcd\n', 'abcd\r\n'], (content) => {
      const { read, problems } = readFrom({ ...required, TOKEN_FILE: fileWith(content) });
      expect({ problems, token: read.token?.reveal() }).to.deep.equal({ problems: [], token: 'abcd' });
    });
    const { read } = readFrom({ BASE_URL: required.BASE_URL, MASTER_FILE: fileWith('AQI=\n') });
    expect(read.master.reveal()).to.deep.equal(Buffer.from([1, 2]));
  });

  it('keeps a second newline and blanks at its end', async () => {
    await eachCase(['abcd\n\n', 'abcd ', ' abcd', 'ab\ncd'], (content) =>
      expect(readFrom({ ...required, TOKEN_FILE: fileWith(content) }).problems).to.deep.equal([
        'TOKEN_FILE must match ^\\w{4}$',
      ]),
    );
  });

  it('is a mistake if the secret’s own variable is also set', () => {
    const both = { BASE_URL: required.BASE_URL, MASTER: 'AQI=', MASTER_FILE: fileWith('AQI=') };
    expect(readFrom(both).problems).to.deep.equal(['MASTER and MASTER_FILE are both set: set one of them']);
    expect(readFrom({ ...both, MASTER: '' }).problems).to.deep.equal([]);
    expect(readFrom({ ...both, MASTER_FILE: '' }).problems).to.deep.equal([]);
  });

  it('is a mistake if the file is missing, empty or a directory', () => {
    const missing = path.join(directory, 'nowhere');
    expect(readFrom({ ...required, TOKEN_FILE: missing }).problems).to.deep.equal([
      'TOKEN_FILE names a file that cannot be read (ENOENT)',
    ]);
    expect(readFrom({ BASE_URL: required.BASE_URL, MASTER_FILE: directory }).problems).to.deep.equal([
      'MASTER_FILE names a file that cannot be read (EISDIR)',
    ]);
    expect(readFrom({ ...required, TOKEN_FILE: fileWith('\n') }).problems).to.deep.equal([
      'TOKEN_FILE names a file that is empty',
    ]);
  });

  it('is read only for a variable that is a secret', () => {
    const { read, problems } = readFrom({ ...required, NAME_FILE: fileWith('other'), CA_FILE: fileWith('/ca.pem') });
    expect({ problems, name: read.name, ca: read.ca }).to.deep.equal({ problems: [], name: 'club', ca: undefined });
  });
});
