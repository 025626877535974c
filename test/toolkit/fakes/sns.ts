/** Imitates SNS for a receiver of its messages: makes a signing certificate, and signs messages. */
import 'reflect-metadata';
import { createSign, webcrypto } from 'node:crypto';
import { PemConverter, X509CertificateGenerator } from '@peculiar/x509';
import type { SnsMessage } from '../../../domain/mail/notices/sns.ts';
import { newId } from '../../../platform/core/ids.ts';

const rsa = {
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  publicExponent: new Uint8Array([1, 0, 1]),
  modulusLength: 2_048,
};
const day = 86_400_000;

const snsHost = 'https://sns.eu-west-1.amazonaws.com';
export const snsTopic = 'arn:aws:sns:eu-west-1:123456789012:mails';

export interface FakeSns {
  certificateUrl: string;
  /** The requested addresses. */
  asked: string[];
  /** Answers a request as SNS does, with the certificate or with the confirmation of a subscription. */
  getText: (url: string) => Promise<string>;
  /** @returns the message as SNS posts it. The message is signed, unless the caller gives a `Signature` */
  post: (message: Partial<SnsMessage>) => string;
}

/** @param validFrom the beginning of the certificate's validity, which lasts two days */
export async function fakeSns(validFrom = new Date(Date.now() - day)): Promise<FakeSns> {
  const keys = await webcrypto.subtle.generateKey(rsa, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=sns.amazonaws.com',
    notBefore: validFrom,
    notAfter: new Date(validFrom.getTime() + 2 * day),
    signingAlgorithm: rsa,
    keys,
  });
  const key = PemConverter.encode(
    await webcrypto.subtle.exportKey('pkcs8', keys.privateKey),
    PemConverter.PrivateKeyTag,
  );
  const certificateUrl = `${snsHost}/SimpleNotificationService-${newId().replaceAll('-', '')}.pem`;
  const requestedUrls: string[] = [];
  return {
    certificateUrl,
    asked: requestedUrls,
    async getText(url) {
      requestedUrls.push(url);
      if (url === certificateUrl) return certificate.toString('pem');
      if (url.includes('ConfirmSubscription')) return '<ConfirmSubscriptionResponse/>';
      throw new Error('The address does not exist');
    },
    post(fields) {
      const confirms = fields.Type !== undefined && fields.Type !== 'Notification';
      const token = newId();
      const message = {
        Type: 'Notification',
        MessageId: newId(),
        TopicArn: snsTopic,
        Message: '{}',
        Timestamp: new Date().toISOString(),
        SignatureVersion: '2',
        SigningCertURL: certificateUrl,
        ...(confirms && { Token: token, SubscribeURL: `${snsHost}/?Action=ConfirmSubscription&Token=${token}` }),
        ...fields,
      } as Record<string, string>;
      const names = confirms
        ? ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type']
        : [
            'Message',
            'MessageId',
            ...(message['Subject'] === undefined ? [] : ['Subject']),
            'Timestamp',
            'TopicArn',
            'Type',
          ];
      const text = names.map((name) => `${name}\n${message[name]}\n`).join('');
      const algorithm = message['SignatureVersion'] === '1' ? 'RSA-SHA1' : 'RSA-SHA256';
      return JSON.stringify({ Signature: createSign(algorithm).update(text, 'utf8').sign(key, 'base64'), ...message });
    },
  };
}

export function sesReport(
  kind: 'Bounce' | 'Complaint' | 'Delivery' | 'Open',
  at: Date,
  {
    mailId,
    providerId = 'unknown',
    bounceType = 'Permanent',
    by = 'tag',
  }: { mailId?: string; providerId?: string; bounceType?: string; by?: 'tag' | 'header' | 'message-id' },
): string {
  const headers = [
    { name: 'Subject', value: 'Hi' },
    ...(by === 'header' ? [{ name: 'X-Club-Mail-Id', value: mailId }] : []),
    ...(by === 'message-id' ? [{ name: 'Message-ID', value: `<${mailId}@platform.example>` }] : []),
  ];
  const timestamp = at.toISOString();
  return JSON.stringify({
    [by === 'tag' ? 'eventType' : 'notificationType']: kind,
    mail: {
      messageId: providerId,
      destination: ['ada@example.com'],
      headers,
      tags: { 'ses:source-ip': ['10.0.0.1'], ...(by === 'tag' && mailId !== undefined && { mail_id: [mailId] }) },
    },
    [kind.toLowerCase()]: {
      timestamp,
      ...(kind === 'Bounce' && { bounceType, bouncedRecipients: [{ emailAddress: 'ada@example.com' }] }),
    },
  });
}
