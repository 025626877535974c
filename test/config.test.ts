import { expect } from 'chai';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { format, inspect } from 'node:util';
import { ConfigError, readConfig, type Environment } from '../config.ts';
import { Secret } from '../platform/core/secret.ts';
import { providerKeys, providerSettings } from './toolkit/builders/provider-keys.ts';
import { eachCase } from './toolkit/assert/each-case.ts';

const masterKey = randomBytes(32).toString('base64');
const otherKey = randomBytes(32).toString('base64');
const required = {
  DATABASE_URL: 'postgres://club:pg-pass-word@db.example.com:5432/club',
  SMTP_URL: 'smtps://mailer:smtp-pass-word@mail.example.com:465',
  S3_ENDPOINT: 'https://s3.example.com',
  S3_ACCESS_KEY_ID: 'the-key-id',
  S3_SECRET_ACCESS_KEY: 's3-secret-key',
  MASTER_KEY: masterKey,
};

/** Returns the list of problems that the configuration reports, or an empty list. */
function problemsOf(env: Environment): readonly string[] {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('the configuration', () => {
  it('needs only the required variables, and has defaults for all other variables', () => {
    const config = readConfig(required);
    expect(config.serviceName).to.equal('club-learning');
    expect(config.api).to.deep.equal({
      host: '127.0.0.1',
      port: 8080,
      closesAfterMs: 500,
      metricsPort: 8084,
      publicUrl: 'http://127.0.0.1:8080',
      corsOrigins: [],
      trustedProxies: [],
      answerTickMs: 250,
      bodyLimitBytes: 1_048_576,
      streams: { perStudent: 50, inAll: 2_000 },
    });
    expect(config.egress).to.deep.equal({ allowedNetworks: [], extraCaFile: undefined });
    expect(config.rateLimits.url.reveal()).to.equal(required.DATABASE_URL);
    expect(config.masterKey.reveal()).to.deep.equal(Buffer.from(masterKey, 'base64'));
  });

  it('can contain any number of former master keys, and keeps their order', () => {
    const keysOf = (value: string) =>
      readConfig({ ...required, MASTER_KEYS_OLD: value }).formerMasterKeys.map((key) =>
        key.reveal().toString('base64'),
      );
    const third = randomBytes(32).toString('base64');
    expect(keysOf('')).to.deep.equal([]);
    expect(keysOf(`${otherKey}, ${third},`)).to.deep.equal([otherKey, third]);
  });

  it('can set a faster AUTOMATION_WAIT_SPEED only if the API, the worker and PUBLIC_URL are local', async () => {
    const isOk = (env: Environment) => problemsOf({ ...required, AUTOMATION_WAIT_SPEED: '60', ...env }).length === 0;
    const here: Environment[] = [
      {},
      { API_HOST: '::1', PUBLIC_URL: 'http://localhost:8080' },
      { PUBLIC_URL: 'http://[::1]:8080' },
    ];
    await eachCase(here, (env) => expect(isOk(env)).to.equal(true));
    const elsewhere: Environment[] = [
      { API_HOST: '0.0.0.0' },
      { API_HOST: '::' },
      { WORKER_HOST: '10.0.0.5' },
      { PUBLIC_URL: 'https://api.example.com' },
      { PUBLIC_URL: 'https://localhost.example.com' },
    ];
    await eachCase(elsewhere, (env) => expect(isOk(env)).to.equal(false));
  });

  it('reports all contradictions in the Temporal settings together, without the values of the settings', async () => {
    const pair = 'a client certificate needs both, set the other one, too';
    const cases: [Environment, string[]][] = [
      [{ TEMPORAL_TLS_CLIENT_CERT_PATH: '/cert', TEMPORAL_TLS_CLIENT_KEY_PATH: '/key', TEMPORAL_TLS: 'true' }, []],
      [{ TEMPORAL_TLS_CLIENT_CERT_DATA: 'cert', TEMPORAL_TLS_CLIENT_KEY_PATH: '/key' }, []],
      [{ TEMPORAL_API_KEY: 'key', TEMPORAL_TLS_DISABLE_HOST_VERIFICATION: 'false' }, []],
      [
        { TEMPORAL_TLS_CLIENT_CERT_PATH: '/cert' },
        [`TEMPORAL_TLS_CLIENT_CERT_PATH or _DATA is set, but TEMPORAL_TLS_CLIENT_KEY_PATH or _DATA is not: ${pair}`],
      ],
      [
        {
          TEMPORAL_TLS_CLIENT_KEY_DATA: 'a-secret-key',
          TEMPORAL_TLS_SERVER_CA_CERT_PATH: '/a',
          TEMPORAL_TLS_SERVER_CA_CERT_DATA: 'a',
        },
        [
          'TEMPORAL_TLS_SERVER_CA_CERT_PATH and TEMPORAL_TLS_SERVER_CA_CERT_DATA are both set: set one of them',
          `TEMPORAL_TLS_CLIENT_KEY_PATH or _DATA is set, but TEMPORAL_TLS_CLIENT_CERT_PATH or _DATA is not: ${pair}`,
        ],
      ],
      [
        { TEMPORAL_TLS: 'false', TEMPORAL_API_KEY: 'a-secret-key', TEMPORAL_TLS_DISABLE_HOST_VERIFICATION: 'true' },
        [
          'TEMPORAL_API_KEY would be sent unencrypted, because TEMPORAL_TLS is false: set TEMPORAL_TLS to true, or leave the key out',
          "TEMPORAL_TLS_DISABLE_HOST_VERIFICATION must be false: another server could pretend to be Temporal. Give the authority of its certificate in TEMPORAL_TLS_SERVER_CA_CERT_PATH, and the certificate's host name in TEMPORAL_TLS_SERVER_NAME",
        ],
      ],
      [
        { TEMPORAL_TLS: 'false', TEMPORAL_TLS_SERVER_NAME: 'temporal' },
        ['TEMPORAL_TLS is false, but other variables of TEMPORAL_TLS_ are set: set it to true, or leave them out'],
      ],
      [{ TEMPORAL_TLS: 'yes' }, ['TEMPORAL_TLS must match ^(true|false)$']],
    ];
    await eachCase(cases, ([env, problems]) => expect(problemsOf({ ...required, ...env })).to.deep.equal(problems));
  });

  it('reports all missing variables together', () => {
    expect(problemsOf({})).to.have.members(Object.keys(required).map((name) => `${name} is missing`));
  });

  it('treats an empty variable as missing', () => {
    expect(problemsOf({ ...required, DATABASE_URL: '', API_PORT: '' })).to.deep.equal(['DATABASE_URL is missing']);
  });

  it('sends bulk e-mail through SMTP_URL, unless BULK_SMTP_URL names another server', () => {
    const bulkUrl = (env: Environment) => readConfig({ ...required, ...env }).mail.bulkSmtpUrl.reveal();
    expect(bulkUrl({})).to.equal(required.SMTP_URL);
    expect(bulkUrl({ BULK_SMTP_URL: 'smtp://bulk.example.com:25' })).to.equal('smtp://bulk.example.com:25');
  });

  it('reports problems of secret files together with all others, and prints no content of the files', () => {
    const directory = mkdtempSync(path.join(os.tmpdir(), 'config-'));
    try {
      const file = path.join(directory, 'secret');
      writeFileSync(file, 'mysql://club:pg-pass-word@db/club');
      const { DATABASE_URL: _, ...others } = required;
      const env = {
        ...others,
        DATABASE_URL_FILE: file,
        MASTER_KEY_FILE: file,
        SMTP_URL: undefined,
        SMTP_URL_FILE: directory,
        API_PORT: 'http',
      };
      expect(() => readConfig(env)).to.throw(
        ConfigError,
        `The configuration has 4 mistake(s):
  - API_PORT must be a whole number from 0 to 65535
  - DATABASE_URL_FILE must be a URL that begins with postgres:// or postgresql://
  - SMTP_URL_FILE names a file that cannot be read (EISDIR)
  - MASTER_KEY and MASTER_KEY_FILE are both set: set one of them`,
      );
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it('reports all missing and malformed variables together, by name', () => {
    const problems = problemsOf({
      ...required,
      SMTP_URL: undefined,
      DATABASE_URL: 'mysql://club:pg-pass-word@db/club',
      API_PORT: '65536',
      MASTER_KEYS_OLD: 'short',
      LOG_LEVEL: 'loud',
      CORS_ORIGINS: 'https://good.example.com,bad.example.com/path',
      TRUSTED_PROXIES: '10.0.0.0/33',
      MASTER_KEY: 'c2hvcnQ=',
    });
    expect(problems.map((problem) => problem.split(' ')[0])).to.have.members([
      'SMTP_URL',
      'DATABASE_URL',
      'API_PORT',
      'MASTER_KEYS_OLD',
      'LOG_LEVEL',
      'CORS_ORIGINS',
      'TRUSTED_PROXIES',
      'MASTER_KEY',
    ]);
  });

  const mistakes: Record<string, readonly string[]> = {
    SERVICE_NAME: ['Club', 'club learning', '-club', 'x'.repeat(42), 'a\r\nb'],
    LOG_LEVEL: ['INFO', 'verbose'],
    API_PORT: ['-1', '65536', '80.5', 'http', '8080 8081'],
    DATABASE_POOL_SIZE: ['0', '201', 'many'],
    DATABASE_CONNECT_WITHIN_MS: ['99', '60001'],
    BODY_LIMIT_BYTES: ['1023', '16777217'],
    PUBLIC_URL: ['api.example.com', 'ftp://api.example.com', '/'],
    CORS_ORIGINS: ['*', 'https://a.example.com/', 'https://a.example.com/path', 'a.example.com', 'null'],
    TRUSTED_PROXIES: ['proxy', '10.0.0.1', '10.0.0.0/33', '::/129', '10.0/8'],
    EGRESS_ALLOWED_NETWORKS: ['localhost', '127.0.0.1', '127.0.0.0/99'],
    RATE_LIMIT_URL: ['http://counters', 'counters'],
    DATABASE_URL: ['db', 'mysql://db/club'],
    SMTP_URL: ['mail.example.com:25', 'http://mail'],
    BULK_SMTP_URL: ['mail.example.com:25', 'http://mail'],
    S3_ENDPOINT: ['s3.example.com', 'ftp://s3'],
    STRIPE_API_URL: ['api.stripe.com', 'ftp://api.stripe.com'],
    STRIPE_PRICE_PLANS: ['price_9', 'price_9=platinum', '=starter', 'price_9=starter=business', 'price_9=toString'],
    NEW_CLUB_PLAN: ['free', 'Trial'],
    CLUBS_PER_ADMINISTRATOR: ['0', 'many'],
    ANSWER_TICK_MS: ['-1', '6000'],
    MAIL_FROM: [
      '"Club Learning <no-reply@example.com>"',
      'Club Learning',
      'Club Learning no-reply@example.com',
      'Club Learning <no-reply>',
      'Club <no-reply@example.com> Learning',
      '<a@example.com>, <b@example.com>',
    ],
    MAIL_NOTICE_TOKEN: ['too-short', 'with/a/slash/in/it', 'x'.repeat(129)],
    MAIL_PROVIDERS: ['ses', 'postmark,unheard'],
    MAIL_RETURN_ADDRESS: ['bounces', 'a+b@example.com', 'Bounces <b@example.com>', `${'x'.repeat(28)}@example.com`],
    REPORT_MAILBOX_URL: ['pop3://mail.example.com', 'imap.example.com'],
    RESEND_WEBHOOK_SECRET: ['secret', 'whsec_short'],
    SENDGRID_VERIFICATION_KEY: ['AAAA', '-----BEGIN PUBLIC KEY-----'],
    SES_TOPIC_ARN: ['mails', 'arn:aws:sqs:eu-west-1:123456789012:mails', 'arn:aws:sns:eu-west-1:12:mails'],
    MAIL_WARM_UP: ['0', '10,', '10, 20', 'none', '-1'],
    OCR_COMMAND: [
      'ocrmypdf {input}',
      'ocrmypdf {output}',
      'ocrmypdf {input} {output} {password}',
      "ocrmypdf --title 'a b' {input} {output}",
      '{input} {output}',
    ],
    OCR_LANGUAGES: ['eng por', 'eng,por', '+eng', 'eng+', '-l'],
    WORKER_TASK_QUEUES: ['nothing', 'webhooks,Mail'],
    WEBHOOK_FIRST_ATTEMPT: ['eager', 'Direct', 'workflow,direct'],
    WEBHOOK_DIRECT_ATTEMPTS: ['0', '901', 'x', '1.5', '-1'],
    TEMPORAL_ADDRESS: ['temporal', 'temporal:port', 'http://temporal:7233'],
    TEMPORAL_NAMESPACE: ['club learning', 'club/learning'],
    CLASSROOM_URL: ['{slug}.example.com', 'https://'],
    MASTER_KEY: [
      'x',
      `${masterKey}AAAA`,
      masterKey.replace(/.$/, '!'),
      `=${masterKey}`,
      randomBytes(31).toString('base64'),
      randomBytes(33).toString('base64'),
    ],
    MASTER_KEYS_OLD: [
      'x',
      `${otherKey},x`,
      `${otherKey}AAAA`,
      randomBytes(31).toString('base64'),
      `${otherKey}, ${otherKey}`,
      masterKey,
      `${otherKey},${masterKey}`,
    ],
  };
  for (const [name, values] of Object.entries(mistakes)) {
    it(`${name}: reports a malformed value as one problem that contains only the variable’s name`, async () => {
      await eachCase(values, (value) => {
        const problems = problemsOf({ ...required, [name]: value });
        expect(problems, `${name}=${value}`).to.have.length(1);
        expect(problems[0]).to.match(new RegExp(`^${name} `));
        if (value.length > 3) expect(problems[0]).to.not.include(value);
      });
    });
  }

  it('needs the key of each mail provider that signs its notices', () => {
    expect(problemsOf({ ...required, MAIL_PROVIDERS: 'postmark,brevo' })).to.deep.equal([]);
    expect(problemsOf({ ...required, MAIL_PROVIDERS: 'mailgun,sendgrid,resend' })).to.deep.equal([
      'MAILGUN_SIGNING_KEY is missing: MAIL_PROVIDERS names mailgun',
      'SENDGRID_VERIFICATION_KEY is missing: MAIL_PROVIDERS names sendgrid',
      'RESEND_WEBHOOK_SECRET is missing: MAIL_PROVIDERS names resend',
    ]);
    const { mail } = readConfig({ ...required, ...providerSettings });
    expect(mail.providers).to.have.length(5);
    expect(inspect(mail)).not.to.include(providerKeys.mailgun);
  });

  it('by default starts new clubs on the trial plan, and lets an administrator own ten clubs', () => {
    expect(readConfig(required).newClubs).to.deep.equal({ plan: 'trial', perAdministrator: 10 });
  });

  it('limits the e-mails of new clubs by a warm-up, unless a variable disables the warm-up', () => {
    expect(readConfig(required).mail.warmUp).to.deep.equal([200, 400, 800, 1_600, 3_200, 6_400, 12_800]);
    expect(readConfig({ ...required, MAIL_WARM_UP: 'off' }).mail.warmUp).to.deep.equal([]);
    expect(readConfig({ ...required, MAIL_WARM_UP: '5,10' }).mail.warmUp).to.deep.equal([5, 10]);
  });

  it('splits the OCR command into arguments, and has no OCR command by default', () => {
    expect(readConfig(required).ocr).to.deep.equal({ command: undefined, languages: undefined });
    const set = { OCR_COMMAND: ' ocrmypdf  -l {languages} {input} --to={output} ', OCR_LANGUAGES: 'eng+chi_sim' };
    expect(readConfig({ ...required, ...set }).ocr).to.deep.equal({
      command: ['ocrmypdf', '-l', '{languages}', '{input}', '--to={output}'],
      languages: 'eng+chi_sim',
    });
  });

  it('gives a worker all task queues unless a variable names some', () => {
    expect(readConfig(required).worker.taskQueues).to.deep.equal([]);
    const some = readConfig({ ...required, WORKER_TASK_QUEUES: 'mail, agents' });
    expect(some.worker.taskQueues).to.deep.equal(['mail', 'agents']);
  });

  it('lets workflow runs make the first webhook attempts, unless WEBHOOK_FIRST_ATTEMPT is direct', () => {
    expect(readConfig(required).worker.webhooks).to.deep.equal({ firstAttempt: 'workflow', directAttempts: 256 });
    const changed = readConfig({ ...required, WEBHOOK_FIRST_ATTEMPT: 'direct', WEBHOOK_DIRECT_ATTEMPTS: '64' });
    expect(changed.worker.webhooks).to.deep.equal({ firstAttempt: 'direct', directAttempts: 64 });
    expect(problemsOf({ ...required, WEBHOOK_FIRST_ATTEMPT: 'eager', WEBHOOK_DIRECT_ATTEMPTS: 'x' })).to.deep.equal([
      'WEBHOOK_FIRST_ATTEMPT must be one of workflow, direct',
      'WEBHOOK_DIRECT_ATTEMPTS must be a whole number from 1 to 900',
    ]);
  });

  it('splits lists at commas and trims blanks', () => {
    const config = readConfig({
      ...required,
      CORS_ORIGINS: ' https://a.example.com , https://b.example.com:8443,',
      TRUSTED_PROXIES: '10.0.0.0/8, fd00::/8',
    });
    expect(config.api.corsOrigins).to.deep.equal(['https://a.example.com', 'https://b.example.com:8443']);
    expect(config.api.trustedProxies).to.deep.equal(['10.0.0.0/8', 'fd00::/8']);
  });

  it('can give the sender of mails without a name, with a name, or with a name in quotes', async () => {
    const senders = ['no-reply@example.com', 'Club <no-reply@example.com>', '"Club, Learning" <no-reply@example.com>'];
    await eachCase(senders, (from) => expect(readConfig({ ...required, MAIL_FROM: from }).mail.from).to.equal(from));
  });

  it('can set each number to its minimum and to its maximum', async () => {
    await eachCase(
      [
        ['API_PORT', '0'],
        ['API_PORT', '65535'],
        ['BODY_LIMIT_BYTES', '1024'],
        ['WEBHOOK_DIRECT_ATTEMPTS', '1'],
        ['WEBHOOK_DIRECT_ATTEMPTS', '900'],
      ] as const,
      ([name, value]) => expect(problemsOf({ ...required, [name]: value })).to.deep.equal([]),
    );
  });
});

describe('secrets of the configuration', () => {
  const stripe = { STRIPE_WEBHOOK_SECRET: 'whsec_of-stripe', STRIPE_SECRET_KEY: 'sk_live_of-stripe' };
  const secrets = [
    'pg-pass-word',
    'smtp-pass-word',
    's3-secret-key',
    'the-key-id',
    masterKey,
    otherKey,
    ...Object.values(stripe),
  ];
  const config = readConfig({ ...required, ...stripe, MASTER_KEYS_OLD: otherKey });

  const ways: Record<string, (value: unknown) => string> = {
    'util.inspect': (value) => inspect(value, { depth: null, showHidden: true, getters: true }),
    'util.format': (value) => format('%s %j %o %O', value, value, value, value),
    'JSON.stringify': (value) => JSON.stringify(value),
    String: (value) => String(value),
    'a template': (value) => `value: ${value as string}`,
    'own properties': (value) => JSON.stringify(Object.entries(value as object)),
    'a copy': (value) => inspect({ ...(value as object) }),
    structuredClone: (value) => inspect(structuredClone({ ...(value as object) })),
  };
  for (const [way, print] of Object.entries(ways)) {
    it(`are hidden in the output of ${way}`, async () => {
      const secret = new Secret('pg-pass-word');
      const texts = [print(secret), print(new Secret(Buffer.from(masterKey, 'base64')))];
      if (!['structuredClone'].includes(way)) texts.push(print(config));
      await eachCase(texts, async (text) => {
        await eachCase(secrets, (value) => expect(text).to.not.include(value));
        expect(text).to.not.include(Buffer.from(masterKey, 'base64').toString('hex').slice(0, 8));
      });
    });
  }

  it('are printed as a placeholder, and only `reveal` returns their values', () => {
    const secret = new Secret('value');
    expect([String(secret), secret.toString(), JSON.stringify(secret), inspect(secret)]).to.deep.equal([
      '[secret]',
      '[secret]',
      '"[secret]"',
      '[secret]',
    ]);
    expect(secret.reveal()).to.equal('value');
  });

  it('do not appear in the problems or the stack trace of a configuration error', async () => {
    const env = { ...required, DATABASE_URL: 'mysql://club:pg-pass-word@db/club', MASTER_KEY: `${masterKey}AAAA` };
    try {
      readConfig(env);
      expect.fail('It was read.');
    } catch (error) {
      const text = `${inspect(error, { depth: null })} ${String(error)} ${JSON.stringify(error)}`;
      await eachCase(secrets, (value) => expect(text).to.not.include(value));
      expect(text).to.include('DATABASE_URL').and.include('MASTER_KEY');
    }
  });
});
