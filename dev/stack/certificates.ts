/** A local certificate authority, so that receivers on this machine have real HTTPS. */
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import path from 'node:path';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';

/** Both in PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

export interface IssueOptions {
  /** Some tests need a certificate that ended yesterday. */
  readonly expired?: boolean;
  /** The certificate identifies a client instead of a server. */
  readonly ofClient?: boolean;
}

export interface Authority {
  /** In PEM. Programs that trust this certificate also trust every certificate that the authority issues. */
  readonly certificate: string;
  /** Issues a certificate for these host names and IP addresses. */
  issue(hosts: readonly string[], options?: IssueOptions): Promise<Certificate>;
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const authorityYears = 10;
const certificateDays = 397;
const dayMs = 86_400_000;

/** The new authority exists only in this process, unless {@link authorityIn} stores it. */
export async function makeAuthority(): Promise<Authority> {
  const { certificate, keys } = await generateAuthority();
  return authorityOf(certificate, keys.privateKey);
}

/**
 * Returns the authority in this directory. The first call creates it.
 * @returns the authority, and its certificate's file for EGRESS_EXTRA_CA_FILE
 */
export async function authorityIn(directory: string): Promise<{ authority: Authority; file: string }> {
  const file = path.join(directory, 'authority.pem');
  const keyFile = path.join(directory, 'authority-key.pem');
  try {
    const [pem, keyPem] = await Promise.all([readFile(file, 'utf8'), readFile(keyFile, 'utf8')]);
    const key = await webcrypto.subtle.importKey('pkcs8', PemConverter.decodeFirst(keyPem), algorithm, false, ['sign']);
    return { authority: authorityOf(new X509Certificate(pem), key), file };
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
  const { certificate, keys } = await generateAuthority();
  await mkdir(directory, { recursive: true });
  await writeFile(keyFile, await privateKeyPem(keys.privateKey), { mode: 0o600 });
  // Written last, in one atomic step. If a run ends before, the next run creates a new key and a new certificate.
  await writeFile(`${file}.new`, certificate.toString('pem'));
  await rename(`${file}.new`, file);
  return { authority: authorityOf(certificate, keys.privateKey), file };
}

async function generateAuthority() {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const now = Date.now();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: 'CN=Club Learning development authority',
    notBefore: new Date(now - dayMs),
    notAfter: new Date(now + authorityYears * 365 * dayMs),
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
    ],
  });
  return { certificate, keys };
}

function authorityOf(issuer: X509Certificate, issuerKey: webcrypto.CryptoKey): Authority {
  return {
    certificate: issuer.toString('pem'),
    async issue(hosts, options = {}) {
      const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
      const end = Date.now() + (options.expired ? -1 : certificateDays) * dayMs;
      const certificate = await X509CertificateGenerator.create({
        serialNumber: serialNumber(),
        subject: `CN=${hosts[0] ?? 'nobody'}`,
        issuer: issuer.subject,
        notBefore: new Date(end - (certificateDays + 1) * dayMs),
        notAfter: new Date(end),
        publicKey: keys.publicKey,
        signingKey: issuerKey,
        signingAlgorithm: algorithm,
        extensions: [
          new SubjectAlternativeNameExtension(
            hosts.map((value) => ({ type: isIP(value) === 0 ? ('dns' as const) : ('ip' as const), value })),
          ),
          new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
          new ExtendedKeyUsageExtension([options.ofClient ? ExtendedKeyUsage.clientAuth : ExtendedKeyUsage.serverAuth]),
        ],
      });
      return { cert: certificate.toString('pem'), key: await privateKeyPem(keys.privateKey) };
    },
  };
}

async function privateKeyPem(key: webcrypto.CryptoKey): Promise<string> {
  return PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), PemConverter.PrivateKeyTag);
}

/** The first bit is 0, because the number must be positive. */
function serialNumber(): string {
  const bytes = webcrypto.getRandomValues(new Uint8Array(16));
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x01;
  return Buffer.from(bytes).toString('hex');
}
