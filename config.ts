/**
 * The configuration of a process. The process reads it from the environment once, at its start, and reports all mistakes together.
 * Each variable is declared once, below. `npm run generate` writes docs/reference/configuration.md and .env.example from it.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { subtitlePlaceholders } from './domain/media/transcriptions/speech.ts';
import { pricedModels } from './domain/agents/prompt/prices.policy.ts';
import { plans } from './domain/billing/plans.policy.ts';
import { passkeyMistakes } from './domain/identity/passkeys/sites.policy.ts';
import { sendgridKeyIn } from './domain/mail/notices/providers/sendgrid.ts';
import { mailProviders, type MailProvider } from './domain/mail/notices/providers/words.policy.ts';
import { planNames } from './entities/billing/values.ts';
import { ocrPlaceholders } from './platform/infra/programs/ocr-program.ts';
import { usualFfmpeg } from './platform/infra/video/ffmpeg.ts';
import { taskQueues } from './platform/engine/workflow-types.ts';
import { parseProviders, providersKind, type DeploymentProvider } from './platform/infra/openid/settings.ts';
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
  json,
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
  type Read,
} from './platform/infra/variables.ts';

export type { Environment };

/**
 * The error of {@link readConfig}. `problems` has one sentence for each mistake. The sentences contain names but no values, because a value
 * may be a secret.
 */
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

