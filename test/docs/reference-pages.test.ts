import { expect } from 'chai';
import { parseEnv } from 'node:util';
import { declarations, readConfig } from '../../config.ts';
import { configurationPage, environmentExample } from '../../dev/generators/configuration-page.ts';
import { fileOf, filePath, integer, optional, secret, text, url, variablesIn } from '../../platform/infra/variables.ts';

const variables = variablesIn(declarations);
const names = variables.map(({ name }) => name);
const ofSecrets = variables.flatMap(({ name, isSecret }) => (isSecret ? [fileOf(name)] : []));

function variablesRead(): string[] {
  const readVariables = new Set<string>();
  const env = new Proxy<Record<string, string>>({}, { get: (_, name) => void readVariables.add(String(name)) });
  expect(() => readConfig(env)).to.throw('The configuration has');
  return [...readVariables].toSorted();
}

const few = {
  host: text('HOST', 'The listening address: `::` | `0.0.0.0`.', { default: '127.0.0.1' }),
  nested: {
    size: integer('SIZE', 'How large.', { default: 20, from: 1, to: 200 }),
    title: text('TITLE', 'Its title.', { default: 'A <title>' }),
    ca: optional(filePath('CA_FILE', 'An authority.')),
  },
  store: secret(url('STORE_URL', 'The store.', { protocols: ['redis:', 'rediss:'] })),
};

describe('docs/reference/configuration.md', () => {
  it('contains one row for each variable that a process reads, and no other row', () => {
    const rows = [...configurationPage(declarations).matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
    expect(rows).to.deep.equal(names);
    expect([...names, ...ofSecrets].toSorted()).to.deep.equal(variablesRead());
    expect(new Set([...names, ...ofSecrets]).size).to.equal(names.length + ofSecrets.length);
  });

  it('marks exactly the required variables', () => {
    const required = variables.filter(({ isRequired }) => isRequired).map(({ name }) => name);
    expect(() => readConfig({})).to.throw(`has ${required.length} mistake(s)`);
    const marked = configurationPage(declarations).matchAll(/^\| `(\w+)` \| [^|]+ \| \*\*must be set\*\* \|/gm);
    expect([...marked].map(([, name]) => name)).to.deep.equal(required);
  });

  it('states the allowed values, the default and the meaning of each variable', () => {
    const rows = configurationPage(few)
      .split('\n')
      .filter((line) => line.startsWith('| `'));
    expect(rows).to.deep.equal([
      '| `HOST` | text | `127.0.0.1` | The listening address: `::` \\| `0.0.0.0`. |',
      '| `SIZE` | whole number, 1 to 200 | `20` | How large. |',
      '| `TITLE` | text | `A <title>` | Its title. |',
      '| `CA_FILE` | path |  | An authority. |',
      '| `STORE_URL` | URL, `redis:` `rediss:`; secret | **must be set** | The store. |',
    ]);
  });

  it('names the allowed values of a variable like the error messages of the configuration', () => {
    const choices = variables.filter(({ kind }) => kind.startsWith('one of '));
    expect(choices.map(({ name }) => name)).to.include.members(['LOG_LEVEL', 'NEW_CLUB_PLAN', 'AGENT_DEFAULT_MODEL']);
    const env = Object.fromEntries(choices.map(({ name }) => [name, 'another']));
    for (const { name, kind } of choices)
      expect(() => readConfig(env))
        .to.throw()
        .with.property('message')
        .that.includes(`${name} must be ${kind.replaceAll('`', '').replace(/(?<=of .*) /g, ', ')}`);
  });
});

describe('.env.example', () => {
  const example = environmentExample(declarations);
  const uncommented = (of: string) => parseEnv(of.replace(/^#(?=\w+=)/gm, ''));

  it('lists the required variables without a value, and every other variable with its default', () => {
    const required = variables.filter(({ isRequired }) => isRequired).map(({ name }) => [name, '']);
    expect(parseEnv(example)).to.deep.equal(Object.fromEntries(required));
    const defaults = variables.map(({ name, fallback = '' }) => [name, fallback]);
    expect(uncommented(example)).to.deep.equal(Object.fromEntries(defaults));
  });

  it('contains no quotes, because `docker run --env-file` treats them as part of the value', () => {
    const lines = [...example.matchAll(/^#?(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]);
    expect(Object.fromEntries(lines)).to.deep.equal(uncommented(example));
  });

  it('is a valid configuration once the required variables are set, with or without the defaults', () => {
    const required = {
      DATABASE_URL: 'postgres://db.example.com/club',
      SMTP_URL: 'smtp://mail.example.com',
      S3_ENDPOINT: 'https://s3.example.com',
      S3_ACCESS_KEY_ID: 'id',
      S3_SECRET_ACCESS_KEY: 'key',
      MASTER_KEY: Buffer.alloc(32).toString('base64'),
    };
    expect(JSON.stringify(readConfig({ ...uncommented(example), ...required }))).to.equal(
      JSON.stringify(readConfig(required)),
    );
  });

  it('explains each variable in lines of at most 118 characters', () => {
    expect(environmentExample(few).split('\n').slice(3)).to.deep.equal([
      '# ---- Must be set ----',
      '',
      '# The store.',
      '# Value: URL, `redis:` `rediss:`; secret, or a file: STORE_URL_FILE.',
      'STORE_URL=',
      '',
      '# ---- May be set ----',
      '',
      '# The listening address: `::` | `0.0.0.0`.',
      '# Value: text.',
      '#HOST=127.0.0.1',
      '',
      '# How large.',
      '# Value: whole number, 1 to 200.',
      '#SIZE=20',
      '',
      '# Its title.',
      '# Value: text.',
      '#TITLE=A <title>',
      '',
      '# An authority.',
      '# Value: path.',
      '#CA_FILE=',
      '',
    ]);
    const lines = example.split('\n').slice(2);
    expect(lines.filter((line) => line.startsWith('# ') && line.length > 118)).to.deep.equal([]);
  });
});
