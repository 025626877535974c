/**
 * The configuration: read from the environment once, at the start of a process; every mistake is reported together. Each variable is
 * declared once, below: `npm run generate` makes docs/reference/configuration.md and .env.example of the declarations.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { subtitlePlaceholders } from './domain/media/transcriptions/speech.ts';
import { pricedModels } from './domain/agents/prompt/prices.policy.ts';
import { plans } from './domain/billing/plans.policy.ts';
import { planNames } from './entities/billing/values.ts';
import { ocrPlaceholders } from './platform/infra/ocr-program.ts';
import { usualFfmpeg } from './platform/infra/video/ffmpeg.ts';
import { taskQueues } from './platform/engine/workflow-types.ts';
import { Secret } from './platform/core/secret.ts';
import { StartProblem } from './platform/core/start-problem.ts';
import { telemetryVariables } from './platform/infra/telemetry/settings.ts';
import { temporalMistakes } from './platform/infra/temporal-settings.ts';
import {
  anyOf,
  command,
  counts,
  fileOf,
  filePath,
  integer,
  key,
  keys,
  list,
  oneOf,
  optional,
  readVariables,
  secret,
  sender,
  text,
  url,
  type Environment,
} from './platform/infra/variables.ts';

export type { Environment };

/** Thrown by {@link readConfig}: `problems` holds one sentence a mistake. Names only, never a value: a value may be a secret. */
export class ConfigError extends StartProblem {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      `The configuration has ${problems.length} mistake(s):\n${problems.map((problem) => `  - ${problem}`).join('\n')}`,
    );
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

const web = ['http:', 'https:'];
const postgres = ['postgres:', 'postgresql:'];
const smtp = ['smtp:', 'smtps:'];

