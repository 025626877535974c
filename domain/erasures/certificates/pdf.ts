/** Draws the PDF of a certificate of erasure: A4 pages with its facts, its counts, the receivers and the signature. Measures are in points. */
import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import PDFDocument from 'pdfkit';
import { createTypesetter } from '../../learning/certificates/typesetting.ts';
import type { ErasureCertificate, SignedCertificate } from './certificates.ts';
import { createSheet, page, type Sheet } from './sheet.ts';
import { erasureWords, type ErasureWords } from './words.ts';

/** @returns the bytes of the PDF. They are always the same for the same certificate, key and language */
export async function erasurePdf(signed: SignedCertificate): Promise<Buffer> {
  const { certificate, language } = signed;
  const words = erasureWords(language);
  const pdf = new PDFDocument({
    size: [page.width, page.height],
    margin: 0,
    lang: words.language,
    displayTitle: true,
    tagged: true,
    subset: 'PDF/A-2a',
    pdfVersion: '1.7',
    info: {
      Title: `${words.say('erasure.title')} ${certificate.erasure_id}`,
      Author: certificate.issuer,
      CreationDate: new Date(certificate.completed_at),
    },
  });
  const bytes = buffer(pdf);
  const type = createTypesetter(pdf, words.language);
  const sheet = createSheet({ pdf, type, direction: words.direction, name: certificate.erasure_id });
  await sheet.title(words.say('erasure.title'), words.summaryOf(certificate.kind));
  await drawFacts(sheet, words, certificate);
  await drawCounts(sheet, words, certificate);
  if (certificate.receivers) await drawReceivers(sheet, words, certificate.receivers);
  await drawSignature(sheet, words, signed);
  type.finish();
  pdf.end();
  return bytes;
}

/** @returns a time such as `2026-03-02 09:15:00 UTC`, equal in each language */
function shownTime(at: string): string {
  return `${at.slice(0, 10)} ${at.slice(11, 19)} UTC`;
}

async function drawFacts(
  sheet: Sheet,
  { say, subjectOf }: ErasureWords,
  certificate: ErasureCertificate,
): Promise<void> {
  const { kind, subject_id: subject, club_id: club, requested_by: requestedBy, closed_at: closedAt } = certificate;
  await sheet.table([2, 3], async (row) => {
    await row([say('erasure.id'), certificate.erasure_id]);
    await row([subjectOf(kind), subject]);
    if (club !== undefined && club !== subject) await row([subjectOf('club'), club]);
    await row([say('erasure.requested_by'), requestedBy ?? say('erasure.by_service')]);
    await row([say('erasure.requested_at'), shownTime(certificate.requested_at)]);
    if (closedAt === undefined) await row([say('erasure.rows_at'), shownTime(certificate.began_at)]);
    else {
      await row([say('erasure.began_at'), shownTime(certificate.began_at)]);
      await row([say('erasure.closed_at'), shownTime(closedAt)]);
    }
    await row([say('erasure.completed_at'), shownTime(certificate.completed_at)]);
  });
}

async function drawCounts(sheet: Sheet, { say }: ErasureWords, certificate: ErasureCertificate): Promise<void> {
  const groups: [title: string, counts: [string, number][]][] = [
    [say('erasure.rows'), certificate.tables.map(({ table, rows }) => [table, rows])],
    [say('erasure.objects'), certificate.buckets.map(({ bucket, objects }) => [bucket, objects])],
  ];
  for (const [title, counts] of groups) {
    await sheet.heading(title);
    await sheet.table(
      [3, 1],
      async (row) => {
        for (const [name, count] of counts) await row([name, String(count)]);
        await row([say('erasure.total'), String(counts.reduce((sum, [, count]) => sum + count, 0))], 'bold');
      },
      { numbers: true },
    );
  }
  await sheet.table([3, 1], (row) => row([say('erasure.runs'), String(certificate.runs)]), { numbers: true });
}

async function drawReceivers(
  sheet: Sheet,
  { say, statusOf }: ErasureWords,
  receivers: NonNullable<ErasureCertificate['receivers']>,
): Promise<void> {
  await sheet.heading(say('erasure.receivers'));
  if (receivers.length === 0) return sheet.paragraph(say('erasure.no_receivers'));
  return sheet.table([4, 4, 3, 3], async (row) => {
    await row(
      [say('erasure.endpoint'), say('erasure.delivery'), say('erasure.state'), say('erasure.acknowledged_at')],
      'bold',
    );
    for (const { endpoint_id: endpoint, delivery_id: delivery, status, acknowledged_at: at } of receivers)
      await row([endpoint, delivery, statusOf(status), at === undefined ? '–' : shownTime(at)]);
  });
}

/** The digest connects the paper to the signed text: it is the SHA-256 of the payload of the signature. */
async function drawSignature(
  sheet: Sheet,
  { say }: ErasureWords,
  { certificate, signature, address }: SignedCertificate,
): Promise<void> {
  const [header = '', payload = ''] = signature.split('.');
  const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { kid: string };
  await sheet.heading(say('erasure.signature'));
  await sheet.paragraph(say('erasure.note'));
  await sheet.table([2, 5], async (row) => {
    await row([say('erasure.address'), address]);
    await row([say('erasure.keys_address'), `${certificate.issuer}/.well-known/erasure-keys.json`]);
    await row([say('erasure.key'), kid]);
    await row([say('erasure.digest'), createHash('sha256').update(Buffer.from(payload, 'base64url')).digest('hex')]);
  });
}