/** The declarations of all variables. They have the same shape as the configuration that {@link readConfig} returns. */
export const declarations = {
  serviceName: text(
    'SERVICE_NAME',
    'The name of the service for receivers of webhooks: `User-Agent: <service name>-webhooks/1`.',
    {
      default: 'club-learning',
      pattern: /^[a-z][a-z0-9-]{0,40}$/,
    },
  ),
  log: {
    level: oneOf('LOG_LEVEL', 'The lowest level of logged lines.', {
      of: ['trace', 'debug', 'info', 'warn', 'error', 'silent'],
      default: 'info',
    }),
  },
  telemetry: telemetryVariables,
  api: {
    host: text('API_HOST', 'The address on which the API listens.', { default: '127.0.0.1' }),
    port: integer('API_PORT', 'The port on which the API listens.', { default: 8080, from: 0, to: 65_535 }),
    closesAfterMs: integer(
      'API_CLOSES_AFTER_MS',
      'Milliseconds between the stop signal, which turns `/readyz` to 503, and the closing of the ports. Load balancers must notice within this time.',
      { default: 500, from: 0, to: 60_000 },
    ),
    metricsPort: integer(
      'API_METRICS_PORT',
      "The port of the API's `/metrics`, on the address `API_HOST`. Do not expose it to the public. Every process on a machine needs a different port.",
      { default: 8084, from: 0, to: 65_535 },
    ),
    publicUrl: url('PUBLIC_URL', 'The public address of the API, and the base of the links that it writes.', {
      protocols: web,
      default: 'http://127.0.0.1:8080',
    }),
    corsOrigins: list('CORS_ORIGINS', 'Origins of web pages that may call the API. An empty list allows none.', {
      accepts: isOrigin,
      each: 'an origin such as https://dashboard.example.com',
    }),
    trustedProxies: list(
      'TRUSTED_PROXIES',
      'Networks of trusted proxies. If a request comes from these networks, `X-Forwarded-For` names its client, and `traceparent` names its trace. In all other requests these headers are ignored.',
      { accepts: isCidr, each: 'a network such as 10.0.0.0/8' },
    ),
    answerTickMs: integer(
      'ANSWER_TICK_MS',
      'A time in milliseconds. The calls for sign-up, for another mail, for a reset and for a code answer only at multiples of this time. So the time of an answer does not reveal whether an address is known. Choose a longer time than these calls usually need (`npm run bench -- timing`). 0 switches this protection off.',
      { default: 250, from: 0, to: 5_000 },
    ),
    bodyLimitBytes: integer('BODY_LIMIT_BYTES', 'The size of the largest JSON body, in bytes.', {
      default: 1_048_576,
      from: 1_024,
      to: 16_777_216,
    }),
    streams: {
      perStudent: integer(
        'STREAMS_PER_STUDENT',
        'The number of streams that one student, administrator or API key may have open at the same time in one API process: streams of answers and of events.',
        {
          default: 50,
          from: 1,
          to: 1_000,
        },
      ),
      inAll: integer(
        'STREAMS_PER_PROCESS',
        'The number of answers and listeners to events that one API process streams to at the same time.',
        {
          default: 2_000,
          from: 1,
          to: 100_000,
        },
      ),
    },
  },
  files: {
    port: integer(
      'FILES_PORT',
      'The port of the listener of files, on the address `API_HOST`. Every API process accepts uploads of videos there.',
      { default: 8083, from: 0, to: 65_535 },
    ),
    publicUrl: url(
      'FILES_URL',
      'The public address of `FILES_PORT` for browsers. It must differ from `PUBLIC_URL`. If `FILES_PORT` is 0, the service uses `API_HOST` and the chosen port instead.',
      { protocols: web, default: 'http://127.0.0.1:8083' },
    ),
  },
  worker: {
    host: text('WORKER_HOST', 'The address on which the worker listens.', { default: '127.0.0.1' }),
    port: integer('WORKER_PORT', "The port of the worker's `/healthz`, `/readyz` and `/metrics`.", {
      default: 8081,
      from: 0,
      to: 65_535,
    }),
    temporalMetricsPort: integer(
      'TEMPORAL_METRICS_PORT',
      "The port of the metrics of Temporal's SDK, on the address `WORKER_HOST`. 0 switches them off.",
      { default: 0, from: 0, to: 65_535 },
    ),
    taskQueues: anyOf(
      'WORKER_TASK_QUEUES',
      'The task queues of this worker. An empty list means all. Each queue needs at least one worker.',
      taskQueues,
    ),
    bulkStartsPerSecond: integer(
      'BULK_STARTS_PER_SECOND',
      'The number of bulk runs, such as mails of an import, that this worker starts in a second for one club. The limit for all clubs together is four times this number. Other bulk runs wait in Postgres, and urgent work overtakes them.',
      { default: 24, from: 1, to: 1_000 },
    ),
    webhooks: {
      firstAttempt: oneOf(
        'WEBHOOK_FIRST_ATTEMPT',
        'How this worker makes the first attempt of a webhook delivery. `workflow`: in the workflow run of the delivery. `direct`: without a run, if the endpoint is healthy (docs/how-to/operate.md).',
        { of: ['workflow', 'direct'], default: 'workflow' },
      ),
      directAttempts: integer(
        'WEBHOOK_DIRECT_ATTEMPTS',
        'The number of direct first attempts of this worker at the same time. If the worker is killed, up to this number of messages may arrive twice.',
        { default: 256, from: 1, to: 900 },
      ),
    },
    workflowBundleFile: optional(
      filePath(
        'WORKFLOW_BUNDLE_FILE',
        'A file with the bundled workflows, instead of the file of the build. In a checkout there is no such file, and the worker bundles the workflows at its start.',
      ),
    ),
  },
  video: {
    ffmpeg: text(
      'FFMPEG_BINARY',
      'The path of ffmpeg, or its name on the PATH. Without a usable ffmpeg, videos are delivered as they were uploaded.',
      { default: usualFfmpeg },
    ),
    workDirectory: text(
      'MEDIA_WORK_DIRECTORY',
      'An existing directory for videos and scanned PDFs during their processing, and for the documents of exports. It needs room for the largest file and its results.',
      { default: '/tmp' },
    ),
  },
  ocr: {
    command: optional(
      command(
        'OCR_COMMAND',
        'A command for agents that reads scanned pages of a PDF, and writes a PDF with their text. The service runs the command without a shell, and replaces the words in braces. `{input}` and `{output}` become paths of files. `{languages}` becomes the languages, for example `por+eng`. `{pages}` becomes the pages, for example `1-3,7`. Example: `ocrmypdf --skip-text --output-type pdf --jobs 1 --pages {pages} -l {languages} {input} {output}`. Without this command, scanned pages are not read (docs/how-to/operate.md, Scanned pages).',
        { needs: ['input', 'output'], knows: ocrPlaceholders },
      ),
    ),
    languages: optional(
      text(
        'OCR_LANGUAGES',
        'Languages of scanned pages, in addition to the language of the club. Use the names of the program of `OCR_COMMAND`, such as `eng+jpn`. Each language makes OCR slower.',
        { pattern: /^\w+(?:\+\w+)*$/ },
      ),
    ),
  },
  subtitlesCommand: optional(
    command(
      'SUBTITLES_COMMAND',
      'A command that makes subtitles from speech. The service runs the command without a shell, and replaces the words in braces. `{input}` becomes the path of a WAV file (16 kHz, mono). `{output}` becomes the path at which the command writes WebVTT or SRT; the command may add `.vtt` or `.srt`. `{language}` becomes the language, for example `pt`. Example: `whisper-cli --model /models/ggml-small.bin --no-prints --output-vtt --language {language} --output-file {output} {input}`. Without this command, subtitles can only be uploaded (docs/how-to/operate.md, Subtitles of speech).',
      { needs: ['input', 'output'], knows: subtitlePlaceholders },
    ),
  ),
  classroomUrl: text(
    'CLASSROOM_URL',
    "The address of the classroom, to which e-mails to students link. It is a front end, not this service. `{slug}` becomes the club's slug.",
    { default: 'http://{slug}.classroom.localhost:3000', pattern: /^https?:\/\/\S+$/ },
  ),
  dashboardUrl: text(
    'DASHBOARD_URL',
    'The address of the dashboard, to which e-mails to administrators link. It is a front end, not this service.',
    {
      default: 'http://dashboard.localhost:3000',
      pattern: /^https?:\/\/\S+$/,
    },
  ),
  passkeys: {
    dashboardDomain: optional(
      text(
        'PASSKEY_DASHBOARD_DOMAIN',
        'The domain of the passkeys of administrators: the host of `DASHBOARD_URL` (the default), or a domain above it. If it changes, passkeys that exist stop working.',
        { pattern: /^[a-z0-9.-]+$/ },
      ),
    ),
    classroomDomain: optional(
      text(
        'PASSKEY_CLASSROOM_DOMAIN',
        'The domain of the passkeys of students: a domain of the classrooms of all clubs. The default is the host of `CLASSROOM_URL` without the part with `{slug}`. If it changes, passkeys that exist stop working.',
        { pattern: /^[a-z0-9.-]+$/ },
      ),
    ),
  },
  identityProviders: {
    ofDeployment: secret(
      json(
        'IDENTITY_PROVIDERS',
        'The OpenID Connect providers that every administrator may sign in with (docs/how-to/sign-in-with-your-provider.md). Example: `[{"key":"group","name":"Harbour Group","issuer":"https://login.example.com","client_id":"club-learning","client_secret":"…"}]`. The key and the issuer together identify a provider: if one of them changes, all identities of the provider must be joined again.',
        { kind: providersKind, empty: [] as readonly DeploymentProvider[], parse: parseProviders },
      ),
    ),
    redirectUris: list(
      'SIGN_IN_REDIRECT_URIS',
      'The addresses of the dashboard to which an identity provider may send a browser after a sign-in. Register them at each provider. The default is `DASHBOARD_URL` with the path `/sign-in/provider`.',
      {
        accepts: isRedirectUri,
        each: 'an address without a query such as https://dashboard.example.com/sign-in/provider',
      },
    ),
  },
  database: {
    url: secret(
      url('DATABASE_URL', 'Postgres: `postgres://user:password@host:port/database`.', { protocols: postgres }),
    ),
    directUrl: optional(
      secret(
        url(
          'DATABASE_DIRECT_URL',
          'The address of the same database for LISTEN and migrations. It must lead to Postgres without a pooler, or through a pooler in session mode. The default is `DATABASE_URL`.',
          { protocols: postgres },
        ),
      ),
    ),
    poolSize: integer('DATABASE_POOL_SIZE', 'The largest number of connections of a process to Postgres.', {
      default: 20,
      from: 1,
      to: 200,
    }),
    connectWithinMs: integer(
      'DATABASE_CONNECT_WITHIN_MS',
      'Milliseconds that a statement waits for a connection of the pool, or for an answer of Postgres.',
      { default: 5_000, from: 100, to: 60_000 },
    ),
  },
  rateLimits: {
    url: optional(
      secret(
        url(
          'RATE_LIMIT_URL',
          'The Redis or Postgres that counts the rate limits of all API processes. The default is the database.',
          { protocols: [...postgres, 'redis:', 'rediss:'] },
        ),
      ),
    ),
  },
  temporal: {
    address: text('TEMPORAL_ADDRESS', 'The host and port of the Temporal server.', {
      default: '127.0.0.1:7233',
      pattern: /^[^\s:]+:\d+$/,
    }),
    namespace: text('TEMPORAL_NAMESPACE', 'The Temporal namespace. The command `setup` creates it.', {
      default: 'club-learning',
      pattern: /^[A-Za-z0-9._-]+$/,
    }),
    apiKey: optional(
      secret(
        text(
          'TEMPORAL_API_KEY',
          'The API key for Temporal. It switches TLS on. If the key is in a file, the service reads the file again every 30 s, so a new key needs no restart.',
        ),
      ),
    ),
    tls: {
      isOn: optional(
        text(
          'TEMPORAL_TLS',
          '`true`: the service connects to Temporal by TLS; `false`: without TLS. If it is not set, an API key or any other `TEMPORAL_TLS_` variable switches TLS on.',
          { pattern: /^(true|false)$/ },
        ),
      ),
      clientCertFile: optional(
        filePath(
          'TEMPORAL_TLS_CLIENT_CERT_PATH',
          'The PEM file of the client certificate of this service for Temporal.',
        ),
      ),
      clientCert: optional(
        text('TEMPORAL_TLS_CLIENT_CERT_DATA', 'The client certificate in PEM, instead of its file.'),
      ),
      clientKeyFile: optional(
        filePath('TEMPORAL_TLS_CLIENT_KEY_PATH', 'The PEM file of the private key of the client certificate.'),
      ),
      clientKey: optional(secret(text('TEMPORAL_TLS_CLIENT_KEY_DATA', 'The private key in PEM, instead of its file.'))),
      authorityFile: optional(
        filePath(
          'TEMPORAL_TLS_SERVER_CA_CERT_PATH',
          "The PEM file of the authority that signed Temporal's certificate. The defaults are the authorities of the system.",
        ),
      ),
      authority: optional(
        text('TEMPORAL_TLS_SERVER_CA_CERT_DATA', 'The certificate of this authority in PEM, instead of its file.'),
      ),
      serverName: optional(
        text(
          'TEMPORAL_TLS_SERVER_NAME',
          "The host name in Temporal's certificate, if it differs from the host of `TEMPORAL_ADDRESS`.",
          { pattern: /^[A-Za-z0-9._-]+$/ },
        ),
      ),
      isUnverified: optional(
        text(
          'TEMPORAL_TLS_DISABLE_HOST_VERIFICATION',
          "Only `false` is allowed, because the service always verifies Temporal's certificate.",
          {
            pattern: /^(true|false|1|0)$/,
          },
        ),
      ),
    },
    uiUrl: url('TEMPORAL_UI_URL', 'The address of the Temporal UI. `npm start` prints links to it.', {
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
          'The mail server for bulk mail: campaigns, and invitations of imports. The default is `SMTP_URL`.',
          { protocols: smtp },
        ),
      ),
    ),
    warmUp: counts(
      'MAIL_WARM_UP',
      'The warm-up of a new club: the number of invitations on its first day, its second day and so on, separated by commas. Other invitations wait for the next day. `off` switches it off.',
      { default: '200,400,800,1600,3200,6400,12800' },
    ),
    domainWarmUp: counts(
      'MAIL_DOMAIN_WARM_UP',
      "The warm-up of a club's own mail domain: the number of mails of campaigns and automations on its first day, its second day and so on, separated by commas. The first day is the day when the domain is first proven. There is no limit after the last number. `off` switches it off.",
      { default: '500,1000,2000,4000,8000,16000,32000,64000' },
    ),
    spfInclude: optional(
      text(
        'MAIL_SPF_INCLUDE',
        'The name that clubs include in the SPF record of their own domain. Its SPF record lists the mail servers of the platform. Without it clubs need no SPF record.',
        { pattern: /^[a-z0-9._-]+$/ },
      ),
    ),
    dnsServers: list(
      'MAIL_DNS_SERVERS',
      'Name servers for the records of mail domains, as `address:port`. The defaults are the name servers of the machine.',
      { accepts: isNameServer, each: 'an address and a port such as 10.0.0.2:53' },
    ),
    noticeToken: optional(
      secret(
        text(
          'MAIL_NOTICE_TOKEN',
          'The secret part of the addresses to which mail providers post notices: 16 to 128 letters, digits, `-` and `_`. Without it these addresses answer 501.',
          { pattern: /^[\w-]{16,128}$/ },
        ),
      ),
    ),
    sesTopicArn: optional(
      text(
        'SES_TOPIC_ARN',
        'The topic of SNS to which SES reports, such as arn:aws:sns:eu-west-1:123456789012:mails. Without it notices of SES get 501.',
        { pattern: /^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[\w-]+$/ },
      ),
    ),
    providers: anyOf(
      'MAIL_PROVIDERS',
      'Mail providers that post notices to `/webhooks/mail/<provider>/<MAIL_NOTICE_TOKEN>`. Bulk mails get the header that each of them returns. The notices of other providers get 501.',
      mailProviders,
    ),
    mailgunSigningKey: optional(
      secret(
        text(
          'MAILGUN_SIGNING_KEY',
          "Mailgun's HTTP webhook signing key. It is needed if `MAIL_PROVIDERS` names `mailgun`.",
        ),
      ),
    ),
    sendgridVerificationKey: optional(
      text(
        'SENDGRID_VERIFICATION_KEY',
        "The public key of SendGrid's signed Event Webhook, in base64. It is needed if `MAIL_PROVIDERS` names `sendgrid`.",
      ),
    ),
    resendWebhookSecret: optional(
      secret(
        text(
          'RESEND_WEBHOOK_SECRET',
          "The signing secret of Resend's webhook: `whsec_` and a key in base64. It is needed if `MAIL_PROVIDERS` names `resend`.",
          { pattern: /^whsec_[A-Za-z0-9+/]{32,}=*$/ },
        ),
      ),
    ),
    reports: {
      returnAddress: optional(
        text(
          'MAIL_RETURN_ADDRESS',
          'The address to which mail servers return undeliverable bulk mails, such as `bounces@mail.example.com`. Each mail gets its own form of it, such as `bounces+<id>@mail.example.com`, so its server must deliver addresses with a plus. The default is the address of `MAIL_FROM`, without a plus.',
          { pattern: /^[A-Za-z0-9._-]{1,27}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*$/ },
        ),
      ),
      mailboxUrl: optional(
        secret(
          url(
            'REPORT_MAILBOX_URL',
            'The mailbox from which a worker fetches delivery reports every five minutes: `imaps://user:password@host:993/INBOX`, or `imap://` for STARTTLS. The path is the folder, INBOX by default. Reports are deleted after they are recorded.',
            { protocols: ['imap:', 'imaps:'] },
          ),
        ),
      ),
    },
    from: sender('MAIL_FROM', 'The sender of the platform. Clubs without their own mail domain also use its address.', {
      default: 'Club Learning <no-reply@club-learning.localhost>',
    }),
  },
  phoneCodes: {
    url: optional(
      url(
        'PHONE_CODE_URL',
        'The address that sends codes to telephone numbers, for example through a provider of SMS. The service posts each code there, and signs it (docs/how-to/verify-phone-numbers.md). It must be public or in `EGRESS_ALLOWED_NETWORKS`. Without it, requests for a code get 501, and no number becomes verified.',
        { protocols: ['https:'] },
      ),
    ),
    secret: optional(
      secret(
        text(
          'PHONE_CODE_SECRET',
          'The secret that signs the requests to `PHONE_CODE_URL`: `whsec_` and 32 random bytes in base64. Required together with `PHONE_CODE_URL`.',
          { pattern: /^whsec_[A-Za-z0-9+/]{43}=$/ },
        ),
      ),
    ),
    perDay: integer(
      'PHONE_CODES_PER_DAY',
      'The number of codes to telephone numbers in 24 hours, for all administrators together. It limits the cost if an attacker requests many codes.',
      { default: 200, from: 1, to: 100_000 },
    ),
  },
  automations: {
    waitSpeed: integer(
      'AUTOMATION_WAIT_SPEED',
      'The waits of automations are shortened by this factor, so that you can try automations on your own machine. If the factor is above 1, a process starts only if `API_HOST`, `WORKER_HOST` and `PUBLIC_URL` belong to this machine.',
      { default: 1, from: 1, to: 100_000 },
    ),
  },
  storage: {
    endpoint: url('S3_ENDPOINT', 'The address of the S3 server. Browsers use the same address.', {
      protocols: web,
    }),
    region: text('S3_REGION', 'The region of the buckets.', { default: 'us-east-1' }),
    accessKeyId: secret(
      text('S3_ACCESS_KEY_ID', 'The id of the key, which may read, write and delete objects of both buckets.'),
    ),
    secretAccessKey: secret(text('S3_SECRET_ACCESS_KEY', 'The secret of the key.')),
    privateBucket: text('S3_PRIVATE_BUCKET', 'The bucket of files that need signed addresses.', {
      default: 'club-private',
    }),
    publicBucket: text('S3_PUBLIC_BUCKET', 'The bucket of files that everyone may read.', { default: 'club-public' }),
    publicFilesUrl: optional(
      url(
        'PUBLIC_FILES_URL',
        'The address of the public bucket for browsers and mail programs: the bucket, or a cache in front of it. The default is `S3_ENDPOINT` and the name of the bucket.',
        { protocols: web },
      ),
    ),
  },
  newClubs: {
    plan: oneOf(
      'NEW_CLUB_PLAN',
      'The plan of a new club, until billing changes it. The trial has low costs for the operator.',
      { of: planNames, default: 'trial' },
    ),
    perAdministrator: integer('CLUBS_PER_ADMINISTRATOR', 'The number of clubs that one administrator may own.', {
      default: 10,
      from: 1,
      to: 10_000,
    }),
  },
  stripe: {
    webhookSecret: optional(
      secret(
        text('STRIPE_WEBHOOK_SECRET', "The secret of the payment processor's notices. Without it the notices get 501."),
      ),
    ),
    secretKey: optional(
      secret(
        text('STRIPE_SECRET_KEY', 'The key for the payment processor. Without it the purchase of add-ons answers 501.'),
      ),
    ),
    apiUrl: url('STRIPE_API_URL', "The address of the payment processor's API. Tests use another address.", {
      protocols: web,
      default: 'https://api.stripe.com',
    }),
    pricePlans: list(
      'STRIPE_PRICE_PLANS',
      'Prices of the payment processor, each with its plan. A price is not needed here if its lookup key in the payment processor is the name of the plan.',
      { accepts: isPricePlan, each: 'a price and its plan, such as price_1A2b=business' },
    ),
  },
  model: {
    apiKey: optional(
      secret(
        text(
          'ANTHROPIC_API_KEY',
          'The key for the API of the language model that answers for agents. Without this key, questions get 501.',
        ),
      ),
    ),
    baseUrl: url('ANTHROPIC_BASE_URL', "The address of the model's API. Tests use another address.", {
      protocols: web,
      default: 'https://api.anthropic.com',
    }),
    defaultModel: oneOf('AGENT_DEFAULT_MODEL', 'The language model for agents that do not choose a model themselves.', {
      of: pricedModels,
      default: 'claude-sonnet-5-5',
    }),
  },
  masterKey: secret(
    key('MASTER_KEY', 'The key that encrypts secrets in the database and derives tokens: 32 bytes in base64.', {
      bytes: 32,
    }),
  ),
  formerMasterKeys: secret(
    keys(
      'MASTER_KEYS_OLD',
      'Former keys, which are needed only during a change of `MASTER_KEY`. They decrypt and verify, but never encrypt. Leave this variable empty at all other times.',
      { bytes: 32 },
    ),
  ),
  egress: {
    allowedNetworks: list(
      'EGRESS_ALLOWED_NETWORKS',
      'Networks that webhooks may reach although they are not public, for receivers on your own machine. Empty in production.',
      { accepts: isCidr, each: 'a network such as 127.0.0.0/8' },
    ),
    extraCaFile: optional(
      filePath(
        'EGRESS_EXTRA_CA_FILE',
        'The PEM file of a further certificate authority that the service trusts for webhook receivers. Empty in production.',
      ),
    ),
  },
};