/** Every variable, in the shape of the configuration that is read. */
export const declarations = {
  serviceName: text('SERVICE_NAME', 'Names the service to receivers: `User-Agent: <service name>-webhooks/1`.', {
    default: 'club-learning',
    pattern: /^[a-z][a-z0-9-]{0,40}$/,
  }),
  log: {
    level: oneOf('LOG_LEVEL', 'The least level that is logged.', {
      of: ['trace', 'debug', 'info', 'warn', 'error', 'silent'],
      default: 'info',
    }),
  },
  telemetry: telemetryVariables,
  api: {
    host: text('API_HOST', 'Address that the API listens on.', { default: '127.0.0.1' }),
    port: integer('API_PORT', 'Port that the API listens on.', { default: 8080, from: 0, to: 65_535 }),
    closesAfterMs: integer(
      'API_CLOSES_AFTER_MS',
      'Milliseconds between the signal to stop, when `/readyz` turns 503, and the closing of the ports: so long load balancers have to look. Longer than they take to notice.',
      { default: 500, from: 0, to: 60_000 },
    ),
    metricsPort: integer(
      'API_METRICS_PORT',
      "Port of the API's /metrics, on the address `API_HOST`; not for the public. Every process on a machine needs its own.",
      { default: 8084, from: 0, to: 65_535 },
    ),
    publicUrl: url('PUBLIC_URL', 'Where callers reach the API: the base of the links that it prints.', {
      protocols: web,
      default: 'http://127.0.0.1:8080',
    }),
    corsOrigins: list('CORS_ORIGINS', 'Origins that browsers may call from; empty allows none.', {
      accepts: isOrigin,
      each: 'an origin such as https://dashboard.example.com',
    }),
    trustedProxies: list(
      'TRUSTED_PROXIES',
      'Only a request that arrives from one of these networks may say, in X-Forwarded-For, who the client is, and, in traceparent, which trace it belongs to.',
      { accepts: isCidr, each: 'a network such as 10.0.0.0/8' },
    ),
    answerTickMs: integer(
      'ANSWER_TICK_MS',
      'Milliseconds: sign-up, resend, reset and code answer at multiples of this, so that their time does not tell whether an address is known. Longer than they usually take (bench: timing); 0 switches it off.',
      { default: 250, from: 0, to: 5_000 },
    ),
    bodyLimitBytes: integer('BODY_LIMIT_BYTES', 'Largest JSON body, in bytes.', {
      default: 1_048_576,
      from: 1_024,
      to: 16_777_216,
    }),
    streams: {
      perStudent: integer('STREAMS_PER_STUDENT', 'Answers that one student may follow at a time in one API process.', {
        default: 50,
        from: 1,
        to: 1_000,
      }),
      inAll: integer('STREAMS_PER_PROCESS', 'Answers that one API process streams at a time, to everybody.', {
        default: 2_000,
        from: 1,
        to: 100_000,
      }),
    },
  },
  files: {
    port: integer(
      'FILES_PORT',
      'Port of the API process that takes resumable uploads of videos; on the address `API_HOST`.',
      { default: 8083, from: 0, to: 65_535 },
    ),
    publicUrl: url(
      'FILES_URL',
      'Where browsers reach that port, apart from the API. With port 0 it is the port that was free.',
      { protocols: web, default: 'http://127.0.0.1:8083' },
    ),
  },
  worker: {
    host: text('WORKER_HOST', 'Address that the worker listens on.', { default: '127.0.0.1' }),
    port: integer('WORKER_PORT', "Port of the worker's own /healthz, /readyz and /metrics.", {
      default: 8081,
      from: 0,
      to: 65_535,
    }),
    temporalMetricsPort: integer(
      'TEMPORAL_METRICS_PORT',
      "Port where Temporal's SDK serves its own metrics, on the address `WORKER_HOST`; 0 switches them off.",
      { default: 0, from: 0, to: 65_535 },
    ),
    taskQueues: anyOf(
      'WORKER_TASK_QUEUES',
      'The task queues that this worker serves, all when the list is empty; each queue needs a worker somewhere.',
      taskQueues,
    ),
    bulkStartsPerSecond: integer(
      'BULK_STARTS_PER_SECOND',
      'Runs of bulk, such as the mails of an import, that this worker starts a second for one club; for all clubs together four times as many. The rest waits in Postgres, where urgent work overtakes it.',
      { default: 24, from: 1, to: 1_000 },
    ),
    webhooks: {
      firstAttempt: oneOf(
        'WEBHOOK_FIRST_ATTEMPT',
        'Who makes the first attempt at a webhook endpoint: `workflow`, the run of its delivery; `direct`, this worker, without a run where the endpoint is healthy (docs/how-to/operate.md).',
        { of: ['workflow', 'direct'], default: 'workflow' },
      ),
      directAttempts: integer(
        'WEBHOOK_DIRECT_ATTEMPTS',
        'Direct first attempts that this worker makes at once: so many more messages may come twice where it is killed.',
        { default: 256, from: 1, to: 900 },
      ),
    },
    workflowBundleFile: optional(
      filePath(
        'WORKFLOW_BUNDLE_FILE',
        "Another file of the bundled workflows than the build's own (worker/temporal/workflow-bundle.ts). In a checkout, which has none, the worker bundles them at its start.",
      ),
    ),
  },
  video: {
    ffmpeg: text(
      'FFMPEG_BINARY',
      'ffmpeg: a path, or a name on the PATH. Without one that makes renditions, videos are delivered as they were uploaded.',
      { default: usualFfmpeg },
    ),
    workDirectory: text(
      'MEDIA_WORK_DIRECTORY',
      'A directory for videos and scanned PDFs that the worker works on: it must exist, with room for the largest of them and what is made of it.',
      { default: '/tmp' },
    ),
  },
  ocr: {
    command: optional(
      command(
        'OCR_COMMAND',
        'Reads scanned pages of PDFs for agents: a program, which writes a PDF with their text, and its arguments, without a shell. `{input}` and `{output}` become paths, `{languages}` such as `por+eng`, `{pages}` such as `1-3,7`. For example `ocrmypdf --skip-text --output-type pdf --jobs 1 --pages {pages} -l {languages} {input} {output}`. Without it scanned pages are not read (docs/how-to/operate.md, Scanned pages).',
        { needs: ['input', 'output'], knows: ocrPlaceholders },
      ),
    ),
    languages: optional(
      text(
        'OCR_LANGUAGES',
        "Languages that scanned pages may have beside their club's, as the program of `OCR_COMMAND` names them, such as `eng+jpn`. Each makes OCR slower.",
        { pattern: /^\w+(?:\+\w+)*$/ },
      ),
    ),
  },
  subtitlesCommand: optional(
    command(
      'SUBTITLES_COMMAND',
      'Makes subtitles of speech: a program and its arguments, without a shell. `{input}` becomes the path of a WAV (16 kHz, mono), `{output}` the path that WebVTT or SRT is written to (an ending `.vtt` or `.srt` may be added), `{language}` such as `pt`. For example `whisper-cli --model /models/ggml-small.bin --no-prints --output-vtt --language {language} --output-file {output} {input}`. Without it subtitles are only uploaded (docs/how-to/operate.md, Subtitles of speech).',
      { needs: ['input', 'output'], knows: subtitlePlaceholders },
    ),
  ),
  classroomUrl: text(
    'CLASSROOM_URL',
    "Where students' e-mails link to; not this service. `{slug}` becomes the club's slug.",
    { default: 'http://{slug}.classroom.localhost:3000', pattern: /^https?:\/\/\S+$/ },
  ),
  dashboardUrl: text('DASHBOARD_URL', "Where administrators' e-mails link to; not this service.", {
    default: 'http://dashboard.localhost:3000',
    pattern: /^https?:\/\/\S+$/,
  }),
  database: {
    url: secret(
      url('DATABASE_URL', 'Postgres: `postgres://user:password@host:port/database`.', { protocols: postgres }),
    ),
    directUrl: optional(
      secret(
        url(
          'DATABASE_DIRECT_URL',
          'The same database without a pooler between, or with one that pools sessions: for LISTEN and migrations. Without it, `DATABASE_URL`.',
          { protocols: postgres },
        ),
      ),
    ),
    poolSize: integer('DATABASE_POOL_SIZE', 'Most connections to Postgres of a process.', {
      default: 20,
      from: 1,
      to: 200,
    }),
    connectWithinMs: integer(
      'DATABASE_CONNECT_WITHIN_MS',
      'How long a statement waits for a connection of the pool, or for Postgres to answer, in ms.',
      { default: 5_000, from: 100, to: 60_000 },
    ),
  },
  rateLimits: {
    url: optional(
      secret(
        url(
          'RATE_LIMIT_URL',
          'Where the rate limits are counted, for all API processes: Redis or Postgres. Without it, the database.',
          { protocols: [...postgres, 'redis:', 'rediss:'] },
        ),
      ),
    ),
  },
  temporal: {
    address: text('TEMPORAL_ADDRESS', 'Host and port of the Temporal server.', {
      default: '127.0.0.1:7233',
      pattern: /^[^\s:]+:\d+$/,
    }),
    namespace: text('TEMPORAL_NAMESPACE', 'Temporal namespace; the command `setup` creates it.', {
      default: 'club-learning',
      pattern: /^[A-Za-z0-9._-]+$/,
    }),
    apiKey: optional(
      secret(
        text(
          'TEMPORAL_API_KEY',
          'API key for Temporal, which is then reached by TLS. From its file it is read again every 30 s, so that a new key needs no new start.',
        ),
      ),
    ),
    tls: {
      isOn: optional(
        text(
          'TEMPORAL_TLS',
          '`true`: Temporal is reached by TLS; `false`: without. Unless it is set, any other of these variables, and an API key, switch it on.',
          { pattern: /^(true|false)$/ },
        ),
      ),
      clientCertFile: optional(
        filePath('TEMPORAL_TLS_CLIENT_CERT_PATH', 'PEM file of the certificate that Temporal knows this service by.'),
      ),
      clientCert: optional(text('TEMPORAL_TLS_CLIENT_CERT_DATA', 'The same certificate itself, in PEM.')),
      clientKeyFile: optional(filePath('TEMPORAL_TLS_CLIENT_KEY_PATH', "PEM file of that certificate's private key.")),
      clientKey: optional(secret(text('TEMPORAL_TLS_CLIENT_KEY_DATA', 'The same key itself, in PEM.'))),
      authorityFile: optional(
        filePath(
          'TEMPORAL_TLS_SERVER_CA_CERT_PATH',
          "PEM file of the authority that has signed Temporal's certificate; without it, the usual ones.",
        ),
      ),
      authority: optional(text('TEMPORAL_TLS_SERVER_CA_CERT_DATA', "The same authority's certificate itself, in PEM.")),
      serverName: optional(
        text(
          'TEMPORAL_TLS_SERVER_NAME',
          "The host name in Temporal's certificate, where it is not the one of `TEMPORAL_ADDRESS`.",
          { pattern: /^[A-Za-z0-9._-]+$/ },
        ),
      ),
      isUnverified: optional(
        text(
          'TEMPORAL_TLS_DISABLE_HOST_VERIFICATION',
          "`false`, if it is set: Temporal's certificate is always verified.",
          {
            pattern: /^(true|false|1|0)$/,
          },
        ),
      ),
    },
    uiUrl: url('TEMPORAL_UI_URL', 'The Temporal UI: `npm start` prints links to it.', {
      protocols: web,
      default: 'http://127.0.0.1:8233',
    }),
  },
  mail: {
    smtpUrl: secret(
      url('SMTP_URL', 'The mail server: `smtp://user:password@host:port`, or `smtps://`.', { protocols: smtp }),
    ),
    bulkSmtpUrl: optional(
      secret(
        url(
          'BULK_SMTP_URL',
          'The mail server for bulk: campaigns, and the invitations of an import. Without it, `SMTP_URL`.',
          { protocols: smtp },
        ),
      ),
    ),
    warmUp: counts(
      'MAIL_WARM_UP',
      'Warm-up: invitations that a club may send on its first day, its second day and so on, separated by commas; the others wait for the next day. `off` for none.',
      { default: '200,400,800,1600,3200,6400,12800' },
    ),
    domainWarmUp: counts(
      'MAIL_DOMAIN_WARM_UP',
      "Warm-up of a club's own mail domain: mails of campaigns and automations that may leave from it on the day on which it is proven first, on the next day and so on, separated by commas; no bound after the last. `off` for none.",
      { default: '500,1000,2000,4000,8000,16000,32000,64000' },
    ),
    spfInclude: optional(
      text(
        'MAIL_SPF_INCLUDE',
        'The name whose servers send for the platform, as clubs include it in the SPF record of their own domain. Without it none is asked for.',
        { pattern: /^[a-z0-9._-]+$/ },
      ),
    ),
    dnsServers: list(
      'MAIL_DNS_SERVERS',
      "Name servers that are asked for the records of mail domains, as `address:port`; the machine's own when the list is empty.",
      { accepts: isNameServer, each: 'an address and a port such as 10.0.0.2:53' },
    ),
    noticeToken: optional(
      secret(
        text(
          'MAIL_NOTICE_TOKEN',
          'In the addresses to which mail providers post notices; 16 to 128 letters, digits, `-` and `_`. Without it they answer 501.',
          { pattern: /^[\w-]{16,128}$/ },
        ),
      ),
    ),
    sesTopicArn: optional(
      text(
        'SES_TOPIC_ARN',
        "The topic of SNS to which SES reports, such as arn:aws:sns:eu-west-1:123456789012:mails. Without it SES's notices answer 501.",
        { pattern: /^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[\w-]+$/ },
      ),
    ),
    from: sender('MAIL_FROM', 'Sender of all mails.', { default: 'Club Learning <no-reply@club-learning.localhost>' }),
  },
  automations: {
    waitSpeed: integer(
      'AUTOMATION_WAIT_SPEED',
      "How many times faster waits of automations pass, to try them on one's own machine. Beyond 1 a process starts only where `API_HOST`, `WORKER_HOST` and `PUBLIC_URL` are of this machine.",
      { default: 1, from: 1, to: 100_000 },
    ),
  },
  storage: {
    endpoint: url('S3_ENDPOINT', 'An S3 server. Browsers and students reach the files at this address, too.', {
      protocols: web,
    }),
    region: text('S3_REGION', 'Region of the buckets.', { default: 'us-east-1' }),
    accessKeyId: secret(text('S3_ACCESS_KEY_ID', 'Key that may read, write and delete objects of both buckets.')),
    secretAccessKey: secret(text('S3_SECRET_ACCESS_KEY', "The key's secret.")),
    privateBucket: text('S3_PRIVATE_BUCKET', 'Bucket of files that only signed addresses open.', {
      default: 'club-private',
    }),
    publicBucket: text('S3_PUBLIC_BUCKET', 'Bucket of files that everyone may read.', { default: 'club-public' }),
    publicFilesUrl: optional(
      url(
        'PUBLIC_FILES_URL',
        'Where browsers and mail programs find the files of the public bucket: the bucket itself, or what stands before it.',
        { protocols: web },
      ),
    ),
  },
  newClubs: {
    plan: oneOf(
      'NEW_CLUB_PLAN',
      'Plan of a new club until billing says otherwise. The trial costs the operator little.',
      { of: planNames, default: 'trial' },
    ),
    perAdministrator: integer('CLUBS_PER_ADMINISTRATOR', 'Clubs of which one administrator may be an owner.', {
      default: 10,
      from: 1,
      to: 10_000,
    }),
  },
  stripe: {
    webhookSecret: optional(
      secret(text('STRIPE_WEBHOOK_SECRET', "Secret of the payment processor's notices; without it they answer 501.")),
    ),
    secretKey: optional(
      secret(
        text('STRIPE_SECRET_KEY', 'Key for the payment processor; without it the purchase of add-ons answers 501.'),
      ),
    ),
    apiUrl: url('STRIPE_API_URL', "The payment processor's API; another one in tests.", {
      protocols: web,
      default: 'https://api.stripe.com',
    }),
    pricePlans: list(
      'STRIPE_PRICE_PLANS',
      "Prices that stand for plans, beside those whose lookup key is a plan's name.",
      { accepts: isPricePlan, each: 'a price and its plan, such as price_1A2b=business' },
    ),
  },
  model: {
    apiKey: optional(
      secret(text('ANTHROPIC_API_KEY', 'Key for the model that agents ask; without it, asking answers 501.')),
    ),
    baseUrl: url('ANTHROPIC_BASE_URL', "The model's API; another one in tests.", {
      protocols: web,
      default: 'https://api.anthropic.com',
    }),
    defaultModel: oneOf('AGENT_DEFAULT_MODEL', 'Model of agents that name none of their own.', {
      of: pricedModels,
      default: 'claude-sonnet-5-5',
    }),
  },
  masterKey: secret(key('MASTER_KEY', '32 bytes: encrypts secrets at rest and derives tokens.', { bytes: 32 })),
  formerMasterKeys: secret(
    keys(
      'MASTER_KEYS_OLD',
      'Keys beside `MASTER_KEY`: they decrypt and verify, and nothing new is made with them. For a change of the key; empty otherwise.',
      { bytes: 32 },
    ),
  ),
  egress: {
    allowedNetworks: list(
      'EGRESS_ALLOWED_NETWORKS',
      "Networks that webhooks may reach although they are not public. For receivers on one's own machine; empty in production.",
      { accepts: isCidr, each: 'a network such as 127.0.0.0/8' },
    ),
    extraCaFile: optional(
      filePath(
        'EGRESS_EXTRA_CA_FILE',
        'PEM file of a further certificate authority that webhook receivers may be signed by; empty in production.',
      ),
    ),
  },
};

