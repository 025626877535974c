/** A certificate as a page to print: landscape A4, with a QR code of the address where anyone can verify it. */
import { buffer } from 'node:stream/consumers';
import PDFDocument from 'pdfkit';
import QRCode from 'qrcode';
import { formatCode } from './code.policy.ts';
import { printedDay, printedExtent } from './days.policy.ts';
import { drawFrame, drawRule, drawSeal, page, paint } from './ornaments.ts';
import type { CertificateRow } from './reads.ts';
import { drawFitted, drawLine, registerFonts } from './typesetting.ts';

export type Printed = Pick<
  CertificateRow,
  | 'code'
  | 'studentName'
  | 'courseTitle'
  | 'clubName'
  | 'timeZone'
  | 'lessonCount'
  | 'hours'
  | 'version'
  | 'issuedAt'
  | 'completedAt'
  | 'verifyUrl'
>;

/** @returns the bytes of a PDF; the same for the same certificate */
export async function certificatePdf(certificate: Printed): Promise<Buffer> {
  const code = formatCode(certificate.code);
  const pdf = new PDFDocument({
    size: [page.width, page.height],
    margin: 0,
    lang: 'en',
    displayTitle: true,
    info: {
      Title: `Certificate ${code}`,
      Author: certificate.clubName,
      Subject: certificate.courseTitle,
      CreationDate: certificate.issuedAt,
    },
  });
  const bytes = buffer(pdf);
  registerFonts(pdf);
  drawFrame(pdf);
  drawCitation(pdf, certificate);
  drawIssue(pdf, certificate);
  drawSeal(pdf, { x: page.width / 2, y: 478 });
  drawVerification(pdf, certificate.verifyUrl, code);
  pdf.end();
  return bytes;
}

/** Who has completed what, and where. */
function drawCitation(pdf: PDFKit.PDFDocument, certificate: Printed): void {
  const { studentName, courseTitle, clubName, completedAt, timeZone } = certificate;
  const column = { x: 90, width: page.width - 180 };
  drawFitted(pdf, clubName, { ...column, y: 62, height: 30, style: 'bold', largest: 17, color: paint.gold });
  drawFitted(pdf, 'Certificate of Completion', { ...column, y: 96, height: 50, style: 'regular', largest: 36 });
  drawRule(pdf, page.width / 2, 158, 110);
  drawFitted(pdf, 'This certifies that', {
    ...column,
    y: 172,
    height: 20,
    style: 'italic',
    largest: 13,
    color: paint.soft,
  });
  drawFitted(pdf, studentName ?? '', { ...column, y: 194, height: 62, style: 'italic', largest: 40 });
  drawFitted(pdf, 'has completed the course', {
    ...column,
    y: 264,
    height: 20,
    style: 'italic',
    largest: 13,
    color: paint.soft,
  });
  drawFitted(pdf, courseTitle, { ...column, y: 288, height: 66, style: 'bold', largest: 26 });
  const extent = printedExtent({ lessons: certificate.lessonCount, hours: certificate.hours ?? undefined });
  const completed = completedAt === null ? '' : ` · completed on ${printedDay(completedAt, timeZone)}`;
  drawFitted(pdf, extent + completed, {
    ...column,
    y: 364,
    height: 20,
    style: 'regular',
    largest: 12,
    color: paint.soft,
  });
}

/** When it was issued, at the lower left. */
function drawIssue(pdf: PDFKit.PDFDocument, { issuedAt, timeZone, version }: Printed): void {
  const column = { x: 84, width: 220 };
  drawFitted(pdf, printedDay(issuedAt, timeZone), { ...column, y: 468, height: 20, style: 'regular', largest: 14 });
  drawLine(pdf, column.x + 20, 490, column.width - 40);
  drawFitted(pdf, `Date of issue · version ${version}`, {
    ...column,
    y: 496,
    height: 14,
    style: 'regular',
    largest: 9,
    color: paint.soft,
  });
}

/** The code and where to verify it, at the lower right. */
function drawVerification(pdf: PDFKit.PDFDocument, url: string, code: string): void {
  const column = { x: page.width - 304, width: 220 };
  const side = 96;
  const left = column.x + (column.width - side) / 2;
  drawQrCode(pdf, url, { x: left, y: 408, side });
  drawFitted(pdf, code, { ...column, y: 509, height: 16, style: 'code', largest: 12 });
  const shown = url.replace(/^https?:\/\//, '');
  drawFitted(pdf, shown, { ...column, y: 525, height: 20, style: 'plain', largest: 7, color: paint.soft });
  pdf.link(left, 408, side, side, url);
}

/** Light around the code, in modules, without which readers do not find it. */
const quietZone = 4;

/** Modules are drawn a run of dark ones at a time, as a path: sharp at every size. */
function drawQrCode(
  pdf: PDFKit.PDFDocument,
  url: string,
  { x, y, side }: { x: number; y: number; side: number },
): void {
  const { size, data } = QRCode.create(url, { errorCorrectionLevel: 'M' }).modules;
  const module = side / (size + 2 * quietZone);
  pdf.rect(x, y, side, side).fill(paint.white);
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      let end = column;
      while (end < size && data[row * size + end]) end++;
      if (end === column) continue;
      pdf.rect(x + (quietZone + column) * module, y + (quietZone + row) * module, (end - column) * module, module);
      column = end;
    }
  }
  pdf.fill(paint.ink);
}
