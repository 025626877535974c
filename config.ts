/** The configuration: read from the environment once, at the start of a process; every mistake is reported together. */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { pricedModels } from './domain/agents/prompt/prices.policy.ts';
import { plans } from './domain/billing/plans.policy.ts';
import { planNames } from './entities/billing/values.ts';
import { taskQueues, type TaskQueue } from './platform/engine/workflow-types.ts';
import { Secret } from './platform/core/secret.ts';
import { StartProblem } from './platform/core/start-problem.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

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

export type Config = ReturnType<typeof readConfig>;

/**
 * Reads and checks the whole configuration.
 * @param env the environment variables; an empty string counts as absent
 * @throws ConfigError naming every missing or malformed variable at once
 */
export function readConfig(env: Environment = process.env) {
  const problems: string[] = [];
  const read = readerOf(env, problems);

  /** Postgres: `postgres://user:password@host:port/database`. */
  const databaseUrl = read.secretUrl('DATABASE_URL', ['postgres:', 'postgresql:']);
  /** The mail server: `smtp://user:password@host:port`, or `smtps://`. */
  const smtpUrl = read.secretUrl('SMTP_URL', ['smtp:', 'smtps:']);
  /** Where callers reach the API: the base of the links that it prints. */
  const publicUrl = read.url('PUBLIC_URL', 'http://127.0.0.1:8080', ['http:', 'https:']);
  /** Where the rate limits are counted, for all API processes: Redis or Postgres. Without it, the database. */
  const rateLimitUrl = env['RATE_LIMIT_URL']
    ? read.secretUrl('RATE_LIMIT_URL', ['postgres:', 'postgresql:', 'redis:', 'rediss:'])
    : databaseUrl;

  const config = {
    /** Names the service to receivers: `User-Agent: <service name>-webhooks/1`. */
    serviceName: read.text('SERVICE_NAME', 'club-learning', /^[a-z][a-z0-9-]{0,40}$/),
    log: {
      /** The least level that is logged. */
      level: read.oneOf('LOG_LEVEL', ['trace', 'debug', 'info', 'warn', 'error', 'silent'], 'info'),
    },
    api: {
      /** Address that the API listens on. */
      host: read.text('API_HOST', '127.0.0.1'),
      /** Port that the API listens on. */
      port: read.integer('API_PORT', 8080, 0, 65_535),
      publicUrl,
      /** Origins that browsers may call from; empty allows none. */
      corsOrigins: read.list('CORS_ORIGINS', isOrigin, 'an origin such as https://dashboard.example.com'),
      /** Only a request that arrives from one of these networks may say, in X-Forwarded-For, who the client is. */
      trustedProxies: read.list('TRUSTED_PROXIES', isCidr, 'a network such as 10.0.0.0/8'),
      /**
       * Milliseconds: sign-up, resend, reset and code answer at multiples of this, so that their time does not tell whether an
       * address is known. Longer than they usually take (bench: timing); 0 switches it off.
       */
      answerTickMs: read.integer('ANSWER_TICK_MS', 250, 0, 5_000),
      /** Largest JSON body, in bytes. */
      bodyLimitBytes: read.integer('BODY_LIMIT_BYTES', 1_048_576, 1_024, 16_777_216),
      streams: {
        /** Answers that one student may follow at a time in one API process. */
        perStudent: read.integer('STREAMS_PER_STUDENT', 50, 1, 1_000),
        /** Answers that one API process streams at a time, to everybody. */
        inAll: read.integer('STREAMS_PER_PROCESS', 2_000, 1, 100_000),
      },
    },
    files: {
      /** Port of the API process that takes resumable uploads of videos; on the address `API_HOST`. */
      port: read.integer('FILES_PORT', 8083, 0, 65_535),
      /** Where browsers reach that port, apart from the API. With port 0 it is the port that was free. */
      publicUrl: read.url('FILES_URL', 'http://127.0.0.1:8083', ['http:', 'https:']),
    },
    worker: {
      /** Address that the worker listens on. */
      host: read.text('WORKER_HOST', '127.0.0.1'),
      /** Port of the worker's own /healthz, /readyz and /metrics. */
      port: read.integer('WORKER_PORT', 8081, 0, 65_535),
      /** Port on 127.0.0.1 where Temporal's SDK serves its own metrics; 0 switches them off. */
      temporalMetricsPort: read.integer('TEMPORAL_METRICS_PORT', 0, 0, 65_535),
      /** The task queues that this worker serves, all when the list is empty; each queue needs a worker somewhere. */
      taskQueues: read
        .list('WORKER_TASK_QUEUES', isTaskQueue, `one of ${taskQueues.join(', ')}`)
        .filter((name) => isTaskQueue(name)),
      /**
       * Runs of bulk, such as the mails of an import, that this worker starts a second for one club; for all clubs together four
       * times as many. The rest waits in Postgres, where urgent work overtakes it.
       */
      bulkStartsPerSecond: read.integer('BULK_STARTS_PER_SECOND', 24, 1, 1_000),
      webhooks: {
        /**
         * Who makes the first attempt at a webhook endpoint: `workflow`, the run of its delivery; `direct`, this worker, without a run
         * where the endpoint is healthy (docs/how-to/operate.md).
         */
        firstAttempt: read.oneOf('WEBHOOK_FIRST_ATTEMPT', ['workflow', 'direct'], 'workflow'),
        /** Direct first attempts that this worker makes at once: so many messages may come twice where it is killed. */
        directAttempts: read.integer('WEBHOOK_DIRECT_ATTEMPTS', 256, 1, 900),
      },
      /** File of the bundled workflows (worker/workflow-bundle.ts). Without it the worker bundles them at its start. */
      workflowBundleFile: env['WORKFLOW_BUNDLE_FILE'] || undefined,
    },
    video: {
      /** ffmpeg: a path, or a name on the PATH. Without one, videos are delivered as they were uploaded. */
      ffmpeg: read.text('FFMPEG_BINARY', 'ffmpeg'),
      /** A directory for videos that the worker works on: it must exist, with room for the largest of them and what is made of it. */
      workDirectory: read.text('MEDIA_WORK_DIRECTORY', '/tmp'),
    },
    /** Where students' e-mails link to; not this service. `{slug}` becomes the club's slug. */
    classroomUrl: read.text('CLASSROOM_URL', 'http://{slug}.classroom.localhost:3000', /^https?:\/\/\S+$/),
    /** Where administrators' e-mails link to; not this service. */
    dashboardUrl: read.text('DASHBOARD_URL', 'http://dashboard.localhost:3000', /^https?:\/\/\S+$/),
    database: {
      url: databaseUrl,
      /** Most connections to Postgres of a process. */
      poolSize: read.integer('DATABASE_POOL_SIZE', 20, 1, 200),
      /** How long a statement waits for a connection of the pool, or for Postgres to answer, in ms. */
      connectWithinMs: read.integer('DATABASE_CONNECT_WITHIN_MS', 5_000, 100, 60_000),
    },
    rateLimits: { url: rateLimitUrl },
    temporal: {
      /** Host and port of the Temporal server. */
      address: read.text('TEMPORAL_ADDRESS', '127.0.0.1:7233', /^[^\s:]+:\d+$/),
      /** Temporal namespace; it must exist. */
      namespace: read.text('TEMPORAL_NAMESPACE', 'club-learning', /^[A-Za-z0-9._-]+$/),
      /** The Temporal UI: `npm start` prints links to it. */
      uiUrl: read.url('TEMPORAL_UI_URL', 'http://127.0.0.1:8233', ['http:', 'https:']),
    },
    mail: {
      smtpUrl,
      /** The mail server for bulk: campaigns, and the invitations of an import. Without it, `SMTP_URL`. */
      bulkSmtpUrl: env['BULK_SMTP_URL'] ? read.secretUrl('BULK_SMTP_URL', ['smtp:', 'smtps:']) : smtpUrl,
      /**
       * Warm-up: invitations that a club may send on its first day, its second day and so on, separated by commas; the others
       * wait for the next day. `off` for none.
       */
      warmUp: read.counts('MAIL_WARM_UP', '200,400,800,1600,3200,6400,12800'),
      /**
       * Warm-up of a club's own mail domain: mails of campaigns and automations that may leave from it on the day on which it is
       * proven first, on the next day and so on, separated by commas; no bound after the last. `off` for none.
       */
      domainWarmUp: read.counts('MAIL_DOMAIN_WARM_UP', '500,1000,2000,4000,8000,16000,32000,64000'),
      /** The name whose servers send for the platform, as clubs include it in the SPF record of their own domain. Without it none is asked for. */
      spfInclude: env['MAIL_SPF_INCLUDE'] ? read.text('MAIL_SPF_INCLUDE', undefined, /^[a-z0-9._-]+$/) : undefined,
      /** Name servers that are asked for the records of mail domains, as `address:port`; the machine's own when the list is empty. */
      dnsServers: read.list('MAIL_DNS_SERVERS', isNameServer, 'an address and a port such as 10.0.0.2:53'),
      /**
       * In the addresses to which mail providers post notices; 16 to 128 letters, digits, `-` and `_`. Without it they answer 501.
       */
      noticeToken: env['MAIL_NOTICE_TOKEN']
        ? new Secret(read.text('MAIL_NOTICE_TOKEN', undefined, /^[\w-]{16,128}$/))
        : undefined,
      /** The topic of SNS to which SES reports, such as arn:aws:sns:eu-west-1:123456789012:mails. Without it SES's notices answer 501. */
      sesTopicArn: env['SES_TOPIC_ARN']
        ? read.text('SES_TOPIC_ARN', undefined, /^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[\w-]+$/)
        : undefined,
      /** Sender of all mails. */
      from: read.text('MAIL_FROM', 'Club Learning <no-reply@club-learning.localhost>'),
    },
    automations: {
      /**
       * How many times faster waits of automations pass, to try them on one's own machine. Beyond 1 a process starts only where
       * `API_HOST`, `WORKER_HOST` and `PUBLIC_URL` are of this machine.
       */
      waitSpeed: read.integer('AUTOMATION_WAIT_SPEED', 1, 1, 100_000),
    },
    storage: {
      /** An S3 server. Browsers and students reach the files at this address, too. */
      endpoint: read.url('S3_ENDPOINT', undefined, ['http:', 'https:']),
      /** Region of the buckets. */
      region: read.text('S3_REGION', 'us-east-1'),
      /** Key that may read, write and delete objects of both buckets. */
      accessKeyId: read.secret('S3_ACCESS_KEY_ID'),
      /** The key's secret. */
      secretAccessKey: read.secret('S3_SECRET_ACCESS_KEY'),
      /** Bucket of files that only signed addresses open. */
      privateBucket: read.text('S3_PRIVATE_BUCKET', 'club-private'),
      /** Bucket of files that everyone may read. */
      publicBucket: read.text('S3_PUBLIC_BUCKET', 'club-public'),
      /** Where browsers and mail programs find the files of the public bucket: the bucket itself, or what stands before it. */
      publicFilesUrl: env['PUBLIC_FILES_URL']
        ? read.url('PUBLIC_FILES_URL', undefined, ['http:', 'https:'])
        : `${env['S3_ENDPOINT']}/${env['S3_PUBLIC_BUCKET'] || 'club-public'}`,
      linksUrl: `${publicUrl}/public/media`,
    },
    newClubs: {
      /** Plan of a new club until billing says otherwise. The trial costs the operator little. */
      plan: read.oneOf('NEW_CLUB_PLAN', planNames, 'trial'),
      /** Clubs of which one administrator may be an owner. */
      perAdministrator: read.integer('CLUBS_PER_ADMINISTRATOR', 10, 1, 10_000),
    },
    stripe: {
      /** Secret of the payment processor's notices; without it they answer 501. */
      webhookSecret: env['STRIPE_WEBHOOK_SECRET'] ? read.secret('STRIPE_WEBHOOK_SECRET') : undefined,
      /** Key for the payment processor; without it the purchase of add-ons answers 501. */
      secretKey: env['STRIPE_SECRET_KEY'] ? read.secret('STRIPE_SECRET_KEY') : undefined,
      /** The payment processor's API; another one in tests. */
      apiUrl: read.url('STRIPE_API_URL', 'https://api.stripe.com', ['http:', 'https:']),
      /** Prices that stand for plans, beside those whose lookup key is a plan's name. */
      pricePlans: read.list('STRIPE_PRICE_PLANS', isPricePlan, 'a price and its plan, such as price_1A2b=business'),
    },
    model: {
      /** Key for the model that agents ask; without it, asking answers 501. */
      apiKey: env['ANTHROPIC_API_KEY'] ? read.secret('ANTHROPIC_API_KEY') : undefined,
      /** The model's API; another one in tests. */
      baseUrl: read.url('ANTHROPIC_BASE_URL', 'https://api.anthropic.com', ['http:', 'https:']),
      /** Model of agents that name none of their own. */
      defaultModel: read.oneOf('AGENT_DEFAULT_MODEL', pricedModels, 'claude-sonnet-5-5'),
    },
    /** 32 bytes: encrypts webhook secrets at rest and derives one-time tokens. */
    masterKey: read.key('MASTER_KEY', 32),
    egress: {
      /** Networks that webhooks may reach although they are not public. For receivers on one's own machine; empty in production. */
      allowedNetworks: read.list('EGRESS_ALLOWED_NETWORKS', isCidr, 'a network such as 127.0.0.0/8'),
      /** PEM file of a further certificate authority that webhook receivers may be signed by; empty in production. */
      extraCaFile: env['EGRESS_EXTRA_CA_FILE'] || undefined,
    },
  };

  const isOfThisMachine = [config.api.host, config.worker.host, hostOf(config.api.publicUrl)].every(isLoopback);
  if (config.automations.waitSpeed > 1 && !isOfThisMachine)
    problems.push(
      'AUTOMATION_WAIT_SPEED must be 1, unless API_HOST, WORKER_HOST and PUBLIC_URL are of this machine: real clubs wait in real time',
    );

  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

/** One reader a kind of value; a mistake is noted and a stand-in returned, so that reading goes on to the next. */
function readerOf(env: Environment, problems: string[]) {
  const valueOf = (name: string) => env[name] || undefined;
  const missing = (name: string) => problems.push(`${name} is missing`);

  const text = (name: string, fallback?: string, pattern?: RegExp): string => {
    const value = valueOf(name) ?? fallback;
    if (value === undefined) missing(name);
    else if (pattern && !pattern.test(value)) problems.push(`${name} must match ${pattern.source}`);
    return value ?? '';
  };
  const url = (name: string, fallback: string | undefined, protocols: readonly string[]): string => {
    const value = valueOf(name) ?? fallback;
    if (value === undefined) missing(name);
    else if (!protocols.includes(protocolOf(value) ?? '')) {
      problems.push(
        `${name} must be a URL that begins with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
      );
    }
    return (value ?? '').replace(/\/$/, '');
  };

  return {
    text,
    url,
    secret: (name: string) => new Secret(text(name)),
    secretUrl: (name: string, protocols: readonly string[]) => new Secret(url(name, undefined, protocols)),
    integer(name: string, fallback: number, least: number, max: number): number {
      const value = Number(valueOf(name) ?? fallback);
      if (Number.isInteger(value) && value >= least && value <= max) return value;
      problems.push(`${name} must be a whole number from ${least} to ${max}`);
      return fallback;
    },
    oneOf<T extends string>(name: string, values: readonly T[], fallback: T): T {
      const value = valueOf(name) ?? fallback;
      const known = values.find((candidate) => candidate === value);
      if (known === undefined) problems.push(`${name} must be one of ${values.join(', ')}`);
      return known ?? fallback;
    },
    list(name: string, accepts: (item: string) => boolean, meaning: string): readonly string[] {
      const items = (valueOf(name) ?? '')
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== '');
      if (!items.every(accepts)) problems.push(`${name} must be a list, separated by commas, each item ${meaning}`);
      return items;
    },
    /** Whole numbers from 1, separated by commas; `off` for none. */
    counts(name: string, fallback: string): readonly number[] {
      const value = valueOf(name) ?? fallback;
      if (value === 'off') return [];
      if (/^[1-9]\d{0,6}(,[1-9]\d{0,6})*$/.test(value)) return value.split(',').map(Number);
      problems.push(`${name} must be whole numbers from 1, separated by commas, or off`);
      return [];
    },
    key(name: string, bytes: number): Secret<Buffer> {
      const value = valueOf(name);
      const key = Buffer.from(value ?? '', 'base64');
      if (value === undefined) missing(name);
      // Decoding passes over what is no base64: a key that was cut or mistyped must not become another key.
      else if (key.length !== bytes || key.toString('base64') !== value) {
        problems.push(`${name} must be ${bytes} bytes in base64`);
      }
      return new Secret(key);
    },
  };
}

function protocolOf(value: string): string | undefined {
  return URL.canParse(value) ? new URL(value).protocol : undefined;
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname.replaceAll(/[[\]]/g, '') : '';
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || (isIP(host) !== 0 && ipaddr.process(host).range() === 'loopback');
}

function isOrigin(item: string): boolean {
  return URL.canParse(item) && new URL(item).origin === item;
}

function isTaskQueue(item: string): item is TaskQueue {
  return taskQueues.some((name) => name === item);
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