export type Config = ReturnType<typeof readConfig>;

/**
 * Reads and checks the whole configuration.
 * @param env the environment variables; an empty string counts as absent
 * @throws ConfigError naming every missing or malformed variable at once
 */
export function readConfig(env: Environment = process.env) {
  const problems: string[] = [];
  const read = readVariables(declarations, env, problems);

  const isOfThisMachine = [read.api.host, read.worker.host, hostOf(read.api.publicUrl)].every(isLoopback);
  if (read.automations.waitSpeed > 1 && !isOfThisMachine)
    problems.push(
      'AUTOMATION_WAIT_SPEED must be 1, unless API_HOST, WORKER_HOST and PUBLIC_URL are of this machine: real clubs wait in real time',
    );
  const formerMasterKeys = read.formerMasterKeys.reveal();
  if (formerMasterKeys.some((one) => one.equals(read.masterKey.reveal())))
    problems.push('MASTER_KEYS_OLD names the key of MASTER_KEY, which it must not');
  problems.push(...temporalMistakes(read.temporal));
  if (problems.length > 0) throw new ConfigError(problems);

  const { endpoint, publicBucket, publicFilesUrl = `${endpoint}/${publicBucket}` } = read.storage;
  return {
    ...read,
    formerMasterKeys: formerMasterKeys.map((one) => new Secret(one)),
    rateLimits: { url: read.rateLimits.url ?? read.database.url },
    mail: { ...read.mail, bulkSmtpUrl: read.mail.bulkSmtpUrl ?? read.mail.smtpUrl },
    temporal: { ...read.temporal, apiKeyFile: env[fileOf('TEMPORAL_API_KEY')] || undefined },
    storage: { ...read.storage, publicFilesUrl, linksUrl: `${read.api.publicUrl}/public/media` },
  };
}

function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).hostname.replaceAll(/[[\]]/g, '') : '';
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || (isIP(host) !== 0 && ipaddr.process(host).range() === 'loopback');
}

function isOrigin(item: string): boolean {
  return URL.canParse(item) && new URL(item).origin === item;
}

function isPricePlan(item: string): boolean {
  const [price, plan, ...more] = item.split('=');
  return price !== '' && plan !== undefined && Object.hasOwn(plans, plan) && more.length === 0;
}

function isNameServer(item: string): boolean {
  const [, address = ''] = /^\[?([0-9a-f.:]+?)\]?:\d{1,5}$/i.exec(item) ?? [];
  return isIP(address) !== 0;
}

function isCidr(item: string): boolean {
  return isIP(item.split('/')[0] ?? '') !== 0 && ipaddr.isValidCIDR(item);
}
