/** The settings for Temporal: TLS and credentials. Also finds settings that contradict each other. */
import type { Secret } from '../core/secret.ts';

export interface TemporalSettings {
  /** Host and port. */
  readonly address: string;
  readonly namespace: string;
  readonly apiKey: Secret | undefined;
  /** The key is read from this file repeatedly. */
  readonly apiKeyFile?: string | undefined;
  readonly tls: TemporalTls;
}

/** Certificate, key and authority: a PEM text, a PEM file, or absent. */
export interface TemporalTls {
  readonly isOn: string | undefined;
  readonly clientCertFile: string | undefined;
  readonly clientCert: string | undefined;
  readonly clientKeyFile: string | undefined;
  readonly clientKey: Secret | undefined;
  readonly authorityFile: string | undefined;
  readonly authority: string | undefined;
  readonly serverName: string | undefined;
  readonly isUnverified: string | undefined;
}

/**
 * Finds mistakes that `@temporalio/envconfig` accepts: an incomplete client certificate, a host that is not verified, an API key without
 * TLS.
 * @returns sentences that name the variables
 */
export function temporalMistakes({ apiKey, tls }: Pick<TemporalSettings, 'apiKey' | 'tls'>): string[] {
  const cert = tls.clientCertFile ?? tls.clientCert;
  const key = tls.clientKeyFile ?? tls.clientKey;
  const authority = tls.authorityFile ?? tls.authority;
  const mistakes: (string | false)[] = [
    ...(
      [
        ['CLIENT_CERT', tls.clientCertFile, tls.clientCert],
        ['CLIENT_KEY', tls.clientKeyFile, tls.clientKey],
        ['SERVER_CA_CERT', tls.authorityFile, tls.authority],
      ] as const
    ).map(
      ([name, file, data]) =>
        file !== undefined &&
        data !== undefined &&
        `TEMPORAL_TLS_${name}_PATH and TEMPORAL_TLS_${name}_DATA are both set: set one of them`,
    ),
    (cert === undefined) !== (key === undefined) &&
      `TEMPORAL_TLS_CLIENT_${cert === undefined ? 'KEY' : 'CERT'}_PATH or _DATA is set, but TEMPORAL_TLS_CLIENT_${cert === undefined ? 'CERT' : 'KEY'}_PATH or _DATA is not: a client certificate needs both, set the other one, too`,
    tls.isOn === 'false' &&
      apiKey !== undefined &&
      'TEMPORAL_API_KEY would be sent unencrypted, because TEMPORAL_TLS is false: set TEMPORAL_TLS to true, or leave the key out',
    tls.isOn === 'false' &&
      [cert, key, authority, tls.serverName].some((one) => one !== undefined) &&
      'TEMPORAL_TLS is false, but other variables of TEMPORAL_TLS_ are set: set it to true, or leave them out',
    (tls.isUnverified === 'true' || tls.isUnverified === '1') &&
      "TEMPORAL_TLS_DISABLE_HOST_VERIFICATION must be false: another server could pretend to be Temporal. Give the authority of its certificate in TEMPORAL_TLS_SERVER_CA_CERT_PATH, and the certificate's host name in TEMPORAL_TLS_SERVER_NAME",
  ];
  return mistakes.filter((mistake) => mistake !== false);
}
