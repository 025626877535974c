/** Verifies messages of Amazon SNS: SNS must have signed them, and they must belong to the operator's topic (CAMP-15). */
import { createVerify, X509Certificate } from 'node:crypto';
import { DomainError } from '../../../platform/core/errors.ts';
import { noticeBounds, readJson } from '../../../platform/core/json.ts';

export interface SnsMessage {
  Type: 'Notification' | 'SubscriptionConfirmation' | 'UnsubscribeConfirmation';
  MessageId: string;
  TopicArn: string;
  Message: string;
  Timestamp: string;
  SignatureVersion: '1' | '2';
  Signature: string;
  SigningCertURL: string;
  Subject?: string;
  Token?: string;
  SubscribeURL?: string;
}

const texts = [
  'Type',
  'MessageId',
  'TopicArn',
  'Message',
  'Timestamp',
  'SignatureVersion',
  'Signature',
  'SigningCertURL',
];
const types: ReadonlySet<unknown> = new Set(['Notification', 'SubscriptionConfirmation', 'UnsubscribeConfirmation']);
const algorithms = { '1': 'RSA-SHA1', '2': 'RSA-SHA256' } as const;

/** @throws DomainError malformed_request */
export function readSnsMessage(body: Buffer): SnsMessage {
  const malformed = () => new DomainError('malformed_request', 'The body is not a message of SNS.');
  const message = readJson(body, noticeBounds) as Record<string, unknown> | null;
  if (typeof message !== 'object' || message === null) throw malformed();
  const { Type: type, Token, SubscribeURL, Subject, SignatureVersion: version } = message;
  const confirms = type !== 'Notification';
  const isWhole =
    texts.every((name) => typeof message[name] === 'string') &&
    types.has(type) &&
    (!confirms || (typeof Token === 'string' && typeof SubscribeURL === 'string')) &&
    (Subject === undefined || Subject === null || typeof Subject === 'string') &&
    Object.hasOwn(algorithms, String(version));
  if (!isWhole) throw malformed();
  return message as unknown as SnsMessage;
}

/** The hosts of SNS. Certificates and confirmations are requested only from these hosts. */
const snsHost = /^sns\.[a-z0-9-]{3,40}\.amazonaws\.com(?:\.cn)?$/;

/** @returns the address, if it is an address of SNS @throws DomainError signature_invalid */
function snsUrl(text: string, path: RegExp): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const belongsToSns =
    url?.protocol === 'https:' &&
    url.port === '' &&
    url.username === '' &&
    url.password === '' &&
    url.hash === '' &&
    snsHost.test(url.hostname) &&
    path.test(url.pathname + url.search);
  if (!url || !belongsToSns) throw refused('names an address that does not belong to SNS');
  return url.href;
}

const refused = (why: string) => new DomainError('signature_invalid', `The message ${why}.`);

const certificatePath = /^\/SimpleNotificationService-[0-9a-zA-Z]{1,64}\.pem$/;
const confirmationPath = /^\/\?Action=ConfirmSubscription&/;

/** Caches the certificates of SNS. SNS changes its certificate about once a year. */
const mostCertificates = 8;

export interface SnsGuard {
  /**
   * @throws DomainError signature_invalid if the signature is wrong, or if the message is for another topic
   * @throws Error if the certificate of SNS cannot be fetched
   */
  verify: (message: SnsMessage, now: Date) => Promise<void>;
  /** Confirms the subscription that a verified message asks for. @throws Error if SNS refuses it */
  confirm: (message: SnsMessage) => Promise<void>;
}

/**
 * @param topicArn the only accepted topic @param getText fetches an address of SNS; rejects if the response is not 200
 */
export function createSnsGuard(topicArn: string, getText: (url: string) => Promise<string>): SnsGuard {
  const certificates = new Map<string, X509Certificate>();
  const certificateAt = async (url: string): Promise<X509Certificate> => {
    const cached = certificates.get(url);
    if (cached) return cached;
    const certificate = new X509Certificate(await getText(url));
    const [oldest] = certificates.keys();
    if (certificates.size >= mostCertificates && oldest !== undefined) certificates.delete(oldest);
    certificates.set(url, certificate);
    return certificate;
  };
  return {
    async verify(message, now) {
      if (message.TopicArn !== topicArn) throw refused('belongs to another topic');
      const certificate = await certificateAt(snsUrl(message.SigningCertURL, certificatePath));
      if (now < certificate.validFromDate || now > certificate.validToDate)
        throw refused('is signed with a certificate that is not valid now');
      const verifier = createVerify(algorithms[message.SignatureVersion]).update(signedText(message), 'utf8');
      if (!verifier.verify(certificate.publicKey, message.Signature, 'base64')) throw refused('is not signed by SNS');
    },
    async confirm({ SubscribeURL }) {
      await getText(snsUrl(SubscribeURL ?? '', confirmationPath));
    },
  };
}

/**
 * Returns the text that SNS signs: one line for each name and each value, in the order of `names`. The subject is left out if the message
 * has none.
 */
function signedText(message: SnsMessage): string {
  const names =
    message.Type === 'Notification'
      ? (['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'] as const)
      : (['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'] as const);
  return names
    .filter((name) => typeof message[name] === 'string')
    .map((name) => `${name}\n${message[name]}\n`)
    .join('');
}
