/**
 * The meaning of each word that a provider uses for an event of a mail (BNC-1). docs/reference/mail-notices.md is generated from this
 * table. A word that is not in the table is ignored. The functions are pure.
 */
import type { MailEvent } from '../mail-event.policy.ts';

/** The providers whose own notices the service reads, besides SES. */
export const mailProviders = ['postmark', 'mailgun', 'sendgrid', 'resend', 'brevo'] as const;
export type MailProvider = (typeof mailProviders)[number];

type Meaning = MailEvent['kind'] | 'ignored';

/**
 * A word consists of the field of the event's name, and of the fields that divide it further, each after a space. The longest word counts.
 * A mail that a provider drops because of an older complaint is ignored, because that complaint may concern another club.
 */
export const providerWords = {
  ses: {
    Delivery: 'delivered',
    'Bounce Permanent': 'bounced',
    Bounce: 'soft_bounced',
    Complaint: 'complained',
  },
  postmark: {
    Delivery: 'delivered',
    'Bounce HardBounce': 'bounced',
    'Bounce BadEmailAddress': 'bounced',
    'Bounce SoftBounce': 'soft_bounced',
    'Bounce Transient': 'soft_bounced',
    'Bounce DnsError': 'soft_bounced',
    'Bounce Blocked': 'soft_bounced',
    'Bounce SpamNotification': 'soft_bounced',
    'Bounce VirusNotification': 'soft_bounced',
    'Bounce DMARCPolicy': 'soft_bounced',
    'Bounce SpamComplaint': 'complained',
    Bounce: 'ignored',
    SpamComplaint: 'complained',
    SubscriptionChange: 'ignored',
    Open: 'ignored',
    Click: 'ignored',
  },
  mailgun: {
    delivered: 'delivered',
    'failed permanent': 'bounced',
    'failed permanent old': 'soft_bounced',
    'failed permanent generic': 'soft_bounced',
    'failed permanent espblock': 'soft_bounced',
    'failed permanent suppress-complaint': 'ignored',
    'failed permanent suppress-unsubscribe': 'ignored',
    'failed temporary': 'ignored',
    complained: 'complained',
    accepted: 'ignored',
    rejected: 'ignored',
    opened: 'ignored',
    clicked: 'ignored',
    unsubscribed: 'ignored',
  },
  sendgrid: {
    delivered: 'delivered',
    bounce: 'bounced',
    'bounce blocked': 'soft_bounced',
    'bounce expired': 'soft_bounced',
    'dropped Bounced Address': 'bounced',
    'dropped Invalid': 'bounced',
    dropped: 'ignored',
    spamreport: 'complained',
    processed: 'ignored',
    deferred: 'ignored',
    open: 'ignored',
    click: 'ignored',
    unsubscribe: 'ignored',
    group_unsubscribe: 'ignored',
    group_resubscribe: 'ignored',
  },
  resend: {
    'email.delivered': 'delivered',
    'email.bounced': 'bounced',
    'email.bounced Transient': 'soft_bounced',
    'email.bounced Undetermined': 'soft_bounced',
    'email.complained': 'complained',
    'email.delivery_delayed': 'ignored',
    'email.failed': 'ignored',
    'email.suppressed': 'ignored',
    'email.sent': 'ignored',
    'email.opened': 'ignored',
    'email.clicked': 'ignored',
  },
  brevo: {
    delivered: 'delivered',
    hard_bounce: 'bounced',
    invalid_email: 'bounced',
    soft_bounce: 'soft_bounced',
    spam: 'complained',
    complaint: 'complained',
    deferred: 'ignored',
    blocked: 'ignored',
    error: 'ignored',
    request: 'ignored',
    opened: 'ignored',
    click: 'ignored',
    unsubscribed: 'ignored',
  },
  report: {
    delivered: 'delivered',
    failed: 'soft_bounced',
    'failed 5.0.0': 'bounced',
    'failed 5.1': 'bounced',
    'failed 5.2.1': 'bounced',
    delayed: 'ignored',
    relayed: 'ignored',
    expanded: 'ignored',
    abuse: 'complained',
    'not-spam': 'ignored',
  },
} as const satisfies Record<MailProvider | 'ses' | 'report', Record<string, Meaning>>;

/**
 * @param words the words of an event, from the longest to the shortest
 * @returns undefined if the event is ignored
 */
export function kindOf(source: keyof typeof providerWords, ...words: readonly string[]): MailEvent['kind'] | undefined {
  const table: Readonly<Record<string, Meaning>> = providerWords[source];
  const word = words.find((candidate) => Object.hasOwn(table, candidate));
  const meaning = word === undefined ? undefined : table[word];
  return meaning === 'ignored' ? undefined : meaning;
}
