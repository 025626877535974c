/** Generates the page about notices of mail providers, docs/reference/mail-notices.md, from the table of their words. */
import { providerWords } from '../../domain/mail/notices/providers/words.policy.ts';

type Source = keyof typeof providerWords;

interface Provider {
  title: string;
  /** The last part of the address before the token. */
  address: string;
  proof: string;
  /** How the notice names its mail, the first way first. */
  names: string;
  /** Five steps, in Markdown. */
  steps: readonly [string, string, string, string, string];
  note?: string;
}

const configure = (provider: string, more = '') =>
  `Set \`MAIL_NOTICE_TOKEN\`, add \`${provider}\` to \`MAIL_PROVIDERS\`${more}, and restart the API and the workers.`;
const addressStep = (name: string) =>
  `Enter the address \`https://api.example.com/webhooks/mail/${name}/<MAIL_NOTICE_TOKEN>\`.`;
const test =
  'Send a campaign to an address of your own. The metric `mail_events_total{outcome="matched"}` grows, and `delivered_at` of the delivery is set.';

const providers: Readonly<Record<Source, Provider>> = {
  ses: {
    title: 'Amazon SES',
    address: 'ses',
    proof: 'the signature of SNS, and the topic',
    names: 'the tag `mail_id`, the header `X-Club-Mail-Id`, the id in the reply of the mail server',
    steps: [
      'Create an SNS topic (standard, not FIFO). Set `MAIL_NOTICE_TOKEN`, set `SES_TOPIC_ARN` to the ARN of the topic, and restart the API.',
      'Subscribe the address `https://api.example.com/webhooks/ses/<MAIL_NOTICE_TOKEN>` to the topic, over HTTPS, without raw message delivery. The service confirms the subscription automatically.',
      'Limit the rate of the subscription with the delivery policy `{ "throttlePolicy": { "maxReceivesPerSecond": 9 } }`, because the path accepts 600 requests a minute from one address.',
      'Let SES publish `Delivery`, `Bounce` and `Complaint` to the topic. Use a configuration set, which must be the default of the identity. Or use the feedback notifications of the identity, with the original headers included.',
      test,
    ],
    note: 'SES replaces the Message-ID.',
  },
  postmark: {
    title: 'Postmark',
    address: 'mail/postmark',
    proof: 'the token alone: Postmark does not sign',
    names: '`Metadata` (header `X-PM-Metadata-mail-id`), the id in the reply of the mail server',
    steps: [
      configure('postmark'),
      'In Postmark, open the message stream of your bulk mails, and add a webhook.',
      addressStep('postmark'),
      'Select the events Delivery, Bounce and Spam complaint. Do not include the content of the mails.',
      test,
    ],
  },
  mailgun: {
    title: 'Mailgun',
    address: 'mail/mailgun',
    proof: 'HMAC of a time and a token, for 12 hours; a token counts once',
    names: '`user-variables` (header `X-Mailgun-Variables`), the Message-ID',
    steps: [
      'In Mailgun, copy the HTTP webhook signing key of the account.',
      configure('mailgun', ', set `MAILGUN_SIGNING_KEY` to this key'),
      `In Mailgun, open the webhooks of your sending domain. ${addressStep('mailgun')}`,
      'Use this address for Delivered Messages, Permanent Failure and Spam Complaints.',
      test,
    ],
    note: 'Mailgun repeats a notice for eight hours, but not a notice of a delivery.',
  },
  sendgrid: {
    title: 'SendGrid',
    address: 'mail/sendgrid',
    proof: 'ECDSA of a time and the body, for 25 hours',
    names: '`mail_id` (header `X-SMTPAPI`), the Message-ID (`smtp-id`), the id in the reply of the mail server',
    steps: [
      'In SendGrid, create an Event Webhook. Switch the signed event webhook on, and copy the verification key.',
      configure('sendgrid', ', set `SENDGRID_VERIFICATION_KEY` to this key'),
      addressStep('sendgrid'),
      'Select Delivered, Bounced, Dropped and Spam Reports.',
      test,
    ],
  },
  resend: {
    title: 'Resend',
    address: 'mail/resend',
    proof: 'Standard Webhooks (HMAC of an id, a time and the body), for 5 minutes',
    names: 'the header `X-Club-Mail-Id`, the Message-ID, the id in the reply of the mail server',
    steps: [
      `In Resend, add a webhook. ${addressStep('resend')}`,
      'Select `email.delivered`, `email.bounced` and `email.complained`, and copy the signing secret.',
      configure('resend', ', set `RESEND_WEBHOOK_SECRET` to this secret'),
      'In Resend, replay the notices that were refused before the restart.',
      test,
    ],
  },
  brevo: {
    title: 'Brevo',
    address: 'mail/brevo',
    proof: 'the token alone: Brevo does not sign',
    names: '`X-Mailin-custom`, the Message-ID',
    steps: [
      configure('brevo'),
      'In Brevo, open the settings of transactional mails, and add a webhook.',
      addressStep('brevo'),
      'Select the events delivered, hard bounce, soft bounce, invalid email and spam.',
      test,
    ],
    note: 'Allow only the networks of Brevo to reach this path, if your proxy can do so.',
  },
  report: {
    title: 'Any mail server, by delivery reports',
    address: 'mail-reports',
    proof: 'the token, or the password of the mailbox',
    names:
      '`X-Club-Mail-Id` of the returned mail, `Original-Envelope-Id`, the address of the report, the Message-ID of the returned mail',
    steps: [
      'Create a mailbox for reports, such as `bounces@mail.example.com`, which also receives `bounces+<anything>@mail.example.com`.',
      'Set `MAIL_RETURN_ADDRESS` to this address. Include the sending servers in the SPF record of its domain.',
      'Set `REPORT_MAILBOX_URL`, such as `imaps://user:password@imap.example.com/INBOX`, for a mailbox that a worker reads every five minutes. Or let your mail server post each message as `message/rfc822` to `https://api.example.com/webhooks/mail-reports/<MAIL_NOTICE_TOKEN>`.',
      'Restart the API and the workers.',
      'Send a campaign to an address that does not exist. `mail_reports_total{outcome="recorded"}` grows, and `bounced_at` of the delivery is set.',
    ],
    note: 'A report is deleted from the mailbox after it is recorded. Every other message stays there, unread: questions of readers, reports about codes and confirmations, and reports about mails of another environment. Give the mailbox its own rule that deletes old messages.',
  },
};