export type Config = ReturnType<typeof readConfig>;

/**
 * @param env the environment variables; an empty string counts as absent
 * @throws ConfigError with the names of all missing and malformed variables
 */
export function readConfig(env: Environment = process.env) {
  const problems: string[] = [];
  const read = readVariables(declarations, env, problems);

  const isOfThisMachine = [read.api.host, read.worker.host, hostOf(read.api.publicUrl)].every(isLoopback);
  if (read.automations.waitSpeed > 1 && !isOfThisMachine)
    problems.push(
      'AUTOMATION_WAIT_SPEED must be 1, unless API_HOST, WORKER_HOST and PUBLIC_URL belong to this machine: real clubs wait in real time',
    );
  const formerMasterKeys = read.formerMasterKeys.reveal();
  if (formerMasterKeys.some((one) => one.equals(read.masterKey.reveal())))
    problems.push('MASTER_KEYS_OLD contains the key of MASTER_KEY: remove it there');
  if ((read.phoneCodes.url === undefined) !== (read.phoneCodes.secret === undefined))
    problems.push('PHONE_CODE_URL and PHONE_CODE_SECRET belong together: set both or neither');
  problems.push(...temporalMistakes(read.temporal), ...mailProviderMistakes(read.mail));
  problems.push(...passkeyMistakes(read));
  if (problems.length > 0) throw new ConfigError(problems);

  const [first = `${read.dashboardUrl}/sign-in/provider`, ...others] = read.identityProviders.redirectUris;
  const { endpoint, publicBucket, publicFilesUrl = `${endpoint}/${publicBucket}` } = read.storage;
  return {
    ...read,
    formerMasterKeys: formerMasterKeys.map((one) => new Secret(one)),
    identityProviders: { ...read.identityProviders, redirectUris: [first, ...others] as const },
    rateLimits: { url: read.rateLimits.url ?? read.database.url },
    mail: { ...read.mail, bulkSmtpUrl: read.mail.bulkSmtpUrl ?? read.mail.smtpUrl },
    temporal: { ...read.temporal, apiKeyFile: env[fileOf('TEMPORAL_API_KEY')] || undefined },
    storage: { ...read.storage, publicFilesUrl, linksUrl: `${read.api.publicUrl}/public/media` },
  };
}

/** @returns a sentence for each configured provider whose key is missing or unusable */
function mailProviderMistakes(mail: Read<typeof declarations.mail>): string[] {
  const missing = (provider: MailProvider, name: string, value: unknown) =>
    mail.providers.includes(provider) && value === undefined
      ? [`${name} is missing: MAIL_PROVIDERS names ${provider}`]
      : [];
  const { sendgridVerificationKey: publicKey } = mail;
  return [
    ...missing('mailgun', 'MAILGUN_SIGNING_KEY', mail.mailgunSigningKey),
    ...missing('sendgrid', 'SENDGRID_VERIFICATION_KEY', publicKey),
    ...missing('resend', 'RESEND_WEBHOOK_SECRET', mail.resendWebhookSecret),
    ...(publicKey === undefined || sendgridKeyIn(publicKey)
      ? []
      : ['SENDGRID_VERIFICATION_KEY must be a public key of the curve P-256']),
  ];
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

function isRedirectUri(item: string): boolean {
  return URL.canParse(item) && /^https?:$/.test(new URL(item).protocol) && !/[?#\s]/.test(item);
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
