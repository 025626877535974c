/** Writes delivery reports and reports of spam as mail servers send them. */

interface ReportOptions {
  to?: string;
  date?: Date | string;
  action?: string;
  status?: string;
  /** Further groups of recipients. */
  others?: readonly { action: string; status: string }[];
  envelopeId?: string;
  /** The headers of the returned mail. */
  returned?: readonly string[];
  /** The type of the part with the returned mail. */
  returnedType?: string;
  statusType?: string;
  encoding?: 'base64' | 'quoted-printable' | '7bit';
  text?: string;
}

const recipientGroup = ({ action, status }: { action: string; status: string }, at: string) =>
  [
    'Final-Recipient: rfc822; reader@example.com',
    `Action: ${action}`,
    `Status: ${status}`,
    'Diagnostic-Code: smtp; 550 5.1.1 <reader@example.com>:',
    '    no such user (in reply to RCPT TO)',
    `Last-Attempt-Date: ${at}`,
  ].join('\r\n');

/** @returns a report of RFC 3464 */
export function deliveryReport(options: ReportOptions = {}): string {
  const {
    to = 'bounces@mail.example.com',
    date = new Date(),
    action = 'failed',
    status = '5.1.1',
    others = [],
    envelopeId,
    returned = [],
    returnedType = 'message/rfc822',
    statusType = 'message/delivery-status',
    encoding = '7bit',
    text = 'Your mail could not be delivered.',
  } = options;
  const at = typeof date === 'string' ? date : date.toUTCString();
  const fields = [
    [
      'Reporting-MTA: dns; mx.example.com',
      ...(envelopeId === undefined ? [] : [`Original-Envelope-Id: ${envelopeId}`]),
    ].join('\r\n'),
    ...[{ action, status }, ...others].map((group) => recipientGroup(group, at)),
  ].join('\r\n\r\n');
  const encoded =
    encoding === 'base64' ? Buffer.from(fields).toString('base64').replaceAll(/.{76}/g, '$&\r\n') : fields;
  return [
    'From: Mail Delivery System <MAILER-DAEMON@mx.example.com>',
    `To: ${to}`,
    `Date: ${at}`,
    'Subject: =?utf-8?q?Unzustellbar=3A_Gr=C3=BC=C3=9Fe?=',
    'Auto-Submitted: auto-replied',
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=delivery-status;',
    '\tboundary="edge"',
    '',
    '--edge',
    'Content-Type: text/plain; charset=iso-8859-1',
    'Content-Transfer-Encoding: 8bit',
    '',
    text,
    '',
    '--edge',
    `Content-Type: ${statusType}`,
    `Content-Transfer-Encoding: ${encoding}`,
    '',
    encoded,
    '',
    '--edge',
    `Content-Type: ${returnedType}`,
    '',
    ...returned,
    'Subject: News',
    '',
    'Ahoy',
    '--edge--',
    '',
  ].join('\r\n');
}

/** @returns a report of RFC 5965 */
export function spamReport({ type = 'abuse', date = new Date(), returned = [] as readonly string[] } = {}): string {
  return [
    'From: feedback@mailbox.example',
    'To: bounces@mail.example.com',
    `Date: ${date.toUTCString()}`,
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=feedback-report; boundary=edge',
    '',
    '--edge',
    'Content-Type: text/plain',
    '',
    'A reader called this mail spam.',
    '--edge',
    'Content-Type: message/feedback-report',
    '',
    `Feedback-Type: ${type}`,
    'User-Agent: Mailbox/1',
    'Version: 1',
    '',
    '--edge',
    'Content-Type: message/rfc822',
    '',
    ...returned,
    'Subject: News',
    '',
    'Ahoy',
    '--edge--',
    '',
  ].join('\r\n');
}