const order: readonly Source[] = ['postmark', 'mailgun', 'sendgrid', 'resend', 'brevo', 'ses', 'report'];

const code = (text: string) => `\`${text}\``;
const rowsOf = (source: Source) => Object.entries(providerWords[source]);
const wordsOf = (source: Source, meaning: string) =>
  rowsOf(source)
    .filter(([, one]) => one === meaning)
    .map(([word]) => code(word))
    .join(', ');
const anchorOf = (source: Source) =>
  providers[source].title
    .toLowerCase()
    .replaceAll(/[^a-z0-9 ]/g, '')
    .replaceAll(' ', '-');

function sectionOf(source: Source): string {
  const { title, steps, note } = providers[source];
  return [
    `## ${title}`,
    '',
    ...steps.map((step, index) => `${index + 1}. ${step}`),
    ...(note === undefined ? [] : ['', note]),
  ].join('\n');
}

/** @returns a table in Markdown */
function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

const introduction = [
  '# Notices of mail providers',
  'Generated by `npm run generate` from `domain/mail/notices/providers/words.policy.ts` and `dev/generators/mail-notices-page.ts`; never edited.',
  "After the mail server has accepted a campaign's mail, the mail provider reports the outcome: the mail was delivered, bounced, or reported as spam. The service records and counts these events, and sends no more mails to addresses that bounce or complain ([CAMP-14, CAMP-15](rules/campaigns.md), [BNC](rules/bounces.md)).",
  'Set `MAIL_NOTICE_TOKEN` to 16 to 128 letters, digits, `-` or `_`. The token is part of all addresses below. Keep it secret, because any person who knows it can mark mails as bounced. Without the setting all addresses answer `501`. A wrong token gets `404` before the body is read.',
];

const meanings = ['delivered', 'bounced', 'soft_bounced', 'complained', 'ignored'];

