/** Draws a certificate as a printable page in A4 landscape, with a QR code for its verification. The file is a tagged PDF/A-2a. */
import { buffer } from 'node:stream/consumers';
import PDFDocument from 'pdfkit';
import QRCode from 'qrcode';
import type { PrintPicture } from '../../../platform/infra/images/print-picture.ts';
import { directionOf } from '../../language/languages.ts';
import { formatCode } from './code.policy.ts';
import { drawLogo } from './logo.ts';
import { drawFrame, drawRule, drawSeal, page, paint } from './ornaments.ts';
import type { CertificateRow } from './reads.ts';
import { createTypesetter, drawLine, type Typesetter } from './typesetting.ts';
import { certificateWords, type CertificateWords } from './words.ts';

/** The texts, numbers and dates in one version of a certificate. */
export type PrintedFacts = Pick<
  CertificateRow,
  | 'code'
  | 'studentName'
  | 'courseTitle'
  | 'clubName'
  | 'language'
  | 'timeZone'
  | 'lessonCount'
  | 'hours'
  | 'version'
  | 'issuedAt'
  | 'completedAt'
  | 'verifyUrl'
>;

/** All printed data: the certificate's version, and the club's current look (DEC-186). */
export interface Printed extends PrintedFacts {
  /** `#rrggbb`; null for the standard colors. */
  accentColor: string | null;
  logo: PrintPicture | null;
}

/** The tools that all parts of a page share. */
interface Sheet {
  pdf: PDFKit.PDFDocument;
  type: Typesetter;
  words: CertificateWords;
  /**
   * Mirrors the position of a column for languages that are written from right to left.
   * @param x its left edge
   * @returns its left edge
   */
  column(x: number, width: number): number;
}

/**
 * @param words a text in the certificate's language
 * @returns the bytes of the PDF. They are always the same for the same certificate
 */
export async function certificatePdf(
  certificate: Printed,
  words: CertificateWords = certificateWords(certificate.language),
): Promise<Buffer> {
  const code = formatCode(certificate.code);
  const pdf = new PDFDocument({
    size: [page.width, page.height],
    margin: 0,
    lang: words.language,
    displayTitle: true,
    tagged: true,
    subset: 'PDF/A-2a',
    pdfVersion: '1.7',
    info: {
      Title: words.documentTitle(code),
      Author: certificate.clubName,
      Subject: certificate.courseTitle,
      CreationDate: certificate.issuedAt,
    },
  });
  const bytes = buffer(pdf);
  const type = createTypesetter(pdf, certificate.language);
  const isMirrored = directionOf(words.language) === 'rtl';
  const column = (x: number, width: number) => (isMirrored ? page.width - x - width : x);
  const sheet = { pdf, type, words, column };
  drawOrnaments(sheet, certificate.accentColor ?? paint.bright);
  await drawCitation(sheet, certificate);
  await drawIssue(sheet, certificate);
  await drawVerification(sheet, certificate.verifyUrl, code);
  type.finish();
  pdf.end();
  return bytes;
}

function drawOrnaments({ pdf, column }: Sheet, accent: string): void {
  pdf.markContent('Artifact', { type: 'Layout' });
  drawFrame(pdf, accent);
  drawRule(pdf, page.width / 2, 158, 110);
  drawSeal(pdf, { x: page.width / 2, y: 478, accent });
  drawLine(pdf, column(issue.x, issue.width) + 20, 490, issue.width - 40);
  pdf.endMarkedContent();
}

/** The positions of the club's name and the heading, on a page without and with a logo. */
const head = {
  plain: { club: { y: 62, height: 30, largest: 17 }, heading: { y: 96, height: 50, largest: 36 } },
  withLogo: { club: { y: 92, height: 22, largest: 14 }, heading: { y: 112, height: 40, largest: 30 } },
} as const;

async function drawCitation({ pdf, type, words }: Sheet, certificate: Printed): Promise<void> {
  const { studentName, courseTitle, clubName, lessonCount: lessons, hours, completedAt, timeZone } = certificate;
  const { accentColor, logo } = certificate;
  const column = { x: 90, width: page.width - 180 };
  const small = { ...column, height: 20, style: 'italic', largest: 13, color: paint.soft } as const;
  const { club, heading } = logo ? head.withLogo : head.plain;
  if (logo) drawLogo(pdf, logo, clubName);
  await type.draw(clubName, { ...column, ...club, style: 'bold', color: accentColor ?? paint.gold });
  await type.draw(words.heading, { ...column, ...heading, style: 'regular', role: 'H1' });
  await type.draw(words.certifies, { ...small, y: 172 });
  await type.draw(studentName ?? '', { ...column, y: 194, height: 62, style: 'italic', largest: 40 });
  await type.draw(words.completed, { ...small, y: 264 });
  await type.draw(courseTitle, { ...column, y: 288, height: 66, style: 'bold', largest: 26 });
  const extent = { lessons, timeZone, ...(hours !== null && { hours }), ...(completedAt !== null && { completedAt }) };
  await type.draw(words.extent(extent), { ...small, y: 364, style: 'regular', largest: 12 });
}

const issue = { x: 84, width: 220 } as const;

async function drawIssue({ type, words, column }: Sheet, { issuedAt, timeZone, version }: Printed): Promise<void> {
  const box = { x: column(issue.x, issue.width), width: issue.width };
  await type.draw(words.day(issuedAt, timeZone), { ...box, y: 468, height: 20, style: 'regular', largest: 14 });
  const under = { ...box, y: 496, height: 14, style: 'regular', largest: 9, color: paint.soft } as const;
  await type.draw(words.dateOfIssue(version), under);
}

/** Draws the code and the address of its verification, at the lower right. */
async function drawVerification({ pdf, type, words, column }: Sheet, url: string, code: string): Promise<void> {
  const box = { x: column(page.width - 304, 220), width: 220 };
  const side = 96;
  const figureX = box.x + (box.width - side) / 2;
  const figure = pdf.struct('Figure', { alt: words.qrCode(url) }, () => {
    drawQrCode(pdf, url, { x: figureX, y: 408, side });
  });
  pdf.addStructure(figure);
  figure.end();
  await type.draw(code, { ...box, y: 509, height: 16, style: 'code', largest: 12 });
  const shownUrl = url.replace(/^https?:\/\//, '');
  await type.draw(shownUrl, { ...box, y: 525, height: 20, style: 'plain', largest: 7, color: paint.soft });
  const link = pdf.struct('Link');
  pdf.addStructure(link);
  pdf.link(figureX, 408, side, side, url, { structParent: link, Contents: new String(words.qrCode(url)) } as object);
  link.end();
}

/** The light margin around the code, in modules. Scanners need this margin to find the code. */
const quietZone = 4;

/** Each sequence of dark modules is one path, so that the code is sharp at every size. */
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
