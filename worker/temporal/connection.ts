/**
 * Connects workers and commands to Temporal. Both use the same environment variables, which the SDK of Temporal interprets. No
 * configuration file of Temporal is read.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { Connection } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { NativeConnection } from '@temporalio/worker';
import { StartProblem, StartProblems } from '../../platform/core/start-problem.ts';
import type { TemporalSettings, TemporalTls } from '../../platform/infra/temporal-settings.ts';
import { tlsMismatch, whyUnreachable } from './reach.ts';

/** The time limit for connecting. Only a slow server exceeds this limit, because earlier checks find all other problems. */
const connectTimeout = '30s';

const readKeyEveryMs = 30_000;

/** @throws StartProblem */
export async function connectWorkers(settings: TemporalSettings): Promise<NativeConnection> {
  return connectBy((options) => NativeConnection.connect(options), settings);
}

/** @throws StartProblem */
export async function connectCommand(settings: TemporalSettings): Promise<Connection> {
  return connectBy((options) => Connection.connect({ ...options, connectTimeout }), settings);
}

/** @throws StartProblem with the name of every unreadable file and of every invalid PEM */
function connectionOptions({ address, apiKey, tls }: TemporalSettings) {
  const mistakes = pemMistakes(tls);
  if (mistakes.length > 0) throw new StartProblems(mistakes);
  const variables = {
    TEMPORAL_ADDRESS: address,
    TEMPORAL_API_KEY: apiKey?.reveal(),
    TEMPORAL_TLS: tls.isOn,
    TEMPORAL_TLS_CLIENT_CERT_PATH: tls.clientCertFile,
    TEMPORAL_TLS_CLIENT_CERT_DATA: tls.clientCert,
    TEMPORAL_TLS_CLIENT_KEY_PATH: tls.clientKeyFile,
    TEMPORAL_TLS_CLIENT_KEY_DATA: tls.clientKey?.reveal(),
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: tls.authorityFile,
    TEMPORAL_TLS_SERVER_CA_CERT_DATA: tls.authority,
    TEMPORAL_TLS_SERVER_NAME: tls.serverName,
  };
  const set = Object.entries(variables).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return loadClientConnectConfig({ disableFile: true, overrideEnvVars: Object.fromEntries(set) }).connectionOptions;
}

/**
 * Returns the address at which Temporal's SDK serves its metrics. The SDK accepts only addresses, so this function resolves the host name.
 * @returns the address, for example `0.0.0.0:9090` or `[::1]:9090`
 * @throws StartProblem if the host has no address
 */
export async function metricsAddress(host: string, port: number): Promise<string> {
  const { address } = await lookup(host).catch(() => {
    throw new StartProblem(
      `The host ${host} of WORKER_HOST has no address, so Temporal's metrics cannot be served there.`,
    );
  });
  return isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`;
}

function pemMistakes(tls: TemporalTls): string[] {
  const mistakes: string[] = [];
  /** @returns the parsed PEM; undefined if no PEM is set, or if this function has added a mistake to `mistakes` */
  const parsePem = <T>(name: string, data: string | undefined, file: string | undefined, parse: (pem: string) => T) => {
    let pem = data;
    try {
      if (file !== undefined) pem = readFileSync(file, 'utf8');
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      mistakes.push(
        `${name}_PATH names a file that cannot be read (${code ?? 'no code'}): correct the path or the file's permissions`,
      );
      return undefined;
    }
    try {
      return pem === undefined ? undefined : parse(pem);
    } catch {
      mistakes.push(
        `${name}_${file === undefined ? 'DATA' : 'PATH'} contains no valid PEM: use the PEM as it was issued`,
      );
      return undefined;
    }
  };
  const certificate = (pem: string) => new X509Certificate(pem);
  const cert = parsePem('TEMPORAL_TLS_CLIENT_CERT', tls.clientCert, tls.clientCertFile, certificate);
  const key = parsePem('TEMPORAL_TLS_CLIENT_KEY', tls.clientKey?.reveal(), tls.clientKeyFile, createPrivateKey);
  parsePem('TEMPORAL_TLS_SERVER_CA_CERT', tls.authority, tls.authorityFile, certificate);
  if (cert && key && !cert.checkPrivateKey(key))
    mistakes.push('The client certificate and the client key of TEMPORAL_TLS_ do not match: set a pair');
  if (cert && cert.validToDate.getTime() < Date.now())
    mistakes.push(`The client certificate of TEMPORAL_TLS_ has expired on ${cert.validTo}: renew it`);
  return mistakes;
}

async function connectBy<T>(
  connect: (options: ReturnType<typeof connectionOptions>) => Promise<T>,
  settings: TemporalSettings,
): Promise<T> {
  const options = connectionOptions(settings);
  const difference = await tlsMismatch(settings, options.tls);
  if (difference !== undefined) throw new StartProblem(difference);
  try {
    return await connect(options);
  } catch (error) {
    throw new StartProblem(await whyUnreachable(settings, options.tls, error));
  }
}

interface KeyedConnection {
  setApiKey(key: string): unknown;
}

/**
 * Reads the API key at an interval, so that a connection uses a new key before the old one expires.
 * @param report is called when the key has changed, or when the file cannot be read. If the file cannot be read, the old key stays in use
 * @returns the functions `look`, which reads the key immediately, and `stop`, which ends the interval
 */
export function followApiKey(
  { apiKey, apiKeyFile }: Pick<TemporalSettings, 'apiKey' | 'apiKeyFile'>,
  connection: KeyedConnection,
  report: { changed: () => void; failed: (error: unknown) => void },
): { look(): Promise<void>; stop(): void } {
  if (apiKeyFile === undefined) return { look: () => Promise.resolve(), stop() {} };
  let current = apiKey?.reveal();
  const look = async () => {
    try {
      const key = (await readFile(apiKeyFile, 'utf8')).trim();
      if (key === '' || key === current) return; // an empty file is still being written
      await connection.setApiKey(key);
      current = key;
      report.changed();
    } catch (error) {
      report.failed(error);
    }
  };
  const looking = setInterval(() => void look(), readKeyEveryMs);
  looking.unref();
  return { look, stop: () => clearInterval(looking) };
}