const words = [
  '## What the words mean',
  '`bounced` is a permanent refusal, and suppresses the address. `soft_bounced` is a temporary refusal, or a refusal of this text; five in a row suppress the address. `complained` means that the recipient called the mail spam. A word that is not in this table is ignored.',
  tableOf(
    ['provider', ...meanings.map(code)],
    order.map((source) => [providers[source].title, ...meanings.map((meaning) => wordsOf(source, meaning))]),
  ),
  'A word consists of several fields, and the longest word counts.',
  tableOf(
    ['provider', 'fields of a word'],
    [
      ['Postmark', '`RecordType`, `Type`'],
      ['Mailgun', '`event`, `severity`, `reason`'],
      ['SendGrid', '`event`, then `type`, or the `reason` of a drop'],
      ['Resend', '`type`, `bounce.type`'],
      ['Brevo', '`event`'],
      ['Amazon SES', '`eventType`, `bounceType`'],
      ['delivery report', '`Action`, `Status`'],
      ['report of spam', '`Feedback-Type`'],
    ],
  ),
];

const repetitions = [
  '## Repetitions and refusals',
  tableOf(
    ['notice', 'answer'],
    [
      ['the same notice again, because an answer was lost', 'as the first time; nothing changes'],
      [
        'a wrong signature, a signature that is too old, or a signature that was used for another notice',
        '`400 signature_invalid`; nothing is written',
      ],
      [
        'a body that the provider does not send, or a message that is no report',
        '`400 malformed_request`; nothing is written',
      ],
      ['an event of an unknown mail, or an event older than 90 days', 'as usual; the event is passed over'],
    ],
  ),
  'Repeated events, and events out of order, do no harm: for each kind of event, the service keeps the earliest time.',
  'The metric `mail_events_total{outcome}` counts events: `matched` means that the mail was found, and `passed_over` that the event was skipped. `mail_reports_total{outcome}` counts the messages of the mailbox.',
];

const anyOther = [
  '## Any other provider',
  'Post up to 1,000 events and 262,144 bytes a request, as `application/json`, to `https://api.example.com/webhooks/mail/<MAIL_NOTICE_TOKEN>`:',
  [
    '```json',
    '{',
    '  "events": [',
    '    { "kind": "delivered", "at": "2026-03-02T09:15:02Z", "mail_id": "1f0a8e52-77a4-4a3e-9a55-0c1d2e3f4a5b" },',
    '    { "kind": "bounced", "at": "2026-03-02T09:15:07Z", "provider_id": "4F5C11A2B3" }',
    '  ]',
    '}',
    '```',
  ].join('\n'),
  tableOf(
    ['field', 'meaning'],
    [
      [
        '`kind`',
        'one of `delivered`, `bounced` (a permanent refusal), `soft_bounced` (a temporary refusal) and `complained`',
      ],
      ['`at`', 'the time of the event'],
      ['`mail_id`', 'the header `X-Club-Mail-Id` of the mail. If it is present, it alone names the mail'],
      ['`message_id`', 'the Message-ID of the mail. Its part before the `@` is the same id as `mail_id`'],
      [
        '`provider_id`',
        "the id in the mail server's reply, such as `4F5C11A2B3` in `250 2.0.0 Ok: queued as 4F5C11A2B3`",
      ],
    ],
  ),
  'One of the three ids is enough. Prefer `mail_id`. The answer is `202` after the events are recorded. After any other answer, post the same request again.',
];

/** @returns the page */
export function mailNoticesPage(): string {
  const overview = tableOf(
    ['provider', 'address', 'the proof of the sender', 'ids by which a notice names its mail'],
    [
      ...order.map((source) => [
        `[${providers[source].title}](#${anchorOf(source)})`,
        code(`/webhooks/${providers[source].address}/<token>`),
        providers[source].proof,
        providers[source].names,
      ]),
      [
        '[any other provider](#any-other-provider)',
        code('/webhooks/mail/<token>'),
        'the token alone',
        '`mail_id`, `message_id`, `provider_id`',
      ],
    ],
  );
  const sections = order.map(sectionOf);
  return `${[...introduction, overview, ...sections, ...words, ...repetitions, ...anyOther].join('\n\n')}\n`;
}
